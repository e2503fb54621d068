"""The operators that rewrites recognize or produce, each named here and nowhere else in the rewriter.

What a rewrite is for follows from the rules it serves, not from an operator.  A name is needed in two places only: a
node that a rewrite builds is a node of some operator, and where the failing rule is `operator-in-profile` the operator
decides what can take its place.  A misspelt name is an attribute that the enumeration lacks.
"""

from __future__ import annotations

from enum import StrEnum


class OperatorName(StrEnum):
    """An operator of the standard domain."""

    ABS = "Abs"
    ADD = "Add"
    BATCH_NORMALIZATION = "BatchNormalization"
    CAST = "Cast"
    CONCAT = "Concat"
    CONSTANT = "Constant"
    CONSTANT_OF_SHAPE = "ConstantOfShape"
    CONV = "Conv"
    CONV_INTEGER = "ConvInteger"
    DEQUANTIZE_LINEAR = "DequantizeLinear"
    DIV = "Div"
    DROPOUT = "Dropout"
    EQUAL = "Equal"
    EXPAND = "Expand"
    FLATTEN = "Flatten"
    FLOOR = "Floor"
    GATHER = "Gather"
    GEMM = "Gemm"
    GLOBAL_AVERAGE_POOL = "GlobalAveragePool"
    IDENTITY = "Identity"
    LESS = "Less"
    LSTM = "LSTM"
    MATMUL = "MatMul"
    MAX = "Max"
    MUL = "Mul"
    NEG = "Neg"
    PAD = "Pad"
    POW = "Pow"
    REDUCE_SUM = "ReduceSum"
    RESHAPE = "Reshape"
    SHAPE = "Shape"
    SIZE = "Size"
    SLICE = "Slice"
    SPLIT = "Split"
    SQRT = "Sqrt"
    SQUEEZE = "Squeeze"
    SUB = "Sub"
    SUM = "Sum"
    TRANSPOSE = "Transpose"
    UNSQUEEZE = "Unsqueeze"
    WHERE = "Where"


# fmt: off
ELEMENTWISE = frozenset([
    "Abs", "Acos", "Add", "And", "Cast", "Ceil", "Clip", "Cos", "Div", "Elu", "Equal", "Erf", "Exp", "Floor", "Greater",
    "HardSigmoid", "HardSwish", "LeakyRelu", "Less", "Log", "Max", "Min", "Mod", "Mul", "Neg", "Not", "Or", "Pow",
    "Reciprocal", "Relu", "Selu", "Sigmoid", "Sign", "Sin", "Softplus", "Sqrt", "Sub", "Sum", "Tan", "Tanh", "Where",
    "Xor",
])
# fmt: on
"""Operators of which an element of the output depends on one element of each input, after broadcasting."""

SIGNED_PADDING = ("AveragePool", "MaxPool")
"""Operators whose text prints a formula for the padding that can be negative (erratum pooling-negative-padding)."""
