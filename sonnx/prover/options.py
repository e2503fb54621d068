"""Options of proofs about models and of theorems; no solver is loaded for them."""

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Annotated

from msgspec import field

from sonnx.base.budget import CommandLimits
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
from sonnx.checker.options import Edition, InputShapes, SizeLimits
from sonnx.model.limits import DEFAULT_LIMITS

SOLVER = "z3"
SOLVERS = (SOLVER, "cvc5", "bitwuzla", "all")


class QuestionOptions(Options, frozen=True, kw_only=True):
    """Which solvers are asked, and what is written of the questions."""

    solver: Annotated[str, Argument("all: z3, and a second solver that confirms it", choices=lambda: SOLVERS)] = SOLVER
    """Only z3 and all prove a model."""
    emit_smt2: Annotated[
        Path | None, Argument("write every query in SMT-LIB to this folder", metavar="DIR", read=Path), WHAT_IS_SHOWN
    ] = None
    proofs: Annotated[
        Path | None,
        Argument("write each query with its proof by cvc5 in the format CPC to this new folder", "DIR", read=Path),
        WHAT_IS_SHOWN,
    ] = None
    timeout: Annotated[
        int | None,
        Argument(
            f"time limit for the model (default {CommandLimits().seconds}), or for each theorem",
            metavar="SECONDS",
            read=amount("seconds"),
        ),
    ] = None
    """In the library that of each theorem and of each proof that is written."""
    jobs: Annotated[
        int | None,
        Argument(
            "processes for theorems and proofs (default: the cores); 0: this process",
            metavar="N",
            read=amount("processes", least=0),
        ),
        WHERE_IT_RUNS,
    ] = None
    progress: Annotated[Callable[[str], None], WHAT_IS_SHOWN] = lambda _: None
    """Called after each theorem and each proof."""


class ProofOptions(QuestionOptions, frozen=True):
    """What is proved about a model."""

    edition: Edition = None
    assume: Annotated[
        Collection[str],
        Argument(
            "conditions on the symbols of the model, of which each is at least 1 unless one of them says otherwise",
            metavar="N>=1,N<=64",
        ),
    ] = ()
    input_shapes: InputShapes = field(default_factory=dict)
    limits: SizeLimits = DEFAULT_LIMITS
    questions: Annotated[bool, WHAT_IS_SHOWN] = False
    """Keep the questions that decide a rule in the report; `emit_smt2` and `proofs` imply it."""
    name: Annotated[str | None, HOW_IT_IS_CALLED] = None
    """What the report calls the model; by default the base name of the file."""
    hashed: Annotated[bool, WHAT_IS_SHOWN] = False
    """Read the whole file once, prove these bytes and state their SHA-256."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.solver not in (SOLVER, "all"):
            raise UsageError(f"a model is proved by {SOLVER}; --solver all confirms it by a second solver")


class TheoremOptions(QuestionOptions, frozen=True, kw_only=True):
    """Which theorems are proved, and where."""

    select: Annotated[Collection[str], Argument("only these theorems or topics", metavar="ID", collect=names)] = ()
    cluster: Annotated[
        str | None, Argument("prove on the Dask cluster with this scheduler", metavar="ADDRESS"), WHERE_IT_RUNS
    ] = None
    cache: Annotated[
        Path | None,
        Argument("where answers of solvers are kept (default: the user's cache)", metavar="DIR", read=Path),
        WHERE_IT_RUNS,
    ] = None
    no_cache: Annotated[bool, Argument("ask every query again and keep no answer")] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        require_processes(self, "timeout", "cluster")
