"""The operators that the executor knows, by name; they are found by the files of this folder.

A file for each operator, named like it in lower case, states its `OPERATOR`; a file of `FAMILIES` has `OPERATORS` of
one kind.  It is imported at the first look-up of a name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path

from sonnx.base.errors import NotExecutable
from sonnx.base.escaping import quote
from sonnx.model.ir import Node
from sonnx.model.scopes import canonical_domain
from sonnx.operators.operator import Operator, StatedOperator

FAMILIES = {
    "activations": ("Sigmoid", "Softplus", "HardSwish", "HardSigmoid"),
    "arithmetic": ("Add", "Sub", "Mul"),
    "averages": ("ReduceSum", "ReduceMean", "GlobalAveragePool"),
    "comparisons": ("Equal", "Less", "Greater"),
    "constants": ("Constant", "ConstantOfShape", "Shape"),
    "division": ("Div", "Mod", "Reciprocal"),
    "logic": ("And", "Or", "Not"),
    "parts": ("Concat", "Expand", "Gather", "Slice", "Split"),
    "real_functions": ("Exp", "Log", "Sqrt", "Tanh", "Acos", "Erf"),
    "rectifiers": ("Clip", "LeakyRelu"),
    "reshaping": ("Identity", "Squeeze", "Flatten", "Reshape", "Unsqueeze", "Transpose"),
    "signs_and_steps": ("Abs", "Neg", "Sign", "Relu", "Ceil", "Floor"),
}
"""The files of several operators."""
OTHER_MODULES = frozenset(
    {
        "__init__",
        "facts_in_words",
        "operator",
        "recurrent_cells",
        "recurrent_sequences",
        "registry",
        "stated_operators",
        "stated_signature",
    }
)
"""The files of this folder that are not an operator."""


@cache
def modules() -> Mapping[str, str]:
    """The module of each operator by its name in lower case; a name in a model never becomes a path."""
    stems = {entry.stem for entry in Path(__file__).parent.glob("*.py")} - OTHER_MODULES - FAMILIES.keys()
    module_of = {stem: stem for stem in stems} | {name.lower(): stem for stem in FAMILIES for name in FAMILIES[stem]}
    return {name: f"{__package__}.{stem}" for name, stem in module_of.items()}


def find_operator(name: str) -> Operator | None:
    """The operator of the standard domain with this name, None where the executor does not know it."""
    module = modules().get(name.lower())
    return None if module is None else _stated(module).get(name)


def stated_operator(name: str, domain: str = "") -> StatedOperator | None:
    """What is known of an operator, which the executor need not know; None where nothing is known of it."""
    if canonical_domain(domain):
        return None
    return find_operator(name) or _outside_executor().get(name)


NOTHING_STATED = StatedOperator(name="")


def operator_facts(name: str, domain: str = "") -> StatedOperator:
    """What is known of an operator; of one that the tool does not know nothing is stated."""
    return stated_operator(name, domain) or NOTHING_STATED


def all_stated_operators() -> Mapping[str, StatedOperator]:
    """Every operator of ONNX of which something is known, by name."""
    operators = {**_outside_executor(), **all_operators()}
    return {name: operators[name] for name in sorted(operators)}


def names_of(predicate: Callable[[StatedOperator], object]) -> frozenset[str]:
    """The operators of which a statement holds; it imports every module of this folder, `operator_facts` does not."""
    return frozenset(name for name, operator in all_stated_operators().items() if predicate(operator))


@cache
def _outside_executor() -> Mapping[str, StatedOperator]:
    """The operators of ONNX that the executor does not know, by name."""
    stated = import_module(f"{__package__}.stated_operators")
    return {operator.name: operator for operator in stated.STATED}


@cache
def _stated(module: str) -> Mapping[str, Operator]:
    """The operators of a module by name."""
    stated = import_module(module)
    operators: tuple[Operator, ...] = stated.OPERATORS if hasattr(stated, "OPERATORS") else (stated.OPERATOR,)
    return {operator.name: operator for operator in operators}


def operator_of(name: str, domain: str) -> Operator:
    """The operator with a name in a domain.

    Raises:
        NotExecutable: the executor does not know it.
    """
    operator = None if canonical_domain(domain) else find_operator(name)
    if operator is None:
        of_domain = f" of the domain {quote(domain)}" if canonical_domain(domain) else ""
        raise NotExecutable(f"the executor does not know the operator {quote(name)}{of_domain}")
    return operator


def is_executable(node: Node) -> bool:
    """Whether the executor knows the operator of a node."""
    return not canonical_domain(node.domain) and find_operator(node.operator) is not None


def all_operators() -> Mapping[str, Operator]:
    """Every operator that the executor knows, by name."""
    operators = {name: operator for module in modules().values() for name, operator in _stated(module).items()}
    return {name: operators[name] for name in sorted(operators)}
