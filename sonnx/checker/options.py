"""Options that the analyses of models share; neither numpy nor a solver is loaded for them."""

import datetime
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Annotated

from msgspec import field
from msgspec.structs import force_setattr

from sonnx.base.errors import UsageError
from sonnx.base.options import Argument, Options
from sonnx.checker.request import CheckRequest, edition_names
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
        super().__post_init__()
        if len(self.limits) < len(DEFAULT_LIMITS):  # only the changed ones
            force_setattr(self, "limits", parse_limits([f"{name}={size}" for name, size in self.limits.items()]))


class EditionOptions(ModelOptions, frozen=True):
    """What analyses of models under an edition share."""

    edition: Edition = None


def _date(text: str) -> datetime.date:
    try:
        day = datetime.date.fromisoformat(text)
    except ValueError:
        day = None
    if day is None or str(day) != text:
        raise UsageError(f"invalid date {text!r}, expected YYYY-MM-DD")
    return day


class ConformanceOptions(EditionOptions, frozen=True, kw_only=True):
    """What a model must conform to, and what justifies that it does not."""

    tailoring: Annotated[Path | None, Argument("a file that makes the edition stricter", metavar="FILE", read=Path)] = (
        None
    )
    deviations: Annotated[Path | None, Argument("a file of justified failures", metavar="FILE", read=Path)] = None
    date: Annotated[
        datetime.date | None,
        Argument("check the deviations as of YYYY-MM-DD (default: today)", metavar="DAY", read=_date),
    ] = None
    accept_assumptions: Annotated[bool, Argument("exit 0 if only assumptions on run-time values are open")] = False
    strict_versions: StrictVersions = False
    box: Annotated[
        Collection[str],
        Argument(
            "the range of an input, as for sonnx bound --input: assumptions that it shows pass", metavar="NAME=BOX"
        ),
    ] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.deviations is None and self.date is not None:
            raise UsageError("--date is the date of --deviations: name the file, or leave it out")
        if self.deviations is not None and self.date is None:
            raise UsageError("deviations hold until a date: give the date of the check")

    def request(self, select: Collection[str] = (), ignore: Collection[str] = ()) -> CheckRequest:
        """The check of a model, with the tailoring as it is read now.

        Raises:
            UsageError: options that cannot be met, or a malformed tailoring.
        """
        own = None
        if self.tailoring is not None:
            from sonnx.checker import tailoring  # most checks have none

            own = tailoring.read(self.tailoring)
        return CheckRequest(
            self.edition, dict(self.bind), dict(self.input_shapes), tuple(select), tuple(ignore),
            self.strict_versions, own, self.limits,
        )  # fmt: skip
