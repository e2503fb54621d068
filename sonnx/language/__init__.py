"""The rule language: its parser, its built-in functions and its interpretations."""
