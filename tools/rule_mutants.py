"""Mutation test of the rules: a case must detect every small change of a rule's condition.

    python -m tools.rule_mutants [OPERATOR or RULE ...]

Checking the cases evaluates conditions on facts; both are recorded.  A mutant is *detected* if some case would get
another outcome of that rule: another word of docs/cases.md, or no pass where the case states `conforms`.  Effects on
other rules are not counted, so a reported survivor may still be detected; a reported detection is one.
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import sonnx
from sonnx.checker import rules
from sonnx.evidence.mutation import MutationRecord, Survivor, mutation_record
from sonnx.evidence.verification import model_bytes
from sonnx.graph.views import Views
from sonnx.language.domain import Expression, RuleError
from sonnx.language.evaluator import Evaluator, Unknown, UnknownCause
from sonnx.language.parser import parse
from sonnx.language.steps import OutOfFuel
from sonnx.profile.cases import RuleCase, all_cases
from sonnx.profile.definitions import Rule
from tools.syntax_mutants import Replacements, changes, of_condition


@dataclass(frozen=True)
class Evaluation:
    """One condition evaluated for one case: the facts, and whether the case states that the rule passes."""

    case: str
    rule: Rule
    names: Mapping[str, Any]
    conforms: bool


# ------------------------------------------------------------------ mutants


def mutants(text: str, replacements: Replacements = of_condition) -> list[str]:
    """The expressions that differ from this one in one small way, each once."""
    tree = ast.parse(text.strip(), mode="eval").body
    found = {ast.unparse(ast.fix_missing_locations(change.tree)): None for change in changes(tree, replacements)}
    found.pop(ast.unparse(tree), None)
    return [name for name in found if _parses(name)]


def _parses(text: str) -> bool:
    try:
        parse(text)
    except RuleError:
        return False
    return True


# ------------------------------------------------------------------ what the cases evaluate


@cache
def evaluations() -> Mapping[tuple[str, str], list[Evaluation]]:
    """Every condition that checking the cases evaluates, by rule and expression."""
    evaluations: dict[tuple[str, str], list[Evaluation]] = defaultdict(list)
    for case in all_cases():
        for edition in case.expected:
            with _recording(evaluations, case, edition):
                sonnx.check(model_bytes(case), edition or None, strict_versions=case.strict_versions)
    return evaluations


@contextmanager
def _recording(found: dict[tuple[str, str], list[Evaluation]], case: RuleCase, edition: str) -> Iterator[None]:
    """Record each evaluation of a rule by the checker."""
    original = rules.RuleCondition.result
    conforming = case.expected[edition].get("conforms", frozenset())

    def record(condition: rules.RuleCondition, views: Views, listing: rules.Listing = rules.ALL) -> rules.RuleResult:
        slug = condition.rule.slug
        evaluation = Evaluation(f"{case.id} [{edition}]", condition.rule, dict(views.names), slug in conforming)
        found[slug, condition.demand.text].append(evaluation)
        return original(condition, views, listing)

    rules.RuleCondition.result = record  # type: ignore[assignment, method-assign]
    try:
        yield
    finally:
        rules.RuleCondition.result = original  # type: ignore[method-assign]


def outcomes(condition: Expression, those: Sequence[Evaluation]) -> set[str]:
    """The outcomes of the rule in one case, in the vocabulary of docs/cases.md; "pass" only where it must pass."""
    found = {(_outcome(condition, evaluation), evaluation.conforms) for evaluation in those}
    return {outcome for outcome, conforms in found if outcome != "not-applicable" and (outcome != "pass" or conforms)}


def _outcome(condition: Expression, each: Evaluation) -> str:
    if each.rule.when is not None:
        applies = _value(each.rule.when, each.names)
        if applies is False:
            return "not-applicable"
        if isinstance(applies, Unknown):
            return _open(applies)
    value = _value(condition, each.names)
    if isinstance(value, Unknown):
        return _open(value)
    if value:
        return "not-applicable" if condition.over_nothing(Evaluator(), each.names) else "pass"
    onnx = condition if each.rule.kind == "validity" else each.rule.onnx
    return "invalid" if onnx is not None and _value(onnx, each.names) is False else "violates"


def _value(condition: Expression, names: Mapping[str, Any]) -> Any:
    try:
        return condition.evaluate(Evaluator(), names)
    except OutOfFuel:
        return Unknown(UnknownCause.NOT_STATED, "the lists are too long")


def _open(value: Unknown) -> str:
    if value.because:
        return "not-applicable"  # a case does not state folded results
    return "assumed" if value.cause is UnknownCause.RUN_TIME else "undecided"


# ------------------------------------------------------------------ the test


@dataclass(frozen=True)
class Score:
    """The mutants of one condition, and those that no case detects."""

    mutants: int
    survivors: tuple[str, ...]


def score(slug: str, text: str) -> Score:
    """Evaluate every mutant of one condition of a rule on the facts of all cases."""
    by_case: dict[str, list[Evaluation]] = defaultdict(list)
    for evaluation in evaluations()[slug, text]:
        by_case[evaluation.case].append(evaluation)
    condition = parse(text)
    expected = [(those, outcomes(condition, those)) for those in by_case.values()]
    texts = mutants(text)
    return Score(len(texts), tuple(name for name in texts if not _detected(parse(name), expected)))


def _detected(mutant: Expression, expected: list[tuple[list[Evaluation], set[str]]]) -> bool:
    """Whether a case gets another outcome; that case is the first one tried on the next mutant."""
    for place, (those, wanted) in enumerate(expected):
        if outcomes(mutant, those) != wanted:
            expected.insert(0, expected.pop(place))
            return True
    return False


def conditions(names: Sequence[str] = ()) -> list[tuple[str, str]]:
    """The conditions of the rules with these slugs or of these operators; all of them if none is named."""
    known = evaluations()
    return sorted(key for key in known if not names or key[0] in names or key[0].partition(".")[0] in names)


@dataclass(frozen=True)
class MutationTest:
    """The mutants of the conditions, and those that no case detects."""

    mutants: int
    survivors: tuple[Survivor, ...]

    def unexplained(self, record: MutationRecord) -> list[Survivor]:
        """Survivors for which the record has no reason."""
        known = set(record.survivors)
        return [survivor for survivor in self.survivors if survivor not in known]

    def obsolete(self, record: MutationRecord) -> list[Survivor]:
        """Recorded survivors that a case detects, or that are no longer mutants."""
        found = set(self.survivors)
        return [survivor for survivor in record.survivors if survivor not in found]


def mutation_test(names: Sequence[str] = ()) -> MutationTest:
    """Run the test on the rules with these slugs or of these operators, or on all rules; some seconds."""
    number, found = 0, dict[Survivor, None]()
    for slug, text in conditions(names):
        made = score(slug, text)
        number += made.mutants
        found |= dict.fromkeys(Survivor(slug, " ".join(text.split()), mutant) for mutant in made.survivors)
    return MutationTest(number, tuple(found))


def main(names: Sequence[str]) -> int:
    """Print the survivors without a reason, the obsolete records and the score; 1 if the record must change."""
    found, record = mutation_test(names), mutation_record()
    unexplained, obsolete = found.unexplained(record), [] if names else found.obsolete(record)
    for title, survivors in (("no case detects, no reason recorded", unexplained), ("obsolete record", obsolete)):
        for survivor in survivors:
            print(f"{title}: {survivor.rule}\n    {survivor.text}\n    {survivor.mutant}")
    print(f"cases detect {found.mutants - len(found.survivors)} of {found.mutants} mutants")
    if not names and found.mutants != record.mutants:
        print(f"the record states {record.mutants} mutants")
    return int(bool(unexplained or obsolete) or (not names and found.mutants != record.mutants))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
