"""Terms: what the values of models are made of, and what is known of them: movements, constants, affine forms."""
