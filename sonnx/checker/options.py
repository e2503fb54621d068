"""Options that the analyses of models share; neither numpy nor a solver is loaded for them."""

import datetime
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Protocol

from msgspec import field
from msgspec.structs import force_setattr

from sonnx.base.errors import UsageError
from sonnx.base.options import (
    HOW_IT_IS_CALLED,
    WHAT_IS_SHOWN,
    WHERE_IT_RUNS,
    Argument,
    Options,
    amount,
    names,
    require_processes,
)
from sonnx.model.limits import DEFAULT_LIMITS, Limits, changed_limits, parse_limits
from sonnx.model.symbols import parse_bindings, parse_input_shapes
from sonnx.profile import catalogue

if TYPE_CHECKING:
    from sonnx.checker.request import CheckRequest


def known_editions() -> str:
    """The names of all editions, and the default one."""
    known = catalogue.editions()
    return f"; one of {', '.join(known.editions)} (default {known.default})"


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
        "change a size limit, for example nodes=500000; --help limits lists them",
        metavar="NAME=NUMBER",
        name="limit",
        collect=parse_limits,
        json=changed_limits,
    ),
]


Unchecked = Annotated[bool, Argument("accept a model that does not conform to the edition")]


class ModelOptions(Options, frozen=True, kw_only=True):
    """What analyses of models share."""

    bind: Bindings = field(default_factory=dict)
    input_shapes: InputShapes = field(default_factory=dict)
    limits: SizeLimits = DEFAULT_LIMITS
    name: Annotated[str | None, HOW_IT_IS_CALLED] = None
    """What the result calls the model; by default the base name of its file."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.limits) < len(DEFAULT_LIMITS):  # only the changed ones
            force_setattr(self, "limits", parse_limits([f"{name}={size}" for name, size in self.limits.items()]))


class ProfileOptions(Options, frozen=True, kw_only=True):
    """Which edition of the profile."""

    edition: Edition = None


class ExplainOptions(ProfileOptions, frozen=True, kw_only=True):
    """Which condition of a rule is explained."""

    model_version: Annotated[
        int | None,
        Argument(
            "the operator set that the model imports: 13 of `opset 13`", metavar="V", read=amount("the operator set")
        ),
    ] = None


class EditionOptions(ModelOptions, frozen=True):
    """What analyses of models under an edition share."""

    edition: Edition = None


def written_day(text: str) -> datetime.date:
    """The day that a text names as YYYY-MM-DD.

    Raises:
        UsageError: it is not such a day.
    """
    try:
        day = datetime.date.fromisoformat(text)
    except ValueError:
        day = None
    if day is None or str(day) != text:
        raise UsageError(f"invalid date {text!r}, expected YYYY-MM-DD")
    return day


Day = Annotated[
    datetime.date | None,
    Argument("check the deviations as of YYYY-MM-DD (default: today)", metavar="DAY", read=written_day),
]
"""The day on which records of deviations must not have expired."""


class WithDeviations(Protocol):
    """Options of a check that a file of deviations changes."""

    @property
    def deviations(self) -> Path | None:
        """The file."""

    @property
    def date(self) -> datetime.date | None:
        """The day."""


def require_day(options: WithDeviations, of: str) -> None:
    """Read the day where it is a text.

    Args:
        options: under construction.
        of: what the day is of, check or run.

    Raises:
        UsageError: there are deviations without a day, or a day without deviations.
    """
    if isinstance(options.date, str):
        force_setattr(options, "date", written_day(options.date))
    if options.deviations is None and options.date is not None:
        raise UsageError("--date requires --deviations")
    if options.deviations is not None and options.date is None:
        raise UsageError(f"deviations hold until a date: give the date of the {of}")


class ConformanceOptions(EditionOptions, frozen=True, kw_only=True):
    """What a model must conform to, and what justifies that it does not."""

    tailoring: Annotated[Path | None, Argument("a file that makes the edition stricter", metavar="FILE", read=Path)] = (
        None
    )
    deviations: Annotated[Path | None, Argument("a file of justified failures", metavar="FILE", read=Path)] = None
    date: Day = None
    accept_assumptions: Annotated[bool, Argument("exit 0 if only assumptions on run-time values are open")] = False
    strict_versions: StrictVersions = False
    box: Annotated[
        Collection[str],
        Argument(
            "the range of an input, as for sonnx bound --box: an assumption that follows from it passes",
            metavar="NAME=BOX",
        ),
    ] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        require_day(self, "check")

    def request(self) -> "CheckRequest":
        """The check of a model, with the tailoring as it is read now.

        Raises:
            UsageError: options that cannot be met, or a malformed tailoring.
        """
        from sonnx.checker.request import CheckRequest  # commands that check no model do not load the rules

        own = None
        if self.tailoring is not None:
            from sonnx.checker import tailoring  # most checks have none

            own = tailoring.read(self.tailoring)
        select, ignore = self.selection
        return CheckRequest(
            self.edition,
            dict(self.bind),
            dict(self.input_shapes),
            select,
            ignore,
            self.strict_versions,
            own,
            self.limits,
        )

    @property
    def selection(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The rules that are selected, and those that are ignored: every rule is checked."""
        return (), ()


def _rules(option: str) -> Callable[[Sequence[str]], tuple[str, ...]]:
    def collect(texts: Sequence[str]) -> tuple[str, ...]:
        """The names; texts without one are refused, as an unset variable of a shell is."""
        rules = names(texts)
        if texts and not rules:
            raise UsageError(f"{option} names no rule; leave it out to check every rule")
        return rules

    return collect


class CheckOptions(ConformanceOptions, frozen=True, kw_only=True):
    """What is checked."""

    select: Annotated[
        Collection[str],
        Argument(
            "check only the rules with these slugs, tags or operators, comma-separated",
            metavar="RULE",
            collect=_rules("--select"),
        ),
    ] = ()
    ignore: Annotated[
        Collection[str],
        Argument(
            "check all but the rules with these slugs, tags or operators, comma-separated",
            metavar="RULE",
            collect=_rules("--ignore"),
        ),
    ] = ()
    hashed: Annotated[bool, WHAT_IS_SHOWN] = True
    """Read the whole file once, check these bytes and state their SHA-256; implied by deviations and a box."""
    drawn: Annotated[bool, WHAT_IS_SHOWN] = False
    """The page of the report draws the graph."""
    baseline: Annotated[
        Path | None,
        Argument("a JSON report: the findings that it has are unchanged, others are new", metavar="FILE", read=Path),
        WHAT_IS_SHOWN,
    ] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.deviations is not None and (self.select or self.ignore):
            raise UsageError("a model with deviations is checked as a whole: leave out the selection of rules")

    @property
    def reads_whole_file(self) -> bool:
        """Whether the bytes are read once, and hashed."""
        return self.hashed or self.deviations is not None or bool(self.box)

    @property
    def selection(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The rules that are selected, and those that are ignored."""
        return tuple(self.select), tuple(self.ignore)


ISOLATING = ("timeout", "memory", "resume", "cluster")
"""The options of a batch that need a child process."""


class BatchOptions(CheckOptions, frozen=True, kw_only=True):
    """What is checked of many models, and where."""

    hashed: Annotated[bool, WHAT_IS_SHOWN] = False
    jobs: Annotated[
        int | None,
        Argument(
            "processes for several models (default: the cores); 0: check in this process",
            metavar="N",
            read=amount("processes", least=0),
        ),
        WHERE_IT_RUNS,
    ] = None
    timeout: Annotated[
        int | None, Argument("time limit for each model", metavar="SECONDS", read=amount("seconds")), WHERE_IT_RUNS
    ] = None
    memory: Annotated[
        int | None, Argument("memory limit for each model", metavar="MB", read=amount("megabytes")), WHERE_IT_RUNS
    ] = None
    resume: Annotated[
        Path | None,
        Argument("keep results in FILE, and take the results it has", metavar="FILE", read=Path),
        WHERE_IT_RUNS,
    ] = None
    cluster: Annotated[
        str | None, Argument("check on the Dask cluster with this scheduler", metavar="ADDRESS"), WHERE_IT_RUNS
    ] = None
    progress: Annotated[Callable[[str], None], WHAT_IS_SHOWN] = lambda _: None
    """Called after each model that a child process checked."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_processes(self, *ISOLATING)

    @property
    def is_isolated(self) -> bool:
        """Whether an option needs a child process."""
        return any(getattr(self, name) is not None for name in ISOLATING)
