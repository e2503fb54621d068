"""Many models at a time: child processes that judge, one model each, and what becomes of them."""
