"""Every operator of the catalogue, in every version, runs for every combination of element types that it admits.

An operator that moves elements moves those of every type alike: elements of int64, or of float in a version without
int64, that are their own numbers say which element of another type stands where.  Every other operator has one value by
its definition and by its kernel, and on small whole numbers the value it has for double, rounded or modulo 2^n.
"""

import ml_dtypes
import numpy
import pytest

import sonnx
from sonnx.numerics.formats import ELEMENTS
from sonnx.profile import catalogue
from tests.support.cases import DEEP, each_case
from tests.support.oracle import same
from tests.support.typed_nodes import distinct, samples_of, typed_nodes, values_of

OPERATORS = {each.name: each for each in catalogue.operators()}
VERSIONS = [(name, version) for name, each in OPERATORS.items() for version in each.versions]
WHOLE = {name for name in ELEMENTS if "int" in name}

NO_VALUE = {
    "Erf": (WHOLE, "no text says how the error function of elements of type"),
    "ReduceMean": (WHOLE, "no text gives the mean of elements of type"),
}
"""Element types that ONNX lists, and for which its text gives no value; with the sentence."""


def moved(node, carrier, found):
    """The output of a node, by what the same node gives for numbers of elements."""
    [name] = {node.types[variable] for variable in node.types if node.types[variable] != carrier.types[variable]}
    elements = {0: numpy.zeros(1, ELEMENTS[name])[0], 1: distinct(name, 1, 0)[0]}
    for numbers, own in zip(carrier.inputs, node.inputs, strict=True):
        if numbers is not None and numbers.dtype != own.dtype:
            elements |= dict(zip(numbers.ravel().tolist(), own.ravel(), strict=True))
    made = numpy.empty(found.size, ELEMENTS[name])
    for place, number in enumerate(found.ravel().tolist()):
        made[place] = elements[number]
    return made.reshape(found.shape)


def carriers(nodes, variable):
    """For each node the one that differs in the type of the elements alone, and has int64 or float there."""
    by_types = {tuple(node.types.values()): node for node in nodes}
    for node in nodes:
        for name in ("int64", "float"):
            wanted = tuple(name if each == variable else kind for each, kind in node.types.items())
            if wanted in by_types:
                yield node, by_types[wanted]
                break


def numbers_of(values):
    """Elements as float64; the least power of two stands for 0, which its type does not have."""
    wide = numpy.array([float(each) for each in values.ravel()]).reshape(values.shape)
    return numpy.where(wide < 1e-30, 0, wide)


def compare_with_double(node, found, by_types):
    """The outputs of a node against those of the same node for double."""
    if node.types.get("T", "bool") in ("bool", "string"):
        return
    like = by_types.get(tuple("double" if name == "T" else kind for name, kind in node.types.items()))
    for output, wanted in zip(found, like or (), strict=False):
        if output.dtype.kind in "biu":
            whole = numpy.isfinite(wanted) & (wanted == numpy.trunc(wanted))
            assert (output == wanted.astype("i8").astype(output.dtype))[whole].all(), node.label
        else:
            precision = float(ml_dtypes.finfo(output.dtype).eps)
            assert numpy.allclose(output.astype("f8"), wanted, precision, precision, equal_nan=True), node.label


@each_case(
    ("name", "version"),
    VERSIONS
    if DEEP
    else [(name, each.versions[place % 2 - 1]) for place, (name, each) in enumerate(OPERATORS.items())],
)
def test_every_type(name, version):
    """The first version or the last one, in a deep run every one."""
    run_every_type(name, version, every=False)


@pytest.mark.campaign
@pytest.mark.parametrize(("name", "version"), VERSIONS)
def test_every_combination_of_types(name, version):
    run_every_type(name, version, every=True)


def run_every_type(name, version, *, every):
    """All of the combinations, or those of `typed_nodes`."""
    refused, sentence = NO_VALUE.get(name, ((), ""))
    for sample in samples_of(OPERATORS[name], version):
        nodes = [*typed_nodes(sample, OPERATORS[name], version, every=every)]
        for node in [each for each in nodes if refused and each.types["T"] in refused]:
            with pytest.raises(sonnx.NotExecutable, match=sentence):
                values_of([node])
            nodes.remove(node)
        found = dict(zip((node.label for node in nodes), values_of(nodes), strict=True))
        if not sample.moves:
            by_types = {tuple(node.types.values()): found[node.label] for node in nodes}
            for node in nodes:
                compare_with_double(node, found[node.label], by_types)
                if name == "Cast" and node.types["T2"] != "bool":  # 0 and 1 are numbers of every type
                    assert (numbers_of(found[node.label][0]) == numbers_of(node.inputs[0])).all(), node.label
            for node, plain in zip(nodes, values_of(nodes, definitions=True), strict=True):
                assert all(same(*pair) for pair in zip(found[node.label], plain, strict=True)), node.label
            continue
        compared, outputs = 0, OPERATORS[name].outputs
        variable = next(each.type for each in outputs if each.since <= version < (each.before or version + 1))
        for node, carrier in carriers(nodes, variable):
            if node is not carrier:
                for output, numbers in zip(found[node.label], found[carrier.label], strict=True):
                    wanted = moved(node, carrier, numbers)
                    assert output.dtype == wanted.dtype, node.label
                    assert output.tolist() == wanted.tolist(), node.label
                    compared += 1
        assert compared, sample
