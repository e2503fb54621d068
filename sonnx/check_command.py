"""`sonnx check`: its arguments, the files one after the other, and what it prints."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from sonnx import request
from sonnx.api import WHOLE
from sonnx.asked import Asked, judge, opened
from sonnx.files import write_whole
from sonnx.misuse import Misuse
from sonnx.parse import Unreadable
from sonnx.quoting import escape
from sonnx.report.formats import DRAWN, FORMATS, HASHED, render
from sonnx.stops import USAGE, worst
from sonnx.verdict import Report


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("models", nargs="+", metavar="MODEL", help="a model file; - is standard input")
    request.add_arguments(parser)
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
    parser.set_defaults(command=check_command)


def check_command(options: argparse.Namespace) -> int:
    """Judge, print, and give the exit code: of several files the first of 4, 2, 1, 3, 0 that one of them has.

    Raises:
        Misuse: options that cannot be met.
    """
    select, ignore = request.names(options.select), request.names(options.ignore)
    if options.deviations is not None and (select or ignore):
        raise Misuse(WHOLE)
    asked, justified = request.asked(options, select, ignore), request.deviations(options)
    hashed = justified is not None or options.format in HASHED
    reports, unreadable = _judged(options, asked, hashed)
    if justified is not None:
        from sonnx import deviations  # most runs have none

        reports = list(deviations.apply(reports, *justified))
    code = worst(
        {report.exit_code(options.accept_assumptions) for report in reports} | ({USAGE} if unreadable else set())
    )
    text = render(options.format, reports, unreadable, code, options.accept_assumptions)
    if options.output is None:
        sys.stdout.write(text)
    else:
        write_whole(options.output, text)
    return code


def _judged(options: argparse.Namespace, asked: Asked, hashed: bool) -> tuple[list[Report], dict[str, str]]:
    """The report on each model, and why others cannot be read."""
    reports: list[Report] = []
    unreadable: dict[str, str] = {}
    for name in _with_progress(options.models):
        try:
            source = sys.stdin.buffer.read() if name == "-" else name
            model, digest = opened(source, hashed)
            reports.append(
                judge(model, digest, asked, "standard input" if name == "-" else name, options.format in DRAWN)
            )
        except Unreadable as reason:
            unreadable[name] = str(reason)
            if options.format == "text":
                print(f"sonnx: {escape(str(reason))}", file=sys.stderr)
    return reports, unreadable


def _with_progress(models: Sequence[str]) -> Iterator[str]:
    """The models, with a line on the terminal that says how far the run is."""
    shown = len(models) > 1 and sys.stderr.isatty()
    for number, model in enumerate(models, 1):
        if shown:
            print(f"\r\x1b[K{number}/{len(models)} {escape(model)[:60]}", end="", file=sys.stderr, flush=True)
        yield model
    if shown:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
