"""Bits hidden in representations, for further_channels.py."""
