"""Finding, checking, caching, splitting and preparing datasets."""
