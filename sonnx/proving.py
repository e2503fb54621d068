"""Proving: every theorem is asked of the solvers, and what they answer is put together.

A theorem counts only where its hypotheses can hold, every obligation is decided, and the solvers agree.  The solvers
and the theorems stand in `proofs/`, which is walked when it is asked for: nothing here knows a theorem by name.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from importlib import import_module
from multiprocessing import get_context
from typing import Any

from sonnx.answers import Answers
from sonnx.data import folder
from sonnx.misuse import Misuse

SOLVERS = ("z3", "cvc5", "bitwuzla")


class Unusable(Misuse):
    """An unknown theorem or an absent solver: one sentence for the user."""


@dataclass(frozen=True, slots=True)
class Judged:
    """One obligation with what each solver answered to its text; `hash` is that of the SMT-LIB text."""

    name: str
    hash: str
    answers: tuple[Any, ...]
    vacuous: str = ""
    """What the first solver said about the hypotheses where it was not that they can hold."""

    @property
    def status(self) -> str:
        """Proved, refuted, vacuous or undecided; solvers that disagree decide nothing."""
        found = {answer.result for answer in self.answers} - {"refused"}
        if self.vacuous:
            return "vacuous" if self.vacuous == "unsat" else "undecided"
        return {frozenset({"unsat"}): "proved", frozenset({"sat"}): "refuted"}.get(frozenset(found), "undecided")

    @property
    def confirmed(self) -> bool:
        """At least two solvers decided it."""
        return sum(answer.result in ("sat", "unsat") for answer in self.answers) > 1


@dataclass(frozen=True, slots=True)
class Outcome:
    """A theorem, its obligations as judged, and for a refuted one the counterexample as the real code shows it."""

    theorem: Any
    obligations: tuple[Judged, ...]
    source: str
    """The hash of the source texts the theorem is about."""
    counterexample: tuple[tuple[str, int], ...] = ()
    replayed: str = ""
    unconfirmed: str = ""

    @property
    def status(self) -> str:
        """The status of the worst obligation: vacuous, undecided, refuted, proved."""
        found = {each.status for each in self.obligations}
        return next((s for s in ("vacuous", "undecided", "refuted", "proved") if s in found), "undecided")

    @property
    def expected(self) -> bool:
        """The theorem came out as it states, and the real code shows its counterexample."""
        return bool(self.status == self.theorem.expected and not self.unconfirmed)

    @property
    def confirmed(self) -> bool:
        """A second solver decided every obligation that decides the theorem."""
        deciding = [each for each in self.obligations if each.status == self.status]
        return bool(deciding) and all(each.confirmed for each in deciding)


def theorems() -> tuple[Any, ...]:
    """Every theorem of `proofs/`, by identifier."""
    modules = [import_module(f"sonnx.proofs.{path.stem}") for path in sorted(folder("proofs").glob("[a-z]*.py"))]
    found = [
        _concerning(module, each) for module in modules if hasattr(module, "theorems") for each in module.theorems()
    ]
    return tuple(sorted(found, key=lambda theorem: str(theorem.id)))


def _concerning(module: Any, theorem: Any) -> Any:
    """The theorem with the operators its module is about, where it names none itself."""
    concerns = getattr(module, "CONCERNS", ())
    return theorem if theorem.concerns or not concerns else replace(theorem, concerns=concerns)


def select(found: Sequence[Any], wanted: Sequence[str]) -> tuple[Any, ...]:
    """The theorems of the identifiers or topics named; all where none is.

    Raises:
        Unusable: where a name is of no theorem.
    """
    for name in wanted:
        if not any(_named(theorem, name) for theorem in found):
            raise Unusable(f"There is no theorem {name!r}; sonnx prove --list names them all.")
    return tuple(theorem for theorem in found if not wanted or any(_named(theorem, name) for name in wanted))


def _named(theorem: Any, name: str) -> bool:
    return bool(theorem.id == name or theorem.id.startswith(f"{name}."))


def require(solvers: Iterable[str]) -> None:
    """Refuse where a solver is absent.

    Raises:
        Unusable: with the way to install it.
    """
    for solver in solvers:
        if not import_module("sonnx.proofs.solving").installed(solver):
            raise Unusable(f"The solver {solver} is not installed; it comes with pip install 'sonnx[solvers]'.")


def source_hash(theorem: Any) -> str:
    """The hash of the source texts a theorem is about: of texts, because code objects differ between Pythons."""
    texts = [each if isinstance(each, str) else inspect.getsource(each) for each in theorem.sources]
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Question:
    """An obligation in SMT-LIB: the theorem it belongs to, the text, and the text of its hypotheses alone."""

    theorem: Any
    name: str
    text: str
    hypotheses: str
    solvers: tuple[str, ...]


def questions(theorem: Any, solver: str, obligations: Callable[[], Iterable[Any]]) -> Iterator[Question]:
    """What to ask: of one solver, or with "all" of z3 and of the one that confirms theorems of this sort."""
    solving = import_module("sonnx.proofs.solving")
    asked = ("z3", solving.CONFIRMS[theorem.sort]) if solver == "all" else (solver,)
    if theorem.reason_single and solver != "z3":
        asked = ("z3",)
    readers = tuple(each for each in asked if theorem.sort in solving.FRAGMENTS[each])
    for each in obligations():
        yield Question(theorem, each.name, solving.export(each), solving.export_hypotheses(each), readers or ("z3",))


def prove(
    found: Sequence[Any],
    solver: str = "z3",
    answers: Answers | None = None,
    jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Iterator[Outcome]:
    """Each theorem with its outcome, in order.

    Raises:
        Unusable: where a solver is absent.
    """
    require(SOLVERS if solver == "all" else (solver,))
    asked = [question for theorem in found for question in questions(theorem, solver, theorem.obligations)]
    known = answer_all(asked, answers or Answers(None), jobs, progress)
    judged: dict[str, list[Judged]] = {theorem.id: [] for theorem in found}
    for question in asked:
        judged[question.theorem.id].append(_judge(question, known))
    for theorem in found:
        yield _outcome(theorem, judged[theorem.id])


def refutes(theorem: Any, mutant: Any, known: Answers | None = None) -> bool:
    """Whether at least one obligation of a mutant is refuted: the theorem notices the change."""
    asked = list(questions(theorem, "z3", mutant.obligations))
    answers = answer_all(asked, known or Answers(None), 1, None)
    return any(_judge(question, answers).status == "refuted" for question in asked)


def answer_all(
    asked: Sequence[Question], answers: Answers, jobs: int, progress: Callable[[int, int], None] | None
) -> Mapping[tuple[str, str], Any]:
    """The answer to every text by solver and text; texts answered before are not asked again."""
    solving = import_module("sonnx.proofs.solving")
    pairs = [(solver, q.text) for q in asked for solver in q.solvers]
    pairs += [("z3", q.hypotheses) for q in asked if q.hypotheses]
    known = {pair: answer for pair in dict.fromkeys(pairs) if (answer := answers.recall(*pair)) is not None}
    open_pairs = [pair for pair in dict.fromkeys(pairs) if pair not in known]
    for done, (pair, answer) in enumerate(_ask(solving.ask, open_pairs, jobs), 1):
        known[pair] = answer
        answers.keep(*pair, answer)
        if progress is not None:
            progress(done, len(open_pairs))
    return known


def _ask(
    ask: Callable[[str, str], Any], pairs: Sequence[tuple[str, str]], jobs: int
) -> Iterator[tuple[tuple[str, str], Any]]:
    if jobs <= 1 or len(pairs) < 2:
        yield from ((pair, ask(*pair)) for pair in pairs)
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        yield from zip(pairs, pool.map(ask, *zip(*pairs, strict=True), chunksize=4), strict=True)


def _judge(question: Question, known: Mapping[tuple[str, str], Any]) -> Judged:
    answers = tuple(known[solver, question.text] for solver in question.solvers)
    possible = known["z3", question.hypotheses].result if question.hypotheses else "sat"
    vacuous = "" if possible == "sat" else possible
    return Judged(question.name, hashlib.sha256(question.text.encode()).hexdigest(), answers, vacuous)


def _outcome(theorem: Any, judged: Sequence[Judged]) -> Outcome:
    outcome = Outcome(theorem, tuple(judged), source_hash(theorem))
    if outcome.status != "refuted":
        return outcome
    first = next(each for each in judged if each.status == "refuted")
    values = next((answer.values for answer in first.answers if answer.values), ())
    said, unconfirmed = _replay(theorem, values)
    return Outcome(theorem, tuple(judged), outcome.source, values, said, unconfirmed)


def _replay(theorem: Any, values: tuple[tuple[str, int], ...]) -> tuple[str, str]:
    """What the real code shows on a counterexample, or why it does not show it."""
    if theorem.replay is None or not values:
        return "", ""
    try:
        return theorem.replay(dict(values)), ""
    except import_module("sonnx.proofs.theorem").Unconfirmed as difference:
        return "", str(difference)
