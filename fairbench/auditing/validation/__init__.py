"""Channels of known information, and the audit ensemble measured on them."""
