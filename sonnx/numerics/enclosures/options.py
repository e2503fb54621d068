"""The option that says what is assumed of implementations; numpy is not loaded for it."""

from collections.abc import Collection
from typing import Annotated

from sonnx.base.options import Argument
from sonnx.numerics.enclosures import PREDEFINED

DEFAULT_HYPOTHESES = "ieee-any"
"""Any implementation that conforms to IEEE 754."""


def hypotheses_names() -> Collection[str]:
    """The names of the predefined hypotheses."""
    from sonnx.profile import toml_files  # only help texts need them

    return list(toml_files.read_value(PREDEFINED)[0])


def known_hypotheses() -> str:
    """The names of the predefined hypotheses, and the default one."""
    return f": {', '.join(hypotheses_names())}, or a .toml file (default {DEFAULT_HYPOTHESES})"


HypothesesName = Annotated[str, Argument("what is assumed of implementations", metavar="NAME", known=known_hypotheses)]
