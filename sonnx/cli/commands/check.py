"""`sonnx check`: its arguments, and what it prints."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from sonnx.api import WHOLE
from sonnx.base.errors import EXIT_CODES, UsageError
from sonnx.base.escaping import escape
from sonnx.base.files import deliver
from sonnx.checker.report import BatchResult, Unjudged
from sonnx.checker.request import CheckRequest, check_model, open_model
from sonnx.cli import check_options
from sonnx.cli.check_options import amount
from sonnx.cli.model_paths import STANDARD_INPUT, is_one, models_of
from sonnx.model.reader import Unreadable
from sonnx.report.formats import DRAWN, FORMATS, HASHED, render

HELP = "judge models"
DESCRIPTION = f"Judge models. Exit code: {'; '.join(f'{code} {meaning}' for code, meaning in EXIT_CODES.items())}."

SEVERAL = "a model file, a folder or a pattern; - is standard input"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("models", nargs="+", metavar="MODEL", help=SEVERAL)
    check_options.add_arguments(parser)
    for option, what in (("--select", "only these"), ("--ignore", "without these")):
        parser.add_argument(
            option,
            action="append",
            default=[],
            metavar="RULE",
            help=f"{what} slugs, tags or operators, comma-separated",
        )
    parser.add_argument("--format", choices=tuple(FORMATS), default="text", help="the format of the report")
    parser.add_argument("--output", type=Path, default=None, metavar="FILE", help="write the report to a file")
    add = parser.add_argument
    add("--jobs", type=amount("processes", least=0), default=None, metavar="N",
        help="processes that judge several models (default: the cores); 0: judge in this process")  # fmt: skip
    add("--timeout", type=amount("seconds"), default=None, metavar="SECONDS", help="how long one model may take")
    add("--memory", type=amount("megabytes"), default=None, metavar="MB", help="how much memory one model may take")
    add("--resume", type=Path, default=None, metavar="FILE", help="keep answers in FILE and take those it has")
    add("--cluster", default=None, metavar="ADDRESS", help="judge on the Dask cluster whose scheduler is there")
    parser.set_defaults(command=check_command)


def check_command(options: argparse.Namespace) -> int:
    """Judge, print, and give the exit code: of several files the first of 4, 2, 1, 3, 0 that one of them has.

    Raises:
        Misuse: options that cannot be met.
    """
    select, ignore = check_options.names(options.select), check_options.names(options.ignore)
    if options.deviations is not None and (select or ignore):
        raise UsageError(WHOLE)
    asked, justified = check_options.asked(options, select, ignore), check_options.deviations(options)
    hashed = justified is not None or options.format in HASHED
    models = models_of(options.models)
    if _isolated(options, models):
        from sonnx.cli import many_models as many_options  # processes and threads: a single model needs none

        results = many_options.run(models, options, asked, hashed, options.format in DRAWN)
    else:
        results = _in_this_process(models, asked, hashed, options.format in DRAWN)
    if options.format == "text":
        for sentence in results.sentences():
            print(f"sonnx: {escape(sentence)}", file=sys.stderr)
    if justified is not None:
        from sonnx.checker import deviations  # most runs have none

        results.reports = list(deviations.apply(results.reports, *justified))
    code = results.exit_code(options.accept_assumptions)
    text = render(options.format, results.reports, results.unjudged, code, options.accept_assumptions)
    deliver(text, options.output)
    if results.interrupted:
        raise KeyboardInterrupt
    return code


def _isolated(options: argparse.Namespace, models: Sequence[str]) -> bool:
    """Whether models are judged in child processes: several are, and one where that is asked for."""
    asked = [name for name in ("timeout", "memory", "resume", "cluster") if getattr(options, name) is not None]
    if options.jobs == 0 and asked:
        raise UsageError(f"--{asked[0]} needs a child process, and --jobs 0 asks for none")
    if options.jobs is not None:
        return bool(options.jobs)
    return bool(asked) or len(models) > 1 or not all(map(is_one, options.models))


def _in_this_process(models: Sequence[str], asked: CheckRequest, hashed: bool, drawn: bool) -> BatchResult:
    results = BatchResult()
    for name in models:
        try:
            model, digest = open_model(sys.stdin.buffer.read() if name == "-" else name, hashed, asked.limits)
        except Unreadable as reason:
            results.unjudged[name] = Unjudged(str(reason))
        else:
            results.reports.append(check_model(model, digest, asked, STANDARD_INPUT if name == "-" else name, drawn))
    return results
