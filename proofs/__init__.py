"""The theorems and what speaks to the solvers: z3, and for second opinions cvc5 and bitwuzla."""
