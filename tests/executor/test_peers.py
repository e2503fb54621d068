"""Where the peers give another value: inputs, this executor's value, and the value of each peer.

This executor must give its value, and each installed peer the recorded one (numpy 2.4, ml_dtypes 0.6, onnx 1.23,
onnxruntime 1.31).  Where a peer may give another one, because of its version or the processor, `peers.toml` records
that value as well, with the reason: `otherwise.numpy = { "-0" = "numpy before 2.4 takes the second zero" }`.
"""

import tomllib
import warnings
from pathlib import Path

import ml_dtypes
import numpy
import pytest
from onnx import AttributeProto, TensorProto, helper
from onnx.reference import ReferenceEvaluator

import sonnx
from sonnx.numerics.formats import ELEMENTS, NAMES, format_of, patterns
from tests.support.cases import each_case

CASES = tomllib.loads((Path(__file__).parent.parent / "data" / "peers.toml").read_text("utf-8"))["case"]
PEERS = ("numpy", "reference", "onnxruntime")
each_example = each_case("case", CASES, ids=[case["name"] for case in CASES])


def array(case, tensor):
    """Elements as numbers, `-0`, `nan`, or bits as 0x…; nested lists give the shape, or `shape` with no element."""
    kind = ELEMENTS[tensor["type"] if isinstance(tensor, dict) else case["type"]]
    values = tensor["values"] if isinstance(tensor, dict) else tensor
    texts = numpy.array(values, dtype=str)
    if isinstance(tensor, dict) and "shape" in tensor:
        texts = numpy.resize(texts, tensor["shape"])
    made = format_of(kind)
    result = numpy.zeros(texts.shape, kind)
    for index, text in numpy.ndenumerate(texts):
        if text.startswith("0x"):
            result.view(made.unsigned)[index] = int(text, 16)
        else:
            result[index] = kind.type(float(text)) if made else kind.type(int(text))
    return result


def show(values):
    """Elements in row-major order as `array` reads them, NaN by its bits; of more than six the different ones."""
    made = format_of(values.dtype)
    texts = [_one(v, p, made) for v, p in zip(values.ravel(), patterns(values).ravel(), strict=True)]
    return " ".join(texts if len(texts) <= 6 else dict.fromkeys(texts)) or "empty"


def _one(value, pattern, made):
    if made is None:
        return str(int(value))
    width = 2 * made.unsigned.itemsize
    return f"0x{int(pattern):0{width}x}" if value != value else f"{float(value):g}"


def model(case, inputs):
    wanted = case.get("output", {})
    names = [f"x{m}" for m in range(len(inputs))]
    node = helper.make_node(case["operator"], names, ["y"], name="node")
    for name, value in case.get("attributes", {}).items():
        kind = AttributeProto.INTS if value == [] else None
        node.attribute.append(helper.make_attribute(name, value, attr_type=kind))
    declared = case.get("declared", [list(x.shape) for x in inputs])
    made = [
        helper.make_tensor_value_info(name, getattr(TensorProto, NAMES[x.dtype].upper()), shape)
        for name, x, shape in zip(names, inputs, declared, strict=True)
    ]
    element = "INT64" if case["operator"] == "ArgMax" else NAMES[inputs[0].dtype].upper()
    output = helper.make_tensor_value_info("y", getattr(TensorProto, element), wanted.get("shape"))
    graph = helper.make_graph([node], "case", made, [output])
    imports = [helper.make_opsetid("", case.get("operator_set", 13))]
    return helper.make_model(graph, opset_imports=imports, ir_version=8)


def ours(case, inputs):
    given = {f"x{m}": x for m, x in enumerate(inputs)}
    try:
        values = sonnx.run(model(case, inputs).SerializeToString(), given, case.get("edition"), unchecked=True)
    except sonnx.ErrorCondition as stop:
        return stop.rule
    except sonnx.BadInput:
        return "error"
    return show(values["y"])


def by_numpy(case, inputs):
    attributes = case.get("attributes", {})
    if case["operator"] not in ("Max", "ArgMax", "ReduceMax"):
        return None
    if case["operator"] == "Max":
        return numpy.maximum(*inputs)
    if case["operator"] == "ArgMax":
        if attributes.get("select_last_index"):
            return None  # numpy has no such choice
        return numpy.argmax(inputs[0], axis=attributes.get("axis", 0))
    axes = inputs[1].tolist() if len(inputs) > 1 else attributes.get("axes", range(inputs[0].ndim))
    return numpy.maximum.reduce(inputs[0], axis=tuple(axes))


def by_reference(case, inputs):
    return ReferenceEvaluator(model(case, inputs)).run(None, {f"x{m}": x for m, x in enumerate(inputs)})[0]


def by_onnxruntime(case, inputs):
    runtime = pytest.importorskip("onnxruntime")
    if any(x.dtype == ml_dtypes.bfloat16 for x in inputs):
        return None  # it has none of these operators for bfloat16
    options = runtime.SessionOptions()
    options.log_severity_level = 4
    session = runtime.InferenceSession(model(case, inputs).SerializeToString(), options)
    return session.run(None, {f"x{m}": x for m, x in enumerate(inputs)})[0]


def live(peer, case, inputs):
    """What a peer gives now: its value, "error", or "none" where it cannot be asked."""
    with warnings.catch_warnings(), numpy.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            found = {"numpy": by_numpy, "reference": by_reference, "onnxruntime": by_onnxruntime}[peer](case, inputs)
        except pytest.skip.Exception:
            raise
        except Exception:  # noqa: BLE001  a peer may refuse in any way
            return "error"
    return "none" if found is None else show(numpy.asarray(found))


@each_example
def test_our_value(case):
    assert ours(case, [array(case, tensor) for tensor in case["inputs"]]) == case["ours"]


@each_case("peer", PEERS)
@each_example
def test_value_of_a_peer(case, peer):
    found = live(peer, case, [array(case, tensor) for tensor in case["inputs"]])
    assert found in {case[peer], *case.get("otherwise", {}).get(peer, {})}


def test_another_value_of_a_peer_has_a_reason():
    others = [each.get("otherwise", {}) for each in CASES]
    assert all(peer in PEERS and values and all(values.values()) for each in others for peer, values in each.items())


def test_the_table_holds_disagreements():
    differing = [case for case in CASES if any(case[peer] not in ("none", case["ours"]) for peer in PEERS)]
    assert len(differing) >= 20
