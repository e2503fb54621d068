"""The options of `sonnx verify`; numpy is not loaded for them."""

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Annotated

from sonnx.base.options import WHAT_IS_SHOWN, WHERE_IT_RUNS, Argument, amount, positive
from sonnx.checker.options import Edition, ModelOptions, Unchecked
from sonnx.numerics.enclosures.options import DEFAULT_HYPOTHESES, HypothesesName


class VerifyOptions(ModelOptions, frozen=True, kw_only=True):
    """What is verified, and how long."""

    robust: Annotated[
        Path | None,
        Argument(
            "instead of a property: the largest output stays the largest around this input", "FILE.npy", read=Path
        ),
    ] = None
    radius: Annotated[float | None, Argument("with --robust: how far around it", "R", read=positive)] = None
    round_inputs: Annotated[
        bool, Argument("an input that the property fixes to a decimal takes the nearest number of its type")
    ] = False
    networks: Annotated[
        Collection[str],
        Argument("the model of another network of a VNN-LIB 2 query", metavar="NAME=FILE", name="network"),
    ] = ()
    hypotheses: HypothesesName = DEFAULT_HYPOTHESES
    search: Annotated[
        float | None,
        Argument("how long parts of the box are analysed (default 60)", metavar="SECONDS", read=positive),
    ] = None
    parts: Annotated[
        int | None,
        Argument(
            "analyse at most N parts of each box: the answer does not depend on the time, unless --search ends it",
            "N",
            read=amount("parts"),
        ),
    ] = None
    jobs: Annotated[
        int | None,
        Argument("processes that analyse the box (default: this one)", "N", read=amount("processes")),
        WHERE_IT_RUNS,
    ] = None
    cluster: Annotated[
        str | None,
        Argument("analyse parts of the box on the Dask cluster with this scheduler", metavar="ADDRESS"),
        WHERE_IT_RUNS,
    ] = None
    resume: Annotated[
        Path | None,
        Argument("keep the parts of the box in FILE, and go on from those it has", "FILE", read=Path),
        WHERE_IT_RUNS,
    ] = None
    witness: Annotated[
        Path | None,
        Argument("write a violating input to NAME.npy files in this new folder", "DIR", read=Path),
        WHAT_IS_SHOWN,
    ] = None
    certificate: Annotated[
        Path | None,
        Argument("write a certificate, which a program without sonnx checks", "FILE", read=Path),
        WHAT_IS_SHOWN,
    ] = None
    results: Annotated[
        Path | None,
        Argument("write sat, unsat, unknown or timeout, with a counterexample", "FILE", read=Path),
        WHAT_IS_SHOWN,
    ] = None
    edition: Edition = None
    unchecked: Unchecked = False
    progress: Annotated[Callable[[str], None] | None, WHAT_IS_SHOWN] = None
    """Called with a short text while boxes are analysed."""
