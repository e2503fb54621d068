"""What an operator gets beside its input tensors, what it gives, and how it says that its text gives no value."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

from sonnx.base.errors import NotExecutable
from sonnx.language.builtins import Undefined
from sonnx.language.evaluator import first_unknown
from sonnx.model.ir import Attribute
from sonnx.numerics.formats import Array


@dataclass(slots=True)
class ExactPathCounts:
    """How many elements kernels rounded from an approximation, and how many of them needed the exact path.

    By operator: (elements, exact).  Operators whose kernel approximates nothing do not occur.
    """

    by_operator: dict[str, tuple[int, int]] = field(default_factory=dict)

    def add(self, operator: str, elements: int, exact: int) -> None:
        """Count elements of one node."""
        so_far = self.by_operator.get(operator, (0, 0))
        self.by_operator[operator] = (so_far[0] + elements, so_far[1] + exact)


Form = TypeVar("Form")

MAX_FORM_BYTES = 1 << 25
"""Bytes of the forms of a model's constants that are kept: twice what its weights take, so not of all of large ones."""


@dataclass(slots=True)
class Constants:
    """Arrays that no run of a model changes, and the forms kernels compute with, made once: in float64, their norms."""

    _known: dict[int, Array] = field(default_factory=dict)
    _forms: dict[tuple[object, ...], Any] = field(default_factory=dict)
    _free: int = MAX_FORM_BYTES

    def add(self, values: Array) -> None:
        """State that an array is constant; it is held, so that no other one gets its identity."""
        self._known[id(values)] = values

    def clear(self) -> None:
        """Forget all arrays and forms."""
        self._known.clear()
        self._forms.clear()
        self._free = MAX_FORM_BYTES

    def form(self, role: str, arrays: Sequence[Array | None], size: int, make: Callable[[], Form]) -> Form | None:
        """What `make` makes of these arrays, kept; None where one of them varies, or where too little room is left.

        Args:
            role: what the form is for.
            arrays: all on which it depends.
            size: its bytes, about.
            make: a function of the arrays alone.
        """
        key = (role, *map(id, arrays))
        if key not in self._forms:
            if size > self._free or not all(array is None or id(array) in self._known for array in arrays):
                return None
            self._forms[key], self._free = make(), self._free - size
        form: Form = self._forms[key]
        return form


@dataclass(frozen=True, slots=True)
class Application:
    """One use of an operator.

    `names` are the parameters and defined names of the operator's data file by their effective values (an absent
    attribute has the value its absence means); it is empty for an operator without a data file.  `attributes` are those
    that the node states.  `text` is the text of the profile that applies, "onnx" where none does.  Without a data
    file `version` is the operator set.  `outputs` is the number the node has.  `constants` are those of the model.
    `block_elements` limits how many elements a kernel works on at a time, which changes no value; None means no limit.
    `absent` is what the absence of an attribute means where `names` does not have it: of an operator without a data
    file, and of an attribute that only a later version has.
    """

    operator: str
    version: int
    text: str
    names: Mapping[str, Any] = field(default_factory=dict)
    attributes: Mapping[str, Attribute] = field(default_factory=dict)
    exact_path_counts: ExactPathCounts = field(default_factory=ExactPathCounts, compare=False)
    outputs: int = 1
    constants: Constants = field(default_factory=Constants, compare=False)
    block_elements: int | None = field(default=None, compare=False)
    absent: Mapping[str, Any] = field(default_factory=dict)

    def block(self, usual: int) -> int:
        """How many elements a kernel works on at a time that usually works on this many; a `BlockSize`."""
        return usual if self.block_elements is None else min(usual, self.block_elements)

    def parameter(self, name: str) -> Any:
        """The value of a parameter: as written, or what its absence means; None where absence means no value."""
        if name in self.names and first_unknown(self.names[name]) is None:
            return self.names[name]
        return self.attributes[name].value if name in self.attributes else self.absent.get(name)

    def numbers(self, name: str, count: int) -> Sequence[int]:
        """The numbers of a list parameter; where its absence means "ones" or "zeros", `count` of them."""
        value = self.parameter(name)
        return (int(value == "ones"),) * count if value in ("ones", "zeros") else value

    def count(self, elements: int, exact: int) -> None:
        """Count elements that a kernel approximated, and those of them that took the exact path."""
        self.exact_path_counts.add(self.operator, elements, exact)


Given = TypeVar("Given")


def required(inputs: Sequence[Given | None], count: int) -> list[Given]:
    """The first inputs, which the operator demands.

    Raises:
        NotExecutable: one is left out.
    """
    operands = [operand for operand in inputs[:count] if operand is not None]
    if len(operands) < count:
        raise NotExecutable(f"one of the first {count} inputs is left out")
    return operands


def optional(inputs: Sequence[Given | None], first: int, count: int = 1) -> list[Given | None]:
    """The `count` inputs from number `first` on, None where one is left out."""
    return [inputs[index] if index < len(inputs) else None for index in range(first, first + count)]


class NoValue(Exception):
    """The operator's text gives no value here; `rule` is the identifier of the error condition it names."""

    def __init__(self, rule: str, sentence: str) -> None:
        super().__init__(sentence)
        self.rule = rule


UNDEFINED_INPUT_ERRORS = (Undefined, ValueError, TypeError, LookupError, ArithmeticError)
"""What a definition or a transfer function may raise for inputs that no text defines.

An AttributeError or an AssertionError is a defect of this tool in every model, and never caught: what a text does not
define is refused by name, by `required` and by the rules of validity.
"""

Definition: TypeAlias = Callable[[Application, Sequence[Any]], tuple[Array, ...]]
"""The outputs of an operator for its inputs; an input that is left out is None."""

Kernel: TypeAlias = Callable[[Sequence[Any], Array], Array]
"""The single output for the inputs, computed in the array that is given: C-contiguous, of its shape and type."""

KernelFactory: TypeAlias = Callable[[Application], Kernel]
"""The kernel of one application."""
