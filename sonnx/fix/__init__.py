"""Rewrites models into the profile without changing a value.

It lives apart from what judges: check, prove, run and the reports never import it, because a tool that writes the
deployed model is qualified differently from one that judges it.
"""
