"""The solvers: one exporter to SMT-LIB, and the answer of each solver to the exported text.

Every solver reads the same text, z3 included, so that no answer depends on how a term was built.  Limits count steps
and the seed is fixed: an answer does not depend on the clock.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple

import z3

from sonnx.prover.counterexample import minimised, value_of, with_small_factors
from sonnx.prover.results import PACKAGES, SolverAnswer
from sonnx.prover.theorem import Obligation, Sort

EFFORT = 50_000_000
"""Steps of z3 (its rlimit) for one question, about ten times what the hardest theorem needs."""
SEEDS = (0, 1)
"""Seeds of z3, in the order in which they are tried."""
CVC5_EFFORT = 20_000_000
PRODUCT = re.compile(r"\(\* (?!\d|\(- \d)|\((?:div|mod) ")
"""A division, or a product that does not begin with a constant: z3 writes the constant first."""
_BEGIN = r"^\((?:assert |declare-|set-logic |check-sat\))"
_COMMAND = re.compile(rf"{_BEGIN}.*?(?={_BEGIN}|\Z)", re.MULTILINE | re.DOTALL)
"""One command of a script: z3 may begin a line inside an assertion with a parenthesis, but with no command."""
_SYMBOL = re.compile(r"\|[^|]*\||[^\s()]+")
FRAGMENTS: dict[str, set[Sort]] = {
    "z3": {"int", "bits", "float"},
    "cvc5": {"int", "bits", "float"},
    "bitwuzla": {"bits", "float"},
}
"""The theories each solver can read."""
CONFIRMING_SOLVER: dict[Sort, str] = {"int": "cvc5", "bits": "bitwuzla", "float": "bitwuzla"}
"""The second solver for each theory."""


def question_text(obligation: Obligation) -> str:
    """The question whether the goal can fail, in SMT-LIB 2.6: unsat means proved."""
    return script([*obligation.hypotheses, z3.Not(obligation.goal)])


def script(assertions: Iterable[z3.BoolRef]) -> str:
    """The question whether assertions can hold together, in SMT-LIB 2.6."""
    solver = z3.Solver()
    solver.add(*assertions)
    return f"(set-logic ALL)\n{solver.sexpr()}(check-sat)\n"


def hypotheses_text(question: str) -> str:
    """The question whether the hypotheses of a question can hold: the `script` of them, without printing terms.

    The goal is the last assertion; what only it names is not declared.
    """
    commands = _COMMAND.findall(question)
    goal = max(index for index, command in enumerate(commands) if command.startswith("(assert "))
    assertions = [command for command in commands[:goal] if command.startswith("(assert ")]
    named = {name for assertion in assertions for name in _SYMBOL.findall(assertion)}
    return "".join([
        command
        for index, command in enumerate(commands)
        if index != goal and not (command.startswith("(declare-") and _SYMBOL.findall(command)[1] not in named)
    ])  # fmt: skip


@cache
def installed(solver: str) -> str:
    """The version of a solver, "" if it is not installed."""
    try:
        return version(PACKAGES[solver])
    except PackageNotFoundError:
        return ""


def ask(solver: str, text: str, small: bool = True) -> SolverAnswer:
    """The answer of a solver to a text in SMT-LIB; "refused" if it cannot read the text.

    With `small`, z3 tries small values for which the assertions hold first, and gives those that it finds.
    """
    answer, unreadable = _SOLVERS[solver]()
    try:
        return answer(text, small)
    except unreadable:
        return SolverAnswer(solver, installed(solver), "refused")


def find_model(text: str, effort: int = EFFORT) -> dict[str, int] | None:
    """Values of the constants for which the assertions of a text hold, as z3 finds them; None if it finds none."""
    solver = _satisfied(text, effort)
    if solver is None:
        return None
    model = solver.model()
    return {decl.name(): value_of(model[decl]) for decl in sorted(model.decls(), key=z3.FuncDeclRef.name)}


def can_hold(text: str, effort: int = EFFORT) -> bool:
    """Whether z3 finds values for which the assertions of a text hold."""
    return _satisfied(text, effort) is not None


def _satisfied(text: str, effort: int) -> z3.Solver | None:
    solver = _z3_with_tactics(text)
    solver.set("rlimit", effort)
    return solver if solver.check() == z3.sat else None


def _ask_z3(text: str, small: bool) -> SolverAnswer:
    """In a fresh context, with another seed if the first one gives up; a small counterexample is tried first.

    The tactics of z3 look for counterexamples: they find those of questions with products, which the core does not,
    and a counterexample is replayed whatever found it.
    """
    read = _z3_with_tactics if small else _z3_solver
    bounded = with_small_factors(text, read) if small and PRODUCT.search(text) else None
    solver, result = (bounded, "sat") if bounded else (read(text), "unknown")
    for seed in () if bounded else SEEDS:
        solver = read(text, seed)
        result = str(solver.check())
        if result != "unknown":
            break
    statistics = solver.statistics()
    effort = int(statistics.get_key_value("rlimit count")) if "rlimit count" in statistics.keys() else 0  # noqa: SIM118
    values = minimised(solver) if result == "sat" and small else {}
    return SolverAnswer("z3", installed("z3"), result, effort, tuple(sorted(values.items())))  # type: ignore[arg-type]


def _z3_solver(text: str, seed: int = SEEDS[0]) -> z3.Solver:
    """A solver that has read a text, in a fresh context.

    It is the core of z3 without its tactics: these choose a strategy by the memory in use, so that the same text took
    from 90 thousand to 1.9 million steps, depending on the other contexts of the process.
    """
    return _with_question(z3.SimpleSolver(ctx=z3.Context()), text, seed)


def _z3_with_tactics(text: str, seed: int = SEEDS[0]) -> z3.Solver:
    """As `_z3_solver`, with the tactics of z3."""
    return _with_question(z3.Solver(ctx=z3.Context()), text, seed)


def _with_question(solver: z3.Solver, text: str, seed: int) -> z3.Solver:
    solver.set("rlimit", EFFORT)
    solver.set("random_seed", seed)
    solver.from_string(text)
    return solver


def _ask_bitwuzla(bitwuzla: Any, text: str) -> SolverAnswer:
    """The answer of bitwuzla, whose own parser reads the text."""
    parser = bitwuzla.Parser(bitwuzla.TermManager(), bitwuzla.Options())
    parser.parse(text.replace("(check-sat)", ""), True, False)
    result = str(parser.bitwuzla().check_sat()).lower()
    return SolverAnswer("bitwuzla", installed("bitwuzla"), result)  # type: ignore[arg-type]


def _ask_cvc5(cvc5: Any, text: str) -> SolverAnswer:
    """The answer of cvc5 without its proof, which takes longer: see `proof`."""
    _, result = _run_cvc5(cvc5, text, proofs=False)
    return SolverAnswer("cvc5", installed("cvc5"), result)  # type: ignore[arg-type]


def _run_cvc5(cvc5: Any, text: str, proofs: bool) -> tuple[Any, str]:
    """The solver that has read a text, and its answer."""
    solver = cvc5.Solver(cvc5.TermManager())
    options = {
        "rlimit": str(CVC5_EFFORT), "seed": "0", "fp-exp": "true", "produce-proofs": str(proofs).lower(),
        "proof-print-reference": "true",
    }  # fmt: skip
    for option, value in options.items():
        solver.setOption(option, value)
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text, "obligation")
    result, symbols = "refused", parser.getSymbolManager()
    while not (command := parser.nextCommand()).isNull():
        result = command.invoke(solver, symbols).strip() or result
    return solver, result


class Proof(NamedTuple):
    """What cvc5 answers to a question, and if it is "unsat" the proof in cvc5's format CPC with its size in steps.

    The proof declares no constants: it uses those of the question, which the checker of the proof reads beside it.
    """

    result: str
    text: str = ""
    steps: int = 0
    trusted: int = 0


def proof(text: str) -> Proof:
    """The proof that the assertions of a text in SMT-LIB cannot hold together."""
    cvc5 = import_module("cvc5")
    try:
        solver, result = _run_cvc5(cvc5, text, proofs=True)
        if result != "unsat":
            return Proof(result)
        proofs = solver.getProof()
        written = solver.proofToString(proofs[0], cvc5.ProofFormat.CPC)
    except RuntimeError:
        return Proof("refused")
    return Proof(result, written.decode("utf-8"), *_count_steps(proofs))


def _count_steps(proofs: list[Any]) -> tuple[int, int]:
    """The different steps of a proof, and how many of them are trusted."""
    seen: set[Any] = set()
    pending = list(proofs)
    while pending:
        step = pending.pop()
        if step not in seen:
            seen.add(step)
            pending += step.getChildren()
    return len(seen), sum("TRUST" in str(step.getRule()) for step in seen)


Ask = Callable[[str, bool], SolverAnswer]


def _z3() -> tuple[Ask, type[Exception]]:
    return _ask_z3, z3.Z3Exception


def _cvc5() -> tuple[Ask, type[Exception]]:
    cvc5 = import_module("cvc5")  # optional packages, loaded for their questions only
    return lambda text, _: _ask_cvc5(cvc5, text), RuntimeError


def _bitwuzla() -> tuple[Ask, type[Exception]]:
    bitwuzla = import_module("bitwuzla")
    return lambda text, _: _ask_bitwuzla(bitwuzla, text), bitwuzla.BitwuzlaException


_SOLVERS: dict[str, Callable[[], tuple[Ask, type[Exception]]]] = {"z3": _z3, "cvc5": _cvc5, "bitwuzla": _bitwuzla}
