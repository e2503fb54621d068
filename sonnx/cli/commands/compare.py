"""`sonnx compare`: compare a runtime with the exact values."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sonnx.api import compare
from sonnx.base.budget import RuntimeLimits
from sonnx.base.escaping import escape
from sonnx.base.files import deliver
from sonnx.base.progress import StatusLine
from sonnx.checker.report import NotConforming
from sonnx.cli.arguments import amount, sizes_of
from sonnx.cli.budget import add_value_arguments, not_conforming, within_budget
from sonnx.cli.commands.run import INPUT_HELP
from sonnx.model.limits import parse_limits
from sonnx.report.formats import HASHED, RESULT_FORMATS

HELP = "compare a runtime with the exact values"

LIMITS = RuntimeLimits()
MAX_ULP = 2**64
"""Two numbers of a format are never further apart."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    add = parser.add_argument
    add("model", metavar="MODEL", help="a model file")
    add("--runtime", default="onnxruntime", metavar="NAME",
        help="onnxruntime (default); reference, that of the onnx package; or MODULE:CLASS, an adapter")  # fmt: skip
    add("--outputs", type=Path, metavar="DIR",
        help="a folder with output_*.pb from another runtime, instead of running one")  # fmt: skip
    add("--input", action="append", default=[], metavar="NAME=FILE", help=INPUT_HELP)
    add("--test-data", type=Path, metavar="DIR", help="a folder with input_*.pb")
    add("--random", type=amount("runs"), metavar="N", help="N generated runs with ordinary inputs (default 2)")
    add("--seed", type=int, default=0, metavar="S", help="the seed of generated inputs (default 0)")
    add("--class-runs", type=amount("runs", least=0), metavar="N",
        help="at most N class runs of the model and of each node (default: by their size, at most 256)")  # fmt: skip
    add("--every-node", action="store_true",
        help="compare every node too: on equal inputs, on class inputs, and accumulated")  # fmt: skip
    add("--max-ulp", type=amount("steps", least=0, largest=MAX_ULP), metavar="K",
        help="exit 1 if a value is more than K ulp away")  # fmt: skip
    add("--max-integer-distance", type=amount("steps", least=0, largest=MAX_ULP), default=0, metavar="K",
        help="integers may be K away (default 0)")  # fmt: skip
    add("--optimizations", action="store_true",
        help="compare the graphs that the optimizer of the runtime makes with the model, for all inputs")  # fmt: skip
    add("--bound", nargs="?", const="onnxruntime-cpu", metavar="HYPOTHESES",
        help="exit 1 if a value is outside the bound under hypotheses (default onnxruntime-cpu)")  # fmt: skip
    add(
        "--no-special-mismatch",
        action="store_true",
        help="exit 1 if the sign of a zero differs too, and for differences that are explained",
    )
    add("--runtime-timeout", type=amount("seconds"), default=LIMITS.seconds, metavar="SECONDS",
        help=f"time limit of one call of the runtime (default {LIMITS.seconds})")  # fmt: skip
    add("--runtime-memory", type=amount("megabytes"), default=LIMITS.megabytes, metavar="MB",
        help=f"memory limit of the process of the runtime (default {LIMITS.megabytes})")  # fmt: skip
    add("--format", choices=RESULT_FORMATS, default="text", help="the format of the report")
    add("--output", type=Path, metavar="FILE", help="write the report to a file")
    add_value_arguments(parser, "compare")
    parser.set_defaults(command=compare_command)


@within_budget("compared")
def compare_command(options: argparse.Namespace) -> int:
    """Compare and print: 0; 1 for a model without values or a broken bound; 2 for bad input.

    For a model that does not conform, the report of its check is printed.
    """
    try:
        with StatusLine() as line:
            report = compare(
                options.model, options.runtime, options.edition, input_files=options.input,
                test_data=options.test_data, outputs=options.outputs, runs=options.random, seed=options.seed,
                **sizes_of(options), unchecked=options.unchecked, every_node=options.every_node,
                class_runs=options.class_runs, max_integer_distance=options.max_integer_distance,
                runtime_limits=RuntimeLimits(
                    options.runtime_timeout, min(options.runtime_memory, options.memory or options.runtime_memory)
                ),
                max_ulp=options.max_ulp, no_special_mismatch=options.no_special_mismatch, bound=options.bound,
                optimizations=options.optimizations,
                limits=parse_limits(options.limit), name=options.model, hashed=options.format in HASHED, progress=line,
            )  # fmt: skip
    except NotConforming as stop:
        return not_conforming(stop, "compares", options.format, options.output)
    for reason in report.without_bounds:
        print(f"sonnx: not compared with bounds: {escape(reason)}", file=sys.stderr)
    deliver(report.to_format(options.format), options.output)
    return report.exit_code
