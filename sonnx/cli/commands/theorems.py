"""`sonnx theorems`: prove the theorems about the profile."""

from __future__ import annotations

import argparse
import sys

from sonnx.base.errors import UsageError
from sonnx.base.escaping import escape
from sonnx.base.options import names
from sonnx.base.progress import Progress
from sonnx.cli.arguments import add_quiet_argument
from sonnx.cli.options import add_options, keywords_of
from sonnx.cli.reports import add_report_arguments, deliver_report, outputs_of
from sonnx.prover.options import TheoremOptions


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command; no solver is loaded for them."""
    add_options(parser, TheoremOptions)
    parser.add_argument("--list", action="store_true", help="list the theorems")
    add_report_arguments(parser)
    add_quiet_argument(parser)
    parser.set_defaults(command=theorems_command)


def theorems_command(parsed: argparse.Namespace) -> int:
    """Prove and print: 0 as expected, 1 not, 3 undecided, 2 vacuous or wrong use, 4 the tool failed."""
    return _list_theorems(parsed) if parsed.list else _prove_theorems(parsed)


def _prove_theorems(parsed: argparse.Namespace) -> int:
    from sonnx.api.proofs import prove_theorems

    outputs = outputs_of(parsed)
    with Progress("proving theorems", quiet=parsed.quiet) as progress:
        report = prove_theorems(**keywords_of(TheoremOptions, parsed), progress=progress)
    if report.written_proofs:
        sys.stderr.write(f"{escape(str(parsed.proofs))}: {report.written_proofs}\n")
    deliver_report(report, outputs)
    if report.interrupted:
        raise KeyboardInterrupt
    return report.exit_code


def _list_theorems(parsed: argparse.Namespace) -> int:
    from sonnx.report.theorems import listed_counts, listing
    from sonnx.workers.theorems import select

    if parsed.format or parsed.output is not None:
        raise UsageError("--list excludes --format and --output")
    selected = select(names(parsed.select))
    sys.stdout.write(listing(selected))
    sys.stderr.write(f"{listed_counts(selected)}\n")
    return 0
