"""The rewrites, in one module per subject; `sonnx/rewriter/passes.py` has their order."""
