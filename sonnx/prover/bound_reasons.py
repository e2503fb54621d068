"""Why a theorem about calls of bounded size has its bound: the constructs for which no argument of `any_size` holds.

Each reason is read from the syntax of the expressions, as the arguments are: it names the rules, and what they do that
an argument about calls of any size does not allow.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from sonnx.language.domain import Expression
from sonnx.language.structure import computes, demands_of_each, fields, functions
from sonnx.profile.definitions import Rule
from sonnx.prover.any_size import always_there, connected_shapes, of_each_tensor, partial, read_expressions
from sonnx.prover.signature_family import SignatureFamily, rules_of_edition

OTHER_FORM = "No argument from the form of the texts covers larger calls, because they have "
"""Begins each reason."""
MAX_NAMED = 3
"""Rules that a reason names for one construct, and constructs that it names; further ones are counted."""


def defined(family: SignatureFamily) -> str:
    """Why it is proved in bounds that every rule has a value."""
    there = always_there(family)
    doubtful = (
        (rule.slug, partial(expression, there))
        for rule in family.rules
        for expression in read_expressions(family, rule)
    )
    return _reason(doubtful)


def shape_total(family: SignatureFamily) -> str:
    """Why it is proved in bounds that every output has a shape."""
    there, single = always_there(family), connected_shapes(family)
    shapes = [(name, shape) for name, shape in family.signature.shapes.items() if shape.text not in single]
    return _reason(
        (f"{name}.shape", (*partial(expression, there), *_computed(expression))) for name, expression in shapes
    )


def restricts(family: SignatureFamily) -> str:
    """Why it is proved in bounds that the profile's conditions imply those of ONNX."""
    pairs = [(rule, family.demand(rule), onnx) for rule in family.rules if (onnx := family.onnx(rule)) is not None]
    differing = [(rule, own, onnx) for rule, own, onnx in pairs if own is None or own.text != onnx.text]
    return _reason((rule.slug, _beyond_types(rule, (own, onnx))) for rule, own, onnx in differing)


def implied(family: SignatureFamily, rule: Rule) -> str:
    """Why it is proved in bounds that a rule follows from others."""
    own = {each.name: each for each in family.rules}
    general = {candidate.slug: demand for candidate, demand in rules_of_edition(family.edition).general}
    names = (rule.name, *family.implied_by(rule))
    about_own = [(name, _beyond_types(own[name], (family.demand(own[name]),))) for name in names if name in own]
    about_all = [(name, _more_than_types(general[name])) for name in names if name not in own]
    return _reason((*about_own, *about_all))


def _computed(expression: Expression) -> Iterator[str]:
    """How a shape is made that is not the one of an input."""
    per_axis = any(isinstance(tree, ast.ListComp | ast.GeneratorExp) for tree in ast.walk(expression.tree))
    yield "an extent for each axis" if per_axis else "extents of several tensors or numbers"


def _beyond_types(rule: Rule, demands: Sequence[Expression | None]) -> tuple[str, ...]:
    """What the conditions of a rule read besides element types, one tensor at a time."""
    stated = [demand for demand in demands if demand is not None]
    constructs = dict.fromkeys(construct for expression in stated for construct in _more_than_types(expression))
    if not constructs and rule.relies:
        return ("a rule that relies on others",)
    if not constructs and rule.when is not None:
        return ("a rule about some calls only",)
    return tuple(constructs) or ("a condition of ONNX without one of the profile",)


def _more_than_types(demand: Expression) -> tuple[str, ...]:
    """What a condition reads besides element types, one tensor at a time."""
    if of_each_tensor(demand):
        return ()
    read = sorted(fields(demand) - {"type"})
    called = sorted(functions(demand) - {"all", "any", "given"})
    constructs = [*(f"the field {name}" for name in read), *(f"the function {name}" for name in called)]
    if computes(demand):
        constructs.append("a number that is computed or compared")
    if not demands_of_each(demand):
        constructs.append("a loop inside another condition")
    return tuple(constructs) or ("values that are not tensors",)


def _reason(constructs_by_rule: Iterable[tuple[str, Iterable[str]]]) -> str:
    """The rules by what they do, as a sentence; "" where none does anything of the kind."""
    rules: dict[str, dict[str, None]] = {}
    for name, constructs in constructs_by_rule:
        for construct in constructs:
            rules.setdefault(construct, {})[name] = None
    parts = [f"{construct} ({_names([*names])})" for construct, names in rules.items()]
    return f"{OTHER_FORM}{_names(parts, '; ')}." if parts else ""


def _names(names: Sequence[str], between: str = ", ") -> str:
    """The first of some names, and how many more there are."""
    more = len(names) - MAX_NAMED
    return between.join(names[:MAX_NAMED]) + (f" and {more} more" if more > 0 else "")
