"""Rewrites of the whole model before its nodes are visited: what the visit needs to be in order."""
