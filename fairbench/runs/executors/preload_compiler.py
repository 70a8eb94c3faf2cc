"""Imported by the fork server ahead of :mod:`.preload`, where trainings will be compiled.

Each job that compiles would load this, in two seconds, and have a copy of its own in memory.
"""

import torch._inductor.compile_fx

__all__ = ["torch"]
