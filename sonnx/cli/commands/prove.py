"""`sonnx prove`: prove the theorems about the profile, or the rules of a model for all sizes."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sonnx.base.errors import UsageError
from sonnx.base.escaping import escape
from sonnx.base.options import names
from sonnx.base.progress import StatusLine, clock
from sonnx.cli.arguments import amount
from sonnx.cli.budget import LIMITS, add_memory_argument, within_budget
from sonnx.cli.options import add_options, add_report_arguments, deliver_report, keywords_of, written
from sonnx.prover.options import SOLVER, ProofOptions
from sonnx.report.formats import HASHED

if TYPE_CHECKING:  # these load z3
    from sonnx.workers.certificates import CertifiedQuestion
    from sonnx.workers.tasks import WorkPlace

HELP = "prove the theorems about the profile"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command; no solver is loaded for them."""
    add = parser.add_argument
    add("model", nargs="?", metavar="MODEL", help="a model whose rules are proved for all sizes")
    add("--solver", choices=("z3", "cvc5", "bitwuzla", "all"), default=SOLVER,
        help="all: z3, and a second solver that confirms it")  # fmt: skip
    add("--emit-smt2", type=Path, metavar="DIR", help="write every query in SMT-LIB to this folder")
    add("--proofs", type=Path, metavar="DIR",
        help="write each query with its proof by cvc5 in the format CPC to this new folder")  # fmt: skip
    add_report_arguments(parser)
    add(
        "--timeout",
        type=amount("seconds"),
        metavar="SECONDS",
        help=f"time limit for the model (default {LIMITS.seconds}), or for each theorem",
    )
    add("--jobs", type=amount("processes", least=0), metavar="N",
        help="processes for theorems and proofs (default: the cores); 0: this process")  # fmt: skip
    about_model = parser.add_argument_group("for a MODEL")
    add_options(about_model, ProofOptions)
    add_memory_argument(about_model)
    add = parser.add_argument_group("for theorems").add_argument
    add("--list", action="store_true", help="list the theorems")
    add("--select", action="append", default=[], metavar="ID", help="only these theorems or topics")
    add("--cluster", metavar="ADDRESS", help="prove on the Dask cluster with this scheduler")
    add("--cache", type=Path, metavar="DIR", help="where answers of solvers are kept (default: the user's cache)")
    add("--no-cache", action="store_true", help="ask every query again and keep no answer")
    parser.set_defaults(command=prove_command)


def prove_command(options: argparse.Namespace) -> int:
    """Prove and print: 0 as expected, 1 not, 3 undecided, 2 vacuous or wrong use, 4 the tool failed."""
    _require_effect(options)
    return _prove_theorems(options) if options.model is None else _prove_model(options)


THEOREM_OPTIONS = ("--list", "--select", "--no-cache", "--cache", "--cluster")
"""Options without effect on a MODEL."""


def _require_effect(options: argparse.Namespace) -> None:
    """Refuse options that would have no effect."""
    if options.model is None:
        others = written(ProofOptions, options) + (["--memory"] if options.memory is not None else [])
    else:
        others = [name for name in THEOREM_OPTIONS if getattr(options, name.removeprefix("--").replace("-", "_"))]
    if others:
        what, remedy = ("a model", "name one") if options.model is None else ("theorems", "leave out the model")
        raise UsageError(f"{others[0]} is about {what}; {remedy}.")
    if options.model is not None and options.solver not in (SOLVER, "all"):
        raise UsageError(f"A model is proved by {SOLVER}; a second solver confirms it with --solver all.")
    required = [name for name in ("timeout", "cluster") if getattr(options, name) is not None]
    if options.model is None and options.jobs == 0 and required:
        raise UsageError(f"--{required[0]} needs a child process, and --jobs 0 allows none")
    if options.list and (options.format != "text" or options.output is not None):
        raise UsageError("--list writes no report; leave out --format and --output.")


@within_budget("proved", arrays=False)
def _prove_model(options: argparse.Namespace) -> int:
    from sonnx.api.proofs import prove

    if options.proofs is not None:
        from sonnx.workers.certificates import require_usable

        require_usable(options.proofs)
    wanted = options.emit_smt2 is not None or options.proofs is not None
    with clock(f"proving {options.model}"):
        report = prove(
            options.model, **keywords_of(ProofOptions, options), name=options.model, hashed=options.format in HASHED,
            solver=options.solver, questions=wanted,
        )  # fmt: skip
    if wanted:
        from sonnx.workers.certificates import questions_of_model, write_questions

        found = questions_of_model(report.questions)
        if options.emit_smt2 is not None:
            write_questions(found, options.emit_smt2)
        if options.proofs is not None:
            _write_proofs(found, options)
    deliver_report(report, options)
    return report.exit_code


def _prove_theorems(options: argparse.Namespace) -> int:
    from sonnx.report.theorems import TheoremReport, listed_counts, listing
    from sonnx.workers import certificates, theorems

    found = theorems.select(names(options.select))
    if options.list:
        sys.stdout.write(listing(found))
        sys.stderr.write(f"{listed_counts(found)}\n")
        return 0
    if options.emit_smt2 is not None:
        certificates.write_theorem_questions(found, options.emit_smt2)
    if options.proofs is not None:
        certificates.require_usable(options.proofs)
        _write_proofs(certificates.certified_questions(found), options)
    cache = None if options.no_cache else options.cache or theorems.usual_folder()
    with StatusLine() as line:
        results, interrupted = theorems.prove_theorems(
            found, options.solver, cache, _place(options), line, recorded=not options.no_cache
        )
    report = TheoremReport(results)
    deliver_report(report, options)
    if interrupted:
        raise KeyboardInterrupt
    return report.exit_code


def _write_proofs(found: Sequence[CertifiedQuestion], options: argparse.Namespace) -> None:
    """Write the proofs, and say on standard error how many questions have one."""
    from sonnx.workers.certificates import summary, write_certificates

    with StatusLine() as line:
        made = write_certificates(found, options.proofs, _place(options), line)
    sys.stderr.write(f"{escape(str(options.proofs))}: {summary(made)}\n")


def _place(options: argparse.Namespace) -> WorkPlace:
    from sonnx.workers.tasks import WorkPlace

    return WorkPlace(options.jobs, options.cluster, options.timeout)
