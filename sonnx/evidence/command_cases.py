"""Cases of `equivalent` and `suite` for the qualification kit: pairs of models, and outputs to be judged."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

from msgspec import Struct, convert

from sonnx.base.files import sha256
from sonnx.equivalence.decision import compare_models
from sonnx.equivalence.options import EquivalenceOptions
from sonnx.equivalence.result import Answer
from sonnx.equivalence.sides import side_of
from sonnx.evidence.data_files import entries
from sonnx.model.reader import read
from sonnx.model.text_form import from_text

if TYPE_CHECKING:
    import numpy as np

KIND = "float[2, 3]"
HEADER = '<ir_version: 8, opset_import: ["" : 17]>'


class PairCase(Struct, frozen=True, forbid_unknown_fields=True):
    """Two models and the answer; equivalence_cases.toml describes the fields."""

    title: str
    first: str
    second: str
    answer: Answer
    because: str
    kind: str = KIND
    input: str = KIND

    def models(self) -> Iterator[bytes]:
        """Both models, encoded."""
        for body in (self.first, self.second):
            yield from_text(f"{HEADER} g ({self.input} x, {self.input} z) => ({self.kind} y) {{ {body} }}")

    def wrong(self) -> str:
        """How the answer differs, "" if it does not."""
        first, second = (side_of(read(data), "model.onnx", sha256(data), None) for data in self.models())
        answer = compare_models(first, second, EquivalenceOptions()).answer
        return "" if answer is self.answer else f"answers {answer}, not {self.answer}"


class OutputCase(Struct, frozen=True, forbid_unknown_fields=True):
    """An output and its deviations; deviation_cases.toml describes the fields."""

    title: str
    element: str
    expected: tuple[Any, ...]
    kinds: tuple[str, ...]
    actual: tuple[Any, ...] | None = None
    given: str = ""
    lower: tuple[float, ...] | None = None
    upper: tuple[float, ...] | None = None

    def wrong(self) -> str:
        """How the judgement differs, "" if it does not."""
        from sonnx.suite.expected import Ends
        from sonnx.suite.judge import differences

        actual = None if self.actual is None else _array(self.actual, self.given or self.element)
        ends = None
        if self.lower is not None and self.upper is not None:
            ends = Ends(_array(self.lower, "float64"), _array(self.upper, "float64"))
        kinds = tuple(
            difference.kind for difference in differences(0, actual, _array(self.expected, self.element), ends)
        )
        return "" if kinds == self.kinds else f"reports {', '.join(kinds) or 'nothing'}"


def _array(values: tuple[Any, ...], element: str) -> np.ndarray[Any, Any]:
    import numpy as np

    from sonnx.numerics.formats import TEXT

    return np.array(values, TEXT if element == "string" else element)


@cache
def pair_cases() -> tuple[PairCase, ...]:
    """All pairs, in the order of the file."""
    return convert(entries("equivalence_cases.toml", "case"), tuple[PairCase, ...])


@cache
def output_cases() -> tuple[OutputCase, ...]:
    """All outputs, in the order of the file."""
    return convert(entries("deviation_cases.toml", "case"), tuple[OutputCase, ...])
