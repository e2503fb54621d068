"""`sonnx check`: check models and print the report."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from sonnx.api.checks import check_models, facts_of, is_isolated
from sonnx.base.errors import UsageError
from sonnx.base.escaping import escape, quote
from sonnx.base.files import deliver
from sonnx.base.reported import json_text
from sonnx.checker.options import BatchOptions
from sonnx.cli.arguments import with_date
from sonnx.cli.check_reports import add_report_options, deliver_reports, outputs_of, require_effect, require_other_file
from sonnx.cli.options import add_options, keywords_of
from sonnx.cli.project_table import project_options
from sonnx.model.files import models_of
from sonnx.report.check_run import CheckRun
from sonnx.report.formats import DRAWN, HASHED

HELP = "check models"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    add = parser.add_argument
    add("models", nargs="+", metavar="MODEL", help="a model file, a folder or a pattern; - is standard input")
    add_options(parser, BatchOptions)
    add("--fix", action="store_true",
        help="rewrite each model into MODEL.fixed.onnx and print what was done and what is left")  # fmt: skip
    add_report_options(parser)
    parser.set_defaults(command=check_command)


def check_command(parsed: argparse.Namespace) -> int:
    """Check, print, and return the exit code; for several files the worst, in the order 4, 2, 1, 3, 0."""
    project, values = project_options(), with_date(keywords_of(BatchOptions, parsed))
    values["edition"] = project.table.edition if parsed.edition is None else parsed.edition
    if parsed.fix:
        from sonnx.cli.check_and_fix import check_and_fix  # most checks rewrite nothing

        return check_and_fix(parsed, values, project)
    require_effect(parsed)
    values["tailoring"] = values["tailoring"] or project.table.tailoring
    values["ignore"] += tuple(ignored.rule for ignored in project.table.ignore)
    outputs = outputs_of(parsed)
    formats = {name for name, _ in outputs}
    values |= {"hashed": bool(formats & HASHED) or parsed.facts is not None, "drawn": bool(formats & DRAWN)}
    for file in (*(file for _, file in outputs), parsed.facts):
        require_other_file(file, models_of(parsed.models))
    if parsed.facts is not None:
        _require_one_model(parsed, BatchOptions(**values), outputs)
    with _status(is_isolated(parsed.models, BatchOptions(**values))) as line:
        results = check_models(parsed.models, **values, progress=line)
    for sentence in results.sentences() if "text" in formats else ():
        print(f"sonnx: {escape(sentence)}", file=sys.stderr)
    if parsed.facts is not None and results.reports:
        _write_facts(parsed, BatchOptions(**values), results.reports[0].sha256)
    results.reports = project.stated(results.reports)
    code = results.exit_code(parsed.accept_assumptions)
    run = CheckRun(results.reports, results.without_report, code, parsed.accept_assumptions, parsed.docs)
    deliver_reports(run, outputs, parsed)
    if results.interrupted:
        raise KeyboardInterrupt
    return code


def _require_one_model(
    parsed: argparse.Namespace, options: BatchOptions, outputs: Sequence[tuple[str, Path | None]]
) -> None:
    """Refuse --facts where it has no single model, or the file of another output."""
    if len(parsed.models) != 1 or parsed.models[0] == "-" or is_isolated(parsed.models, options):
        raise UsageError("--facts is about one model file, checked without limits of time and memory")
    if parsed.facts.resolve() in {file.resolve() for _, file in outputs if file is not None}:
        raise UsageError(f"--facts and --format write to {quote(str(parsed.facts))}; name a file for each")


def _write_facts(parsed: argparse.Namespace, options: BatchOptions, digest: str) -> None:
    """Write the facts of the model that was checked."""
    [name] = parsed.models
    document = facts_of(name, options, name)
    if document.sha256 != digest:
        raise UsageError(f"{quote(name)} changed while it was checked")
    deliver(json_text(document), parsed.facts)


def _status(shown: bool) -> AbstractContextManager[Callable[[str], None]]:
    """The line of progress of several models."""
    if not shown:
        return nullcontext(lambda _: None)
    from sonnx.base.progress import StatusLine  # a check in this process needs no threads

    return StatusLine()
