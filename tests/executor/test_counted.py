"""Counts of the exact path: with a table and without one, and where all elements take it."""

import numpy
import pytest

from sonnx.language.evaluator import TensorFacts
from sonnx.model.ir import Attribute
from sonnx.numerics import elementwise_kernels
from sonnx.numerics.application import Application
from sonnx.numerics.formats import ELEMENTS
from sonnx.operators import dequantizelinear, find_operator, quantizelinear


def counted(operator, inputs, kind, names=None, **attributes):
    """The count of one node: elements, and those of the exact path."""
    made = {name: Attribute(name, "float", value) for name, value in attributes.items()}
    application = Application(operator.name, 22, "onnx", names or {}, made, absent=operator.absent)
    with numpy.errstate(all="ignore"):
        operator.kernel(application)(inputs, numpy.empty(inputs[0].shape, kind))
    return application.exact_path_counts.by_operator.get(operator.name, (0, 0))


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
@pytest.mark.parametrize(
    "operator", [find_operator(name) for name in ("Exp", "Log", "Tanh")], ids=lambda each: each.name
)
def test_elements_of_a_table_are_counted_as_without_one(operator, name, monkeypatch):
    """A bound so wide that many roundings stay open, to have something to count."""
    kind = ELEMENTS[name]
    monkeypatch.setattr(elementwise_kernels, "bound_in", lambda wide, bound: elementwise_kernels.Bound(2.0**-14))
    elementwise_kernels._table.cache_clear()
    X = numpy.arange(1 << 16, dtype=numpy.uint16).view(kind)
    twice = numpy.concatenate([X, X[:: 1 << 3]])
    pieces = [counted(operator, [part], kind) for part in numpy.array_split(twice, 8)]
    assert all(len(part) < elementwise_kernels.MIN_TABULATED for part in numpy.array_split(twice, 8))
    assert counted(operator, [twice], kind) == tuple(map(sum, zip(*pieces, strict=True)))
    assert sum(exact for _, exact in pieces) > 0
    elementwise_kernels._table.cache_clear()


def test_hard_sigmoid_of_double_is_exact_throughout():
    assert counted(find_operator("HardSigmoid"), [numpy.ones(5)], "f8", alpha=0.25, beta=0.5) == (5, 5)


def test_arithmetic_that_failed_its_trial_is_counted(monkeypatch):
    ones, scale = numpy.ones(5, "f4"), numpy.ones((), "f4")
    zero, names = numpy.zeros((), "u1"), {"x_scale": TensorFacts("float", (), 1.0)}
    assert counted(find_operator("Add"), [ones, ones], "f4") == (0, 0)
    for module in (elementwise_kernels, quantizelinear, dequantizelinear):
        monkeypatch.setattr(module, "arithmetic_is_ieee", lambda kind: False)
    assert counted(find_operator("Add"), [ones, ones], "f4") == (5, 5)
    assert counted(quantizelinear.OPERATOR, [ones, scale, zero], "u1") == (5, 5)
    assert counted(dequantizelinear.OPERATOR, [ones.astype("u1"), scale, zero], "f4", names) == (5, 5)
