"""The transfer function of each operator: the one place that says which operators have bounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sonnx.bounds import operators_elementwise as elementwise
from sonnx.bounds import operators_layout as layout
from sonnx.bounds import operators_linear as linear
from sonnx.bounds import operators_selection as selection
from sonnx.bounds.values import Context, Transfer, Value

TRANSFERS: Mapping[str, Callable[[Context, Sequence[Value | None]], list[Transfer]]] = {
    "Abs": elementwise.transfer(elementwise.ABS),
    "Add": linear.add,
    "AveragePool": linear.average_pool,
    "BatchNormalization": linear.batch_normalization,
    "Clip": elementwise.clip,
    "Concat": layout.moving(None, one_to_one=True),
    "Conv": linear.conv,
    "Div": linear.divide,
    "Dropout": layout.moving((0,), one_to_one=True),
    "Equal": selection.comparison(selection.equal),
    "Erf": elementwise.transfer(elementwise.ERF),
    "Exp": elementwise.transfer(elementwise.EXP),
    "Expand": layout.moving((0,)),
    "Flatten": layout.moving((0,), one_to_one=True),
    "Gather": layout.moving((0,)),
    "Gemm": linear.gemm,
    "GlobalAveragePool": linear.global_average_pool,
    "GlobalMaxPool": selection.global_max_pool,
    "Greater": selection.comparison(selection.greater),
    "Identity": layout.moving((0,), one_to_one=True),
    "LeakyRelu": elementwise.leaky_relu,
    "Less": selection.comparison(selection.less),
    "Log": elementwise.transfer(elementwise.LOG),
    "MatMul": linear.matmul,
    "Max": selection.extremum(1.0),
    "MaxPool": selection.max_pool,
    "Min": selection.extremum(-1.0),
    "Mul": linear.multiply,
    "Neg": elementwise.transfer(elementwise.NEG),
    "Pad": layout.pad,
    "ReduceMean": linear.reduce_mean_or_sum(True),
    "ReduceSum": linear.reduce_mean_or_sum(False),
    "Relu": elementwise.relu,
    "Reshape": layout.moving((0,), one_to_one=True),
    "Sigmoid": elementwise.transfer(elementwise.SIGMOID),
    "Sin": elementwise.transfer(elementwise.SIN),
    "Slice": layout.moving((0,)),
    "Softmax": selection.softmax,
    "Softplus": elementwise.transfer(elementwise.SOFTPLUS),
    "Split": layout.moving((0,)),
    "Sqrt": elementwise.transfer(elementwise.SQRT),
    "Squeeze": layout.moving((0,), one_to_one=True),
    "Sub": linear.subtract,
    "Sum": linear.add,
    "Tanh": elementwise.transfer(elementwise.TANH),
    "Transpose": layout.moving((0,), one_to_one=True),
    "Unsqueeze": layout.moving((0,), one_to_one=True),
    "Where": selection.where,
}
"""By the name of the operator."""
