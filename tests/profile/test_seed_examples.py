"""The examples of the ONNX texts: valid models, the stated results by an independent oracle, a verdict per edition."""

import itertools
import math

import numpy
import onnx

import sonnx
from tests.support.cases import each_case
from tests.support.seed_examples import CASES, DATA, EDITIONS, FLOATS, elements, model, violated

each_example = each_case("case", CASES.values(), ids=CASES)


def key(element_type, element):
    """The order NaN > +Inf > positive > +0 > -0 > negative > -Inf as an order of integers."""
    if element_type not in FLOATS:
        return element
    width, exponent = FLOATS[element_type]
    sign, magnitude = divmod(element, 1 << (width - 1))
    infinity = ((1 << exponent) - 1) << (width - 1 - exponent)
    if magnitude > infinity:
        return 1 << width
    return -1 - magnitude if sign else magnitude


def indices(shape):
    return itertools.product(*map(range, shape))


def table(tensor):
    """The elements by index."""
    return dict(zip(indices(tensor["shape"]), elements(tensor), strict=True))


def oracle_max(inputs, attributes):
    rank = max(len(x["shape"]) for x in inputs)
    padded = [[1] * (rank - len(x["shape"])) + x["shape"] for x in inputs]
    shape = [min(extents) if 0 in extents else max(extents) for extents in zip(*padded, strict=True)]
    tables = [table(x) for x in inputs]

    def element(m, index):
        own = index[rank - len(inputs[m]["shape"]) :]
        return tables[m][tuple(i if d > 1 else 0 for i, d in zip(own, inputs[m]["shape"], strict=True))]

    return shape, [
        max((element(m, index) for m in range(len(inputs))), key=lambda e: key(inputs[0]["type"], e))
        for index in indices(shape)
    ]


def reduced(x, axes, keepdims, choose):
    """`choose` applied to the elements along the axes, for every index of the other axes."""
    axes = {axis % len(x["shape"]) for axis in axes}
    groups = {}
    for index, element in table(x).items():
        groups.setdefault(tuple(0 if k in axes else i for k, i in enumerate(index)), []).append(element)
    shape = [1 if k in axes else d for k, d in enumerate(x["shape"]) if keepdims or k not in axes]
    return shape, [choose([key(x["type"], e) for e in group], group) for group in groups.values()]


def oracle_reduce_max(inputs, attributes):
    axes = attributes.get("axes", range(len(inputs[0]["shape"])))
    return reduced(inputs[0], axes, attributes["keepdims"], lambda keys, group: group[keys.index(max(keys))])


def oracle_arg_max(inputs, attributes):
    def choose(keys, group):
        places = [j for j, k in enumerate(keys) if k == max(keys)]
        return places[-1 if attributes.get("select_last_index", 0) else 0]

    return reduced(inputs[0], [attributes.get("axis", 0)], attributes["keepdims"], choose)


ORACLES = {"Max": oracle_max, "ReduceMax": oracle_reduce_max, "ArgMax": oracle_arg_max}


def test_the_texts_have_35_cases():
    seeds = [case for case in CASES.values() if not case.get("added")]
    assert len(seeds) == 35
    assert all(case["seed"] and case["lines"] for case in seeds)
    assert all("bits" in case["output"] for case in CASES.values() if case.get("added") and case["operator"] == "Max")


@each_example
def test_data_fill_their_shapes(case):
    for tensor in [*case["inputs"], case["output"]]:
        assert len(elements(tensor)) == math.prod(tensor["shape"])


@each_example
def test_output_equals_the_oracle(case):
    assert ORACLES[case["operator"]](case["inputs"], case["attributes"]) == (
        case["output"]["shape"],
        elements(case["output"]),
    )


@each_example
def test_model_is_valid_onnx(case):
    onnx.checker.check_model(model(case), full_check=True)


def test_seed_zero_gives_the_stated_bits():
    drawn = numpy.random.RandomState(0).uniform(-10, 10, DATA["data"]["R"]["shape"]).astype(numpy.float32)
    assert drawn.view(numpy.uint32).ravel().tolist() == elements(DATA["data"]["R"])


def test_examples_tell_first_from_last():
    """The texts' example over the default axis does not (EX-14); the added pair and the data of this file do."""
    assert CASES["EX-06"]["output"] == CASES["EX-14"]["output"]
    pairs = {"first-of-a-tie": "last-of-a-tie", "EX-03": "EX-11", "EX-05": "EX-13", "EX-07": "EX-15", "EX-09": "EX-17"}
    assert all(CASES[first]["output"] != CASES[last]["output"] for first, last in pairs.items())


@each_case("edition", [edition["name"] for edition in EDITIONS])
@each_example
def test_verdict(case, edition):
    report = sonnx.check(model(case).SerializeToString(), edition=edition)
    rules = violated(case, edition)
    assert {finding.rule for finding in report.findings if finding.verdict == "fail"} == set(rules)
    assert report.verdict == ("fail" if rules else "pass")
