"""`sonnx prove`: its arguments, and what it prints."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from sonnx import limits
from sonnx.files import deliver, write_whole
from sonnx.misuse import Misuse
from sonnx.report.formats import HASHED, OWN, RESULTS, render_result

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
    cores = os.cpu_count() or 1
    parser.add_argument("--jobs", type=_count, default=cores, metavar="N", help=f"processes (default: {cores})")
    parser.add_argument("--cache", type=Path, metavar="DIR", help="where answers are kept (default: the user's cache)")
    parser.add_argument("--no-cache", action="store_true", help="ask every question again and keep no answer")
    limits.add_argument(parser)
    parser.set_defaults(command=prove_command)


def _count(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of processes")
    return int(text)


def prove_command(arguments: argparse.Namespace) -> int:
    """Prove, print, and give the exit code: 0 as stated, 1 otherwise, 3 undecided, 2 vacuous or misused.

    Raises:
        Misuse: an unknown theorem or an absent solver, with one sentence.
        OSError: the folder for SMT-LIB cannot be written.
    """
    _require_sense(arguments)
    if arguments.model is not None:
        return _prove_model(arguments)
    from sonnx import proving
    from sonnx.report import proofs as report

    wanted = [name for value in arguments.select for name in value.split(",") if name]
    found = proving.select(proving.theorems(), wanted)
    if arguments.list:
        sys.stdout.write(report.listing(found))
        return 0
    if arguments.pages is not None:
        if wanted:
            raise Misuse("--pages writes the pages of all theorems; leave out --select.")
        write_pages(found, arguments.pages)
        return 0
    if arguments.record is not None:
        _require_record(arguments.record)
    if arguments.emit_smt2 is not None:
        emit(found, arguments.emit_smt2)
    answers = _answers(arguments)
    outcomes = list(proving.prove(found, arguments.solver, answers, arguments.jobs, _progress()))
    if arguments.record is not None:
        from sonnx import record

        present = [theorem.id for theorem in proving.theorems()]
        record.write(arguments.record, outcomes, _command(arguments, wanted), present, answers)
    code = exit_code(outcomes)
    own = {"text": report.text, "json": report.as_json}
    if arguments.format in own:
        deliver(own[arguments.format](outcomes), arguments.output)
    else:
        from sonnx.report.proof_result import of_theorems

        deliver(render_result(arguments.format, of_theorems(outcomes, code)), arguments.output)
    return code


THEOREMS = ("--list", "--select", "--emit-smt2", "--record", "--pages", "--no-cache", "--cache")
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
            raise Misuse(f"{option} is about {what}; {reason}.")
    if arguments.model is not None and arguments.solver != SOLVER:
        raise Misuse(f"A model is proved by {SOLVER}; leave out --solver.")
    for option, made in (("--list", arguments.list), ("--pages", arguments.pages)):
        if made and (arguments.format != "text" or arguments.output is not None):
            raise Misuse(f"{option} writes no report; leave out --format and --output.")


def _require_record(path: Path) -> None:
    """Refuse what could not be written after all questions were asked.

    Raises:
        Misuse: there is no such folder, or the file there is no record.
    """
    from sonnx import record

    if not path.parent.is_dir():
        raise Misuse(f"There is no folder {path.parent} for --record.")
    record.read(path)


def _command(arguments: argparse.Namespace, wanted: Sequence[str]) -> str:
    """The command that gave the outcomes, as far as it decides them."""
    selected = [f"--select {','.join(wanted)}"] if wanted else []
    return " ".join(["sonnx prove", *selected, "--solver", arguments.solver])


def write_pages(found: Sequence[Any], folder: Path) -> None:
    """The pages of the theorems, by the record that comes with them; of each page all or nothing.

    Raises:
        Misuse: the record is none.
        OSError: the folder cannot be written.
    """
    from sonnx import record
    from sonnx.report.theorem_pages import pages

    made = pages(found, record.read(record.usual_path()))
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in made.items():
        write_whole(folder / name, text)


def _prove_model(arguments: argparse.Namespace) -> int:
    from sonnx.model_proof import prove_model
    from sonnx.report import proof as report

    proof = prove_model(
        arguments.model,
        arguments.edition,
        assume=arguments.assume,
        limits=limits.limits_of(arguments.limit),
        name=arguments.model,
        hashed=arguments.format in HASHED,
    )
    own = {"text": report.render, "json": report.as_json}
    if arguments.format in own:
        deliver(own[arguments.format](proof), arguments.output)
    else:
        from sonnx.report.proof_result import of_model

        deliver(render_result(arguments.format, of_model(proof)), arguments.output)
    return proof.exit_code


def exit_code(outcomes: Sequence[Any]) -> int:
    """The first that applies: 2 a theorem is vacuous, 1 one came out otherwise, 3 one is undecided, 0."""
    surprises = [outcome for outcome in outcomes if not outcome.expected]
    if any(outcome.status == "vacuous" for outcome in surprises):
        return 2
    if any(outcome.status != "undecided" for outcome in surprises):
        return 1
    return 3 if surprises else 0


def emit(found: Sequence[Any], folder: Path) -> None:
    """Every question, and whether its hypotheses can hold, as files that any solver reads; `index.txt` names them.

    Raises:
        OSError: where the folder cannot be written.
    """
    from sonnx.asking import questions

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


def _answers(arguments: argparse.Namespace) -> Any:
    from sonnx.answers import Answers, usual_folder

    return Answers(None if arguments.no_cache else arguments.cache or usual_folder())


def _progress() -> Callable[[int, int], None] | None:
    """A line on a terminal, rewritten; nothing where nobody looks."""
    if not sys.stderr.isatty():
        return None

    def show(done: int, all_of_them: int) -> None:
        end = "\n" if done == all_of_them else ""
        sys.stderr.write(f"\r{done} of {all_of_them} theorems{end}")
        sys.stderr.flush()

    return show
