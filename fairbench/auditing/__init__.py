"""Auditors, downstream classifiers and refitted decoders: what a representation really tells."""
