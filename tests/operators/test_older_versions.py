"""Older versions of operators, run unchecked: what their attributes say is done, or the run stops with a sentence.

An attribute that no code reads would give values of another operator without a word.
"""

import ast
import inspect
import re
import tomllib
from functools import cache
from importlib import import_module
from itertools import product
from pathlib import Path

import numpy
import pytest

import sonnx
from sonnx.operators.registry import modules
from tests.support.cases import each_case
from tests.support.models import run_node

FOLDER = Path(__file__).parent.parent.parent / "restrictions" / "operators"

PACKAGES = ("sonnx.operators", "sonnx.numerics")
SHARED = {"application", "formats", "operator", "stated_signature"}
"""Modules that every operator imports and that read no parameter."""

WITHOUT_EFFECT = {
    ("*", "consumed_inputs"): "where memory may be used again; the values are the same",
    ("BatchNormalization", "momentum"): "of training, which is refused",
    ("BatchNormalization", "spatial"): "the rule BatchNormalization.spatial, on which the shape relies, wants 1",
    ("GRU", "activation_alpha"): "no activation that is known has one",
    ("GRU", "activation_beta"): "no activation that is known has one",
    ("GRU", "hidden_size"): "the rule GRU.hidden-size wants that of R",
    ("GRU", "output_sequence"): "whether Y may be left out; which outputs there are, the node says",
    ("LSTM", "output_sequence"): "whether Y may be left out; which outputs there are, the node says",
    ("LSTM", "hidden_size"): "the rule LSTM.hidden-size-stated wants that of R",
    ("LSTM", "activation_alpha"): "no activation that is known has one",
    ("LSTM", "activation_beta"): "no activation that is known has one",
    ("Range", "stash_type"): "the precision of a sum that is exact here (erratum range-element-rounding)",
}


@cache
def imported(module):
    """The source text of a module, and the modules of operators and numerics that it imports."""
    own = inspect.getsource(import_module(module))
    found = []
    for each in ast.walk(ast.parse(own)):
        if isinstance(each, ast.ImportFrom) and each.module and each.module.startswith(PACKAGES):
            inside = f"{each.module}." if each.module in PACKAGES else None
            found += [f"{inside}{alias.name}" for alias in each.names] if inside else [each.module]
    return own, found


def source_of(module):
    """The source text of a module and of all modules of operators and numerics that it needs."""
    text, seen, pending = "", set(), [module]
    while pending:
        name = pending.pop()
        if name in seen or name.rpartition(".")[2] in SHARED:
            continue
        seen.add(name)
        own, needed = imported(name)
        text += own
        pending += needed
    return text


@each_case("path", sorted(FOLDER.glob("*.toml")), ids=lambda path: path.stem)
def test_every_parameter_is_read(path):
    data = tomllib.loads(path.read_text("utf-8"))
    texts = [str(output.get("shape", "")) for output in data["outputs"].values()] + [str(data.get("define", {}))]
    code = source_of(modules()[path.stem])
    for name in data.get("parameters", {}):
        if {("*", name), (data["operator"], name)} & WITHOUT_EFFECT.keys():
            continue
        read = f'"{name}"' in code or f"({name})" in code
        assert read or any(re.search(rf"\b{name}\b", text) for text in texts), f"{data['operator']}: {name}"


# ------------------------------------------------------------------ broadcasting before operator set 7

A = numpy.arange(1.0, 25.0).reshape(2, 3, 4)
FUNCTIONS = {
    "Add": lambda a, b: a + b, "Sub": lambda a, b: a - b, "Mul": lambda a, b: a * b, "Div": lambda a, b: a / b,
    "Pow": lambda a, b: a**b, "Less": lambda a, b: a < b, "Greater": lambda a, b: a > b, "Equal": lambda a, b: a == b,
    "And": lambda a, b: a & b, "Or": lambda a, b: a | b,
}  # fmt: skip
FITS = [((), None), ((1, 1), None), ((4,), None), ((3, 4), None), ((2, 3), 0), ((2,), 0), ((3,), 1), ((2, 3, 4), None)]
FITS_NOT = [
    ((3,), None),
    ((2, 3), None),
    ((4,), 0),
    ((2,), 1),
    ((1, 4), None),
    ((2, 1), 0),
    ((2, 3, 4, 1), None),
    ((4,), -1),
]


def typed(operator, values):
    if operator in ("And", "Or"):
        return values > 5
    return values.astype("i4") if operator == "Equal" else values


@each_case("operator", FUNCTIONS)
@each_case("version", [1, 6])
def test_along_an_axis(operator, version):
    a = typed(operator, A)
    for shape, axis in FITS:
        b = typed(operator, numpy.arange(numpy.prod(shape, dtype=int)).reshape(shape) % 3 + 2.0)
        more = {} if axis is None else {"axis": axis}
        _, run = run_node(operator, [a, b], None, kind=1, operator_set=version, broadcast=1, **more)
        if numpy.prod(shape, dtype=int) == 1:
            wide = b.reshape(())
        else:  # by index: B[i] stands for every A[.., i, ..]
            first = a.ndim - b.ndim if axis is None else axis
            wide = numpy.empty(a.shape, b.dtype)
            for index in numpy.ndindex(a.shape):
                wide[index] = b[index[first : first + b.ndim]]
        assert numpy.array_equal(run(), FUNCTIONS[operator](a, wide))


@each_case(("operator", "fit"), [*product(FUNCTIONS, FITS_NOT)])
def test_what_does_not_fit_is_refused(operator, fit):
    shape, axis = fit
    b = typed(operator, numpy.ones(shape))
    more = {} if axis is None else {"axis": axis}
    with pytest.raises(sonnx.Stop, match=r"^node 'n' \("):
        run_node(operator, [typed(operator, A), b], None, kind=1, operator_set=6, broadcast=1, **more)[1]()
    if b.shape != A.shape:
        with pytest.raises(sonnx.Stop, match=r"^node 'n' \("):
            run_node(operator, [typed(operator, A), b], None, kind=1, operator_set=6)[1]()
    with pytest.raises(sonnx.Stop, match=r"^node 'n' \("):
        run_node(operator, [typed(operator, A)] * 2, None, kind=1, operator_set=7, broadcast=1)[1]()


# ------------------------------------------------------------------ others


@each_case("version", [1, 6])
@each_case("kind", ["f2", "f4", "f8"])
def test_bounds_of_clip_as_attributes(version, kind):
    X = numpy.array([-3, -0.1, -0.0, 0.1, 0.3, 3], kind)
    low, high = float(numpy.float32(-0.1)), float(numpy.float32(0.3))
    for bounds in ({"min": low, "max": high}, {"min": low}, {"max": high}, {}):
        found = run_node("Clip", [X], None, operator_set=version, **bounds)[1]()
        exact = [max(bounds.get("min", -9.0), min(bounds.get("max", 9.0), float(x))) for x in X]
        assert found.tolist() == numpy.array(exact).astype(kind).tolist()
    with pytest.raises(sonnx.ErrorCondition, match=r"Clip\.bounds-in-order"):
        run_node("Clip", [X], None, operator_set=version, min=1.0, max=0.0)[1]()


def test_crossed_bounds_of_clip():
    """The upper one from version 13 on; before it no text says."""
    X, bounds = numpy.ones(2, "f4"), [numpy.array(2, "f4"), numpy.array(1, "f4")]
    assert run_node("Clip", [X, *bounds], None, operator_set=13)[1]().tolist() == [1, 1]
    with pytest.raises(sonnx.ErrorCondition, match=r"Clip\.bounds-in-order"):
        run_node("Clip", [X, *bounds], None, operator_set=12)[1]()


@each_case("version", [1, 6])
def test_batch_normalization_infers_where_is_test_says_so(version):
    X, ones = numpy.ones((1, 2, 3), "f4"), numpy.ones(2, "f4")
    more = {"consumed_inputs": [0, 0]} if version == 1 else {}
    inputs = [X, ones, ones, ones, ones]
    assert (
        run_node("BatchNormalization", inputs, None, operator_set=version, is_test=1, **more)[1]().tolist()
        == X.tolist()
    )
    for is_test in ({}, {"is_test": 0}):
        with pytest.raises(sonnx.ErrorCondition, match=r"BatchNormalization\.inference-mode"):
            run_node("BatchNormalization", inputs, None, operator_set=version, **is_test, **more)[1]()


@each_case("version", [1, 6])
def test_gemm_broadcasts_where_an_attribute_says_so(version):
    I, C = numpy.eye(2, dtype="f4"), numpy.array([1, 2], "f4")  # noqa: E741
    assert run_node("Gemm", [I, I, C], None, operator_set=version, broadcast=1)[1]().tolist() == [[2, 2], [1, 3]]
    with pytest.raises(sonnx.NotExecutable, match="the attribute broadcast is 0"):
        run_node("Gemm", [I, I, C], None, operator_set=version)[1]()


def test_sum_of_different_shapes():
    X = [numpy.ones((2, 2), "f4"), numpy.ones(2, "f4")]
    assert run_node("Sum", X, None, operator_set=8)[1]().tolist() == [[2, 2], [2, 2]]
    with pytest.raises(sonnx.NotExecutable, match="differ, before operator set 8"):
        run_node("Sum", X, None, operator_set=7)[1]()


def test_response_normalization_of_two_axes():
    X = numpy.array([[1, 2]], "f4")
    assert run_node("LRN", [X], None, size=1, alpha=0.0)[1]().tolist() == X.tolist()
