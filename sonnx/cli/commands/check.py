"""`sonnx check`: check models and print the report."""

from __future__ import annotations

import argparse
import sys

from sonnx.api.checks import check_files, facts_document
from sonnx.base.errors import TOOL_FAILED, UsageError
from sonnx.base.escaping import escape
from sonnx.base.files import deliver
from sonnx.base.progress import Progress
from sonnx.base.reported import json_text
from sonnx.checker.checked_calls import CheckedCall
from sonnx.checker.options import BatchOptions
from sonnx.cli.arguments import subject_of, with_date
from sonnx.cli.check_reports import (
    add_report_options,
    check_outputs,
    deliver_reports,
    require_facts,
    require_report_effect,
)  # fmt: skip
from sonnx.cli.forecasts import announced_forecast
from sonnx.cli.next_commands import next_command
from sonnx.cli.options import add_options, keywords_of
from sonnx.cli.project_table import project_options
from sonnx.cli.reports import has_format
from sonnx.model.files import models_of
from sonnx.report.check_run import CheckRun
from sonnx.report.formats import DRAWN, HASHED


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    add = parser.add_argument
    add("models", nargs="+", metavar="MODEL", help="a model file, a folder or a pattern; - is standard input")
    add_options(parser, BatchOptions)
    add("--new-only", action="store_true",
        help="with --baseline: print new findings only, and exit by these only")  # fmt: skip
    add("--fix", action="store_true",
        help="rewrite each model into MODEL.fixed.onnx; prints what was done and what is left")  # fmt: skip
    add("--verified", action="store_true",
        help="also run the program that make verified builds from the specification; exit 4 if it differs")  # fmt: skip
    add_report_options(parser)
    parser.set_defaults(command=check_command)


def check_command(parsed: argparse.Namespace) -> int:
    """Check, print, and return the exit code; for several files the worst, in the order 4, 2, 1, 3, 0."""
    project, values = project_options(), with_date(keywords_of(BatchOptions, parsed))
    values["edition"] = project.table.edition if parsed.edition is None else parsed.edition
    values["tailoring"] = values["tailoring"] or project.table.tailoring
    values["ignore"] += tuple(ignored.rule for ignored in project.table.ignore)
    if parsed.fix:
        from sonnx.cli.check_and_fix import check_and_fix  # most checks rewrite nothing

        return check_and_fix(parsed, values, project)
    if parsed.new_only and parsed.baseline is None:
        raise UsageError("--new-only requires --baseline, which names an earlier report")
    require_report_effect(parsed)
    files = models_of(parsed.models)
    comparison = None
    if parsed.verified:
        from sonnx.cli.verified_check import comparison_with_program  # most checks run no other program

        comparison = comparison_with_program(parsed, files, values)
    outputs = check_outputs(parsed, files)
    values |= {"hashed": has_format(outputs, HASHED) or parsed.facts is not None, "drawn": has_format(outputs, DRAWN)}
    calls = None if parsed.facts is None else list[CheckedCall]()
    with Progress(f"checking {subject_of(parsed.models)}", quiet=parsed.quiet) as progress:
        options = BatchOptions(**values, progress=progress)
        if calls is not None:
            require_facts(parsed, files, options, outputs)
        results = check_files(parsed.models, files, options, calls)
    about_program, differs = ([], False) if comparison is None else comparison.sentences(results)
    for sentence in results.sentences() if has_format(outputs, {"text"}) else ():
        more = next_command(sentence, ["check", *parsed.models]) if len(files) == 1 else ""
        print(f"sonnx: {escape(sentence + more)}", file=sys.stderr)
    for sentence in about_program:
        print(f"sonnx: {sentence}", file=sys.stderr)
    if calls is not None and results.reports:
        deliver(json_text(facts_document(results.reports[0], calls)), parsed.facts)
    results.reports = project.stated(results.reports)
    code = TOOL_FAILED if differs else results.exit_code(parsed.accept_assumptions, parsed.new_only)
    whole = has_format(outputs, {"text"}) and not (parsed.quiet or parsed.statistics)
    forecast = announced_forecast(results.reports, files[0]) if whole and len(files) == 1 else None
    run = CheckRun(
        results.reports, results.without_report, code, parsed.accept_assumptions, parsed.new_only, parsed.docs, forecast
    )
    deliver_reports(run, outputs, parsed)
    if results.interrupted:
        raise KeyboardInterrupt
    return code
