"""The verdict of every rule on every part of a model, and the report."""
