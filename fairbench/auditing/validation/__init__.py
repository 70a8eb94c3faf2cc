"""Channels of known information, and the family measured on them."""
