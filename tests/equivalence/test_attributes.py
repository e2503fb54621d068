"""Every attribute of every operator counts: two nodes that differ in it are not called identical without a reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import onnx
import onnx.defs
from onnx import TensorProto, helper

import sonnx
from sonnx.equivalence.result import Answer
from sonnx.operators import operator_facts
from tests.support.cases import each_case, spread

Schema = onnx.defs.OpSchema
REQUIRED, INTEGER, NUMBER, TEXT = (
    Schema.FormalParameterOption.Single, Schema.AttrType.INT, Schema.AttrType.FLOAT, Schema.AttrType.STRING,
)  # fmt: skip

VALUES: Mapping[Any, Sequence[Any]] = {
    INTEGER: (0, 1, 2, 3),
    NUMBER: (0.25, 0.5, 2.0),
    TEXT: ("a", "b"),
    Schema.AttrType.INTS: ([0, 1], [1, 0], [1, 1], [2, 2]),
    Schema.AttrType.FLOATS: ([0.25, 0.5], [0.5, 0.5]),
    Schema.AttrType.STRINGS: (["a", "b"], ["b", "b"]),
}
"""The values of an attribute that are compared, by its kind; attributes that hold tensors and graphs have none here."""

SHAPES: Sequence[Sequence[int]] = ([2, 3, 4, 5], [2, 3], [4])
"""The shapes of all inputs; what an operator does not admit is not compared."""

SET, RANGE = "axes are a set", "the ranges compared are empty, or read one element"
IDENTICAL: Mapping[tuple[str, str], str] = {
    ("Concat", "axis"): "one value is joined",
    ("Dropout", "is_test"): "every number but 0 is true",
    ("Shape", "end"): "an end behind the last axis is the rank",
    ("Shape", "start"): "a start behind the last axis is the rank",
    ("Slice", "axes"): RANGE,
    ("Slice", "ends"): RANGE,
    ("Slice", "starts"): RANGE,
    ("Split", "axis"): "one output is the whole value",
    ("Squeeze", "axes"): SET,
    ("Trilu", "upper"): "each number but 0 means the upper part",
    ("Unsqueeze", "axes"): SET,
}
"""Attributes of which other values may mean the same, with the reason, by operator and attribute."""

MICROSOFT: Mapping[str, Mapping[str, Sequence[Any]]] = {
    "Attention": {"num_heads": (1, 2), "unidirectional": (0, 1), "scale": (0.5, 1.0)},
    "BiasSplitGelu": {},
    "FastGelu": {},
    "FusedConv": {"activation": ("Relu", "Tanh"), "group": (1, 3), "pads": ([0, 0, 0, 0], [1, 1, 1, 1])},
    "FusedGemm": {"activation": ("Relu", "Tanh"), "alpha": (0.5, 1.0), "beta": (0.5, 1.0), "transA": (0, 1)},
    "FusedMatMul": {"alpha": (0.5, 1.0), "transA": (0, 1), "transB": (0, 1)},
    "GridSample": {"mode": ("bilinear", "nearest"), "align_corners": (0, 1)},
    "MatMulNBits": {"K": (16, 32), "N": (16, 32), "bits": (4, 8), "block_size": (16, 32)},
    "MultiHeadAttention": {"num_heads": (1, 2), "mask_filter_value": (-10.0, -20.0)},
    "MurmurHash3": {"seed": (0, 1), "positive": (0, 1)},
    "NGramRepeatBlock": {"ngram_size": (1, 2)},
    "QAttention": {"num_heads": (1, 2), "unidirectional": (0, 1)},
    "QLinearConcat": {"axis": (0, 1)},
    "QLinearLeakyRelu": {"alpha": (0.25, 0.5)},
    "QLinearSoftmax": {"axis": (0, 1), "opset": (12, 13)},
    "QuickGelu": {"alpha": (0.5, 1.702)},
    "RotaryEmbedding": {"interleaved": (0, 1), "num_heads": (1, 2)},
    "SkipLayerNormalization": {"epsilon": (1e-5, 1e-3)},
    "Tokenizer": {"mark": (0, 1), "pad_value": ("a", "b"), "mincharnum": (1, 2)},
    "WordConvEmbedding": {"embedding_size": (1, 2)},
}
"""Attributes of operators of onnxruntime, whose schemas its package does not give, with values."""


class Case(NamedTuple):
    """Two values of an attribute of an operator version."""

    domain: str
    operator: str
    version: int
    attribute: str
    values: tuple[Any, Any]
    types: tuple[int, ...]
    outputs: int
    others: tuple[tuple[str, Any], ...]

    def __str__(self) -> str:
        return f"{self.domain or 'ai.onnx'}.{self.operator}-{self.version} {self.attribute}={self.values}"


def element(formal: Any, schema: Schema) -> int:
    """The first element type that an input admits."""
    admitted = next(
        (each.allowed_type_strs for each in schema.type_constraints if each.type_param_str == formal.type_str),
        [formal.type_str],
    )
    texts = sorted(admitted, key=lambda text: ("tensor(float)", "tensor(int64)", "tensor(uint8)").index(text)
                   if text in ("tensor(float)", "tensor(int64)", "tensor(uint8)") else 9)  # fmt: skip
    name = texts[0].removeprefix("tensor(").removesuffix(")").upper()
    return int(getattr(TensorProto, name, TensorProto.FLOAT))


def cases() -> Iterator[Case]:
    """Pairs of values of every attribute of every version of every schema."""
    for schema in onnx.defs.get_all_schemas_with_history():
        inputs = [formal for formal in schema.inputs if formal.option != Schema.FormalParameterOption.Optional]
        types = [element(formal, schema) for formal in inputs]
        types += [types[-1]] * max(0, schema.min_input - len(types)) if types else []
        required = [
            (name, VALUES[each.type][0]) for name, each in schema.attributes.items()
            if each.required and each.type in VALUES
        ]  # fmt: skip
        for name, attribute in sorted(schema.attributes.items()):
            for values in zip(VALUES.get(attribute.type, ()), VALUES.get(attribute.type, ())[1:], strict=False):
                others = tuple(each for each in required if each[0] != name)
                outputs = max(1, schema.min_output)
                yield Case(
                    schema.domain, schema.name, schema.since_version, name, values, tuple(types), outputs, others
                )


def microsoft() -> Iterator[Case]:
    """Pairs of values of attributes of onnxruntime's operators."""
    for operator, attributes in MICROSOFT.items():
        for name, values in attributes.items():
            types = (TensorProto.FLOAT,) * 2
            yield Case("com.microsoft", operator, 1, name, (values[0], values[1]), types, 1, ())


def model(case: Case, value: Any, shape: Sequence[int]) -> bytes:
    """One node with a value of the attribute."""
    attributes = {**dict(case.others), case.attribute: value}
    names = [f"x{index}" for index in range(len(case.types))]
    node = helper.make_node(
        case.operator, names, [f"y{index}" for index in range(case.outputs)], domain=case.domain, **attributes
    )
    inputs = [helper.make_tensor_value_info(name, kind, shape) for name, kind in zip(names, case.types, strict=True)]
    outputs = [helper.make_value_info(name, onnx.TypeProto()) for name in node.output]
    imports = {"": 17, case.domain: case.version}
    return helper.make_model(
        helper.make_graph([node], "g", inputs, outputs),
        opset_imports=[helper.make_opsetid(domain, version) for domain, version in imports.items()], ir_version=8,
    ).SerializeToString()  # fmt: skip


def is_listed(case: Case) -> bool:
    """Whether values of the attribute may mean the same, as the operator's facts or this file say."""
    facts = operator_facts(case.operator, case.domain)
    if case.attribute in facts.valueless_attributes:
        return True
    if case.attribute == facts.axis_parameter and isinstance(case.values[0], list):  # axes are a set
        return sorted(case.values[0]) == sorted(case.values[1])
    return (case.operator, case.attribute) in IDENTICAL


@each_case("case", lambda: [*spread(cases(), 80), *microsoft()], ids=str)
def test_an_attribute_that_differs_is_not_identical(case: Case) -> None:
    for shape in SHAPES:
        first, second = (model(case, value, shape) for value in case.values)
        found = sonnx.equivalent(first, second, runs=0).result
        assert found.answer is not Answer.IDENTICAL or is_listed(case), shape


def test_every_listed_attribute_exists() -> None:
    known = {(schema.name, name) for schema in onnx.defs.get_all_schemas_with_history() for name in schema.attributes}
    assert IDENTICAL.keys() <= known
