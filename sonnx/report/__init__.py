"""Reports for readers: one module each."""
