"""`sonnx prove`: prove or refute the rules of a model for all sizes."""

from __future__ import annotations

import argparse
import sys

from sonnx.base.escaping import escape
from sonnx.base.progress import Progress
from sonnx.cli.arguments import add_quiet_argument
from sonnx.cli.budget import add_memory_argument, within_budget
from sonnx.cli.options import add_options, keywords_of
from sonnx.cli.reports import add_report_arguments, deliver_report, has_format, outputs_of
from sonnx.prover.options import ProofOptions
from sonnx.report.formats import HASHED


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command; no solver is loaded for them."""
    parser.add_argument("model", metavar="MODEL", help="a model whose rules are proved for all sizes")
    add_options(parser, ProofOptions)
    add_report_arguments(parser)
    add_memory_argument(parser)
    add_quiet_argument(parser)
    parser.set_defaults(command=prove_command)


@within_budget("proved", interrupts=False)
def prove_command(parsed: argparse.Namespace) -> int:
    """Prove and print: 0 proved, 1 a rule is refuted, 3 undecided, 2 bad input."""
    from sonnx.api.proofs import prove

    outputs = outputs_of(parsed, parsed.model)
    options = keywords_of(ProofOptions, parsed)
    hashed = has_format(outputs, HASHED)
    with Progress(f"proving {parsed.model}", quiet=parsed.quiet) as progress:
        report = prove(parsed.model, **options, name=parsed.model, hashed=hashed, progress=progress)
    if report.written_proofs:
        sys.stderr.write(f"{escape(str(parsed.proofs))}: {report.written_proofs}\n")
    deliver_report(report, outputs)
    return report.exit_code
