"""`sonnx suite`: make test suites for implementations, run them, and judge outputs."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

from sonnx.base.options import Options
from sonnx.base.progress import Progress
from sonnx.cli.arguments import add_quiet_argument
from sonnx.cli.budget import add_budget_arguments, within_budget
from sonnx.cli.options import add_options, keywords_of
from sonnx.cli.reports import add_report_arguments, deliver_report, outputs_of
from sonnx.suite.options import MakeOptions, RunOptions

FOLDER = ("DIR", "the folder of the suite")
SUBCOMMANDS: dict[str, tuple[str, str, dict[str, tuple[str, str]], type[Options] | None]] = {
    "make": ("make_suite", "make a suite in a folder", {"folder": FOLDER}, MakeOptions),
    "run": ("run_suite", "run a suite on a runtime or a program", {"folder": FOLDER}, RunOptions),
    "report": ("describe_suite", "say what a suite covers", {"folder": FOLDER}, None),
    "judge": ("judge_suite", "judge outputs that were made elsewhere",
        {"folder": FOLDER, "outputs": ("OUTPUTS", "CASE/test_data_set_N/output_K.pb")}, None),
    "difference": ("compare_suite_runs", "say what differs between two runs, for example by two versions of a runtime",
        {"older": ("OLDER", "the JSON report of a run"),
         "newer": ("NEWER", "the JSON report of a later run of the same suite")}, None),
}  # fmt: skip
"""By command: the public function, what it does, its subjects and its options.

Those without options read files and end soon, so that they have the limits of a command; a suite is made from the
profile, and a run limits each data set.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    commands = parser.add_subparsers(
        title="commands", required=True, metavar="COMMAND", dest="subcommand", help="what to do"
    )
    for name, (_, text, subjects, options) in SUBCOMMANDS.items():
        command = commands.add_parser(name, help=text, description=text)
        for subject, (metavar, meaning) in subjects.items():
            command.add_argument(subject, metavar=metavar, type=Path, help=meaning)
        if options is None:
            add_budget_arguments(command)
        else:
            add_options(command, options)
            add_quiet_argument(command)
        add_report_arguments(command)
    parser.set_defaults(command=suite_command)


def suite_command(parsed: argparse.Namespace) -> int:
    """Run the command; its exit codes stand in help.toml."""
    options = SUBCOMMANDS[parsed.subcommand][3]
    if options is None:
        return _limited(parsed)
    with Progress(f"suite {parsed.subcommand} {parsed.folder}", quiet=parsed.quiet) as progress:
        return _report(parsed, {**keywords_of(options, parsed), "progress": progress})


@within_budget("worked through")
def _limited(parsed: argparse.Namespace) -> int:
    return _report(parsed, {})


def _report(parsed: argparse.Namespace, chosen: Mapping[str, object]) -> int:
    from sonnx.api import suites

    function, _, subjects, _ = SUBCOMMANDS[parsed.subcommand]
    arguments = [getattr(parsed, subject) for subject in subjects]
    outputs = outputs_of(parsed, *map(str, arguments))
    report = getattr(suites, function)(*arguments, **chosen)
    deliver_report(report, outputs)
    return int(report.exit_code)
