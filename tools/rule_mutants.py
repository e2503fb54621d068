"""Mutation test of the rules: a case must detect every small change of a rule's condition.

    python -m tools.rule_mutants [OPERATOR or RULE ...]

Checking the cases evaluates conditions on facts; both are recorded.  A mutant is *detected* if some case would get
another outcome of that rule: another word of docs/profile-format.md, or no pass where the case states `conforms`.
Effects on other rules are not counted, so a reported survivor may still be detected; a reported detection is one.

Some survivors of conditions that are generated from the table of types cannot be detected, which follows from their
form (`reason_by_types`).  Each of the others needs a case, or a reason in sonnx/evidence/rule_survivors.toml.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
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
from sonnx.profile import catalogue
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
    """The outcomes of the rule in one case, in the words of docs/profile-format.md; "pass" only where it must pass."""
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


# ------------------------------------------------------------------ reasons that follow from the form of a condition

_ASKED = re.compile(
    r"(?:not given\(\w+\) or )?(?P<one>\w+)\.type in (?P<types>\[[^]]*\])"
    r"|(?P<quantifier>all|any)\(\(x\.type in (?P<each>\[[^]]*\]) for x in (?P<many>\w+)\)\)"
)


def _asked(text: str) -> dict[str, tuple[str, str]]:
    """The tensor and the list of types of each part of a condition on types; empty for any other condition."""
    tree = ast.parse(text.strip(), mode="eval").body
    together = tree.values if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.And) else [tree]
    asked = {}
    for part in map(ast.unparse, together):
        match = _ASKED.fullmatch(part)
        if match is None:
            return {}
        asked[part] = match["one"] or match["many"], match["types"] or match["each"]
    return asked


def reason_by_types(rule: str, text: str, mutant: str) -> str:
    """The name of the reason why no case can detect the change of a condition on types; "" if none follows.

    `one-type`: the mutant leaves out one tensor, or asks one item of a list, and a tensor that is always there is held
    to the same list.  `left-out-output`: it asks the type of an output without asking first whether it is there.
    """
    before, after = _asked(text), _asked(mutant)
    gone, added = before.keys() - after.keys(), after.keys() - before.keys()
    if not before or not after or len(gone) != 1:
        return ""
    [part] = gone
    tensor, types = before[part]
    others = [each for each in after if not each.startswith("not given") and after[each][0] != tensor]
    if added <= {part.replace("all(", "any(", 1)} - {part} and any(after[each][1] == types for each in others):
        return "one-type"
    operator = catalogue.operator(rule.partition(".")[0])
    outputs = {output.name for output in operator.outputs} if operator else set[str]()
    if tensor in outputs and {part} == {f"not given({tensor}) or {each}" for each in added}:
        return "left-out-output"
    return ""


Counts = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True)
class MutationTest:
    """The mutants of the conditions, and those that no case detects: counted by reason and rule, or listed."""

    mutants: int
    survivors: tuple[Survivor, ...]
    by_types: Counts = field(default_factory=dict)

    @property
    def undetected(self) -> int:
        """How many mutants no case detects."""
        return len(self.survivors) + sum(sum(rules.values()) for rules in self.by_types.values())

    def unexplained(self, record: MutationRecord) -> list[Survivor]:
        """Survivors for which the record has no reason."""
        known = {survivor for group in record.groups for survivor in group.survivors}
        return [survivor for survivor in self.survivors if survivor not in known]

    def obsolete(self, record: MutationRecord) -> list[Survivor]:
        """Recorded survivors that a case detects, or that are no longer mutants."""
        listed = set(self.survivors)
        return [survivor for group in record.groups for survivor in group.survivors if survivor not in listed]

    def counted(self, record: MutationRecord) -> bool:
        """Whether the record has these numbers."""
        recorded = {group.id: dict(group.rules) for group in record.groups if group.rules}
        return self.mutants == record.mutants and recorded == {id_: dict(rules) for id_, rules in self.by_types.items()}


def mutation_test(names: Sequence[str] = ()) -> MutationTest:
    """Run the test on the rules with these slugs or of these operators, or on all rules; some seconds."""
    number, listed, counts = 0, dict[Survivor, None](), defaultdict[str, Counter[str]](Counter)
    for slug, text in conditions(names):
        condition = score(slug, text)
        number += condition.mutants
        for mutant in condition.survivors:
            if reason := reason_by_types(slug, text, mutant):
                counts[reason][slug] += 1
            else:
                listed[Survivor(slug, mutant)] = None
    return MutationTest(number, tuple(listed), counts)


def main(names: Sequence[str]) -> int:
    """Print the survivors without a reason, the obsolete records and the score; 1 if the record must change."""
    result, record = mutation_test(names), mutation_record()
    unexplained, obsolete = result.unexplained(record), [] if names else result.obsolete(record)
    for title, survivors in (("no case detects, no reason recorded", unexplained), ("obsolete record", obsolete)):
        for survivor in survivors:
            print(f"{title}: {survivor.rule}\n    {survivor.mutant}")
    print(f"cases detect {result.mutants - result.undetected} of {result.mutants} mutants")
    counted = bool(names) or result.counted(record)
    if not counted:
        print("the record has other numbers: `make operator NAME=...` writes them")
    return int(bool(unexplained or obsolete) or not counted)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
