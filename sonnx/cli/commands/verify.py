"""`sonnx verify`: does a property hold in every implementation?"""

from __future__ import annotations

import argparse
from pathlib import Path

from sonnx.api import verify_property
from sonnx.base.files import deliver, require_empty, write_whole
from sonnx.base.progress import StatusLine
from sonnx.checker.options import ModelOptions
from sonnx.checker.report import NotConforming
from sonnx.cli.budget import add_budget_arguments, not_conforming, within_budget
from sonnx.cli.options import add_options, keywords_of, options_of
from sonnx.properties.options import VerifyOptions
from sonnx.report.formats import RESULT_FORMATS

HELP = "verify a property of a model in every implementation"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("model", metavar="MODEL", help="a model file")
    parser.add_argument("property", nargs="?", metavar="PROPERTY", type=Path, help="a .vnnlib or .toml file")
    add_options(parser, VerifyOptions)
    parser.add_argument("-f", "--format", choices=RESULT_FORMATS, default="text", help="the format of the report")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write the report to a file")
    add_options(parser, ModelOptions)
    add_budget_arguments(parser)
    parser.set_defaults(command=verify_command)


@within_budget("verified")
def verify_command(options: argparse.Namespace) -> int:
    """Verify and print: 0 if the property holds, 1 if an input violates it, 2 for bad input, 3 if it is not decided."""
    chosen = options_of(VerifyOptions, options)
    if chosen.witness is not None:
        require_empty(chosen.witness, "file of an older input")
    try:
        with StatusLine() as line:
            found = verify_property(
                options.model, options.property, chosen, **keywords_of(ModelOptions, options),
                progress=line if line.enabled else None,
            )  # fmt: skip
    except NotConforming as stop:
        return not_conforming(stop, "verifies")
    if chosen.witness is not None and found.witness:
        found.write_witness(chosen.witness)
    if chosen.certificate is not None and found.certificate is not None:
        write_whole(chosen.certificate, found.certificate)
    deliver(found.to_format(options.format), options.output)
    return found.exit_code
