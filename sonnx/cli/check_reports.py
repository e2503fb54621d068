"""The reports of `sonnx check`: which formats go where, which options shape them, and writing them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from sonnx.api.checks import is_isolated
from sonnx.base.errors import UsageError
from sonnx.base.escaping import quote
from sonnx.base.files import deliver, require_empty, say_written, write_folder
from sonnx.base.resources import published_rules
from sonnx.checker.options import BatchOptions
from sonnx.cli.reports import ReportOutput, add_report_arguments, outputs_of, require_writable
from sonnx.report.check import render
from sonnx.report.check_run import CheckRun
from sonnx.report.formats import FORMATS, LINKED

COLOURS = ("auto", "always", "never")
BREVITY = ("full", "statistics")
"""Options that shape the text for a terminal; --quiet also silences the progress."""


def add_report_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the reports."""
    add = parser.add_argument
    add_report_arguments(parser, FORMATS)
    brevity = parser.add_mutually_exclusive_group()
    brevity.add_argument("--full", action="store_true", help="print the whole report of each of several models")
    brevity.add_argument("-q", "--quiet", action="store_true", help="print one line for each model, and no progress")
    brevity.add_argument("--statistics", action="store_true", help="print the rules with findings and their numbers")
    add("--color", choices=COLOURS, default="auto", help="colours on a terminal (default auto; NO_COLOR is respected)")
    add("--pages", type=Path, metavar="DIR", help="write an HTML index and a page for each model to this new folder")
    add("--facts", type=Path, metavar="FILE",
        help="write the facts of each call and its verdicts as JSON, for the checker extracted from Coq")  # fmt: skip
    add("--docs", default="", metavar="URL",
        help="link the pages of the rules on a site that make docs built (text, sarif, html)")  # fmt: skip


def require_report_effect(options: argparse.Namespace) -> None:
    """Refuse options that would have no effect."""
    formats = {each.partition("=")[0] for each in options.format or ["text"]}
    brief = [name for name in (*BREVITY, *(["color"] if options.color != "auto" else [])) if getattr(options, name)]
    if brief and ("text" not in formats or options.pages is not None):
        raise UsageError(
            f"--{brief[0]} shapes the text format and has no effect on the others; leave one of the two out"
        )
    if options.docs and not formats & LINKED and options.pages is None:
        raise UsageError(f"--docs links pages in {', '.join(sorted(LINKED))}, not in {', '.join(sorted(formats))}")
    if options.docs and not options.docs.startswith(("https://", "http://", "file://")):
        raise UsageError("--docs takes the address of a site: https://…, http://… or file://…")
    if options.pages is not None and (
        formats - {"text", "html"} or "=" in "".join(options.format or ()) or options.output
    ):
        raise UsageError("--pages excludes --format and --output")


def check_outputs(parsed: argparse.Namespace, files: Sequence[str]) -> list[ReportOutput]:
    """The reports of these model files that the arguments ask for; a page for --pages, whose folder is empty.

    Raises:
        UsageError: options that exclude each other, two outputs with one place, or an output that is one of the models.
        OSError: a folder does not exist.
    """
    if parsed.facts is not None:
        require_writable(parsed.facts, files)
    if parsed.pages is not None:
        require_empty(parsed.pages, "page of an older run")
        return [ReportOutput("html", None)]
    return outputs_of(parsed, *files)


def require_facts(
    parsed: argparse.Namespace, files: Sequence[str], options: BatchOptions, outputs: Sequence[ReportOutput]
) -> None:
    """Refuse --facts where it has no single model, or the file of another output."""
    if len(parsed.models) != 1 or parsed.models[0] == "-" or is_isolated(parsed.models, files, options):
        raise UsageError("--facts is about one model file, checked without limits of time and memory")
    if parsed.facts.resolve() in {file.resolve() for _, file in outputs if file is not None}:
        raise UsageError(f"--facts and --format write to {quote(str(parsed.facts))}; name a file for each")


def deliver_reports(run: CheckRun, outputs: Sequence[ReportOutput], options: argparse.Namespace) -> None:
    """Print the reports, or write them to their files."""
    if options.pages is not None:
        from sonnx.report.html import render_folder  # few runs write pages

        write_folder(options.pages, {name: text.encode("ascii") for name, text in render_folder(run).items()})
        say_written(options.pages)
        return
    for name, file in outputs:
        deliver(_rendered(name, options, run, file), file)


def _rendered(name: str, options: argparse.Namespace, run: CheckRun, file: Path | None) -> str:
    if name == "sarif" and not run.docs:
        return render(name, replace(run, docs=published_rules()))
    if name != "text":
        return render(name, run)
    from sonnx.report import check_text
    from sonnx.report.terminal import Style, terminal_style

    style = Style(docs=options.docs) if file is not None else terminal_style(options.color, options.docs)
    if options.statistics:
        return check_text.statistics(run.reports, style)
    if options.quiet:
        return "".join(f"{check_text.brief(report, style)}\n" for report in run.reports)
    if options.full:
        return check_text.render_full(run, style)
    return check_text.render_in(style, run)
