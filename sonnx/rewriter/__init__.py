"""Rewrites models into the profile without changing a value."""
