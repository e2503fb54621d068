"""The exact values of a model, and how far a runtime is from them."""
