"""`sonnx suite`: make test suites for implementations, run them, and judge outputs."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from sonnx.base.options import Options
from sonnx.base.progress import Progress
from sonnx.cli.arguments import add_quiet_argument, with_date
from sonnx.cli.budget import add_budget_arguments, within_budget
from sonnx.cli.options import add_options, keywords_of
from sonnx.cli.reports import add_report_arguments, deliver_report, outputs_of
from sonnx.report.formats import RESULT_FORMATS
from sonnx.suite.options import JudgeOptions, MakeOptions, RunOptions

FOLDER = ("DIR", "the folder of the suite")


class Subcommand(NamedTuple):
    """A command of suites."""

    function: str
    """The public function."""
    text: str
    """What it does."""
    subjects: dict[str, tuple[str, str]]
    """The positional arguments."""
    options: type[Options]
    """Its options."""
    has_budget: bool
    """It reads files and ends soon, so that it has the limits of a command; a suite is made from the profile, and a run
    limits each data set."""
    formats: tuple[str, ...] = RESULT_FORMATS
    """The formats of its report."""


OF_A_RUN = (*RESULT_FORMATS, "deviations", "badge")
SUBCOMMANDS = {
    "make": Subcommand("make_suite", "make a suite in a folder", {"folder": FOLDER}, MakeOptions, False),
    "run": Subcommand(
        "run_suite", "run a suite on a runtime or a program", {"folder": FOLDER}, RunOptions, False, OF_A_RUN
    ),
    "report": Subcommand("describe_suite", "say what a suite covers", {"folder": FOLDER}, Options, True),
    "judge": Subcommand("judge_suite", "judge outputs that were made elsewhere",
        {"folder": FOLDER, "outputs": ("OUTPUTS", "CASE/test_data_set_N/output_K.pb, or OPERATOR.outputs")},
        JudgeOptions, True, OF_A_RUN),
    "difference": Subcommand("compare_suite_runs",
        "say what differs between two runs, for example by two versions of a runtime",
        {"older": ("OLDER", "the JSON report of a run"),
         "newer": ("NEWER", "the JSON report of a later run of the same suite")}, Options, True),
}  # fmt: skip
"""The commands by their names."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    commands = parser.add_subparsers(
        title="commands", required=True, metavar="COMMAND", dest="subcommand", help="what to do"
    )
    for name, described in SUBCOMMANDS.items():
        command = commands.add_parser(name, help=described.text, description=described.text)
        for subject, (metavar, meaning) in described.subjects.items():
            command.add_argument(subject, metavar=metavar, type=Path, help=meaning)
        add_options(command, described.options)
        if described.has_budget:
            add_budget_arguments(command)
        else:
            add_quiet_argument(command)
        add_report_arguments(command, described.formats)
    parser.set_defaults(command=suite_command)


def suite_command(parsed: argparse.Namespace) -> int:
    """Run the command; its exit codes stand in help.toml."""
    if SUBCOMMANDS[parsed.subcommand].has_budget:
        return _limited(parsed)
    with Progress(f"suite {parsed.subcommand} {parsed.folder}", quiet=parsed.quiet) as progress:
        return _report(parsed, {"progress": progress})


@within_budget("worked through")
def _limited(parsed: argparse.Namespace) -> int:
    return _report(parsed, {})


def _report(parsed: argparse.Namespace, more: Mapping[str, object]) -> int:
    from sonnx.api import suites

    described = SUBCOMMANDS[parsed.subcommand]
    arguments = [getattr(parsed, subject) for subject in described.subjects]
    outputs = outputs_of(parsed, *map(str, arguments))
    keywords = keywords_of(described.options, parsed)
    chosen = with_date(keywords) if "deviations" in keywords else keywords
    report = getattr(suites, described.function)(*arguments, **chosen, **more)
    deliver_report(report, outputs)
    return int(report.exit_code)
