"""Stored models: looked up once, then encoded with, certified or recommended."""
