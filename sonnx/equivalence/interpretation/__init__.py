"""A model in terms: the domain of the interpreter, and what fused operators, functions and inner graphs stand for."""
