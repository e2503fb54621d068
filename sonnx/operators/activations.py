"""Sigmoid, Softplus, HardSwish and HardSigmoid: functions over the reals of several operations, rounded once.

Sigmoid       1 / (1 + e^(-X[i])); -Inf gives +0, +Inf 1, both zeros 1/2.  SONNX of 2026-08, section on floats, and the
              erratum sigmoid-rounding; ONNX Sigmoid-1 to Sigmoid-13.
Softplus      ln(e^X[i] + 1); -Inf gives +0, +Inf +Inf.  ONNX Softplus-1 to Softplus-22.
HardSwish     X[i] * max(0, min(1, X[i] / 6 + 1/2)): alpha is 1/6 and beta 1/2, exactly.  Where the second factor is 0
              the product is that of IEEE 754: -0 for numbers up to -3, NaN for -Inf.  ONNX HardSwish-14 to
              HardSwish-22.
HardSigmoid   max(0, min(1, alpha * X[i] + beta)); alpha and beta are the real numbers that are stored.
              ONNX HardSigmoid-1 to HardSigmoid-22.

NaN gives NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any

import numpy as np

from sonnx.numerics.application import Application, Kernel
from sonnx.numerics.certified_rounding import Bound
from sonnx.numerics.correctly_rounded import NAN, ONE, ZERO, is_infinite, is_nan, is_zero, round_enclosed, to_mpfr
from sonnx.numerics.elementwise import ElementFunction, each, elementwise_definition
from sonnx.numerics.elementwise_kernels import real_function
from sonnx.numerics.enclosures import elementwise, rectifiers
from sonnx.numerics.formats import ELEMENTS, Array
from sonnx.operators.operator import Operator
from sonnx.operators.stated_signature import StatedSignature, same_floats

SIGMOID_BOUND = Bound(2.0**-45)
"""The error of the exponential and of three roundings; the last two are relative to terms without cancellation."""


def sigmoid(x: Any, once: Any) -> Any:
    """1 / (1 + e^-x)."""
    return round_enclosed(
        once,
        lambda down, up: (
            down.div(1, up.add(1, up.exp(-x))),
            up.div(1, down.add(1, down.exp(-x))),
        ),
    )


def approximate_sigmoid(x: Array, out: Array) -> None:
    """1 / (1 + e^-x) in the wider type."""
    np.negative(x, out=out)
    np.exp(out, out=out)
    np.add(out, 1, out=out)
    np.divide(1, out, out=out)


SOFTPLUS_BOUND = Bound(2.0**-44)
"""The errors of both functions, and that of the sum, whose addends are positive."""


def softplus(x: Any, once: Any) -> Any:
    """ln(e^x + 1)."""
    if is_infinite(x):
        return x if x > 0 else ZERO
    return round_enclosed(
        once,
        lambda down, up: (
            down.add(max(x, 0), down.log1p(down.exp(-abs(x)))),
            up.add(max(x, 0), up.log1p(up.exp(-abs(x)))),
        ),
    )


def approximate_softplus(x: Array, out: Array) -> None:
    """max(x, 0) + ln(1 + e^-|x|) in the wider type."""
    np.add(np.maximum(x, 0), np.log1p(np.exp(-np.abs(x))), out=out)


LOW, HIGH = -3, 3
"""Where the second factor of HardSwish becomes 0 and 1."""
SWISH_BOUND = Bound(2.0**-46)
"""Three relative roundings are 3 units of 2^-53; in long double, where this becomes 2^-60, 3 of 2^-64."""


def hard_swish(x: Any, once: Any) -> Any:
    """X * (x + 3) / 6 between -3 and 3, -0 below, x above."""
    if x <= LOW:
        return NAN if is_infinite(x) else -ZERO
    if x >= HIGH or is_zero(x) or x != x:
        return x
    sign = -1 if x < 0 else 1
    return sign * round_enclosed(
        once,
        lambda down, up: (
            down.div(down.mul(abs(x), down.add(x, HIGH)), 6),
            up.div(up.mul(abs(x), up.add(x, HIGH)), 6),
        ),
    )


def approximate_hard_swish(x: Array, out: Array) -> None:
    """X * min(max(x + 3, 0) / 6, 1) in the wider type."""
    factor = np.minimum(np.maximum(x + HIGH, 0) / 6, 1)
    np.multiply(x, factor, out=out)


LINE_BOUND = Bound(2.0**-52)


def hard_sigmoid(alpha: float, beta: float) -> ElementFunction:
    """The function of one element."""
    a, b = to_mpfr(alpha), to_mpfr(beta)

    def of_element(x: Any, once: Any) -> Any:
        line = round_enclosed(once, lambda down, up: (down.fma(a, x, b), up.fma(a, x, b)))
        return line if is_nan(line) else ZERO if line <= 0 else min(line, ONE)

    return of_element


def alpha_and_beta(application: Application) -> tuple[float, float]:
    """The slope and the height of a call of HardSigmoid."""
    return application.parameter("alpha"), application.parameter("beta")


def define_hard_sigmoid(application: Application, inputs: Sequence[Array]) -> tuple[Array]:
    """Y, of the type and shape of X."""
    return (each(hard_sigmoid(*alpha_and_beta(application)), inputs[0]),)


def hard_sigmoid_kernel(application: Application) -> Kernel:
    """Alpha * x + beta in the wider type: the product is exact there, the sum rounded once.

    The product of two doubles is exact in no wider type, so double goes to the definition.
    """
    alpha, beta = alpha_and_beta(application)

    def approximate(x: Array, out: Any) -> None:
        np.multiply(x, alpha, out=out)
        np.add(out, beta, out=out)
        np.maximum(out, 0, out=out)
        np.minimum(out, 1, out=out)

    exact = hard_sigmoid(alpha, beta)
    approximated = real_function(exact, approximate, LINE_BOUND)(application)

    def hard_sigmoids(inputs: Sequence[Any], out: Array) -> Array:
        if out.dtype == ELEMENTS["double"]:
            np.copyto(out, each(exact, inputs[0]))
            application.count(out.size, out.size)
            return out
        return approximated(inputs, out)

    return hard_sigmoids


OPERATORS = (
    *(
        Operator(
            name=name,
            elementwise=True,
            continuous=True,
            monotone="increasing",
            ends=ends,
            lipschitz=lipschitz,
            may_overflow_inside=True,
            define=elementwise_definition(exact),
            kernel=real_function(exact, approximate, error),
            bound=elementwise.transfer(function),
        )
        for name, exact, approximate, error, ends, lipschitz, function in (
            ("Sigmoid", sigmoid, approximate_sigmoid, SIGMOID_BOUND, (0, 1), 0.25, elementwise.SIGMOID),
            ("Softplus", softplus, approximate_softplus, SOFTPLUS_BOUND, (0, inf), 1, elementwise.SOFTPLUS),
        )
    ),
    Operator(
        name="HardSwish",
        elementwise=True,
        continuous=True,
        ends=(-0.375, inf),
        lipschitz=1.5,
        define=elementwise_definition(hard_swish),
        kernel=real_function(hard_swish, approximate_hard_swish, SWISH_BOUND),
        bound=rectifiers.hard_swish,
    ),
    Operator(
        name="HardSigmoid",
        elementwise=True,
        continuous=True,
        versions=(1, 6, 22),
        changes=(1,),
        absent={"alpha": float(np.float32(0.2)), "beta": 0.5},
        output_element="first",
        keeps_shape=True,
        may_overflow_inside=True,
        define=define_hard_sigmoid,
        kernel=hard_sigmoid_kernel,
        signature=StatedSignature(
            inputs=(1, 1), attributes={"alpha": "float", "beta": "float"}, output_specs=same_floats
        ),
        ends=(0, 1),
        bound=rectifiers.hard_sigmoid,
    ),
)
