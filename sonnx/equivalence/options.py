"""Options of comparisons of two models; numpy is not loaded for them."""

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Annotated

from sonnx.base.errors import UsageError
from sonnx.base.escaping import quote
from sonnx.base.options import HOW_IT_IS_CALLED, WHAT_IS_SHOWN, Argument, amount, positive
from sonnx.checker.options import EditionOptions
from sonnx.numerics.enclosures.options import DEFAULT_HYPOTHESES, HypothesesName


def _renamed(texts: Iterable[str]) -> dict[str, str]:
    """The names in arguments of `--map`, OLD=NEW.

    Raises:
        UsageError: an argument has another form, or a name is given twice.
    """
    names: dict[str, str] = {}
    for item in (item for text in texts for item in text.split(",") if item):
        old, equals, new = item.partition("=")
        if not equals or not old or not new:
            raise UsageError(f"--map takes OLD=NEW, not {quote(item)}")
        if names.setdefault(old, new) != new:
            raise UsageError(f"--map gives {quote(old)} two names")
    return names


class PairOptions(EditionOptions, frozen=True, kw_only=True):
    """How two models are compared."""

    renamed: Annotated[
        Mapping[str, str],
        Argument("pairs inputs and outputs with other names", "OLD=NEW", name="map", collect=_renamed),
    ] = {}
    runs: Annotated[
        int,
        Argument(
            "generated sets of inputs on which undecided models run (default 8)",
            metavar="N",
            name="random",
            read=amount("sets of inputs", least=0),
        ),
    ] = 8
    seed: int = 0
    """The seed of these inputs."""
    names: Annotated[tuple[str, str] | None, HOW_IT_IS_CALLED] = None
    """What the result calls the models; the names of the files if None."""
    drawn: Annotated[bool, WHAT_IS_SHOWN] = False
    """The page of the result draws both graphs."""


class DiffOptions(PairOptions, frozen=True, kw_only=True):
    """What is shown of the changes between two models."""


class EquivalenceOptions(PairOptions, frozen=True, kw_only=True):
    """What is decided about two models."""

    input: Annotated[
        Collection[str],
        Argument("the answer is for this number of an input, in both models; again for others", "NAME=NUMBER"),
    ] = ()
    identical: Annotated[bool, Argument("exit 1 unless the exact values are equal bit for bit")] = False
    box: Annotated[
        Collection[str],
        Argument("the range of an input: bounds the difference of two implementations", "NAME=[LOW,HIGH]"),
    ] = ()
    sizes_as_given: Annotated[
        bool, Argument("exit 0 also where the answer holds for the sizes only that the tool chose for open ones")
    ] = False
    narrowings_as_listed: Annotated[
        bool, Argument("exit 0 also where the models are equal but for narrowings to fewer digits, which are listed")
    ] = False
    max_difference: Annotated[
        float | None,
        Argument(
            "with --box: exit 1 if outputs equal up to rounding may differ by more than X, 3 if that is not known",
            metavar="X",
            read=positive,
        ),
    ] = None
    hypotheses: HypothesesName = DEFAULT_HYPOTHESES
    witness: Annotated[
        Path | None,
        Argument(
            "a new folder for the input on which the models differ: NAME.npy for each graph input", "DIR", read=Path
        ),
        WHAT_IS_SHOWN,
    ] = None
    """Written by the command."""
    extract: Annotated[
        Path | None,
        Argument(
            "a new folder for the parts of both models that are not shown equal: first.onnx and second.onnx",
            "DIR",
            read=Path,
        ),
        WHAT_IS_SHOWN,
    ] = None
    """Likewise."""
