"""The results database and the files beside it."""
