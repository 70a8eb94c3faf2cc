"""Hyperparameter searches."""
