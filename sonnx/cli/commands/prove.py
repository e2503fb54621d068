"""`sonnx prove`: prove the theorems about the profile, or the rules of a model for all sizes."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from sonnx.base.errors import UsageError
from sonnx.base.escaping import escape
from sonnx.base.options import names
from sonnx.base.progress import StatusLine, clock
from sonnx.cli.budget import add_memory_argument, within_budget
from sonnx.cli.options import add_options, keywords_of, require_effect
from sonnx.cli.reports import ReportOutput, add_report_arguments, deliver_report, has_format, outputs_of
from sonnx.prover.options import ProofOptions, QuestionOptions, TheoremOptions
from sonnx.report.formats import HASHED

if TYPE_CHECKING:  # they load z3
    from sonnx.report.model_proof import ProofReport
    from sonnx.report.theorems import TheoremReport

SHARED = QuestionOptions.__struct_fields__


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command; no solver is loaded for them."""
    parser.add_argument("model", nargs="?", metavar="MODEL", help="a model whose rules are proved for all sizes")
    add_options(parser, QuestionOptions)
    add_report_arguments(parser)
    about_model, about_theorems = map(parser.add_argument_group, ("for a MODEL", "for theorems"))
    add_options(about_model, ProofOptions, without=SHARED)
    add_memory_argument(about_model)
    about_theorems.add_argument("--list", action="store_true", help="list the theorems")
    add_options(about_theorems, TheoremOptions, without=SHARED)
    parser.set_defaults(command=prove_command)


def prove_command(parsed: argparse.Namespace) -> int:
    """Prove and print: 0 as expected, 1 not, 3 undecided, 2 vacuous or wrong use, 4 the tool failed."""
    if parsed.model is not None:
        require_effect(parsed, TheoremOptions, "is about theorems; leave out the model", SHARED, ["list"])
        return _prove_model(parsed)
    require_effect(parsed, ProofOptions, "is about a model; name one", SHARED, ["memory"])
    return _list_theorems(parsed) if parsed.list else _prove_theorems(parsed)


@within_budget("proved", interrupts=False)
def _prove_model(parsed: argparse.Namespace) -> int:
    from sonnx.api.proofs import prove

    outputs = outputs_of(parsed, parsed.model)
    with clock(f"proving {parsed.model}"):
        options = keywords_of(ProofOptions, parsed)
        report = prove(parsed.model, **options, name=parsed.model, hashed=has_format(outputs, HASHED))
    return _delivered(report, parsed, outputs)


def _prove_theorems(parsed: argparse.Namespace) -> int:
    from sonnx.api.proofs import prove_theorems

    outputs = outputs_of(parsed)
    with StatusLine() as line:
        report = prove_theorems(**keywords_of(TheoremOptions, parsed), progress=line)
    code = _delivered(report, parsed, outputs)
    if report.interrupted:
        raise KeyboardInterrupt
    return code


def _delivered(report: ProofReport | TheoremReport, parsed: argparse.Namespace, outputs: list[ReportOutput]) -> int:
    """Print the report, and on standard error what was written of proofs; the exit code."""
    if report.written_proofs:
        sys.stderr.write(f"{escape(str(parsed.proofs))}: {report.written_proofs}\n")
    deliver_report(report, outputs)
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
