"""What the tool knows of the operators of ONNX that it cannot run: facts of their texts, no values.

The facts are those of `StatedOperator`.  What the text of an operator leaves to an implementation, as how a function is
rounded, is stated for no operator here.  `versions` are all versions of ONNX; `changes` those with another meaning for
a node that both allow, so a version that adds types, broadcasting, an input or an attribute is none.
"""

from __future__ import annotations

from math import inf
from typing import Any

from sonnx.operators.operator import StatedOperator

EPSILON = 1e-05


def _function(name: str, *versions: int, **facts: Any) -> StatedOperator:
    """A function of one element, of its type."""
    return StatedOperator(
        name=name,
        versions=versions,
        **{"elementwise": True, "keeps_shape": True, "output_element": "first", "changes": versions[:1], **facts},
    )


def _continuous(name: str, *versions: int, **facts: Any) -> StatedOperator:
    """A continuous function of one element, of its type."""
    return _function(name, *versions, continuous=True, **facts)


def _of_two(name: str, *versions: int, **facts: Any) -> StatedOperator:
    """A function of two elements, which are broadcast."""
    return StatedOperator(
        name=name,
        versions=versions,
        **{"elementwise": True, "output_element": "first", "changes": versions[:1], **facts},
    )


def _bits(name: str, *versions: int, **facts: Any) -> StatedOperator:
    """A function of the bits of two elements that may change places and be regrouped."""
    return _of_two(name, *versions, commutative=True, associative=True, **facts)


def _reduction(name: str, *versions: int, **facts: Any) -> StatedOperator:
    """A continuous function of the elements along some axes."""
    return StatedOperator(
        name=name,
        versions=versions,
        **{
            "continuous": True,
            "axis_parameter": "axes",
            "output_element": "first",
            "changes": (1, 18),
            "absent": {"keepdims": 1, "noop_with_empty_axes": 0},
            **facts,
        },
    )


def _normalization(name: str, *versions: int, **facts: Any) -> StatedOperator:
    """A continuous function that gives elements of the type and shape of the first input."""
    return StatedOperator(
        name=name,
        versions=versions,
        **{
            "continuous": True,
            "keeps_shape": True,
            "output_element": "first",
            "may_overflow_inside": True,
            "changes": versions[:1],
            **facts,
        },
    )


def _random(name: str, *versions: int, **facts: Any) -> StatedOperator:
    """A draw."""
    return StatedOperator(name=name, versions=versions, random=True, **{"changes": versions[:1], **facts})


def _known(name: str, *versions: int, **facts: Any) -> StatedOperator:
    return StatedOperator(name=name, versions=versions, **facts)


FUNCTIONS = (
    _continuous("Acosh", 9, 22, monotone="increasing", ends=(0, inf)),
    _continuous("Asin", 7, 22, monotone="increasing", ends=(-1.6, 1.6)),
    _continuous("Asinh", 9, 22, monotone="increasing", lipschitz=1, may_overflow_inside=True),
    _continuous("Atan", 7, 22, monotone="increasing", ends=(-1.6, 1.6), lipschitz=1),
    _continuous("Atanh", 9, 22, monotone="increasing"),
    _function("BitwiseNot", 18, monotone="decreasing", twice="undone"),
    _continuous("Celu", 12, 28, monotone="increasing", absent={"alpha": 1.0}),
    _continuous("Cos", 7, 22, ends=(-1, 1), lipschitz=1),
    _continuous("Cosh", 9, 22, ends=(1, inf), may_overflow_inside=True),
    _continuous("Elu", 1, 6, 22, absent={"alpha": 1.0}),
    _continuous(
        "Gelu", 20, ends=(-0.171, inf), lipschitz=1.13, may_overflow_inside=True, absent={"approximate": "none"}
    ),
    _function(
        "IsInf", 10, 20, ends=(0, 1), output_element="bool", absent={"detect_negative": 1, "detect_positive": 1}
    ),
    _function("IsNaN", 9, 13, 20, ends=(0, 1), output_element="bool"),
    _continuous("Mish", 18, 22, ends=(-0.309, inf), lipschitz=1.09, may_overflow_inside=True),
    _function("RegexFullMatch", 20, output_element="bool"),
    _function("Round", 11, 22, monotone="increasing", twice="same"),
    _continuous(
        "Selu", 1, 6, 22, changes=(1, 6),
        absent={"alpha": {1: 1.6732, 6: 1.6732631921768188}, "gamma": {1: 1.0507, 6: 1.0507010221481323}},
    ),
    _function("Shrink", 9, absent={"bias": 0.0, "lambd": 0.5}),
    _continuous("Sinh", 9, 22, monotone="increasing", may_overflow_inside=True),
    _continuous("Softsign", 1, 22, monotone="increasing", ends=(-1, 1), lipschitz=1),
    _continuous("Swish", 24, lipschitz=1.1, may_overflow_inside=True, absent={"alpha": 1.0}),
    _continuous("Tan", 7, 22),
    _function("ThresholdedRelu", 10, 22, absent={"alpha": 1.0}),
    _function("BitCast", 26, output_element=""),
)  # fmt: skip
"""Functions of one element."""

OF_SEVERAL = (
    _of_two("BitShift", 11, 28),
    _bits("BitwiseAnd", 18),
    _bits("BitwiseOr", 18),
    _bits("BitwiseXor", 18),
    _of_two("GreaterOrEqual", 12, 16, output_element="bool"),
    _of_two("LessOrEqual", 12, 16, output_element="bool"),
    _of_two("Mean", 1, 6, 8, 13, continuous=True, may_overflow_inside=True),
    _of_two("PRelu", 1, 6, 7, 9, 16, changes=(1, 7), continuous=True, axis_broadcasting=True, keeps_shape=True),
    _of_two("StringConcat", 20),
    _of_two("SwiGLU", 28, continuous=True, keeps_shape=True, may_overflow_inside=True, absent={"alpha": 1.0}),
    _bits("Xor", 1, 7, changes=(1, 7), axis_broadcasting=True, output_element="bool", absent={"broadcast": 0}),
)
"""Functions of several elements, one of each input."""

REDUCTIONS = (
    _reduction("ReduceL1", 1, 11, 13, 18, ends=(0, inf)),
    _reduction("ReduceL2", 1, 11, 13, 18, ends=(0, inf), may_overflow_inside=True),
    _reduction("ReduceLogSum", 1, 11, 13, 18, 28, may_overflow_inside=True),
    _reduction("ReduceLogSumExp", 1, 11, 13, 18, 28, may_overflow_inside=True),
    _reduction("ReduceMin", 1, 11, 12, 13, 18, 20, selects=True),
    _reduction("ReduceProd", 1, 11, 13, 18, may_overflow_inside=True),
    _reduction("ReduceSumSquare", 1, 11, 13, 18, ends=(0, inf)),
    _known(
        "ArgMin", 1, 11, 12, 13, changes=(1,), axis_parameter="axis", output_element="int64",
        absent={"axis": 0, "keepdims": 1, "select_last_index": 0},
    ),
    _known("GlobalLpPool", 1, 2, 22, ends=(0, inf), continuous=True, may_overflow_inside=True, output_element="first",
           absent={"p": {1: 2.0, 2: 2}}),
    _known(
        "LpPool", 1, 2, 11, 18, 22, ends=(0, inf), continuous=True, may_overflow_inside=True, output_element="first",
        absent={
            "auto_pad": "NOTSET", "ceil_mode": 0, "dilations": "ones", "p": {1: 2.0, 2: 2}, "pads": "zeros",
            "strides": "ones",
        },
    ),
)  # fmt: skip
"""Functions of the elements along some axes, or of windows."""

NORMALIZATIONS = (
    _normalization("GroupNormalization", 18, 21, changes=(18, 21), absent={"epsilon": EPSILON, "stash_type": 1}),
    _normalization(
        "Hardmax", 1, 11, 13, changes=(1, 13), continuous=False, may_overflow_inside=False, ends=(0, 1),
        axis_parameter="axis", absent={"axis": {1: 1, 13: -1}},
    ),
    _normalization("InstanceNormalization", 1, 6, 22, absent={"epsilon": EPSILON}),
    _normalization(
        "LayerNormalization", 17, axis_parameter="axis", independent_outputs=True,
        absent={"axis": -1, "epsilon": EPSILON, "stash_type": 1},
    ),
    _normalization(
        "LogSoftmax", 1, 11, 13, changes=(1, 13), ends=(-inf, 0), axis_parameter="axis",
        absent={"axis": {1: 1, 13: -1}},
    ),
    _normalization("LpNormalization", 1, 22, continuous=False, axis_parameter="axis", absent={"axis": -1, "p": 2}),
    _normalization("MeanVarianceNormalization", 9, 13, absent={"axes": (0, 2, 3)}),
    _normalization(
        "RMSNormalization", 23, axis_parameter="axis", absent={"axis": -1, "epsilon": EPSILON, "stash_type": 1}
    ),
    _normalization("CumSum", 11, 14, absent={"exclusive": 0, "reverse": 0}),
    _normalization("CumProd", 26, absent={"exclusive": 0, "reverse": 0}),
)  # fmt: skip
"""Functions that keep type and shape and read more than one element for each."""

MOVEMENTS = (
    _known("CenterCropPad", 18, moved_inputs="first", continuous=True, output_element="first"),
    _known(
        "DepthToSpace", 1, 11, 13, 28, changes=(1,), moved_inputs="first", continuous=True, selects=True,
        output_element="first", absent={"mode": "DCR"},
    ),
    _known(
        "GatherElements", 11, 13, changes=(11,), moved_inputs="first", continuous=True, selects=True,
        output_element="first", axis_parameter="axis", absent={"axis": 0},
    ),
    _known(
        "GatherND", 11, 12, 13, changes=(11,), moved_inputs="first", continuous=True, selects=True,
        output_element="first", absent={"batch_dims": 0},
    ),
    _known(
        "ReverseSequence", 10, 28, changes=(10,), moved_inputs="first", continuous=True, selects=True, keeps_shape=True,
        output_element="first", absent={"batch_axis": 1, "time_axis": 0},
    ),
    _known(
        "SpaceToDepth", 1, 13, 28, changes=(1,), moved_inputs="first", continuous=True, selects=True,
        output_element="first", absent={"mode": "DCR"},
    ),
    _known(
        "Tile", 1, 6, 13, changes=(1, 6), moved_inputs="first", continuous=True, selects=True, output_element="first"
    ),
    _known("Trilu", 14, moved_inputs="first", continuous=True, keeps_shape=True, output_element="first",
           absent={"upper": 1}),
    _known(
        "Compress", 9, 11, 28, axis_parameter="axis", changes=(9,), moved_inputs="first", continuous=True, selects=True,
        output_element="first"
    ),
    _known(
        "Scatter", 9, 11, changes=(9,), moved_inputs=None, continuous=True, selects=True, keeps_shape=True,
        output_element="first", axis_parameter="axis", absent={"axis": 0},
    ),
    _known(
        "ScatterElements", 11, 13, 16, 18, changes=(11,), continuous=True, keeps_shape=True, output_element="first",
        axis_parameter="axis", absent={"axis": 0, "reduction": "none"},
    ),
    _known(
        "TensorScatter", 24, continuous=True, selects=True, keeps_shape=True, output_element="first",
        absent={"axis": -2, "mode": "linear"},
    ),
)  # fmt: skip
"""Operators that move elements or write some among others."""

RANDOM = (
    _random("Bernoulli", 15, 22, keeps_shape=True),
    _random("Multinomial", 7, 22, absent={"dtype": 6, "sample_size": 1}),
    _random("RandomNormal", 1, 22, absent={"dtype": 1, "mean": 0.0, "scale": 1.0}),
    _random("RandomNormalLike", 1, 22, keeps_shape=True, absent={"mean": 0.0, "scale": 1.0}),
    _random("RandomUniform", 1, 22, absent={"dtype": 1, "high": 1.0, "low": 0.0}),
    _random("RandomUniformLike", 1, 22, keeps_shape=True, absent={"high": 1.0, "low": 0.0}),
)
"""Draws."""

PRODUCTS = (
    _known(
        "AffineGrid", 20, output_element="first", continuous=True, may_overflow_inside=True, absent={"align_corners": 0}
    ),
    _known(
        "Attention", 23, 24, 25, output_element="first", independent_outputs=True, continuous=True,
        may_overflow_inside=True, absent={"is_causal": 0, "left_window_size": -1, "qk_matmul_output_mode": 0,
        "right_window_size": -1, "softcap": 0.0}
    ),
    _known(
        "CausalConvWithState", 27, output_element="first", keeps_shape=True, independent_outputs=True, continuous=True,
        may_overflow_inside=True, absent={"activation": "none"}
    ),
    _known("Col2Im", 18, continuous=True, may_overflow_inside=True, output_element="first",
           absent={"dilations": "ones", "pads": "zeros", "strides": "ones"}),
    _known(
        "DFT", 17, 20, axis_parameter="axis", continuous=True, may_overflow_inside=True, output_element="first",
        absent={"axis": {17: 1, 20: None}, "inverse": 0, "onesided": 0},
    ),
    _known("DeformConv", 19, 22, changes=(19,), continuous=True, may_overflow_inside=True, output_element="first",
           absent={"dilations": "ones", "group": 1, "offset_group": 1, "pads": "zeros", "strides": "ones"}),
    _known("Det", 11, 22, changes=(11,), continuous=True, may_overflow_inside=True, output_element="first"),
    _known("Einsum", 12, 28, changes=(12,), continuous=True, may_overflow_inside=True, output_element="first"),
    _known(
        "LinearAttention", 27, output_element="first", independent_outputs=True, continuous=True,
        may_overflow_inside=True, absent={"chunk_size": 64, "scale": 0.0, "update_rule": "gated_delta"}
    ),
    _known("MatMulInteger", 10, may_overflow_inside=True, output_element="int32"),
    _known(
        "QLinearConv", 10, may_overflow_inside=True,
        absent={"auto_pad": "NOTSET", "dilations": "ones", "group": 1, "pads": "zeros", "strides": "ones"},
    ),
    _known("QLinearMatMul", 10, 21, changes=(10,), may_overflow_inside=True),
    _known(
        "RNN", 1, 7, 14, 22, changes=(1, 7, 14), continuous=True, may_overflow_inside=True, independent_outputs=True,
        output_element="first", absent={"activations": ("Tanh", "Tanh"), "direction": "forward", "layout": 0,
        "output_sequence": {1: 0, 7: None}}
    ),
    _known("RotaryEmbedding", 23, continuous=True, may_overflow_inside=True, keeps_shape=True, output_element="first",
           absent={"interleaved": 0, "rotary_embedding_dim": 0}),
    _known("STFT", 17, continuous=True, may_overflow_inside=True, output_element="first", absent={"onesided": 1}),
)  # fmt: skip
"""Sums of products."""

FURTHER = (
    _known("BlackmanWindow", 17, absent={"output_datatype": 1, "periodic": 1}),
    _known(
        "CastLike", 15, 19, 21, 23, 24, 25, changes=(15,), converts=True, keeps_shape=True,
        absent={"round_mode": "up", "saturate": 1},
    ),
    _known("ConcatFromSequence", 11, absent={"new_axis": 0}),
    _known("DynamicQuantizeLinear", 11, may_overflow_inside=True, keeps_shape=True, independent_outputs=True,
           output_element="uint8"),
    _known("EyeLike", 9, 22, changes=(9,), reads_shapes_only=True, keeps_shape=True, absent={"k": 0}),
    _known("GridSample", 16, 20, 22, changes=(16, 20), output_element="first",
           absent={"align_corners": 0, "mode": {16: "bilinear", 20: "linear"}, "padding_mode": "zeros"}),
    _known("HammingWindow", 17, absent={"output_datatype": 1, "periodic": 1}),
    _known("HannWindow", 17, absent={"output_datatype": 1, "periodic": 1}),
    _known("If", 1, 11, 13, 16, 19, 21, 23, 24, 25, changes=(1,)),
    _known("ImageDecoder", 20, absent={"pixel_format": "RGB"}),
    _known("Loop", 1, 11, 13, 16, 19, 21, 23, 24, 25, changes=(1, 11, 13, 16)),
    _known("MaxRoiPool", 1, 22, changes=(1,), selects=True, output_element="first", absent={"spatial_scale": 1.0}),
    _known("MaxUnpool", 9, 11, 22, continuous=True, changes=(9, 11), output_element="first",
           absent={"pads": "zeros", "strides": "ones"}),
    _known("MelWeightMatrix", 17, absent={"output_datatype": 1}),
    _known("NegativeLogLikelihoodLoss", 12, 13, 22, continuous=True, changes=(12, 13), output_element="first",
           absent={"reduction": "mean"}),
    _known("NonMaxSuppression", 10, 11, changes=(10,), output_element="int64", absent={"center_point_box": 0}),
    _known("NonZero", 9, 13, changes=(9,), output_element="int64"),
    _known("OneHot", 9, 11, 28, changes=(9, 11), absent={"axis": -1}),
    _known("Optional", 15, 28, changes=(15,)),
    _known("OptionalGetElement", 15, 18, 28, changes=(15,)),
    _known("OptionalHasElement", 15, 18, 28, changes=(15, 18), output_element="bool"),
    _known(
        "RoiAlign", 10, 16, 22, changes=(10, 16), output_element="first",
        absent={
            "coordinate_transformation_mode": {16: "half_pixel"}, "mode": "avg", "output_height": 1, "output_width": 1,
            "sampling_ratio": 0, "spatial_scale": 1.0,
        },
    ),
    _known("Scan", 8, 9, 11, 16, 19, 21, 23, 24, 25, changes=(8, 9)),
    _known("SequenceAt", 11),
    _known("SequenceConstruct", 11),
    _known("SequenceEmpty", 11, absent={"dtype": 1}),
    _known("SequenceErase", 11),
    _known("SequenceInsert", 11),
    _known("SequenceLength", 11, output_element="int64"),
    _known("SequenceMap", 17),
    _known("Size", 1, 13, 19, 21, 23, 24, 25, changes=(1,), reads_shapes_only=True, output_element="int64"),
    _known(
        "SoftmaxCrossEntropyLoss", 12, 13, independent_outputs=True, continuous=True, changes=(12, 13),
        output_element="first", absent={"reduction": "mean"}
    ),
    _known("SplitToSequence", 11, 24, changes=(11,), absent={"axis": 0, "keepdims": 1}),
    _known("StringNormalizer", 10, output_element="string",
           absent={"case_change_action": "NONE", "is_case_sensitive": 0}),
    _known("StringSplit", 20, output_element="string"),
    _known("TfIdfVectorizer", 9, output_element="float"),
    _known(
        "TopK", 1, 10, 11, 24, continuous=True, changes=(1, 10, 11), output_element="first", selects=True,
        independent_outputs=True, axis_parameter="axis", absent={"axis": -1, "largest": 1, "sorted": 1}
    ),
    _known("Unique", 11, 28, changes=(11,), selects=True, axis_parameter="axis", output_element="first",
           absent={"sorted": 1}),
    _known("Upsample", 1, 7, 9, 10, changes=(1, 7, 9), output_element="first", absent={"mode": "nearest"}),
)  # fmt: skip
"""What none of the groups has."""

STATED = (
    *FUNCTIONS, *OF_SEVERAL, *REDUCTIONS, *NORMALIZATIONS, *MOVEMENTS, *RANDOM, *PRODUCTS, *FURTHER
)  # fmt: skip
