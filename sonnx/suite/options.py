"""The options of suites; neither the solver nor numpy is loaded for them."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

from sonnx.base.budget import RuntimeLimits
from sonnx.base.options import WHAT_IS_SHOWN, WHERE_IT_RUNS, Argument, Options, amount
from sonnx.checker.options import Day, Edition, require_day
from sonnx.numerics.enclosures.options import DEFAULT_HYPOTHESES, HypothesesName

LIMITS = RuntimeLimits()
HARNESSES = ("c",)
"""The languages of harnesses."""


class MakeOptions(Options, frozen=True, kw_only=True):
    """The operators, edition and hypotheses that a suite is made for."""

    operator: Annotated[
        tuple[str, ...], Argument("an operator; may be repeated (default: all of the edition)", metavar="NAME")
    ] = ()
    edition: Edition = None
    hypotheses: HypothesesName = DEFAULT_HYPOTHESES
    every_version: Annotated[bool, Argument("every admitted version, not only the newest one")] = False
    pairs: Annotated[bool, Argument("cover every pair of classes, not only every class")] = False
    models: Annotated[
        int,
        Argument("also N random networks, and sequences that compilers fuse", metavar="N", read=amount("networks")),
    ] = 0
    seed: Annotated[int, Argument("the seed of networks (default 0)", metavar="S", read=int)] = 0
    harness: Annotated[
        str | None,
        Argument(
            "also write the cases for a target without Python: c, with a harness in C99 that calls your kernels",
            metavar="LANGUAGE",
            choices=lambda: HARNESSES,
        ),
        WHAT_IS_SHOWN,
    ] = None
    jobs: Annotated[
        int, Argument("operators at a time (default 1)", metavar="N", read=amount("operators")), WHERE_IT_RUNS
    ] = 1
    resume: Annotated[
        bool, Argument("continue in a folder where an interrupted run left some operators to be made"), WHERE_IT_RUNS
    ] = False
    progress: Annotated[Callable[[str], None], WHAT_IS_SHOWN] = lambda _: None
    """Called before each version of an operator; with several jobs, after each operator."""


class JudgeOptions(Options, frozen=True, kw_only=True):
    """Which cases have to pass, and which deviations are known."""

    must_pass: Annotated[
        Path | None,
        Argument("only the cases that FILE lists; a refusal of one deviates", metavar="FILE", read=Path),
    ] = None
    deviations: Annotated[Path | None, Argument("a file of known deviations", metavar="FILE", read=Path)] = None
    date: Day = None

    def __post_init__(self) -> None:
        super().__post_init__()
        require_day(self, "run")


class RunOptions(JudgeOptions, frozen=True, kw_only=True):
    """The implementation that a suite is run on, and its limits."""

    runtime: Annotated[
        str,
        Argument(
            "onnxruntime (default), reference, openvino, tract, iree, emx-onnx-cgen; or MODULE:CLASS, an adapter",
            metavar="NAME",
        ),
    ] = "onnxruntime"
    program: Annotated[
        str | None,
        Argument(
            name="command",
            help="a program instead of a runtime: it reads {model} and input_N.pb in {inputs}, and writes "
            "output_N.pb to {outputs}",
            metavar="'PROGRAM {model} {inputs} {outputs}'",
        ),
    ] = None
    operator: Annotated[tuple[str, ...], Argument("an operator; may be repeated (default: all)", metavar="NAME")] = ()
    timeout: Annotated[int, Argument("seconds for one data set", metavar="SECONDS", read=amount("seconds"))] = (
        LIMITS.seconds
    )
    memory: Annotated[int, Argument("megabytes for the runtime", metavar="MB", read=amount("megabytes"))] = (
        LIMITS.megabytes
    )
    jobs: Annotated[
        int, Argument("operators at a time (default 1)", metavar="N", read=amount("operators")), WHERE_IT_RUNS
    ] = 1
    resume: Annotated[
        Path | None,
        Argument("keep results in FILE, and take the results it has", metavar="FILE", read=Path),
        WHERE_IT_RUNS,
    ] = None
    fresh: Annotated[bool, Argument("in the second run, a new process for every case")] = False
    progress: Annotated[Callable[[str], None], WHAT_IS_SHOWN] = lambda _: None
    """Called after each operator."""
