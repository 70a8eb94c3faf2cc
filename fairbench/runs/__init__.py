"""Runs: from a request to jobs, and from jobs to records."""
