"""Figures and the page: what a run found, for people. Pure functions of tables."""
