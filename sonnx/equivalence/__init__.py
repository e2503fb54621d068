"""Whether two models are the same function: shared terms, index maps, affine normal form, counterexamples."""
