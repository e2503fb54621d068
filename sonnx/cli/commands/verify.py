"""`sonnx verify`: does a property hold in every implementation?"""

from __future__ import annotations

import argparse
from pathlib import Path

from sonnx.base.files import require_empty, write_whole
from sonnx.base.progress import Progress
from sonnx.cli.budget import add_budget_arguments, within_budget
from sonnx.cli.options import add_options, keywords_of
from sonnx.cli.reports import add_report_arguments, deliver_report, outputs_of
from sonnx.properties.options import VerifyOptions


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("model", metavar="MODEL", help="a model file")
    parser.add_argument("property", nargs="?", metavar="PROPERTY", type=Path, help="a .vnnlib or .toml file")
    add_options(parser, VerifyOptions)
    add_report_arguments(parser)
    add_budget_arguments(parser)
    parser.set_defaults(command=verify_command)


@within_budget("verified", "verifies")
def verify_command(parsed: argparse.Namespace) -> int:
    """Verify and print: 0 if the property holds, 1 if an input violates it, 2 for bad input, 3 if it is not decided."""
    from sonnx.api.properties import verify_property

    outputs = outputs_of(parsed, parsed.model, *([str(parsed.property)] if parsed.property else []))
    options = keywords_of(VerifyOptions, parsed)
    if parsed.witness is not None:
        require_empty(parsed.witness, "file of an older input")
    with Progress(f"verifying {parsed.model}", quiet=parsed.quiet) as progress:
        result = verify_property(parsed.model, parsed.property, **options, progress=progress)
    if parsed.witness is not None and result.witness:
        result.write_witness(parsed.witness)
    if parsed.certificate is not None and result.certificate is not None:
        write_whole(parsed.certificate, result.certificate)
    if parsed.results is not None:
        write_whole(parsed.results, result.competition_answer())
    deliver_report(result, outputs)
    return result.exit_code
