"""Many models or theorems at once: local processes, or the workers of a cluster."""
