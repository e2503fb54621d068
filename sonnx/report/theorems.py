"""The results of theorems, as a document and as JSON (theorems.schema.json); equal runs give equal bytes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Struct, field

from sonnx.base.errors import TOOL_FAILED
from sonnx.base.escaping import escape_once, plural
from sonnx.base.reported import HIDDEN, Tool
from sonnx.checker.report import NoVerdict
from sonnx.prover.dependencies import function_names, page_of
from sonnx.prover.results import KIND_NAMES, KINDS, SOLVERS, STATED_KINDS, ObligationResult, TheoremResult
from sonnx.report.document import CaseResult, Criterion, Document, Section, Standing
from sonnx.report.rendered import Rendered

if TYPE_CHECKING:  # it loads z3
    from sonnx.prover.theorem import Theorem

UNANSWERED = ("undecided", "vacuous", "trivial")
SHORT_NAMES = {"theorem": "theorems", "computed": "computed", "refuted sentence": "refuted", "witness": "witnesses"}
"""The kinds as heads of columns."""
MAX_LISTED = 24
"""More witnesses than this are counted in text, not listed one by one."""


class TheoremReport(Rendered, Struct, frozen=True):
    """The results of theorems: sonnx theorems --format json."""

    results: tuple[TheoremResult, ...] = field(name="theorems")
    """Every theorem that was asked."""
    format: Literal[2] = 2
    """The version of this format; a change that breaks a reader gets a new number."""
    tool: Tool = field(default_factory=Tool)
    """The program that wrote the document."""
    interrupted: Annotated[bool, HIDDEN] = False
    """Whether the run was interrupted."""
    written_proofs: Annotated[str, HIDDEN] = ""
    """How many questions have a proof in the folder of the proofs; "" without one."""

    @property
    def exit_code(self) -> int:
        """4 if the tool failed, else 2 if a theorem says nothing, 1 if it is unexpected, 3 if undecided, else 0."""
        surprises = [result for result in self.results if not result.expected]
        if any(
            surprise.unanswered is not None and surprise.unanswered.why is NoVerdict.FAILED for surprise in surprises
        ):
            return TOOL_FAILED
        if any(surprise.status in ("vacuous", "trivial") for surprise in surprises):
            return 2
        if any(surprise.status != "undecided" for surprise in surprises):
            return 1
        return 3 if surprises else 0

    def document(self) -> Document:
        """The results as a document: a section for each page of theorems, a case for each theorem."""
        pages: dict[str, list[TheoremResult]] = {}
        for outcome in self.results:
            pages.setdefault(page_of(outcome.theorem), []).append(outcome)
        topics = dict.fromkeys(outcome.theorem.id.partition(".")[0] for outcome in self.results)
        wrong = sum(not outcome.expected for outcome in self.results)
        counts = ", ".join(
            f"{count} {KIND_NAMES[kind] if count != 1 else kind}{scope(self.results) if kind == 'theorem' else ''}"
            for kind, count in kinds_of(self.results).items()
        )
        surprises = plural(wrong, "unexpected result") if wrong else "no unexpected results"
        witnesses = [outcome.theorem.id for outcome in self.results if outcome.expected and outcome.status == "found"]
        listed = {"refuted", "found"} if len(witnesses) <= MAX_LISTED else {"refuted"}
        more = f"of {len(witnesses)} witnesses: sonnx theorems --select {', '.join(witnesses[:1])}"
        return Document(
            command="theorems",
            title="theorems about the profile",
            subject=f"{plural(len(topics), 'topic')}: {', '.join(topics)}",
            headline=f"{counts}; {surprises}",
            code=self.exit_code,
            criteria={outcome.theorem.id: _criterion(outcome.theorem) for outcome in self.results},
            sections=tuple(_section(page, members, listed) for page, members in pages.items()),
            advice=() if "found" in listed else (("details", more),),
            table=tuple(_table(self.results)),
            notes=(
                *(f"{kind}: {KINDS[kind]}" for kind in kinds_of(self.results)),
                *map(escape_once, trusted(self.results)),
            ),
        )


def listing(theorems: Iterable[Theorem]) -> str:
    """A line for each theorem, with its domain, size and induction in brackets where they limit it."""
    return "".join(
        f"{theorem.id:46s} {theorem.expected:8s} {theorem.statement}{_in_brackets(theorem)}\n" for theorem in theorems
    )


def listed_counts(theorems: Sequence[Theorem]) -> str:
    """How many theorems there are, and how far those reach that are stated to hold."""
    proved = [theorem for theorem in theorems if theorem.expected == "proved"]
    return f"{plural(len(theorems), 'statement')}, {len(proved)} of them stated to hold{_counted(proved)}"


def _in_brackets(theorem: Theorem) -> str:
    all_of = f"all of {theorem.bounds}" if theorem.scope == "finite domain" else ""
    bounded = f"bounded: {theorem.bounds}" if theorem.scope == "bounded" else ""
    parts = ("reals" if theorem.domain == "reals" else "", all_of, bounded)
    limits = [*filter(None, parts), *(["induction in prose"] if theorem.induction.startswith("prose") else [])]
    return f" ({'; '.join(limits)})" if limits else ""


def scope(outcomes: Iterable[TheoremResult]) -> str:
    """How many theorems hold of any size, over the reals, and by an induction in prose, in brackets."""
    return _counted([outcome.theorem for outcome in outcomes if outcome.kind == "theorem"])


def _counted(theorems: Sequence[Theorem]) -> str:
    scopes = Counter(theorem.scope for theorem in theorems)
    numbers = {
        "of any size": scopes["any size"],
        "for all of a finite domain": scopes["finite domain"],
        "bounded": scopes["bounded"],
        "about reals": sum(theorem.domain == "reals" for theorem in theorems),
        "with an induction in prose": sum(theorem.induction.startswith("prose") for theorem in theorems),
    }
    return f" ({', '.join(f'{number} {text}' for text, number in numbers.items() if number)})" if theorems else ""


def _table(outcomes: Sequence[TheoremResult]) -> Iterator[tuple[str, ...]]:
    """A row for each topic."""
    topics: dict[str, list[TheoremResult]] = {}
    for outcome in outcomes:
        topics.setdefault(outcome.theorem.id.partition(".")[0], []).append(outcome)
    yield "topic", *(f"#{head}" for head in (*SHORT_NAMES.values(), "unexpected", "questions", *SOLVERS, "confirmed"))
    yield from ((topic, *_counts(results)) for topic, results in topics.items())
    yield "all", *_counts(outcomes)


def kinds_of(outcomes: Iterable[TheoremResult]) -> dict[str, int]:
    """The number of results of each kind that occurs, in the order of `KINDS`."""
    numbers = Counter[str](outcome.kind for outcome in outcomes)
    return {kind: numbers[kind] for kind in KINDS if numbers[kind]}


def _counts(outcomes: Sequence[TheoremResult]) -> Iterator[str]:
    kinds = kinds_of(outcomes)
    obligations = [obligation for outcome in outcomes for obligation in outcome.obligations if not obligation.computed]
    solvers = [
        answer.solver
        for obligation in obligations
        for answer in obligation.answers
        if answer.result in ("sat", "unsat")
    ]
    numbers = (
        *(kinds.get(kind, 0) for kind in KINDS), sum(not outcome.expected for outcome in outcomes), len(obligations),
        *(solvers.count(solver) for solver in SOLVERS), sum(outcome.confirmed for outcome in outcomes),
    )  # fmt: skip
    return map(str, numbers)


def disagreement(obligation: ObligationResult) -> str:
    """The answer of each solver to an obligation, or why it says nothing."""
    if obligation.trivial:
        return f" ({obligation.trivial})"
    answers = {answer.solver: answer.result for answer in obligation.answers}
    return f" ({', '.join(f'{solver}: {result}' for solver, result in answers.items())})" if answers else ""


def values(outcome: TheoremResult) -> str:
    """The counterexample that the solver found, as text."""
    return ", ".join(f"{name} = {value}" for name, value in outcome.counterexample)


def trusted(outcomes: Sequence[TheoremResult]) -> Iterator[str]:
    """The solvers, what rests on one of them only, and where to read what has to be trusted."""
    outcomes = [outcome for outcome in outcomes if outcome.unanswered is None]
    single = [outcome for outcome in outcomes if not outcome.confirmed]
    answers = [answer for outcome in outcomes for obligation in outcome.obligations for answer in obligation.answers]
    versions = dict.fromkeys(f"{answer.solver} {answer.version}" for answer in answers)
    yield f"solvers: {', '.join(versions) or 'none answered'}"
    recorded = sum(outcome.recorded for outcome in outcomes)
    if recorded:
        yield (
            f"{recorded} of {len(outcomes)} results are those of proofs/record.json, where these versions answered the "
            "same questions; --no-cache asks again"
        )
    if single:
        yield f"{len(single)} of {len(outcomes)} results rest on one solver; --solver all runs a second one"
        reasons = Counter(outcome.theorem.reason_single for outcome in single if outcome.theorem.reason_single)
        yield from (f"  {count} of them for a reason: {reason}" for reason, count in reasons.items())
    yield "what has to be trusted: docs/trust.md"


# ------------------------------------------------------------------ as a document, for the other formats


def _section(page: str, members: Sequence[TheoremResult], listed: Collection[str]) -> Section:
    """The theorems of one page; bounds that all of them share are stated once."""
    bounds = {outcome.theorem.bounds for outcome in members}
    shared = len(bounds) == 1 and "" not in bounds
    note = f"bounds of all theorems: {members[0].theorem.bounds}" if shared else ""
    return Section(page, f"docs/theorems/{page}.md", tuple(_case(outcome, shared, listed) for outcome in members), note)


def _criterion(theorem: Theorem) -> Criterion:
    about = ", ".join(function_names(theorem))
    tags = tuple(filter(None, (theorem.id.partition(".")[0], theorem.erratum)))
    kind, subject = STATED_KINDS[theorem.expected], f"about {about}" if about else ""
    return Criterion(theorem.statement, kind, theorem.because, "", subject, tags)


def _case(outcome: TheoremResult, shared: bool, listed: Collection[str]) -> CaseResult:
    theorem = outcome.theorem
    wrong = Standing.OPEN if outcome.status in UNANSWERED else Standing.BAD
    standing = Standing.GOOD if outcome.expected else wrong
    stated = "" if outcome.expected else f"expected to be {theorem.expected}: "
    if outcome.expected and outcome.status == "refuted":
        stated = "false, as expected: "
    message = f"{stated}{theorem.statement}"
    return CaseResult(
        theorem.id,
        theorem.id,
        outcome.status,
        standing,
        message,
        tuple(_case_details(outcome, shared and outcome.expected)),
        shown=outcome.status in listed,
    )


def _case_details(outcome: TheoremResult, shared: bool) -> Iterator[tuple[str, str]]:
    theorem = outcome.theorem
    if outcome.unanswered is not None:
        yield "not answered", escape_once(outcome.unanswered)
    for obligation in outcome.obligations:
        if not outcome.expected and obligation.status != theorem.expected:
            yield obligation.status, f"{obligation.name}{disagreement(obligation)}"
    if outcome.status in ("refuted", "found"):
        yield "shown", escape_once(outcome.replayed) or values(outcome)
    if outcome.unconfirmed:
        yield "not confirmed", f"the real code does not confirm it: {escape_once(outcome.unconfirmed)}"
    if theorem.bounds and not shared:
        yield "all of" if theorem.scope == "finite domain" else "bounds", theorem.bounds
    if theorem.bound_reason and outcome.kind == "theorem":
        yield "bounded", theorem.bound_reason
    if theorem.domain == "reals":
        yield "domain", "real numbers"
    if theorem.induction:
        yield "induction", theorem.induction
    if theorem.any_size and theorem.expected == "proved":
        yield "of any size", theorem.any_size
    if outcome.confirmed:
        yield "solvers", "two"
