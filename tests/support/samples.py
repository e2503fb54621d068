"""Nodes of the operators for each form that their versions give them, with extents named by letters.

An operator that is not listed takes inputs of one shape (`samples_of` in typed_nodes.py).

The same table makes nodes of every element type, and nodes with an extent of 0 in every position.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

EXTENTS = {"A": 2, "B": 3, "C": 2, "D": 4, "E": 3, "F": 1, "S": 3}


@dataclass(frozen=True)
class Sample:
    """A node.

    Attributes:
        operator: its name.
        inputs: the shape of each input as letters of EXTENTS; "" has rank 0, None is omitted; a list is an expression
            of the letters for the values of a parameter.
        attributes: values, or expressions of the letters in braces.
        since: the first version with this form.
        before: the first version with another one.
        elements: what numeric inputs hold, in turn.
        outputs: how many there are.
        moves: whether every element of the output is one of an input, or a stated one.
        fixed: the values of inputs that are not parameters, by index.
    """

    operator: str
    inputs: Sequence[str | None]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    since: int = 1
    before: int = 1 << 30
    elements: Sequence[float] = (1, 0, 2, 3)
    outputs: int = 1
    moves: bool = False
    fixed: Mapping[int, str] = field(default_factory=dict)


def _binary(names: str, elements: Sequence[float] = (1, 2, 4, 3)) -> Iterator[Sample]:
    for name in names.split():
        yield Sample(name, ["A B", "B"], since=7, elements=elements)
        yield Sample(name, ["A B", "A B"], before=7, elements=elements)


def _reduction(name: str, axes_input: int) -> Iterator[Sample]:
    yield Sample(name, ["A B C"], {"axes": [1], "keepdims": 0}, before=axes_input)
    yield Sample(name, ["A B C", "1"], {"keepdims": 0}, since=axes_input, fixed={1: "[1]"})


SAMPLES = (
    Sample("Acos", ["A B"], elements=(1, 0)),
    Sample("Log", ["A B"], elements=(1, 2, 3, 4)),
    *_binary("Add Div Equal Less Mul"),
    *_binary("Sub", (3, 2, 1, 0)),
    Sample("Pow", ["A B", "B"], since=7, elements=(1, 2)),
    Sample("Pow", ["A B", "A B"], before=7, elements=(1, 2)),
    Sample("Mod", ["A B", "B"], {"fmod": 1}, elements=(1, 2, 4, 3)),
    Sample("Max", ["A B", "B"], since=8),
    Sample("Max", ["A B", "A B"], before=8),
    Sample("Min", ["A B", "B"], since=8),
    Sample("Min", ["A B", "A B"], before=8),
    Sample("Where", ["A B", "B", "A B"], moves=True),
    Sample("Clip", ["A B"], {"min": 0.0, "max": 2.0}, before=11),
    Sample("Clip", ["A B", "", ""], since=11, fixed={1: "0", 2: "2"}),
    Sample("ArgMax", ["A B C"], {"axis": 1, "keepdims": 0}),
    *_reduction("ReduceMax", 18),
    *_reduction("ReduceMean", 18),
    *_reduction("ReduceSum", 13),
    Sample("Softmax", ["A B"], {"axis": 1}),
    Sample("BatchNormalization", ["A B C D", "B", "B", "B", "B"], {"epsilon": 0.5}, since=7, elements=(1, 2, 3)),
    Sample(
        "BatchNormalization", ["A B C D", "B", "B", "B", "B"],
        {"epsilon": 0.5, "is_test": 1, "consumed_inputs": [0, 0, 0, 1, 1]}, before=6, elements=(1, 2, 3),
    ),
    Sample(
        "BatchNormalization", ["A B C D", "B", "B", "B", "B"], {"epsilon": 0.5, "is_test": 1},
        since=6, before=7, elements=(1, 2, 3),
    ),
    Sample("Conv", ["A B D E", "C B 2 1", "C"], {"kernel_shape": [2, 1]}),
    Sample("ConvInteger", ["A B D E", "C B 2 1", "", ""], {"kernel_shape": [2, 1]}),
    Sample("ConvTranspose", ["A B D E", "B C 2 1", "C"], {"kernel_shape": [2, 1]}),
    Sample("Conv", ["A B D E", "C B 2 1", "C"], {"kernel_shape": [2, 1], "pads": [1, 1, 1, 1], "dilations": [2, 1]}),
    Sample("Conv", ["A 2*B D E", "2*C B 1 1"], {"kernel_shape": [1, 1], "group": 2}),
    Sample("ConvInteger", ["A B D E", "C B 2 1", "", "C"], {"kernel_shape": [2, 1], "pads": [1, 1, 1, 1]}),
    Sample("ConvTranspose", ["A B D E", "B C 2 1", "C"], {"kernel_shape": [2, 1], "strides": [3, 1]}),
    Sample("MaxPool", ["A B D E"], {"kernel_shape": [2, 1]}),
    Sample("MaxPool", ["A B D E"], {"kernel_shape": [2, 1]}, since=8, outputs=2),
    Sample("GlobalAveragePool", ["A B D E"]),
    Sample("Gemm", ["A B", "B C", "A C"], before=7),
    Sample("Gemm", ["A B", "B C", "C"], since=7),
    Sample("Gemm", ["A B", "C B"], {"alpha": 2.0, "transB": 1}, since=11),
    Sample("MatMul", ["B", "B C"]),
    Sample("MatMul", ["A D B", "A B C"]),
    Sample("GRU", ["S A B", "1 3*C B", "1 3*C C", "1 6*C"], {"hidden_size": "{C}"}, outputs=2, elements=(1, 0)),
    Sample("LSTM", ["S A B", "1 4*C B", "1 4*C C", "1 8*C"], {"hidden_size": "{C}"}, outputs=3, elements=(1, 0)),
    Sample("QuantizeLinear", ["A B", "", ""], since=10, fixed={1: "2", 2: "0"}, before=23),
    Sample("QuantizeLinear", ["A B", "", ""], since=23, fixed={1: "2", 2: "0"}),
    Sample("DequantizeLinear", ["A B", "", ""], since=10, fixed={1: "2", 2: "0"}, elements=(1, 0)),
    Sample("QuantizeLinear", ["A B", "B", "B"], {"axis": 1}, since=13, elements=(1, 2)),
    Sample("DequantizeLinear", ["A B", "B", "B"], {"axis": 1}, since=13, elements=(1, 0)),
    Sample("Cast", ["A B"], elements=(1, 0)),
    Sample("Range", ["", "", ""], since=11, fixed={0: "0", 1: "2", 2: "1"}),
    Sample("Concat", ["A B", "A C"], {"axis": 1}, moves=True),
    Sample("Constant", [], {"value": "tensor"}, moves=True),
    Sample("ConstantOfShape", ["2"], {"value": "tensor"}, since=9, moves=True, fixed={0: "[A, B]"}),
    Sample("Expand", ["A 1", "2"], since=8, moves=True, fixed={1: "[A, B]"}),
    Sample("Flatten", ["A B C"], {"axis": 1}, moves=True),
    Sample("Gather", ["A B", "C"], {"axis": 1}, moves=True, fixed={1: "[0] * C"}),
    Sample("Identity", ["A B"], moves=True),
    Sample("Pad", ["A B"], {"paddings": [0, 1, 1, 0], "value": 0.0}, before=2, moves=True),
    Sample("Pad", ["A B"], {"pads": [0, 1, 1, 0], "value": 0.0}, since=2, before=11, moves=True),
    Sample("Pad", ["A B", "4", ""], {"mode": "constant"}, since=11, moves=True, fixed={1: "[0, 1, 1, 0]"}),
    Sample("Reshape", ["A B"], {"shape": "{[B, A]}"}, before=5, moves=True),
    Sample("Reshape", ["A B", "2"], since=5, before=14, moves=True, fixed={1: "[B, A]"}),
    Sample("Reshape", ["A B", "2"], {"allowzero": 1}, since=14, moves=True, fixed={1: "[B, A]"}),
    Sample("Resize", ["A B", "2"], {"mode": "nearest"}, since=10, before=11, moves=True, fixed={1: "[1.0, 2.0]"}),
    Sample(
        "Resize", ["A B", "4", "2"], {"mode": "nearest"}, since=11, moves=True,
        fixed={1: "[0, 0, 1, 1]", 2: "[1.0, 2.0]"},
    ),
    Sample("ScatterND", ["A B", "1 1", "1 B"], since=11, moves=True, fixed={1: "[[0]]"}),
    Sample("Shape", ["A B C"]),
    Sample("Slice", ["A B"], {"axes": [1], "starts": [0], "ends": "{[B]}"}, before=10, moves=True),
    Sample("Slice", ["A B", "1", "1", "1", "1"], since=10, moves=True, fixed={1: "[0]", 2: "[B]", 3: "[1]", 4: "[2]"}),
    Sample("Split", ["A 2*B"], {"axis": 1, "split": "{[B, B]}"}, before=13, outputs=2, moves=True),
    Sample("Split", ["A 2*B", "2"], {"axis": 1}, since=13, outputs=2, moves=True, fixed={1: "[B, B]"}),
    Sample("Squeeze", ["A 1 B"], {"axes": [1]}, before=13, moves=True),
    Sample("Squeeze", ["A 1 B", "1"], since=13, moves=True, fixed={1: "[1]"}),
    Sample("Transpose", ["A B C"], {"perm": [2, 0, 1]}, moves=True),
    Sample("Unsqueeze", ["A B"], {"axes": [1]}, before=13, moves=True),
    Sample("Unsqueeze", ["A B", "1"], since=13, moves=True, fixed={1: "[1]"}),
)  # fmt: skip
