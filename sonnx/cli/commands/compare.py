"""`sonnx compare`: its arguments; numpy and the runtime are loaded when a model is compared."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from sonnx.base.errors import UsageError
from sonnx.base.escaping import escape
from sonnx.base.files import deliver
from sonnx.base.progress import Line
from sonnx.checker.report import NotConforming
from sonnx.checker.request import open_model
from sonnx.cli.check_options import amount
from sonnx.cli.commands.run import expected_outputs, given_inputs
from sonnx.executor.comparison import (
    BoundViolation,
    Comparison,
    Source,
    compare_source,
    recorded_runtime,
    source_of,
)
from sonnx.executor.executor import required_inputs
from sonnx.executor.probes import KINDS, probe
from sonnx.executor.runtimes import Runtime, runtime
from sonnx.model.ir import Model
from sonnx.model.symbols import bind, bindings
from sonnx.numerics.formats import Array
from sonnx.report import comparison as report
from sonnx.report.formats import HASHED, OWN, RESULTS, render, render_result

if TYPE_CHECKING:
    from sonnx.bounds.tolerance import BoundTolerance

HELP = "compare a runtime with the exact values"

MOST = 2**64
"""No two numbers of a format are more steps apart."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    add = parser.add_argument
    add("model", metavar="MODEL", help="a model file")
    add(
        "--runtime",
        default="onnxruntime",
        metavar="NAME",
        help="onnxruntime (default), or reference, that of the onnx package",
    )
    add("--outputs", type=Path, default=None, metavar="DIR",
        help="the outputs another runtime gave for the inputs, as output_*.pb, instead of running one")  # fmt: skip
    add("--input", action="append", default=[], metavar="NAME=FILE",
        help="an input from a .npy, .npz or .pb file; FILE.npz alone gives every input it names")  # fmt: skip
    add("--test-data", type=Path, default=None, metavar="DIR", help="a folder with input_*.pb")
    add("--random", type=amount("runs"), default=None, metavar="N", help="N generated runs (default 4, without inputs)")
    add("--seed", type=int, default=0, metavar="S", help="where generated inputs start (default 0)")
    add("--bind", action="append", default=[], metavar="N=1,H=224", help="numbers for symbolic dimensions")
    add("--every-node", action="store_true", help="every node too: on equal inputs, and accumulated")
    add("--max-ulp", type=amount("steps", least=0, largest=MOST), default=None, metavar="K",
        help="exit 1 where a value is more than K ulp away")  # fmt: skip
    add("--bound", nargs="?", const="onnxruntime-cpu", default=None, metavar="HYPOTHESES",
        help="exit 1 where a value is outside the bound under hypotheses (default onnxruntime-cpu)")  # fmt: skip
    add("--no-special-mismatch", action="store_true", help="exit 1 where NaN, an infinity or a zero's sign differs")
    add("--edition", default=None, help="the edition the model must conform to")
    add("--unchecked", action="store_true", help="compare a model that does not conform")
    add("--format", choices=(*OWN, *RESULTS), default="text", help="the format of the report")
    add("--output", type=Path, default=None, metavar="FILE", help="write the report to a file")
    parser.set_defaults(command=compare_command)


def compare_command(options: argparse.Namespace) -> int:
    """Run the command.

    Raises:
        Unreadable: the model or a file cannot be read.
        Misuse: an unknown edition, symbol or runtime, or options that contradict each other.
    """
    return compare_files(options)


# ------------------------------------------------------------------
# A comparison from files: the model and inputs read, the report written, the exit code.


BROKEN = 1
RUNS = 4


def compare_files(options: argparse.Namespace) -> int:
    """Run the command; 0, 1 for a model without values or a broken bound, 2 for bad input.

    Of a model that does not conform the report of the check stands in the place of the comparison.
    """
    numbers = bindings(options.bind)
    model, digest = open_model(options.model, options.format in HASHED)
    source = source_of(bind(model, numbers) if numbers else model, options.model, changed=bool(numbers))
    runs, said = _runs(source.model, options)
    tolerance = _tolerance(source, options)
    try:
        with Line() as progress:
            found = compare_source(
                source, _runtime(source, options), runs, edition=options.edition, unchecked=options.unchecked,
                every_node=options.every_node, inputs=said, progress=progress,
                tolerance=tolerance,
            )  # fmt: skip
    except NotConforming as stop:
        checked = replace(stop.report, name=options.model, sha256=digest)
        deliver(render(options.format, [checked], {}, stop.exit_code), options.output)
        print(f"sonnx: {escape(str(stop))}; --unchecked compares it all the same", file=sys.stderr)
        return stop.exit_code
    for reason in tolerance.without_bounds if tolerance is not None else ():
        print(f"sonnx: not judged by bounds: {escape(reason)}", file=sys.stderr)
    found = replace(found, sha256=digest)
    broken = [*_unusable(found), *found.violations(options.max_ulp, options.no_special_mismatch)]
    code = BROKEN if broken else 0
    deliver(_document(options, found, broken, code), options.output)
    return code


def _document(options: argparse.Namespace, found: Comparison, broken: Sequence[BoundViolation], code: int) -> str:
    if options.format in report.FORMATS:
        return report.render(options.format, found, [each.sentence for each in broken])
    from sonnx.report.comparison_result import of_comparison  # most comparisons are read as text

    return render_result(options.format, of_comparison(found, broken, code, options.model))


def _tolerance(source: Source, options: argparse.Namespace) -> BoundTolerance | None:
    if options.bound is None:
        return None
    from sonnx.bounds.tolerance import BoundTolerance  # most comparisons have none
    from sonnx.enclosures.hypotheses import hypotheses

    made = hypotheses(options.bound)
    return BoundTolerance(source.model, made, source.folder, options.edition, every_node=options.every_node)


def _unusable(found: Comparison) -> list[BoundViolation]:
    """A comparison that compared nothing is no success."""
    if found.runs and any(row.distance is not None for row in found.rows):
        return []
    reasons = [*found.skipped, *(failure for row in found.rows for failure in row.failures)]
    return [BoundViolation(f"nothing was compared: {reasons[0] if reasons else 'the model has no values'}")]


def _runs(model: Model, options: argparse.Namespace) -> tuple[list[Mapping[str, Array]], str]:
    given = given_inputs(model, options.input, options.test_data)
    if given and options.random is not None:
        raise UsageError("--random generates inputs; it does not go with --input or --test-data")
    wanted = required_inputs(model)
    if given or not wanted:
        return [given], "from files" if given else "none asked for"
    if options.outputs is not None:
        raise UsageError("--outputs needs the inputs they were computed from: --input or --test-data")
    number = options.random or RUNS
    kinds = ", ".join(KINDS[: min(number, len(KINDS))])
    return [
        probe(wanted, options.seed, each) for each in range(number)
    ], f"generated from seed {options.seed} ({kinds})"


def _runtime(source: Source, options: argparse.Namespace) -> Runtime:
    if options.outputs is None:
        return runtime(options.runtime)
    if options.every_node:
        raise UsageError("--every-node runs single nodes; it does not go with --outputs")
    title = f"outputs in {Path(options.outputs).name or options.outputs}"
    return recorded_runtime(expected_outputs(source.model, options.outputs), title)
