"""What each edition says of the operators, as `proofs/coq/model.v` has it.

A line is a record in parentheses: `(edition …)`, `(operator …)`, `(signature …)`; the rules of operators are those of
`rules.v` by name.  The program extracted from the formalization reads the lines of the operators that a model names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from sonnx.language.coq import term, text
from sonnx.language.domain import Expression
from sonnx.language.parser import parse
from sonnx.profile import catalogue
from sonnx.profile.definitions import Edition, Formal, OperatorDefinition, Output, Parameter, Rule, at
from sonnx.profile.signature import Signature, active_condition, signature
from sonnx.report.coq_rules import rule_term

EDITIONS = "editions.txt"
SUBJECTS = ("value", "group", "parameter", "input", "operand")
"""The subjects of the general rules, in the order of the line of an edition."""


Naming = Callable[[str], str]
"""The name of a rule's term."""


def edition_lines(name: str, naming: Naming) -> Iterator[str]:
    """The lines of an edition; `naming` gives the names of the rules of operators."""
    edition = catalogue.edition_named(name)
    yield _edition(edition)
    for operator in sorted(edition_operators(edition)):
        described = catalogue.operator(operator)
        status = "Planned" if edition.status(operator) == "planned" else "Specified"
        meanings = [(one.name, one.denotations) for one in described.inputs] if described else []
        yield _record(
            "operator", text(name), text(operator), status, _flag(described is not None),
            _listed(f"({text(formal)} {_texts(denoted)})" for formal, denoted in meanings),
        )  # fmt: skip
        for version in described.versions if described else ():
            called = signature(operator, version, name)
            if called is not None and described is not None:
                yield _signature(name, described, called, naming)


def edition_operators(edition: Edition) -> set[str]:
    """The operators that an edition names."""
    return {*edition.operators, *edition.drafts, *edition.planned}


def _edition(edition: Edition) -> str:
    known = catalogue.editions()
    decided = [rule for rule in catalogue.graph_rules() if known.in_force(rule, edition.general)]
    # Of other subjects the formalization has no rules: these count as not checked.
    decided += [rule for rule in catalogue.general_rules() if rule.subject not in SUBJECTS]
    general = [(rule, active_condition(rule, edition.general, known)) for rule in catalogue.general_rules()]
    about = (
        _listed(_profile_rule(_general(rule, demand), rule, {}) for rule, demand in general
                if rule.subject == subject and demand is not None)
        for subject in SUBJECTS
    )  # fmt: skip
    return _record(
        "edition", text(edition.name), str(known.ir_version), str(known.operator_set), _texts(edition.element_types),
        _listed(f"({text(rule.slug)} {_flag(_leaves_values(rule))})" for rule in decided), *about,
    )  # fmt: skip


def _leaves_values(rule: Rule) -> bool:
    """Whether the values of the outputs of a call stay known where the rule fails: it restricts what ONNX defines."""
    return rule.kind == "restriction" and not ("." in rule.slug and rule.introduced == "onnx")


def _signature(edition: str, described: OperatorDefinition, called: Signature, naming: Naming) -> str:
    version = called.version
    return _record(
        "signature", text(edition), text(called.operator), str(version),
        _listed(_formal(each, bool(each.exempt)) for each in called.inputs),
        _listed(_result(called, each) for each in called.outputs),
        _listed(_parameter(called, each) for each in called.attributes),
        _listed(_parameter(called, each) for each in called.values),
        _listed(f"({text(variable)} {_texts(names)})" for variable, names in called.groups.items()),
        _listed(map(_texts, called.one_type)),
        _listed(f"({text(variable)} {text(element)})" for variable, element in called.single.items()),
        _flag(version in described.refused),
        _listed(map(str, at(described.output_counts, version) or ())),
        _texts(at(described.kinds, version) or ()),
        _listed(
            _profile_rule(naming(rule_term(called, rule, demand)), rule, called.define)
            for rule in called.rules
            if (demand := active_condition(rule, called.text, catalogue.editions())) is not None
        ),
    )  # fmt: skip


def _formal(formal: Formal, may_be_omitted: bool) -> str:
    flags = map(_flag, (formal.variadic, formal.optional, may_be_omitted))
    return f"({text(formal.name)} {' '.join(flags)})"


def _result(called: Signature, output: Output) -> str:
    slugs = {rule.name: rule.slug for rule in called.rules}
    implied = not slugs.keys().isdisjoint(at(output.implied_by, called.version) or ())
    waits = _texts([slugs[name] for name in output.relies if name in slugs])
    return _listed((
        _formal(output, bool(output.exempt) or implied), text(output.constant),
        _optional(at(output.element, called.version), called.define), text(output.type), waits,
        _optional(called.shapes.get(output.name), called.define),
        _optional(called.elements.get(output.name), called.define),
    ))  # fmt: skip


def _parameter(called: Signature, parameter: Parameter) -> str:
    required, absent = _flag(parameter.required_at(called.version)), _optional(called.absent[parameter.name], {})
    return f"({text(parameter.name)} {text(parameter.kind)} {required} {absent})"


def _general(rule: Rule, demand: Expression) -> str:
    applies = _optional(rule.when, {})
    over = _optional(parse(demand.over[0]) if demand.over else None, {})
    return f"(Build_rule {text(rule.slug)} nil {applies} {term(demand, {})} {over})"


def _profile_rule(rule: str, stated: Rule, define: Mapping[str, Expression]) -> str:
    flags = stated.kind == "validity", _leaves_values(stated), stated.kind == "error-condition"
    return f"({rule} {' '.join(map(_flag, flags))} {_optional(stated.onnx, define)})"


def _optional(expression: Expression | None, define: Mapping[str, Expression]) -> str:
    return "None" if expression is None else f"(Some {term(expression, define)})"


def _texts(names: Sequence[str]) -> str:
    return _listed(map(text, names))


def _listed(parts: Iterable[str]) -> str:
    return f"({' '.join(parts)})"


def _record(*parts: str) -> str:
    return _listed(parts)


def _flag(holds: bool) -> str:
    return "T" if holds else "F"
