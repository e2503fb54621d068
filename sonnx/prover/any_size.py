"""Why a theorem about calls of bounded size holds for calls of any size, by the form of the texts it is about.

The arguments are small-model arguments: what an expression says depends on facts of which a call of every size has the
same number, or on nothing that a bound limits.  Each is decided from the syntax of the expressions, without a solver.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from sonnx.language.domain import Expression
from sonnx.language.structure import computes, demands_of_each, fields, functions
from sonnx.profile.definitions import Rule
from sonnx.prover.signature_family import SignatureFamily

TOTAL = (
    "No condition, and no definition that it uses, has an operation that can be without a value: it names no item of a "
    "list, divides by nothing, and calls nothing but questions and loops; and each value that it names is always there."
)
SAME_DEMAND = (
    "Each condition of ONNX is the text of the profile; or both read only element types, of one tensor at a time, and "
    "rely on no other rule: of a call that fulfils one and not the other, the tensor that fails and those that are not "
    "repeated, all of rank 0, are such a call too."
)
SAME_SHAPE = "Each output has the shape of an input that is always connected, so each extent is one of that input."

_QUESTIONS = ("given(", "written(")
_FUNCTIONS = {"all", "any", "len", "range", "sum", "product", "given", "written", "stated"}
"""Functions that have a value for every argument."""
_FIELDS = {"type", "shape", "rank", "kind"}
"""Fields that every tensor has before the model runs."""


def defined(family: SignatureFamily) -> str:
    """Why every rule has a value for calls of any size, "" where the form does not show it."""
    there = always_there(family)
    return (
        TOTAL
        if all(_total(expression, there) for rule in family.rules for expression in read_expressions(family, rule))
        else ""
    )


def restricts(family: SignatureFamily) -> str:
    """Why the profile's conditions imply those of ONNX in calls of any size, "" where the form does not show it."""
    pairs = [(rule, family.demand(rule), onnx) for rule in family.rules if (onnx := family.onnx(rule)) is not None]
    alone = all(
        own is not None
        and (own.text == onnx.text or (not rule.relies and not rule.when and all(map(of_each_tensor, (own, onnx)))))
        for rule, own, onnx in pairs
    )
    return SAME_DEMAND if alone else ""


def shape_total(family: SignatureFamily) -> str:
    """Why every output has a shape in calls of any size, "" where the form does not show it."""
    there = connected_shapes(family)
    return SAME_SHAPE if there.issuperset(shape.text for shape in family.signature.shapes.values()) else ""


def connected_shapes(family: SignatureFamily) -> frozenset[str]:
    """The texts of the shapes of inputs that are always connected, and not repeated."""
    inputs = family.signature.inputs
    return frozenset(f"{operand.name}.shape" for operand in inputs if not operand.optional and not operand.variadic)


def of_each_tensor(demand: Expression) -> bool:
    """Whether a condition is about element types only, of one tensor at a time."""
    about_types = fields(demand) <= {"type"} and functions(demand) <= {"all", "any", "given"}
    return about_types and demands_of_each(demand) and not computes(demand)


def read_expressions(family: SignatureFamily, rule: Rule) -> Iterable[Expression]:
    """The condition of a rule, when it is asked, and the definitions that these use, also through others."""
    define = family.signature.define
    waiting = [side for side in (family.demand(rule), rule.when) if side is not None]
    definitions = dict[str, Expression]()
    while waiting:
        expression = waiting.pop()
        yield expression
        further = [name for name in expression.names if name in define and name not in definitions]
        definitions |= {name: define[name] for name in further}
        waiting += [define[name] for name in further]


def always_there(family: SignatureFamily) -> frozenset[str]:
    """The names that have a value in every call: tensors that are not optional, definitions, and attributes that are
    required or absent mean a constant.
    """
    signature = family.signature
    tensors = {formal.name for formal in signature.formals if not formal.optional} - {
        value.name for value in signature.values
    }
    attributes = {
        attribute.name
        for attribute in signature.attributes
        if attribute.required_at(signature.version)
        or ((absent := signature.absent[attribute.name]) is not None and not absent.names)
    }
    return frozenset(tensors | attributes | set(signature.define))


def _total(expression: Expression, there: frozenset[str]) -> bool:
    """Whether an expression has a value in every call: its names have one, and so has each operation."""
    return not any(partial(expression, there))


def partial(expression: Expression, there: frozenset[str]) -> Iterator[str]:
    """What an expression does that may have no value."""
    trees = list(ast.walk(expression.tree))
    if any(isinstance(tree, ast.Subscript) for tree in trees):
        yield "an item of a list by its index"
    if any(isinstance(tree, ast.FloorDiv | ast.Mod) for tree in trees):
        yield "a division"
    yield from (f"the function {name}" for name in sorted(expression.built_ins))
    yield from (f"the field {name}" for name in sorted(fields(expression) - _FIELDS))
    called = functions(expression) - _FUNCTIONS - set(expression.built_ins)
    yield from (f"the function {name}" for name in sorted(called))
    absent = [name for name in expression.names if name not in there and not name.startswith(_QUESTIONS)]
    yield from (f"{name}, which may be without a value" for name in sorted(absent))
