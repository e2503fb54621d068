"""`sonnx run`: compute the exact values of a model."""

from __future__ import annotations

import argparse
from pathlib import Path

from sonnx.base.errors import UsageError
from sonnx.base.progress import Progress
from sonnx.base.threads import MAX_THREADS, set_threads
from sonnx.cli.arguments import amount_argument
from sonnx.cli.budget import add_budget_arguments, within_budget
from sonnx.cli.options import add_options, keywords_of
from sonnx.cli.reports import add_format_argument, deliver_report, outputs_named
from sonnx.executor.options import ExecutionOptions


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    add = parser.add_argument
    add("model", metavar="MODEL", help="a model file")
    add_options(parser, ExecutionOptions)
    add("--random", action="store_true", help="generate the inputs that are not given")
    add("-o", "--output", dest="folder", type=Path, metavar="DIR", help="write the values to files in this folder")
    add("--values", choices=("npz", "pb"), default="npz", help="outputs.npz (default), or output_0.pb, output_1.pb, …")
    add_format_argument(parser)
    add("--jobs", type=amount_argument("threads", largest=MAX_THREADS), metavar="N",
        help="threads for matrix products (default 1); the values do not depend on it")  # fmt: skip
    add_budget_arguments(parser)
    parser.set_defaults(command=run_command)


@within_budget("run", "runs")
def run_command(parsed: argparse.Namespace) -> int:
    """Run and print: 0; 1 if the model has no values or they differ from the expected ones; 2 for bad input."""
    if parsed.jobs is not None:
        set_threads(parsed.jobs)
    if parsed.seed is not None and not parsed.random:
        raise UsageError("--seed requires --random")
    outputs = outputs_named(parsed.format, None, parsed.model)
    from sonnx.api.runs import run  # loads numpy, which reads the number of threads

    options = keywords_of(ExecutionOptions, parsed) | {"seed": (parsed.seed or 0) if parsed.random else None}
    with Progress(f"running {parsed.model}", quiet=parsed.quiet) as progress:
        report = run(parsed.model, **options, progress=progress)
    if parsed.folder is not None:
        report = report.written_to(parsed.folder, parsed.values)
    deliver_report(report, outputs)
    return report.exit_code
