"""The members of the audit ensemble, their views of z, and how they are pooled."""
