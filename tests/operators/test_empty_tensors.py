"""Every operator of the catalogue with an extent of 0 in every position of its inputs, in every combination.

It has its value, the same by the definition and by the kernel, or it refuses with the error condition or the sentence
that stands here.  No node ends in any other exception.
"""

import numpy
import pytest

import sonnx
from sonnx.profile import catalogue
from tests.support.cases import DEEP, each_case
from tests.support.oracle import same
from tests.support.typed_nodes import empty_nodes, samples_of, values_of

OPERATORS = {each.name: each for each in catalogue.operators()}

CONDITIONS = {
    "ArgMax": {"axis-not-empty"},
    "Conv": {"kernel-fits"},
    "ConvInteger": {"kernel-fits"},
    "Gather": {"indices-in-axis"},
    "GlobalAveragePool": {"reduction-not-empty"},
    "Max": {"broadcastable"},
    "MaxPool": {"kernel-fits"},
    "ReduceMax": {"reduction-not-empty"},
    "ReduceMean": {"reduction-not-empty"},
    "Reshape": {"same-size"},
}
"""The conditions that an extent of 0 breaks."""

SENTENCES = {
    "ConvTranspose": "has a negative extent",
    "GlobalAveragePool": "no text gives the mean of no element",
    "ScatterND": "has no index",
}
"""What the text gives no value for."""


def without_addends(node):
    """The output where every sum is empty, from the bias alone; None of an operator that adds nothing up."""
    bias = next((each for each in node.inputs[2:3]), None)
    return {
        "Conv": lambda shape: broadcast_bias(bias, shape),
        "ConvTranspose": lambda shape: broadcast_bias(bias, shape),
        "ConvInteger": None if "pads" in node.attributes else numpy.zeros,
        "Gemm": lambda shape: numpy.broadcast_to(0 if bias is None else bias, shape),
        "MatMul": numpy.zeros,
        "ReduceSum": numpy.zeros,
    }.get(node.sample.operator)


def broadcast_bias(bias, shape):
    return (
        numpy.zeros(shape) if bias is None else numpy.broadcast_to(bias.reshape(1, -1, *[1] * (len(shape) - 2)), shape)
    )


def cases():
    """The newest version of each form; in a run that is not deep every second form of an operator."""
    for name, operator in OPERATORS.items():
        seen = []
        for version in reversed(operator.versions):
            for sample in samples_of(operator, version):
                if sample not in seen:
                    seen.append(sample)
                    if DEEP or len(seen) % 2:
                        yield name, version, sample


@each_case(("name", "version", "sample"), [*cases()])
def test_empty_tensors(name, version, sample):
    operator, given, defined = OPERATORS[name], [], []
    for node in empty_nodes(sample, operator, version):
        try:
            [values] = values_of([node], definitions=True)
        except sonnx.ErrorCondition as stop:
            assert stop.rule.removeprefix(f"{name}.") in CONDITIONS.get(name, ()), node.label
            with pytest.raises(sonnx.ErrorCondition):
                values_of([node])
        except sonnx.NotExecutable as stop:
            assert name in SENTENCES, (node.label, str(stop))
            assert SENTENCES[name] in str(stop), node.label
            with pytest.raises(sonnx.NotExecutable, match=SENTENCES[name]):
                values_of([node])
        else:
            given.append(node)
            defined.append(values)
    for node, found, plain in zip(given, values_of(given) if given else (), defined, strict=True):
        assert all(same(*pair) for pair in zip(found, plain, strict=True)), node.label
        wanted = without_addends(node)
        if wanted is not None and found[0].size and any(each is not None and not each.size for each in node.inputs):
            assert numpy.array_equal(found[0], wanted(found[0].shape)), node.label
            assert not numpy.signbit(found[0].astype(float)).any(), node.label
