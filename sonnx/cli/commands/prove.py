"""`sonnx prove`: its arguments, and what it prints."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sonnx.base.errors import TOOL_FAILED, UsageError
from sonnx.base.files import deliver, write_whole
from sonnx.base.progress import Line
from sonnx.checker.report import Why
from sonnx.cli.check_options import amount
from sonnx.model import limits
from sonnx.report.formats import HASHED, OWN, RESULTS, render_result

if TYPE_CHECKING:  # these load z3
    from sonnx.prover.results import TheoremResult
    from sonnx.prover.solver_cache import SolverCache
    from sonnx.prover.theorem import Theorem

SOLVER = "z3"
HELP = "prove the theorems about the profile"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command; nothing of a solver is loaded for them."""
    parser.add_argument("model", nargs="?", metavar="MODEL", help="a model whose shapes are proved for all sizes")
    parser.add_argument("--edition", default=None, help="the edition a MODEL is proved for")
    parser.add_argument(
        "--assume", action="append", default=[], metavar="N>=1,N<=64", help="what holds of a MODEL's symbols"
    )
    parser.add_argument("--list", action="store_true", help="list the theorems")
    parser.add_argument("--select", action="append", default=[], metavar="ID", help="only these theorems or topics")
    parser.add_argument(
        "--solver", choices=("z3", "cvc5", "bitwuzla", "all"), default=SOLVER, help="all: z3, and one that confirms it"
    )
    parser.add_argument("--emit-smt2", type=Path, metavar="DIR", help="write every question in SMT-LIB there")
    parser.add_argument("--record", type=Path, metavar="FILE", help="keep what came out there, mutants included")
    parser.add_argument("--pages", type=Path, metavar="DIR", help="write a page for each topic there, and ask nothing")
    parser.add_argument("--format", choices=(*OWN, *RESULTS), default="text", help="the format of the report")
    parser.add_argument("--output", type=Path, default=None, metavar="FILE", help="write the report to a file")
    parser.add_argument(
        "--jobs", type=amount("processes", least=0), default=None, metavar="N",
        help="processes that prove theorems (default: the cores); 0: prove in this process",
    )  # fmt: skip
    parser.add_argument(
        "--timeout", type=amount("seconds"), default=None, metavar="SECONDS", help="how long one theorem may take"
    )
    parser.add_argument(
        "--cluster", default=None, metavar="ADDRESS", help="prove theorems on the Dask cluster whose scheduler is there"
    )
    parser.add_argument("--cache", type=Path, metavar="DIR", help="where answers are kept (default: the user's cache)")
    parser.add_argument("--no-cache", action="store_true", help="ask every question again and keep no answer")
    limits.add_argument(parser)
    parser.set_defaults(command=prove_command)


def prove_command(arguments: argparse.Namespace) -> int:
    """Prove, print, and give the exit code: 0 as stated, 1 otherwise, 3 undecided, 2 vacuous or misused, 4 failed.

    Raises:
        Misuse: an unknown theorem or an absent solver, with one sentence.
        OSError: the folder for SMT-LIB cannot be written.
    """
    _require_sense(arguments)
    if arguments.model is not None:
        return _prove_model(arguments)
    from sonnx.proofs import registry
    from sonnx.prover import driver
    from sonnx.report import proofs as report

    wanted = [name for value in arguments.select for name in value.split(",") if name]
    found = driver.select(registry.theorems(), wanted)
    if arguments.list:
        sys.stdout.write(report.listing(found))
        return 0
    if arguments.pages is not None:
        if wanted:
            raise UsageError("--pages writes the pages of all theorems; leave out --select.")
        write_pages(found, arguments.pages)
        return 0
    if arguments.record is not None:
        _require_record(arguments.record)
    if arguments.emit_smt2 is not None:
        emit(found, arguments.emit_smt2)
    answers = _answers(arguments)
    outcomes, interrupted = _prove(found, arguments, answers)
    if arguments.record is not None and _complete(outcomes, arguments.record):
        from sonnx.prover import record

        present = [theorem.id for theorem in registry.theorems()]
        record.write(arguments.record, outcomes, _command(arguments, wanted), present, answers)
    code = exit_code(outcomes)
    own = {"text": report.text, "json": report.as_json}
    if arguments.format in own:
        deliver(own[arguments.format](outcomes), arguments.output)
    else:
        from sonnx.report.proof_result import of_theorems

        deliver(render_result(arguments.format, of_theorems(outcomes, code)), arguments.output)
    if interrupted:
        raise KeyboardInterrupt
    return code


THEOREMS = ("--list", "--select", "--emit-smt2", "--record", "--pages", "--no-cache", "--cache",
            "--timeout", "--cluster")  # fmt: skip
"""Options about theorems, which mean nothing for a MODEL."""
MODELS = ("--edition", "--assume", "--limit")
"""Options about a MODEL, which mean nothing for theorems."""


def _require_sense(arguments: argparse.Namespace) -> None:
    """Refuse options that would have no effect.

    Raises:
        Misuse: with one of them.
    """
    others, reason = (MODELS, "name one") if arguments.model is None else (THEOREMS, "leave out the model")
    what = "a model" if arguments.model is None else "theorems"
    for option in others:
        if getattr(arguments, option.removeprefix("--").replace("-", "_")):
            raise UsageError(f"{option} is about {what}; {reason}.")
    if arguments.model is not None and arguments.solver != SOLVER:
        raise UsageError(f"A model is proved by {SOLVER}; leave out --solver.")
    for option, made in (("--list", arguments.list), ("--pages", arguments.pages)):
        if made and (arguments.format != "text" or arguments.output is not None):
            raise UsageError(f"{option} writes no report; leave out --format and --output.")


def _prove(
    found: Sequence[Theorem], arguments: argparse.Namespace, answers: SolverCache
) -> tuple[Sequence[TheoremResult], bool]:
    """The outcomes, and whether there would be more; in child processes unless there is nothing to gain by them."""
    jobs, apart = arguments.jobs, [name for name in ("timeout", "cluster") if getattr(arguments, name) is not None]
    if jobs == 0 and apart:
        raise UsageError(f"--{apart[0]} needs a child process, and --jobs 0 asks for none")
    with Line() as line:
        if jobs == 0 or (len(found) < 2 and not apart):
            from sonnx.prover import driver

            return list(driver.prove(found, arguments.solver, answers, line)), False
        from sonnx.workers import theorems
        from sonnx.workers.crews import crew_of

        with crew_of(theorems.work(arguments.timeout), arguments.cluster, jobs, len(found)) as crew:
            proofs = theorems.prove_all(found, arguments.solver, answers.folder, crew, line)
    return proofs.outcomes, proofs.interrupted


def _complete(outcomes: Sequence[TheoremResult], path: Path) -> bool:
    """Whether every theorem was asked; a record of the others would say too little."""
    lacking = sum(outcome.unanswered is not None for outcome in outcomes)
    if lacking:
        print(f"sonnx: {path} is not written, because {lacking} theorems have no answer", file=sys.stderr)
    return not lacking


def _require_record(path: Path) -> None:
    """Refuse what could not be written after all questions were asked.

    Raises:
        Misuse: there is no such folder, or the file there is no record.
    """
    from sonnx.prover import record

    if not path.parent.is_dir():
        raise UsageError(f"There is no folder {path.parent} for --record.")
    record.read(path)


def _command(arguments: argparse.Namespace, wanted: Sequence[str]) -> str:
    """The command that gave the outcomes, as far as it decides them."""
    selected = [f"--select {','.join(wanted)}"] if wanted else []
    return " ".join(["sonnx prove", *selected, "--solver", arguments.solver])


def write_pages(found: Sequence[Theorem], folder: Path) -> None:
    """The pages of the theorems, by the record that comes with them; of each page all or nothing.

    Raises:
        Misuse: the record is none.
        OSError: the folder cannot be written.
    """
    from sonnx.evidence.pages_theorem import pages
    from sonnx.prover import record

    made = pages(found, record.read(record.usual_path()))
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in made.items():
        write_whole(folder / name, text)


def _prove_model(arguments: argparse.Namespace) -> int:
    from sonnx.prover.model_proof import prove_model
    from sonnx.report import proofs as report

    proof = prove_model(
        arguments.model,
        arguments.edition,
        assume=arguments.assume,
        limits=limits.limits_of(arguments.limit),
        name=arguments.model,
        hashed=arguments.format in HASHED,
    )
    own = {"text": report.render, "json": report.model_as_json}
    if arguments.format in own:
        deliver(own[arguments.format](proof), arguments.output)
    else:
        from sonnx.report.proof_result import of_model

        deliver(render_result(arguments.format, of_model(proof)), arguments.output)
    return proof.exit_code


def exit_code(outcomes: Sequence[TheoremResult]) -> int:
    """The first that applies: 4 the tool failed, 2 a theorem is vacuous, 1 one came out otherwise, 3 undecided, 0."""
    surprises = [outcome for outcome in outcomes if not outcome.expected]
    if any(outcome.unanswered is not None and outcome.unanswered.why is Why.FAILED for outcome in surprises):
        return TOOL_FAILED
    if any(outcome.status == "vacuous" for outcome in surprises):
        return 2
    if any(outcome.status != "undecided" for outcome in surprises):
        return 1
    return 3 if surprises else 0


def emit(found: Sequence[Theorem], folder: Path) -> None:
    """Every question, and whether its hypotheses can hold, as files that any solver reads; `index.txt` names them.

    Raises:
        OSError: where the folder cannot be written.
    """
    from sonnx.prover.queries import questions

    folder.mkdir(parents=True, exist_ok=True)
    index: list[str] = []
    for theorem in found:
        for number, question in enumerate(questions(theorem, "z3", theorem.obligations), 1):
            name = f"{theorem.id}.{number}"
            index.append(f"{name}.smt2\t{theorem.expected}\t{question.name}\n")
            write_whole(folder / f"{name}.smt2", question.text)
            if question.hypotheses:
                write_whole(folder / f"{name}.hypotheses.smt2", question.hypotheses)
    write_whole(folder / "index.txt", "".join(index))


def _answers(arguments: argparse.Namespace) -> SolverCache:
    from sonnx.prover.solver_cache import SolverCache, usual_folder

    return SolverCache(None if arguments.no_cache else arguments.cache or usual_folder())
