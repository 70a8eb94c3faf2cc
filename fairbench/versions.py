"""Versions that go into every job key: raise one when figures change."""

ENGINE_VERSION = 2
"""Of the training engine: layers, streams, optimizer, schedule."""

PROTOCOL_VERSION = 1
"""Of what is measured: roles, auditors, decoders, metrics. Rows of two versions never mix."""
