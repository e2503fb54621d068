"""Rewrites of one node, made while the nodes are visited in their order."""
