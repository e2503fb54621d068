"""Theorems as questions to SMT solvers: interpretation of rules as terms, solvers, records, proofs about models."""
