"""Options that the analyses of models share; neither numpy nor a solver is loaded for them."""

from collections.abc import Mapping, Sequence
from typing import Annotated

from msgspec import field
from msgspec.structs import force_setattr

from sonnx.base.options import Argument, Options
from sonnx.checker.request import edition_names
from sonnx.model.limits import DEFAULT_LIMITS, LIMITS, Limits, changed_limits, parse_limits
from sonnx.model.symbols import parse_bindings, parse_input_shapes


def known_editions() -> str:
    """The names of all editions, and the default one."""
    known, default = edition_names()
    return f": one of {', '.join(known)} (default {default})"


Edition = Annotated[str | None, Argument("the edition of the profile", metavar="EDITION", known=known_editions)]
StrictVersions = Annotated[bool, Argument("accept only the operator version that a text specifies")]


Bindings = Annotated[
    Mapping[str, int],
    Argument("numbers for symbolic dimensions, for which the result holds", "N=1,H=224", collect=parse_bindings),
]
InputShapes = Annotated[
    Mapping[str, Sequence[int]],
    Argument(
        "the shape of a graph input, also where the model states no number or symbol",
        metavar="X=1,3,224,224",
        name="input-shape",
        collect=parse_input_shapes,
    ),
]
SizeLimits = Annotated[
    Limits,
    Argument(
        "change a size limit, for example nodes=500000",
        metavar="NAME=NUMBER",
        name="limit",
        collect=parse_limits,
        json=changed_limits,
        known=lambda: f" (defaults: {', '.join(f'{limit.name}={limit.default}' for limit in LIMITS)})",
    ),
]


Unchecked = Annotated[bool, Argument("take a model that does not conform to the edition, too")]


class ModelOptions(Options, frozen=True, kw_only=True):
    """What analyses of models share."""

    bind: Bindings = field(default_factory=dict)
    input_shapes: InputShapes = field(default_factory=dict)
    limits: SizeLimits = DEFAULT_LIMITS
    name: str | None = None
    """What the result calls the model; by default the base name of its file."""

    def __post_init__(self) -> None:
        if len(self.limits) < len(DEFAULT_LIMITS):  # only the changed ones
            force_setattr(self, "limits", parse_limits([f"{name}={size}" for name, size in self.limits.items()]))


class EditionOptions(ModelOptions, frozen=True):
    """What analyses of models under an edition share."""

    edition: Edition = None
