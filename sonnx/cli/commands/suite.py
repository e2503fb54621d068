"""`sonnx suite`: make test suites for implementations, run them, and judge outputs."""

from __future__ import annotations

import argparse
from pathlib import Path

from sonnx.base.files import deliver
from sonnx.base.progress import StatusLine
from sonnx.cli.options import add_options, options_of
from sonnx.report.formats import RESULT_FORMATS
from sonnx.report.rendered import Rendered
from sonnx.suite.options import MakeOptions, RunOptions

HELP = "test whether an implementation conforms: make, run, report and judge a suite, and compare two runs"
SUBCOMMANDS = {
    "make": "make a suite in a folder",
    "run": "run a suite on a runtime or a program",
    "report": "say what a suite covers",
    "judge": "judge outputs that were made elsewhere",
    "difference": "say what differs between two runs, such as of two versions of a runtime",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    each = parser.add_subparsers(
        title="commands", required=True, metavar="COMMAND", dest="subcommand", help="what to do"
    )
    for name, text in SUBCOMMANDS.items():
        made = each.add_parser(name, help=text, description=text, epilog="")
        if name == "difference":
            made.add_argument("older", metavar="OLDER", type=Path, help="the JSON report of a run")
            made.add_argument(
                "newer", metavar="NEWER", type=Path, help="the JSON report of a later run of the same suite"
            )
        else:
            made.add_argument("folder", metavar="DIR", type=Path, help="the folder of the suite")
        if name == "judge":
            made.add_argument("outputs", metavar="OUTPUTS", type=Path, help="CASE/test_data_set_N/output_K.pb")
        if name == "make":
            add_options(made, MakeOptions)
        elif name == "run":
            add_options(made, RunOptions)
        made.add_argument("-f", "--format", choices=RESULT_FORMATS, default="text", help="the format of the report")
        made.add_argument("-o", "--output", type=Path, metavar="FILE", help="write the report to a file")
    parser.set_defaults(command=suite_command)


def suite_command(options: argparse.Namespace) -> int:
    """Run the command; its exit codes stand in help.toml."""
    from sonnx.suite import cases, runs
    from sonnx.suite.archive import read_suite
    from sonnx.suite.difference import run_difference
    from sonnx.suite.report import SuiteReport

    found: Rendered
    with StatusLine() as line:
        match options.subcommand:
            case "make":
                found = SuiteReport.of(cases.make_suite(options.folder, options_of(MakeOptions, options), line))
            case "run":
                found = runs.run_suite(options.folder, options_of(RunOptions, options), line)
            case "judge":
                found = runs.judge_outputs(options.folder, options.outputs)
            case "difference":
                found = run_difference(options.older, options.newer)
            case _:
                found = SuiteReport.of(read_suite(options.folder))
    deliver(found.to_format(options.format), options.output)
    return found.document().code
