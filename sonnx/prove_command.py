"""`sonnx prove`: its arguments, and what it prints."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from sonnx import limits
from sonnx.files import write_whole


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
        "--solver", choices=("z3", "cvc5", "bitwuzla", "all"), default="z3", help="all: z3, and one that confirms it"
    )
    parser.add_argument("--emit-smt2", type=Path, metavar="DIR", help="write every question in SMT-LIB there")
    parser.add_argument("--record", type=Path, metavar="FILE", help="write the answers, for evidence packs, there")
    parser.add_argument("--format", choices=("text", "json"), default="text")
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
    if arguments.model is not None:
        return _prove_model(arguments)
    from sonnx import proving
    from sonnx.report import proofs as report

    wanted = [name for value in arguments.select for name in value.split(",") if name]
    found = proving.select(proving.theorems(), wanted)
    if arguments.list:
        sys.stdout.write(report.listing(found))
        return 0
    if arguments.emit_smt2 is not None:
        emit(found, arguments.emit_smt2)
    outcomes = list(proving.prove(found, arguments.solver, _answers(arguments), arguments.jobs, _progress()))
    if arguments.record is not None:
        from sonnx.audit import record

        write_whole(arguments.record, record.as_json(outcomes))
    sys.stdout.write(report.as_json(outcomes) if arguments.format == "json" else report.text(outcomes))
    return exit_code(outcomes)


def _prove_model(arguments: argparse.Namespace) -> int:
    from sonnx.model_proof import prove_model
    from sonnx.report import proof as report

    proof = prove_model(
        arguments.model,
        arguments.edition,
        assume=arguments.assume,
        limits=limits.limits_of(arguments.limit),
        name=arguments.model,
    )
    if arguments.format == "json":
        sys.stdout.write(json.dumps(report.as_data(proof), indent=1) + "\n")
    else:
        sys.stdout.write(report.render(proof))
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
