"""The solvers: one exporter to SMT-LIB, and what each solver answers to the exported text.

Every solver reads the same text, z3 included, so that no answer depends on how a term was built.  Limits are counts of
steps and the seed is fixed: an answer does not depend on the clock.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple

import z3

from sonnx.prover.smallest import fixed, number, smallest
from sonnx.prover.theorem import Obligation

EFFORT = 50_000_000
"""Steps of z3 (its rlimit) allowed for one question, about ten times the most any theorem needs."""
PACKAGES = {"z3": "z3-solver", "cvc5": "cvc5", "bitwuzla": "bitwuzla"}
FRAGMENTS = {"z3": {"int", "bits", "float"}, "cvc5": {"int", "bits", "float"}, "bitwuzla": {"bits", "float"}}
"""What each solver can read."""
CONFIRMS = {"int": "cvc5", "bits": "bitwuzla", "float": "bitwuzla"}
"""The second solver for each sort."""


class Answer(NamedTuple):
    """What a solver says about a text; `steps` and `trusted` count the rules of its proof where it gives one."""

    solver: str
    version: str
    result: str
    effort: int = 0
    values: tuple[tuple[str, int], ...] = ()
    steps: int = 0
    trusted: int = 0


def export(obligation: Obligation) -> str:
    """The question whether the goal can fail, in SMT-LIB 2.6: unsat means proved."""
    return script([*obligation.hypotheses, z3.Not(obligation.goal)])


def export_hypotheses(obligation: Obligation) -> str:
    """The question whether the hypotheses can hold, "" where there are none: unsat means vacuous."""
    return script(obligation.hypotheses) if obligation.hypotheses else ""


def script(assertions: Iterable[z3.BoolRef]) -> str:
    """The question whether assertions can hold together, in SMT-LIB 2.6."""
    solver = z3.Solver()
    solver.add(*assertions)
    return f"(set-logic ALL)\n{solver.sexpr()}(check-sat)\n"


def installed(solver: str) -> str:
    """The version of a solver, "" where it is absent."""
    try:
        return version(PACKAGES[solver])
    except PackageNotFoundError:
        return ""


def ask(solver: str, text: str) -> Answer:
    """The answer of a solver by its name; "refused" where it cannot read the text."""
    asked: Callable[[str], Answer] = {"z3": ask_z3, "cvc5": ask_cvc5, "bitwuzla": ask_bitwuzla}[solver]
    module = importlib.import_module(solver)
    unreadable = getattr(module, "BitwuzlaException", getattr(module, "Z3Exception", RuntimeError))
    try:
        return asked(text)
    except unreadable:
        return Answer(solver, installed(solver), "refused")


def ask_z3(text: str) -> Answer:
    """In a fresh context; a counterexample is made small."""
    solver = _alone_with(text, EFFORT)
    result = str(solver.check())
    statistics = solver.statistics()
    effort = int(statistics.get_key_value("rlimit count")) if "rlimit count" in statistics.keys() else 0  # noqa: SIM118
    values: dict[str, int] = {}
    if result == "sat":
        multiplies = any(sign in text for sign in ("(* ", "(div ", "(mod "))
        values = smallest(fixed(solver, lambda: _alone_with(text, EFFORT)) if multiplies else solver)
    return Answer("z3", installed("z3"), result, effort, tuple(sorted(values.items())))


def find(text: str) -> dict[str, int] | None:
    """Values of the constants under which the assertions of a text hold, as z3 finds them; None where it finds none."""
    solver = _alone_with(text, EFFORT)
    if solver.check() != z3.sat:
        return None
    model = solver.model()
    return {str(name): number(model[name]) for name in sorted(model.decls(), key=str)}


def _alone_with(text: str, effort: int) -> z3.Solver:
    """A solver that has read a text, in a fresh context, always beside the main one.

    How Z3 searches depends on whether its context is the only one alive: the same text can take four times the steps.
    The main context is alive in a process that makes theorems, so it must be in one that only answers.
    """
    z3.main_ctx()
    solver = z3.Solver(ctx=z3.Context())
    solver.set("rlimit", effort)
    solver.set("random_seed", 0)
    solver.from_string(text)
    return solver


def ask_bitwuzla(text: str) -> Answer:
    """Through its own parser."""
    bitwuzla = importlib.import_module("bitwuzla")
    parser = bitwuzla.Parser(bitwuzla.TermManager(), bitwuzla.Options())
    parser.parse(text.replace("(check-sat)", ""), True, False)
    return Answer("bitwuzla", installed("bitwuzla"), str(parser.bitwuzla().check_sat()).lower())


def ask_cvc5(text: str) -> Answer:
    """With a proof for integers: its rules are counted, and those it asks to believe."""
    cvc5 = importlib.import_module("cvc5")
    solver = cvc5.Solver(cvc5.TermManager())
    proofs = "BitVec" not in text and "FloatingPoint" not in text
    options = {"rlimit": "20000000", "seed": "0", "fp-exp": "true", "produce-proofs": str(proofs).lower()}
    for option, value in options.items():
        solver.setOption(option, value)
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text, "obligation")
    result, symbols = "refused", parser.getSymbolManager()
    while not (command := parser.nextCommand()).isNull():
        result = command.invoke(solver, symbols).strip() or result
    steps, trusted = _count(solver.getProof()) if proofs and result == "unsat" else (0, 0)
    return Answer("cvc5", installed("cvc5"), result, 0, (), steps, trusted)


def _count(proofs: list[Any]) -> tuple[int, int]:
    """Distinct steps of a proof, and how many of them are trusted."""
    seen: set[Any] = set()
    pending = list(proofs)
    while pending:
        step = pending.pop()
        if step not in seen:
            seen.add(step)
            pending += step.getChildren()
    return len(seen), sum("TRUST" in str(step.getRule()) for step in seen)
