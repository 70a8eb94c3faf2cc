"""Scores, bootstrap, intervals, seeds: no idea of files or jobs."""
