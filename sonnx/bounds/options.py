"""Options of bounds; numpy is not loaded for them."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from sonnx.base.errors import UsageError
from sonnx.base.options import WHAT_IS_SHOWN, WHERE_IT_RUNS, Argument, amount, positive
from sonnx.checker.options import Edition, ModelOptions, Unchecked
from sonnx.numerics.enclosures.options import DEFAULT_HYPOTHESES, known_hypotheses

DIFFERENCE = re.compile(r"(\d{1,9})-(\d{1,9})")


def _pairs(texts: Sequence[str]) -> tuple[tuple[int, int], ...]:
    """The numbers of elements in arguments of `--difference`.

    Raises:
        UsageError: an argument has another form.
    """
    matches = [DIFFERENCE.fullmatch(text) for text in texts]
    wrong = next((text for text, match in zip(texts, matches, strict=True) if match is None), None)
    if wrong is not None:
        raise UsageError(f"--difference takes I-J, two numbers of elements, not {wrong!r}")
    return tuple((int(match[1]), int(match[2])) for match in matches if match is not None)


class BoundsOptions(ModelOptions, frozen=True):
    """The box on which a model is bounded, what is asked, and how the box is halved."""

    box: Annotated[
        Mapping[str, Any] | Collection[str],
        Argument(
            "the range of an input: [LOW,HIGH], FILE.npy, LOW.npy:HIGH.npy or FILE.npy+-RADIUS",
            metavar="NAME=BOX",
        ),
    ] = ()
    """Also by the names of inputs an array (a point) or a pair of arrays (the lower and upper ends of intervals)."""
    hypotheses: Annotated[Any, Argument("about the implementation", metavar="NAME", known=known_hypotheses)] = (
        DEFAULT_HYPOTHESES
    )
    """A predefined name, a TOML file, or `Hypotheses`."""
    edition: Edition = None
    differences: Annotated[
        Sequence[tuple[int, int]],
        Argument(
            "is the order of the elements I and J of the first output the same in every implementation?",
            metavar="I-J",
            name="difference",
            collect=_pairs,
        ),
    ] = ()
    argmax: Annotated[bool, Argument("is the largest element of the first output the same?")] = False
    max_error: Annotated[
        float | None, Argument("exit 3 unless the output's error is at most E", metavar="E", read=positive)
    ] = None
    split: Annotated[
        float | None,
        Argument("halve the box for so long, until all is shown", metavar="SECONDS", read=positive),
    ] = None
    jobs: Annotated[
        int, Argument("processes that halve the box (default 1)", metavar="N", read=amount("processes")), WHERE_IT_RUNS
    ] = 1
    cluster: Annotated[
        str | None, Argument("halve it on the Dask cluster with this scheduler", metavar="ADDRESS"), WHERE_IT_RUNS
    ] = None
    resume: Annotated[
        Path | None,
        Argument("keep the parts of the box in FILE, and go on from those it has", metavar="FILE", read=Path),
        WHERE_IT_RUNS,
    ] = None
    unchecked: Unchecked = False
    progress: Annotated[Callable[[str], None] | None, WHAT_IS_SHOWN] = None
    """Called with a short text while the box is halved."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.cluster is not None and (self.jobs != 1 or self.split is None):
            raise UsageError("--cluster requires --split and excludes --jobs")
