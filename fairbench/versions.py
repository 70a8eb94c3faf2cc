"""Versions that go into job keys: raise one when figures change."""

ENGINE_VERSION = 2
"""Of the training engine: layers, streams, optimizer, schedule. The dtype of products, which also
depends on the processor, is not part of it: it changes a figure by less than another seed does."""

IMAGES_VERSION = 3
"""Of what engine and audits do for images alone; tables do not depend on it. 2: initial weights
keep the variance of their inputs. 3: auditors see centred images."""

PROTOCOL_VERSION = 1
"""Of what is trained on: roles, scaling, what is encoded. Rows of two versions never mix."""

AUDIT_VERSION = 5
"""Of what is measured: auditors, decoders, metrics. Raising it measures kept representations again
and trains nothing; points of two versions never stand in one table. 3: trees tell more than two
groups apart split by split. 4: auditors read x off z, and look for s there. 5: auditors see
the own decoder's reconstructions for all groups, and distortion is that of the same ones."""
