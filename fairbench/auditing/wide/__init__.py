"""A wide search: views of z that show rules of kinds that no other auditor forms."""
