"""Find, check, cache, split and prepare datasets."""
