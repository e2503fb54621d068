"""`sonnx prove`: prove the theorems about the profile, or the rules of a model for all sizes."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sonnx.api import prove
from sonnx.base.errors import UsageError
from sonnx.base.escaping import escape
from sonnx.base.files import deliver, write_whole
from sonnx.base.progress import StatusLine
from sonnx.cli.arguments import add_input_shape_argument, add_limit_argument, amount, names
from sonnx.model.limits import parse_limits
from sonnx.model.symbols import parse_input_shapes
from sonnx.report.formats import DOCUMENT_FORMATS, HASHED, OWN_FORMATS

if TYPE_CHECKING:  # these load z3
    from sonnx.prover.certificates import CertifiedQuestion
    from sonnx.prover.theorem import Theorem
    from sonnx.report.theorems import TheoremReport

SOLVER = "z3"
HELP = "prove the theorems about the profile"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command; no solver is loaded for them."""
    add = parser.add_argument
    add("model", nargs="?", metavar="MODEL", help="a model whose rules are proved for all sizes")
    add("--edition", default=None, help="the edition for a MODEL")
    add("--assume", action="append", default=[], metavar="N>=1,N<=64", help="conditions on the symbols of a MODEL")
    add("--list", action="store_true", help="list the theorems")
    add("--select", action="append", default=[], metavar="ID", help="only these theorems or topics")
    add("--solver", choices=("z3", "cvc5", "bitwuzla", "all"), default=SOLVER,
        help="all: z3, and a second solver that confirms it")  # fmt: skip
    add("--emit-smt2", type=Path, metavar="DIR", help="write every query in SMT-LIB to this folder")
    add("--proofs", type=Path, metavar="DIR",
        help="write each query with its proof by cvc5 in the format CPC to this new folder")  # fmt: skip
    add("--format", choices=(*OWN_FORMATS, *DOCUMENT_FORMATS), default="text", help="the format of the report")
    add("--output", type=Path, default=None, metavar="FILE", help="write the report to a file")
    add("--jobs", type=amount("processes", least=0), default=None, metavar="N",
        help="processes that prove theorems (default: the cores); 0: prove in this process")  # fmt: skip
    add("--timeout", type=amount("seconds"), default=None, metavar="SECONDS", help="time limit for each theorem")
    add("--cluster", default=None, metavar="ADDRESS", help="prove on the Dask cluster with this scheduler")
    add("--cache", type=Path, metavar="DIR", help="where answers of solvers are kept (default: the user's cache)")
    add("--no-cache", action="store_true", help="ask every query again and keep no answer")
    add_input_shape_argument(parser)
    add_limit_argument(parser)
    parser.set_defaults(command=prove_command)


def prove_command(options: argparse.Namespace) -> int:
    """Prove and print: 0 as expected, 1 not, 3 undecided, 2 vacuous or wrong use, 4 the tool failed.

    Raises:
        UsageError: an unknown theorem or an absent solver.
        OSError: a folder or file cannot be written.
    """
    _require_effect(options)
    return _prove_theorems(options) if options.model is None else _prove_model(options)


THEOREM_OPTIONS = ("--list", "--select", "--no-cache", "--cache", "--timeout", "--cluster")
"""Options without effect on a MODEL."""
MODEL_OPTIONS = ("--edition", "--assume", "--input-shape", "--limit")
"""Options without effect on theorems."""


def _require_effect(options: argparse.Namespace) -> None:
    """Refuse options that would have no effect.

    Raises:
        UsageError: names one of them.
    """
    others, remedy = (MODEL_OPTIONS, "name one") if options.model is None else (THEOREM_OPTIONS, "leave out the model")
    what = "a model" if options.model is None else "theorems"
    for option in others:
        if getattr(options, option.removeprefix("--").replace("-", "_")):
            raise UsageError(f"{option} is about {what}; {remedy}.")
    if options.model is not None and options.solver not in (SOLVER, "all"):
        raise UsageError(f"A model is proved by {SOLVER}; a second solver confirms it with --solver all.")
    if options.list and (options.format != "text" or options.output is not None):
        raise UsageError("--list writes no report; leave out --format and --output.")


def _prove_model(options: argparse.Namespace) -> int:
    if options.proofs is not None:
        from sonnx.workers.certificates import require_usable

        require_usable(options.proofs)
    wanted = options.emit_smt2 is not None or options.proofs is not None
    report = prove(
        options.model, options.edition, options.assume, limits=parse_limits(options.limit), name=options.model,
        hashed=options.format in HASHED, input_shapes=parse_input_shapes(options.input_shape), solver=options.solver,
        questions=wanted,
    )  # fmt: skip
    if wanted:
        from sonnx.prover.certificates import questions_of_model

        found = questions_of_model(report.questions)
        if options.emit_smt2 is not None:
            _write_questions(found, options.emit_smt2)
        if options.proofs is not None:
            _write_proofs(found, options)
    deliver(report.to_format(options.format), options.output)
    return report.exit_code


def _prove_theorems(options: argparse.Namespace) -> int:
    from sonnx.proofs import registry
    from sonnx.prover import driver
    from sonnx.report.theorems import listing

    found = driver.select(registry.theorems(), names(options.select))
    if options.list:
        sys.stdout.write(listing(found))
        return 0
    if options.emit_smt2 is not None:
        emit(found, options.emit_smt2)
    if options.proofs is not None:
        from sonnx.prover.certificates import certified_questions
        from sonnx.workers.certificates import require_usable

        require_usable(options.proofs)
        _write_proofs(certified_questions(found), options)
    report = _results(found, options)
    deliver(report.to_format(options.format), options.output)
    if report.interrupted:
        raise KeyboardInterrupt
    return report.exit_code


def _results(found: Sequence[Theorem], options: argparse.Namespace) -> TheoremReport:
    """The results, from child processes unless there is nothing to gain by them."""
    from sonnx.prover.solver_cache import SolverCache, usual_folder
    from sonnx.report.theorems import TheoremReport

    jobs, required = options.jobs, [name for name in ("timeout", "cluster") if getattr(options, name) is not None]
    if jobs == 0 and required:
        raise UsageError(f"--{required[0]} needs a child process, and --jobs 0 allows none")
    cache = SolverCache(None if options.no_cache else options.cache or usual_folder())
    with StatusLine() as line:
        if jobs == 0 or (len(found) < 2 and not required):
            from sonnx.prover import driver

            return TheoremReport(tuple(driver.prove(found, options.solver, cache, line)))
        from sonnx.workers.theorems import prove_theorems

        results, interrupted = prove_theorems(
            found, options.solver, cache.folder, jobs=jobs, timeout=options.timeout, cluster=options.cluster,
            progress=line,
        )  # fmt: skip
        return TheoremReport(results, interrupted)


def _write_proofs(found: Sequence[CertifiedQuestion], options: argparse.Namespace) -> None:
    """Write the proofs, and say on standard error how many questions have one."""
    from sonnx.prover.certificates import summary
    from sonnx.workers.certificates import write_certificates

    with StatusLine() as line:
        made = write_certificates(
            found, options.proofs, jobs=options.jobs, timeout=options.timeout, cluster=options.cluster, progress=line
        )
    sys.stderr.write(f"{escape(str(options.proofs))}: {summary(made)}\n")


def _write_questions(found: Sequence[CertifiedQuestion], folder: Path) -> None:
    """Write questions about a model as SMT-LIB files; `index.txt` states the expected answers.

    Raises:
        OSError: the folder cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for each in found:
        write_whole(folder / f"{each.name}.smt2", each.text)
    lines = [f"{each.name}.smt2\t{each.expected}\t{'; '.join(each.decides)}\n" for each in found]
    write_whole(folder / "index.txt", "".join(lines))


def emit(found: Sequence[Theorem], folder: Path) -> None:
    """Write every query, and whether its hypotheses can hold, as SMT-LIB files; `index.txt` lists them.

    An obligation that is computed is listed with the reason, and has no file.

    Raises:
        OSError: the folder cannot be written.
    """
    from sonnx.prover.queries import questions

    folder.mkdir(parents=True, exist_ok=True)
    index: list[str] = []
    for theorem in found:
        for number, question in enumerate(questions(theorem, "z3", theorem.obligations), 1):
            name = f"{theorem.id}.{number}"
            if question.obligation.computed:
                index.append(f"{name}\tcomputed: {question.obligation.computed}\t{question.name}\n")
                continue
            index.append(f"{name}.smt2\t{theorem.expected}\t{question.name}\n")
            write_whole(folder / f"{name}.smt2", question.text)
            if question.hypotheses:
                write_whole(folder / f"{name}.hypotheses.smt2", question.hypotheses)
    write_whole(folder / "index.txt", "".join(index))
