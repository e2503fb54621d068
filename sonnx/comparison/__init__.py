"""Comparing a runtime with the exact values."""
