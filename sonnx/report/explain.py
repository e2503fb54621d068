"""Explanations of rules, tags, operators, errata and theorems."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import msgspec

from sonnx.base.errors import NotExecutable, UsageError
from sonnx.base.escaping import escape
from sonnx.base.suggestions import did_you_mean
from sonnx.checker.deviations import RULES
from sonnx.language.parser import built_ins
from sonnx.language.printer import formula
from sonnx.profile import catalogue
from sonnx.profile.accuracy import accuracy_formulas
from sonnx.profile.cases import RuleCase, cases_about
from sonnx.profile.definitions import Erratum, OperatorDefinition, Rule
from sonnx.profile.index import (
    Label,
    RuleInForce,
    all_labels,
    matches_rule,
    matches_tag,
    names_of_rules,
    operator_named_in,
    rule_named,
    rules_by_slug,
    rules_in_force,
)
from sonnx.profile.requirement_identifiers import withdrawal
from sonnx.profile.rewrites import OUTSIDE, operator_titles, rewrite_titles
from sonnx.profile.signature import active_condition, every_rule, signature
from sonnx.report.theorem_explanation import theorem_facts, theorem_named

if TYPE_CHECKING:  # it loads z3
    from sonnx.prover.theorem import Theorem

LINE_WIDTH = 100


@dataclass(frozen=True, slots=True)
class Explanation:
    """What has a name: rules by slug or tag, labels of parts of an operator, an operator, an erratum or a theorem."""

    name: str
    rules: tuple[Rule, ...] = ()
    labels: tuple[Label, ...] = ()
    """Labels on a parameter, an input or a type, with the rule that decides them."""
    operator: OperatorDefinition | None = None
    erratum: Erratum | None = None
    theorem: Theorem | None = None
    unwritten: str = ""
    """The status of an operator that an edition names and whose rules are not written yet."""
    outside: bool = False
    """Whether it is an operator of ONNX that no edition names."""
    in_force: tuple[RuleInForce, ...] = ()
    """The rules as the edition has them for the model's version of the operator set; () where neither was chosen."""
    chosen: str = ""
    """The edition and the version that were chosen, in words."""

    def to_text(self) -> str:
        """The explanation for a terminal, ending in a line feed."""
        blocks = [_chosen_rule(each, self.chosen) for each in self.in_force] or [*map(_rule, self.rules)]
        if self.labels:
            blocks.append("\n".join(_labels(self.labels)))
        blocks += _errata(self.rules)
        if self.operator is not None:
            blocks = [_chosen_table(self)] if self.in_force else [_operator(self.operator)]
        if self.erratum is not None:
            blocks.append(_erratum(self.erratum))
        if self.theorem is not None:
            blocks.append("\n".join(_theorem(self.theorem)))
        if self.unwritten:
            blocks.append(f"{self.name}\n\n  The operator is {self.unwritten}.\n  Its rules are not written yet.")
        if self.outside:
            blocks.append("\n".join(_outside(self.name)))
        return "\n\n".join(blocks) + "\n"


def explanation(name: str) -> Explanation:
    """Explain a slug, a tag, an operator, an erratum or a theorem.

    Raises:
        UsageError: nothing has this name.
    """
    if (rule := rule_named(name)) is not None:
        return Explanation(name, rules=(rule,))
    rules = explained_rules()
    if name in rules:
        return Explanation(name, rules=(rules[name],))
    described = catalogue.operator(name)
    if described is not None:
        return Explanation(name, operator=described)
    if name in catalogue.errata():
        return Explanation(name, erratum=catalogue.errata()[name])
    tagged = tuple(rule for rule in rules.values() if matches_rule(name, rule))
    parts = tuple(label for label in all_labels() if label.subject and matches_tag(name, label.tag))
    if tagged or parts:
        return Explanation(name, rules=tagged, labels=parts)
    statuses = {edition: each.status(name) for edition, each in catalogue.editions().editions.items()}
    if name in catalogue.operators_outside():
        return Explanation(name, outside=True)
    theorem = None if any(statuses.values()) else theorem_named(name)
    if theorem is not None:
        return Explanation(name, theorem=theorem)
    if not any(statuses.values()):
        hint = did_you_mean(name, {*names_of_rules(), *catalogue.errata(), *catalogue.operators_outside()})
        if sentence := withdrawal(name):
            raise UsageError(sentence)
        raise UsageError(f"nothing is named {name!r}{hint or '; `sonnx rules` lists rules, tags and operators'}")
    unwritten = ", ".join(f"{status} in {edition}" for edition, status in statuses.items() if status)
    return Explanation(name, unwritten=unwritten)


def explanation_in(name: str, edition: str | None, model_version: int | None) -> Explanation:
    """Explain a rule, the rules with a tag or those of an operator, as an edition has them for a model's operator set.

    Raises:
        UsageError: nothing has this name, the edition is unknown, or there is no such rule in it for this version.
    """
    subject = explanation(name)
    if edition is None and model_version is None:
        return subject
    chosen = catalogue.edition_named(edition)
    words = f"edition {chosen.name}" + (f", operator set {model_version}" if model_version is not None else "")
    if subject.operator is not None:
        found = tuple(rules_in_force(chosen, model_version, subject.operator.name))
    elif subject.rules:
        found = tuple(
            each
            for rule in subject.rules
            for each in rules_in_force(chosen, model_version, operator_named_in(rule.slug))
            if each.rule.slug == rule.slug
        )
    else:
        raise UsageError(f"an edition and a version choose the condition of a rule, and no rule has the name {name!r}")
    if not found:
        raise UsageError(f"{name!r} names no rule that is in force in {words}")
    rules = () if subject.operator else tuple(each.rule for each in found)
    return replace(subject, rules=rules, labels=(), in_force=found, chosen=words)


def explained_rules() -> dict[str, Rule]:
    """Every rule by slug: also withdrawn ones, and those about the files of a project."""
    inert = [rule for operator in catalogue.operators() for rule in operator.rules if rule.inert]
    return {**rules_by_slug(), **{rule.slug: rule for rule in (*RULES, *inert)}}


def _rule(rule: Rule) -> str:
    lines = [f"{rule.slug}  ({class_of(rule)})", "", *_wrapped("", rule.statement), ""]
    for label, text in rule_facts(rule):
        lines += _wrapped(label, text)
    for word, case in examples(rule.slug):
        lines += ["", f"  {word}: {case.title}", *_model(case)]
    return "\n".join(lines)


def _chosen_rule(chosen: RuleInForce, words: str) -> str:
    """One rule as an edition has it for a version of its operator."""
    rule, condition, version = chosen
    weaker = condition is not None and condition != rule.require
    shown = msgspec.structs.replace(rule, require=condition, onnx=None) if weaker else rule
    operator = f"{operator_named_in(rule.slug)}-{version} in " if version else ""
    lines = [f"{rule.slug}  ({class_of(rule)})", "", *_wrapped("", rule.statement), ""]
    lines += _wrapped("here", f"{operator}{words}")
    if weaker:
        lines += _wrapped("", "this edition demands only what ONNX does: the condition below, not the statement", 12)
    for label, text in rule_facts(shown, variants=False):
        lines += _wrapped(label, text)
    for word, case in examples(rule.slug, words.removeprefix("edition ").partition(",")[0], version):
        lines += ["", f"  {word}: {case.title}", *_model(case)]
    return "\n".join(lines)


def _chosen_table(explained: Explanation) -> str:
    lines = [f"{explained.name} in {explained.chosen}", "", "  rules"]
    return "\n".join([*lines, *_table([each.rule for each in explained.in_force])])


def rule_facts(rule: Rule, *, variants: bool = True) -> Iterator[tuple[str, str]]:
    """What is known of a rule beside its statement, errata and examples, as terms with their texts."""
    yield from _formulas(rule)
    yield "because", rule.because
    yield "remedy", rule.remedy
    if rewrite_titles(rule.slug):
        yield "sonnx fix", "; ".join(rewrite_titles(rule.slug))
    yield "source", rule.source
    yield from _versions(rule)
    yield from (("tag", f"{tag.label} in {tag.text}, origin {tag.origin}") for tag in rule.tags)
    yield "editions", ", ".join(_editions(rule)) or "none"
    if variants:
        yield from _variants(rule)


def _theorem(theorem: Theorem) -> Iterator[str]:
    yield from (f"{theorem.id}  (theorem)", "", *_wrapped("", theorem.statement), "")
    for label, text in theorem_facts(theorem):
        yield from _wrapped(label, text) if text else ()


def _outside(name: str) -> Iterator[str]:
    yield from (f"{name}  (an operator of ONNX that no edition of the profile names)", "")
    yield from _wrapped("", f"A model with {name} does not conform: SONNX does not define what the operator computes.")
    near = catalogue.operators_outside()[name]
    yield from ("", *_wrapped("near", near or "no operator of the profile"))
    titles = "; ".join(operator_titles(name))
    yield from _wrapped("sonnx fix", titles or "has no rewrite for it")
    yield from _value_facts(name)
    yield from _wrapped("more", f"sonnx explain {OUTSIDE}; sonnx rules lists the operators of the profile")


def _labels(labels: Iterable[Label]) -> Iterator[str]:
    for tag, slug, subject in labels:
        decided = f"decided by {slug}" if slug else "states what the operator computes; no rule"
        yield f"{tag.label} in {tag.text}, origin {tag.origin}: {subject}, {decided}"


def _errata(rules: Iterable[Rule]) -> list[str]:
    """The errata of some rules, each once."""
    errata = catalogue.errata()
    return [_erratum(errata[name]) for name in dict.fromkeys(name for rule in rules for name in rule.errata)]


def class_of(rule: Rule) -> str:
    """The class of a rule in words."""
    return {
        "validity": "validity: required by ONNX",
        "restriction": "restriction of the profile",
        "error-condition": "error condition of the profile",
        "project": "rule about the files of a project",
    }[rule.kind]


def _formulas(rule: Rule) -> Iterator[tuple[str, str]]:
    if rule.require is None:
        yield "decided", "by a function, which is tested, not proved"
        return
    yield "formula", formula(rule.require)
    yield "condition", rule.require.text
    for name in rule.require.built_ins:
        function = built_ins()[name]
        meaning = inspect.getdoc(function.function) or ""
        yield "function", f"{name}({', '.join(function.parameters)}): {meaning.partition(chr(10))[0]}"
    if rule.when is not None:
        yield "where", formula(rule.when)
    if rule.onnx is not None and rule.onnx != rule.require:
        yield "in ONNX", formula(rule.onnx)


def _versions(rule: Rule) -> Iterator[tuple[str, str]]:
    if rule.since > 1:
        yield "versions", f"from {rule.since} on" + (f", before {rule.before}" if rule.before else "")
    elif rule.before is not None:
        yield "versions", f"before {rule.before}"


def _editions(rule: Rule) -> Iterator[str]:
    """The editions in which the rule is in force."""
    editions = catalogue.editions()
    operator = rule.slug.partition(".")[0] if "." in rule.slug and rule.kind != "project" else ""
    for name, edition in editions.editions.items():
        text = edition.text_of(operator) if operator else edition.general
        if text is not None and (editions.in_force(rule, text) or active_condition(rule, text, editions) is not None):
            yield name


def _variants(rule: Rule) -> Iterator[tuple[str, str]]:
    """The statements of a derived rule in editions that take another text than the default, and in older versions."""
    described = catalogue.operator(rule.slug.partition(".")[0]) if "." in rule.slug else None
    yield from _older(rule, described) if described else ()
    for name in catalogue.editions().editions if described else ():
        candidate = signature(described.name, described.specified_first[0], name) if described else None
        variant = next((each for each in candidate.rules if each.slug == rule.slug), rule) if candidate else rule
        if variant.statement != rule.statement:
            yield f"in {name}", f"({variant.kind}) {variant.statement}"


def _older(rule: Rule, described: OperatorDefinition) -> Iterator[tuple[str, str]]:
    """The statements of a derived rule before the versions of the operator that changed it, but for listed types."""
    default, later, last = catalogue.editions().default, 0, (rule.statement, rule.kind)
    typed = described.type_rules
    for version in sorted(described.versions, reverse=True) if rule.name not in typed else ():
        candidate = signature(described.name, version, default)
        for older in [each for each in candidate.rules if each.slug == rule.slug] if candidate else ():
            if (older.statement, older.kind) != last:
                last = older.statement, older.kind
                yield f"before {later}", f"({older.kind}) {older.statement}"
        later = version


def examples(slug: str, edition: str = "", version: int = 0) -> Iterator[tuple[str, RuleCase]]:
    """A case that passes a rule and one that fails it, each with its word, in the default edition if possible.

    With an edition only cases that state the verdict in it; with a version only cases of this version of the operator.
    """
    described = catalogue.operator(operator_named_in(slug))
    for word, outcomes in (("passes", ("conforms",)), ("fails", ("invalid", "violates"))):
        listed = [
            case
            for case in cases_about(slug, *outcomes)
            if not version or (described and described.version_at(case.operator_set) == version)
        ]
        stated = [
            case
            for case in listed
            for verdicts in [case.expected_in(edition) if edition else case.expected.get("")]
            if any(slug in (verdicts or {}).get(outcome, ()) for outcome in outcomes)
        ]
        yield from ((word, case) for case in (stated if edition else stated or listed)[:1])


def _model(case: RuleCase) -> Iterator[str]:
    for line in case.text.splitlines():
        yield f"    {escape(line)}"


def _erratum(erratum: Erratum) -> str:
    lines = [f"  erratum {erratum.id}  ({', '.join(erratum.document)})"]
    for label, text in (
        ("place", erratum.place),
        ("defect", erratum.defect),
        ("example", erratum.counterexample),
        ("here", erratum.reading),
        ("theorems", ", ".join(erratum.theorems)),
        ("unproved", erratum.unproved),
    ):
        lines += _wrapped(label, text, 4) if text else []
    return "\n".join(lines)


def _operator(described: OperatorDefinition) -> str:
    lines = [described.name, "", *_wrapped("", described.summary), "", f"  {described.formula}", ""]
    lines += _wrapped("source", described.source)
    lines += _wrapped("version", _specified(described))
    for version, reason in sorted(described.equivalent.items(), reverse=True):
        lines += _wrapped("", f"{version} is equivalent: {reason}", 12)
    for version, reason in sorted(described.refused.items(), reverse=True):
        lines += _wrapped("", f"{version} is refused: {reason}", 12)
    editions = catalogue.editions()
    texts = [
        f"{name} ({edition.operators.get(described.name, 'planned')})"
        for name, edition in editions.editions.items()
        if edition.status(described.name)
    ]
    lines += _wrapped("editions", ", ".join(texts) + "  (texts in brackets)")
    if described.instead:
        lines += _wrapped("instead", described.instead)
    for point in described.rounding:
        noted = f"; erratum {', '.join(point.errata)}" if point.errata else ""
        lines += _wrapped("rounding", f"{point.name}: {point.statement} ({point.source}{noted})")
    for stated in accuracy_formulas():
        if stated.operator == described.name:
            why = "right" if stated.holds else f"wrong, erratum {stated.erratum}"
            lines += _wrapped(
                "accuracy",
                f"{stated.formula}  ({stated.place}: {why}; theorem {stated.theorem})",
            )
            lines += _wrapped("", f"sonnx bound: {stated.ours}", 12) if stated.ours else []
    lines += ["  rules", *_table(every_rule(described)), *_value_facts(described.name)]
    errata = list(errata_of_operator(described))
    if errata:
        lines.append("  errata: sonnx explain NAME has the whole text")
        for name in errata:
            lines += _wrapped("", f"{name}: {catalogue.errata()[name].defect}", 4)
    return "\n".join(lines)


def _value_facts(name: str) -> Iterator[str]:
    """What run, bound, equivalent, fix and suite know of an operator."""
    from sonnx.operators import facts_in_words, operator_facts  # they load numpy

    try:
        operator = operator_facts(name)
    except NotExecutable as error:  # without the package of exact values
        yield from _wrapped("values", str(error))
        return
    yield f"  values: what is known of them ({facts_in_words.source_of(operator)})"
    for fact in facts_in_words.facts_in_words(operator):
        value = f" ({fact.value})" if fact.value else ""
        yield from _wrapped("", f"{fact.name}{value}: {fact.meaning}", 4)


def errata_of_operator(described: OperatorDefinition) -> Iterator[str]:
    """The errata that bear on an operator or on a part of it, each once."""
    rules, outputs, parameters = every_rule(described), described.outputs, described.parameters
    listed = [*described.errata]
    for errata in (
        *(rule.errata for rule in rules),
        *(output.errata for output in outputs),
        *(parameter.errata for parameter in parameters),
        *(point.errata for point in described.rounding),
    ):
        listed += errata
    yield from dict.fromkeys(listed)


def _specified(described: OperatorDefinition) -> str:
    if described.specified is None:
        return f"{', '.join(map(str, described.versions))}: none is specified; only the rules of ONNX are checked"
    others = "".join(f", {version} in {text}" for text, version in described.specified_in.items())
    return f"{described.specified} is specified{others}"


def _table(rules: Iterable[Rule]) -> Iterator[str]:
    listed = list(rules)
    width = max(len(rule.slug) for rule in listed)
    return (f"    {rule.slug:<{width}}  {rule.statement}" for rule in listed)


def _wrapped(label: str, text: str, indent: int = 2) -> list[str]:
    head = " " * indent + (f"{label:<10}" if label else "")
    return textwrap.wrap(
        " ".join(text.split()),
        LINE_WIDTH,
        initial_indent=head,
        subsequent_indent=" " * len(head),
        break_long_words=False,
        break_on_hyphens=False,
    )
