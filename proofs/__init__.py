"""The theorems of the project, one module for each topic; `registry.py` lists them."""
