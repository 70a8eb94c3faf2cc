"""The stacked engine: all points and seeds of a method train at once, as one stack."""
