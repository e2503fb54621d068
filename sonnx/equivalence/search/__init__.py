"""The search for an input on which two models differ beyond rounding."""
