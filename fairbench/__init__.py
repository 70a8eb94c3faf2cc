"""fairbench: a benchmark suite for fair representation learning.

Nothing heavy is imported here; ``fairbench --help`` must answer within a second.
"""

__version__ = "0.1.0"
