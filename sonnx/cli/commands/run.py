"""`sonnx run`: compute the exact values of a model."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sonnx.base.errors import UsageError
from sonnx.base.progress import StatusLine
from sonnx.base.threads import MAX_THREADS, set_threads
from sonnx.checker.report import NotConforming
from sonnx.cli.arguments import amount
from sonnx.cli.budget import add_budget_arguments, not_conforming, within_budget
from sonnx.cli.options import add_options, keywords_of
from sonnx.executor.options import ExecutionOptions

QUIET_SECONDS = 1.0
"""Before progress is shown."""

HELP = "compute the exact values of a model"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    add = parser.add_argument
    add("model", metavar="MODEL", help="a model file")
    add_options(parser, ExecutionOptions)
    add("--random", action="store_true", help="generate the inputs that are not given")
    add("-o", "--output", type=Path, metavar="DIR", help="write the values to files in this folder")
    add("-f", "--format", choices=("npz", "pb"), default="npz", help="outputs.npz, or output_0.pb, output_1.pb, …")
    add("--report", choices=("text", "json"), default="text", help="the format of what is printed")
    add("--jobs", type=amount("threads", largest=MAX_THREADS), metavar="N",
        help="threads for matrix products (default: numpy decides); the values do not depend on it")  # fmt: skip
    add_budget_arguments(parser)
    parser.set_defaults(command=run_command)


@within_budget("run")
def run_command(options: argparse.Namespace) -> int:
    """Run and print: 0; 1 if the model has no values or they differ from the expected ones; 2 for bad input."""
    if options.jobs is not None:
        set_threads(options.jobs)
    from sonnx.api.runs import run  # loads numpy, which reads the number of threads

    try:
        with StatusLine(QUIET_SECONDS) as line:
            chosen = keywords_of(ExecutionOptions, options) | {"seed": _seed(options)}
            report = run(options.model, **chosen, progress=line if line.enabled else None)
    except NotConforming as stop:
        return not_conforming(stop, "runs", options.report)
    written: list[str] = []
    if options.output is not None:
        written = [str(options.output / file) for file in report.write(options.output, options.format)]
    sys.stdout.write(report.to_json(written) if options.report == "json" else report.to_text(written))
    return report.exit_code


def _seed(options: argparse.Namespace) -> int | None:
    """The seed of generated inputs, None for none."""
    if options.seed is not None and not options.random:
        raise UsageError("--seed is that of --random: add it, or leave the seed out")
    return (options.seed or 0) if options.random else None
