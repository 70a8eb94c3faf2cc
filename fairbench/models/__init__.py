"""Stored models: found once, then encoded with, certified or recommended."""
