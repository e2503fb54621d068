"""Run work in other processes within limits, keep its results for a later run, and search the parts of a box."""
