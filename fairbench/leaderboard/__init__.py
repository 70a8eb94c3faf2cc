"""Leaderboards: a pure function of the store."""
