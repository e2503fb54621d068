"""Rewrites of the whole model after its nodes were visited: what is left over, and what must be declared."""
