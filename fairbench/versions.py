"""The package's version, and those that go into job keys: raise one when figures change."""

PACKAGE_VERSION = "0.2.0.dev0"
"""Version of the package, as in pyproject.toml."""

ENGINE_VERSION = 2
"""Version of the training engine: layers, random streams, optimizer, schedule. The dtype of matrix
products, which also depends on the processor, is not part of it: it changes a figure by less than
another seed does."""

IMAGES_VERSION = 3
"""Version of what the engine and audits do for images alone; tables do not depend on it. 2: initial
weights keep the variance of their inputs. 3: auditors see centred images."""

PROTOCOL_VERSION = 1
"""Version of what is trained on: roles, scaling, what is encoded. Rows of two never mix."""

AUDIT_VERSION = 5
"""Version of what is measured: auditors, decoders, metrics. Raising it measures kept
representations again, and trains nothing; points of two versions never stand in one table. 3: with
more than two groups, boosted trees tell the groups apart step by step. 4: auditors also predict x
from z, and look for s in the prediction. 5: auditors see the own decoder's reconstructions for all
groups, and distortion is measured on the same reconstructions."""
