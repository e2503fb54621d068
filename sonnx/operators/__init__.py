"""What each operator computes: one module per operator, the formula of its text above the code."""
