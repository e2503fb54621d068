"""The operators whose meaning a rewrite is about, each named here and nowhere else in the rewriter.

What a rewrite is for follows from the rules it serves, not from an operator.  A name is needed in two places only: a
node that a rewrite builds is a node of some operator, and where the failing rule is `operator-in-profile` the operator
decides what can take its place.  What holds for a class of operators is a fact of `sonnx.operators`, never a list of
names.  A misspelt name is an attribute that the enumeration lacks.
"""

from __future__ import annotations

from enum import StrEnum


class OperatorName(StrEnum):
    """An operator of the standard domain."""

    ABS = "Abs"
    ADD = "Add"
    ARG_MAX = "ArgMax"
    BATCH_NORMALIZATION = "BatchNormalization"
    CAST = "Cast"
    CLIP = "Clip"
    CONCAT = "Concat"
    CONSTANT = "Constant"
    CONV = "Conv"
    CONV_INTEGER = "ConvInteger"
    DEQUANTIZE_LINEAR = "DequantizeLinear"
    DIV = "Div"
    DROPOUT = "Dropout"
    DYNAMIC_QUANTIZE_LINEAR = "DynamicQuantizeLinear"
    EQUAL = "Equal"
    ERF = "Erf"
    EXP = "Exp"
    EXPAND = "Expand"
    FLOOR = "Floor"
    GATHER = "Gather"
    GEMM = "Gemm"
    GLOBAL_AVERAGE_POOL = "GlobalAveragePool"
    GRU = "GRU"
    IDENTITY = "Identity"
    LESS = "Less"
    LOG = "Log"
    LSTM = "LSTM"
    MATMUL = "MatMul"
    MATMUL_INTEGER = "MatMulInteger"
    MAX = "Max"
    MAX_POOL = "MaxPool"
    MEAN = "Mean"
    MUL = "Mul"
    NEG = "Neg"
    POW = "Pow"
    QUANTIZE_LINEAR = "QuantizeLinear"
    REDUCE_MAX = "ReduceMax"
    REDUCE_SUM = "ReduceSum"
    RESHAPE = "Reshape"
    RNN = "RNN"
    SIGMOID = "Sigmoid"
    SIZE = "Size"
    SLICE = "Slice"
    SOFTMAX = "Softmax"
    SQRT = "Sqrt"
    SUB = "Sub"
    SUM = "Sum"
    TANH = "Tanh"
    TRANSPOSE = "Transpose"
    UNSQUEEZE = "Unsqueeze"
    UPSAMPLE = "Upsample"
    WHERE = "Where"
