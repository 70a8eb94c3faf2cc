"""Auditors, downstream classifiers and refitted decoders: what they find in a representation."""
