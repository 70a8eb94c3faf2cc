"""The members of the audit family, the views they look at, and how they are pooled."""
