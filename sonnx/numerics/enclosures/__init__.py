"""What operators share to bound ranges and errors: outward arithmetic, hypotheses, and transfer functions by family."""

from pathlib import Path

PREDEFINED = Path(__file__).with_name("hypotheses.toml")
"""The predefined hypotheses; their names are read from it without numpy."""
