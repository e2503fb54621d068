"""How runtimes read operators, as data (readings.toml): forms of an operator whose values in a runtime are not those of
the definition, and pairs of nodes for which it has a kernel of its own.

Hypotheses about a runtime bound its roundings; a node with another reading has no bound under them.  `python -m
benchmarks.bounds readings` measures the forms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from sonnx.language.evaluator import first_unknown
from sonnx.model.ir import Model, Node, Tensor
from sonnx.numerics.application import Application
from sonnx.profile import toml_files

FILE = Path(__file__).with_name("readings.toml")


class DeviatingForm(NamedTuple):
    """A form of an operator that a runtime reads otherwise: calls with all these features."""

    operator: str
    features: frozenset[str]
    reason: str


class Kernel(NamedTuple):
    """A kernel that a runtime has for a node whose operand another node makes of constants.

    Attributes:
        operators: of the node.
        operand: the number of its input that the constants reach.
        maker: the operator that makes the operand.
        through: operators that the runtime moves or folds where they stand between the maker and the node.
        elements: the element types of the constants.
        unless: no such kernel is made where this operator makes the first input.
        reason: what its values are.
    """

    operators: tuple[str, ...]
    operand: int
    maker: str
    through: tuple[str, ...]
    elements: tuple[str, ...]
    unless: str
    reason: str


class Readings(NamedTuple):
    """The readings of a runtime.

    Attributes:
        measured: its versions.
        deviations: forms that it reads otherwise.
        kernels: pairs for which it has a kernel of its own.
        agrees: for each operator the forms, sets of features, that were run and have the values of the definition.
    """

    measured: Mapping[str, Sequence[str]]
    deviations: tuple[DeviatingForm, ...]
    kernels: tuple[Kernel, ...]
    agrees: Mapping[str, tuple[frozenset[str], ...]]

    def deviation(self, application: Application) -> str:
        """Why a call has other values in the runtime than by its definition; "" where it is not known to."""
        listed = [each for each in self.deviations if each.operator == application.operator]
        features = features_of(application) if listed else frozenset()
        return next((each.reason for each in listed if each.features <= features), "")

    def was_run(self, application: Application) -> bool:
        """Whether this form of the operator was run in the runtime, and has the values of the definition there; of
        hypotheses that are not about a runtime there is nothing to run.
        """
        return not self.measured or features_of(application) in self.agrees.get(application.operator, ())

    def kernel_nodes(self, model: Model) -> Mapping[int, str]:
        """The nodes, by number, that the runtime computes with a kernel of its own, and what its values are."""
        if not self.kernels:
            return {}
        makers = {name: node for node in model.graph.nodes for name in node.outputs if name}
        constants = {tensor.name: tensor.element for tensor in model.graph.initializers}
        constants |= {
            name: attribute.value.element
            for name, node in makers.items() if node.operator == "Constant"
            for attribute in node.attributes if attribute.name == "value" and isinstance(attribute.value, Tensor)
        }  # fmt: skip
        return {
            number: kernel.reason
            for number, node in enumerate(model.graph.nodes)
            for kernel in self.kernels
            if _is_made(node, kernel, makers, constants)
        }


NONE = Readings({}, (), (), {})
"""Of hypotheses that are not about a runtime."""


def _is_made(node: Node, kernel: Kernel, makers: Mapping[str, Node], constants: Mapping[str, object]) -> bool:
    if (
        node.operator not in kernel.operators
        or node.domain not in ("", "ai.onnx")
        or len(node.inputs) <= kernel.operand
    ):
        return False
    first = makers.get(node.inputs[0])
    if first is not None and first.operator == kernel.unless:
        return False
    maker = makers.get(node.inputs[kernel.operand])
    for _ in range(len(makers)):
        if maker is None or maker.operator not in kernel.through:
            break
        maker = makers.get(maker.inputs[0]) if maker.inputs else None
    if maker is None or maker.operator != kernel.maker or not maker.inputs:
        return False
    return str(constants.get(maker.inputs[0])) in kernel.elements


def features_of(application: Application) -> frozenset[str]:
    """What tells the forms of an operator apart: attributes that are written, words, and signs of numbers."""
    values: dict[str, Any] = {name: attribute.value for name, attribute in application.attributes.items()}
    features = set(application.attributes)
    for name, value in application.names.items():
        if f"written({name})" in application.names and first_unknown(value) is None:
            values[name] = value
    for name, value in values.items():
        if isinstance(value, str):
            features.add(f"{name}={value}")
        elif isinstance(value, bool | int) and 0 <= value <= 1:
            features.add(f"{name}={int(value)}")
        elif isinstance(value, tuple | list) and any(isinstance(part, int) and part < 0 for part in value):
            features.add(f"{name} below 0")
    return frozenset(features)


@cache
def readings_of(name: str) -> Readings:
    """The readings that belong to hypotheses of a name."""
    tables, _ = toml_files.read_value(FILE)
    if name not in tables:
        return NONE
    table = tables[name]
    return Readings(
        table["measured"],
        tuple(DeviatingForm(row["operator"], frozenset(row["features"]), row["reason"]) for row in table["deviates"]),
        tuple(
            Kernel(tuple(row["operators"]), row["operand"], row["maker"], tuple(row["through"]), tuple(row["elements"]),
                   row["unless"], row["reason"])
            for row in table["kernel"]
        ),
        {operator: tuple(map(frozenset, forms)) for operator, forms in table["agrees"].items()},
    )  # fmt: skip
