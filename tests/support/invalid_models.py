"""Models of the onnx package with random edits: what the checker of onnx refuses is reported as not valid ONNX.

`python -m tests.support.invalid_models NUMBER` tries that many; a failure is a model that the checker refuses, in which
this tool reports nothing that is not valid ONNX, unless tests/data/onnx_refusals.toml quotes the reason.
"""

from __future__ import annotations

import json
import math
import random
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import onnx
from google.protobuf.message import EncodeError
from onnx import TensorProto, helper

import sonnx
from sonnx.base.errors import UsageError
from sonnx.checker.deviation_records import Covered, DeviationRecord, Deviations
from sonnx.checker.deviations import apply
from sonnx.checker.report import Report
from sonnx.checker.verdicts import Verdict
from sonnx.evidence.verification import model_bytes
from sonnx.profile.cases import all_cases
from sonnx.profile.index import rules_by_slug
from tests.support.node_tests import node_tests

RECORDED = tomllib.loads((Path(__file__).parent.parent / "data" / "onnx_refusals.toml").read_text("utf-8"))["refusal"]
DATA = Path(onnx.__file__).parent / "backend" / "test" / "data"
NOT_CHECKED = ("operator-conditions", "operator-exists", "training-graphs")
"""The rules by which this tool says that it does not check what ONNX demands."""
TODAY = date(2026, 11, 27)
PEER = """
import json, sys
import onnx, onnx.checker, onnx.shape_inference
for line in sys.stdin:
    try:
        data = bytes.fromhex(line)
        onnx.checker.check_model(data, full_check=True)
        onnx.shape_inference.infer_shapes(data, check_type=True, strict_mode=True, data_prop=True)
        said = ""
    except Exception as error:
        said = str(error)
    print(json.dumps(said), flush=True)
"""


@cache
def bases() -> tuple[bytes, ...]:
    """The light networks and the node tests of the onnx package, the small ones, and the models of conforming cases."""
    networks = [path.read_bytes() for path in sorted((DATA / "light").glob("*.onnx"))]
    conforming = [model_bytes(case) for case in all_cases() if case.expected.get("", {}).keys() == {"conforms"}]
    listed = [*networks, *networks, *(each.model.SerializeToString() for each in node_tests()), *conforming]
    return tuple(data for data in listed if len(data) < 1 << 14)


def refusals(models: Iterable[bytes]) -> list[str]:
    """What the checker and the strict inference of onnx say of models, "" for those they accept; in another process."""
    waiting, said = list(models), list[str]()
    while len(said) < len(waiting):
        lines = "".join(f"{data.hex()}\n" for data in waiting[len(said) :])
        done = subprocess.run([sys.executable, "-c", PEER], input=lines, capture_output=True, text=True, check=False)
        said += [json.loads(line) for line in done.stdout.splitlines()]
        if len(said) < len(waiting):
            said.append(f"the process of the checker ended with {done.returncode}")
    return said


def justified(report: Report) -> Report:
    """The report with every failure justified that a record may justify."""
    wanted: dict[str, dict[Covered, None]] = {}
    for finding in report.findings:
        rule = rules_by_slug().get(finding.rule)
        if (
            finding.verdict is Verdict.FAIL
            and rule is not None
            and rule.kind == "restriction"
            and not finding.breaks_onnx
        ):
            wanted.setdefault(finding.rule, {})[Covered(finding.where.place, finding.actual)] = None
    records = tuple(
        DeviationRecord(slug, slug, report.sha256, tuple(findings), "r", "r", "a", TODAY)
        for slug, findings in wanted.items()
    )
    return apply([report], Deviations("all.toml", "0" * 64, records), TODAY)[0] if records else report


def conforms_somehow(data: bytes, **options: Any) -> bool:
    """Whether deviations and accepted assumptions make a model end with 0."""
    try:
        report = sonnx.check(data, hashed=True, **options)
    except (sonnx.Unreadable, UsageError):
        return False
    return justified(report).exit_code(accept_assumptions=True) == 0


# ------------------------------------------------------------------ edits

Model = onnx.ModelProto
Edit = Callable[[random.Random, Model], None]
NUMBERS = (0, 1, -1, 2, 3, 4, 5, 7, -2, -3, 9, 13, 64)
KINDS = (1, 2, 3, 6, 7, 9, 10, 11, 16, 0, 99)


def _graphs(model: Model) -> list[Any]:
    waiting, found = [model.graph], []
    while waiting:
        graph = waiting.pop()
        found.append(graph)
        waiting += [attribute.g for node in graph.node for attribute in node.attribute if attribute.HasField("g")]
    return found


def _graph(draw: random.Random, model: Model) -> Any:
    return draw.choice(_graphs(model))


def _node(draw: random.Random, model: Model) -> Any:
    nodes = [node for graph in _graphs(model) for node in graph.node]
    return draw.choice(nodes) if nodes else model.graph.node.add(op_type="Relu")


def _value(draw: random.Random, model: Model) -> Any:
    graph = _graph(draw, model)
    listed = [*graph.input, *graph.output, *graph.value_info]
    return draw.choice(listed) if listed else graph.input.add(name="added")


def _names(model: Model) -> list[str]:
    names = {name for graph in _graphs(model) for node in graph.node for name in (*node.input, *node.output)}
    return sorted(names | {"missing", ""})


def _attribute(draw: random.Random, model: Model) -> Any:
    node = _node(draw, model)
    return draw.choice(node.attribute) if node.attribute else node.attribute.add(name="axis", type=2, i=1)


def change_number(draw: random.Random, model: Model) -> None:
    attribute = _attribute(draw, model)
    if attribute.ints:
        attribute.ints[draw.randrange(len(attribute.ints))] = draw.choice(NUMBERS)
    else:
        attribute.i = draw.choice(NUMBERS)


def change_list(draw: random.Random, model: Model) -> None:
    attribute = _attribute(draw, model)
    if attribute.ints and draw.random() < 0.5:
        del attribute.ints[-1]
    else:
        attribute.ints.append(draw.choice(NUMBERS))


def change_text(draw: random.Random, model: Model) -> None:
    attribute = _attribute(draw, model)
    if attribute.HasField("s"):
        attribute.s = draw.choice((b"SAME_UPPER", b"VALID", b"NOTSET", b"linear", b"nearest", b"none", b"other", b""))


def rename_attribute(draw: random.Random, model: Model) -> None:
    _attribute(draw, model).name = draw.choice(("axis", "axes", "keepdims", "alpha", "to", "other", ""))


def change_kind(draw: random.Random, model: Model) -> None:
    _attribute(draw, model).type = draw.choice((1, 2, 3, 4, 6, 7, 8))


def drop_attribute(draw: random.Random, model: Model) -> None:
    node = _node(draw, model)
    if node.attribute:
        del node.attribute[draw.randrange(len(node.attribute))]


def double_attribute(draw: random.Random, model: Model) -> None:
    node = _node(draw, model)
    node.attribute.append(draw.choice(node.attribute) if node.attribute else helper.make_attribute("axis", 1))


def refer_to_caller(draw: random.Random, model: Model) -> None:
    _attribute(draw, model).ref_attr_name = "other"


def change_operator(draw: random.Random, model: Model) -> None:
    _node(draw, model).op_type = draw.choice(
        ("Relu", "Add", "Max", "ReduceMax", "Concat", "Reshape", "Sin", "Nothing", "")
    )


def change_domain(draw: random.Random, model: Model) -> None:
    _node(draw, model).domain = draw.choice(("ai.onnx", "ai.onnx.ml", "own"))


def change_version(draw: random.Random, model: Model) -> None:
    draw.choice(model.opset_import).version = draw.choice((1, 5, 6, 7, 9, 11, 13, 18, 21, 23, 28))


def import_own(draw: random.Random, model: Model) -> None:
    model.opset_import.add(domain=draw.choice(("own", "ai.onnx.ml", "")), version=1)


def change_ir(draw: random.Random, model: Model) -> None:
    model.ir_version = draw.choice((1, 3, 4, 7, 8, 10, 13, 99))


def change_input(draw: random.Random, model: Model) -> None:
    node = _node(draw, model)
    if node.input:
        node.input[draw.randrange(len(node.input))] = draw.choice(_names(model))


def add_input(draw: random.Random, model: Model) -> None:
    _node(draw, model).input.append(draw.choice(_names(model)))


def drop_input(draw: random.Random, model: Model) -> None:
    node = _node(draw, model)
    if node.input:
        del node.input[draw.randrange(len(node.input))]


def change_output(draw: random.Random, model: Model) -> None:
    node = _node(draw, model)
    if node.output:
        node.output[draw.randrange(len(node.output))] = draw.choice(_names(model))


def add_output(draw: random.Random, model: Model) -> None:
    _node(draw, model).output.append(draw.choice((*_names(model), "fresh")))


def double_node(draw: random.Random, model: Model) -> None:
    graph = _graph(draw, model)
    if graph.node:
        graph.node.append(draw.choice(graph.node))


def reverse_nodes(draw: random.Random, model: Model) -> None:
    nodes = list(model.graph.node)[::-1]
    del model.graph.node[:]
    model.graph.node.extend(nodes)


def change_element_type(draw: random.Random, model: Model) -> None:
    _value(draw, model).type.tensor_type.elem_type = draw.choice(KINDS)


def change_dimension(draw: random.Random, model: Model) -> None:
    dims = _value(draw, model).type.tensor_type.shape.dim
    if dims:
        draw.choice(dims).dim_value = draw.choice(NUMBERS[:8])


def open_dimension(draw: random.Random, model: Model) -> None:
    dims = _value(draw, model).type.tensor_type.shape.dim
    if dims:
        draw.choice(dims).dim_param = "N"


def change_rank(draw: random.Random, model: Model) -> None:
    dims = _value(draw, model).type.tensor_type.shape.dim
    if dims and draw.random() < 0.5:
        del dims[-1]
    else:
        dims.add(dim_value=1)


def drop_shape(draw: random.Random, model: Model) -> None:
    _value(draw, model).type.tensor_type.ClearField("shape")


def drop_type(draw: random.Random, model: Model) -> None:
    _value(draw, model).ClearField("type")


def make_sequence(draw: random.Random, model: Model) -> None:
    value = _value(draw, model)
    tensor = value.type.tensor_type
    shape = [dim.dim_value for dim in tensor.shape.dim]
    value.type.CopyFrom(helper.make_sequence_type_proto(helper.make_tensor_type_proto(tensor.elem_type or 1, shape)))


def drop_elements_of_sequence(draw: random.Random, model: Model) -> None:
    value = _value(draw, model)
    value.ClearField("type")
    value.type.sequence_type.SetInParent()


def rename_value(draw: random.Random, model: Model) -> None:
    _value(draw, model).name = draw.choice(_names(model))


def repeat_information(draw: random.Random, model: Model) -> None:
    graph = _graph(draw, model)
    graph.value_info.append(_value(draw, model))


def change_tensor(draw: random.Random, model: Model) -> None:
    graph = _graph(draw, model)
    tensors = [
        *graph.initializer,
        *(attribute.t for node in graph.node for attribute in node.attribute if attribute.HasField("t")),
    ]
    if not tensors:
        graph.initializer.append(helper.make_tensor("added", TensorProto.FLOAT, [2], [1.0, 2.0]))
        return
    tensor = draw.choice(tensors)
    what = draw.randrange(5)
    if what == 0:
        tensor.data_type = draw.choice(KINDS)
    elif what == 1:
        tensor.dims.append(2)
    elif what == 2:
        tensor.raw_data = tensor.raw_data[:-1]
    elif what == 3:
        tensor.float_data.append(1.0)
    else:
        tensor.name = ""


def add_sparse(draw: random.Random, model: Model) -> None:
    sparse = model.graph.sparse_initializer.add(dims=[3, 2])
    sparse.values.CopyFrom(helper.make_tensor(draw.choice(("s", "")), TensorProto.FLOAT, [2], [1.0, 2.0]))
    indices = draw.choice(([0, 1], [1, 0], [1, 1], [0, 6], [-1, 2], [0, 1, 2]))
    sparse.indices.CopyFrom(helper.make_tensor("i", TensorProto.INT64, [len(indices)], indices))


def add_function(draw: random.Random, model: Model) -> None:
    called = draw.choice(("f", "Relu"))
    body = [helper.make_node(called, ["a"], ["b"], domain="own" if called == "f" else "")]
    imports = [helper.make_opsetid("", draw.choice((13, 14, 18))), helper.make_opsetid("own", 1)]
    function = helper.make_function("own", "f", ["a"], ["b"], body, imports, ["alpha"])
    if draw.random() < 0.3:
        function.attribute_proto.append(helper.make_attribute("alpha", 1.0))
    model.functions.append(function)
    if draw.random() < 0.3:
        model.functions.append(function)
    if draw.random() < 0.5:
        model.opset_import.add(domain="own", version=1)
        node = _node(draw, model)
        node.op_type, node.domain = "f", "own"


def unname(draw: random.Random, model: Model) -> None:
    named: list[Any] = [model.graph, *model.graph.input, *model.graph.output]
    draw.choice(named).name = ""


def default_of_input(draw: random.Random, model: Model) -> None:
    graph = _graph(draw, model)
    for value in graph.input[:1]:
        shape = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
        number = max(0, min(100, math.prod(shape)))
        graph.initializer.append(helper.make_tensor(value.name, TensorProto.FLOAT, [number], [1.0] * number))


EDITS: tuple[Edit, ...] = (
    change_number, change_list, change_text, rename_attribute, change_kind, drop_attribute, double_attribute,
    refer_to_caller, change_operator, change_domain, change_version, import_own, change_ir, change_input, add_input,
    drop_input, change_output, add_output, double_node, reverse_nodes, change_element_type, change_dimension,
    open_dimension, change_rank, drop_shape, drop_type, make_sequence, drop_elements_of_sequence, rename_value,
    repeat_information, change_tensor, add_sparse, add_function, unname, default_of_input,
)  # fmt: skip


def edited(number: int, seed: int) -> Iterator[tuple[str, bytes]]:
    """Models with one or two edits, each with the names of the edits."""
    draw, known = random.Random(seed), bases()
    for _ in range(number):
        model = Model.FromString(draw.choice(known))
        edits = [draw.choice(EDITS) for _ in range(draw.choice((1, 1, 2)))]
        try:
            for edit in edits:
                edit(draw, model)
            yield " ".join(edit.__name__ for edit in edits), model.SerializeToString()
        except (EncodeError, ValueError, IndexError):
            continue


def is_explained(sentence: str, report: Report) -> bool:
    """Whether a reason is recorded for a refusal; `finding` of a record is what this tool reports in its place."""
    said = [f"{finding.rule}: {finding.actual}" for finding in report.findings]
    return any(
        re.search(record["says"], sentence)
        and ("finding" not in record or any(re.search(record["finding"], text) for text in said))
        for record in RECORDED
    )


def unexplained(models: Sequence[tuple[str, bytes]]) -> tuple[Counter[str], list[tuple[str, str, bytes]]]:
    """How many models were tried and refused; and each refused one that is not reported, or that conforms somehow."""
    counts, found = Counter(tried=len(models)), list[tuple[str, str, bytes]]()
    for (edits, data), sentence in zip(models, refusals([data for _, data in models]), strict=True):
        if not sentence:
            continue
        counts["refused"] += 1
        try:
            report = sonnx.check(data, hashed=True)
        except (sonnx.Unreadable, UsageError):
            counts["unreadable"] += 1
            continue
        ends = justified(report).exit_code(accept_assumptions=True)
        unread = any(
            finding.verdict is Verdict.NOT_CHECKED and finding.rule in NOT_CHECKED for finding in report.findings
        )
        if any(finding.breaks_onnx for finding in report.findings) and ends:
            counts["reported as not valid ONNX"] += 1
        elif is_explained(sentence, report):
            counts["explained"] += 1
        elif unread and ends:
            counts["said to be not checked"] += 1
        else:
            found.append((f"{edits}; ends with {ends}", sentence, data))
    return counts, found


def main() -> int:
    """Try models; 1 if a refusal has no reason."""
    number, seed = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1
    total, bad = Counter[str](), list[tuple[str, str, bytes]]()
    for part in range(0, number, 1000):
        counts, found = unexplained(list(edited(min(1000, number - part), seed * 1_000_000 + part)))
        total, bad = total + counts, bad + found
    for name, count in total.items():
        print(f"{count:8} {name}")
    folder = Path(sys.argv[3]) if len(sys.argv) > 3 else None
    for index, (edits, sentence, data) in enumerate(bad):
        print(f"{index} {edits}: {' '.join(sentence.split())[:260]}")
        if folder:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{index}.onnx").write_bytes(data)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
