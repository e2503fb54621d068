"""What operators share to bound ranges and errors: outward arithmetic, hypotheses, and transfer functions by family."""
