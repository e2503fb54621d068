"""Ranges of ideal values and bounds of the errors of implementations: a domain on the interpreter of models."""
