"""The methods that come with fairbench: one module or folder per family."""

__fairbench_families__ = True
"""Families share no code, so an edit to one leaves the results of the others valid."""
