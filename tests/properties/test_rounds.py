"""Parts of a property in rounds: kept in a file, or in other processes, with the same answer and certificate."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import numpy as np
import onnx.parser
import pytest

import sonnx
from sonnx.base.errors import BadInput
from sonnx.properties import certificate_checker, rounds
from sonnx.properties.chain_search import open_parts
from sonnx.properties.result import PropertyAnswer, PropertyResult
from sonnx.workers.properties import answer
from tests.support.cases import each_case
from tests.support.layer_networks import computed, network, vnnlib

MODEL, LAYERS = network(np.random.default_rng(5), (3, 8, 8, 2))
POINTS = np.stack(np.meshgrid(*[np.linspace(-0.5, 0.5, 31)] * 3), -1).reshape(-1, 3).astype(np.float32)
LEAST = min(float(each[:, 0].min()) for each in computed(LAYERS, POINTS))
"""About the least value of the first output."""
HOLDS = vnnlib(3, 2, 0.5, f"(<= Y_0 {LEAST - 0.0005:.6f})")


def verified(folder: Path, text: str = HOLDS, **options: object) -> PropertyResult:
    (folder / "p.vnnlib").write_text(text)
    return sonnx.verify_property(MODEL, folder / "p.vnnlib", unchecked=True, **options)  # type: ignore[arg-type]


def accepted(folder: Path, result: PropertyResult) -> int:
    assert result.certificate is not None
    return certificate_checker.check(MODEL, (folder / "p.vnnlib").read_bytes(), result.certificate.encode()).leaves


def test_parts_that_are_kept_go_on(tmp_path: Path) -> None:
    whole = verified(tmp_path)
    assert whole.answer is PropertyAnswer.HOLDS
    shown, answers = [], []
    for _ in range(60):
        # Each search ends after one batch of parts.
        found = verified(tmp_path, resume=tmp_path / "parts.jsonl", search=1e-9)
        shown.append(found.tasks[0].shown)
        answers.append(found.answer)
        if found.answer is PropertyAnswer.HOLDS:
            break
    assert answers[0] is PropertyAnswer.OPEN
    assert answers[-1] is PropertyAnswer.HOLDS
    assert shown == sorted(shown)
    assert found.tasks[0].parts == whole.tasks[0].parts
    assert accepted(tmp_path, found) == accepted(tmp_path, whole)


def test_other_processes_give_the_same_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds, "FIRST_SECONDS", 0.0)
    found = verified(tmp_path, jobs=1)
    assert found.answer is PropertyAnswer.HOLDS
    accepted(tmp_path, found)


def test_a_child_names_a_point_that_seems_to_violate_the_property() -> None:
    request = {
        "model": base64.b64encode(MODEL).decode(), "unsafe": [[[[[0, "1"]], str(LEAST + 0.01)]]], "seconds": 5.0,
        "searching": True, "parts": [[0, [(-0.5).hex()] * 3, [(0.5).hex()] * 3]],
    }  # fmt: skip
    given = answer(request)
    point = np.array([[float.fromhex(each) for each in given["point"]]], np.float32)
    assert all(y[0, 0] <= LEAST + 0.01 for y in computed(LAYERS, point))
    assert given["waiting"] > 0
    assert set(open_parts(given["trees"][0], -np.ones(3), np.ones(3))[0].tree) == {"open"}


@each_case(
    ("content", "sentence"),
    [
        ("{", "is not a --resume journal"),
        ("[]\n", "is not a --resume journal"),
        ('{"sonnx": "journal", "kind": "verify", "of": {}}\n', "was written for another model"),
        ('{"sonnx": "journal", "kind": "suite run", "of": {}}\n', "was written for another command"),
        ('{"sonnx": "journal", "kind": "verify", "of": 1}\n', "is not a --resume journal"),
    ],
)
def test_other_files_are_not_written_over(content: str, sentence: str, tmp_path: Path) -> None:
    file = tmp_path / "parts.jsonl"
    file.write_text(content)
    with pytest.raises(BadInput, match=sentence):
        verified(tmp_path, resume=file)
    assert file.read_text() == content


@each_case("damage", [
    1, {"tree": 1, "parts": 1, "margin": "0x1p+0"}, {"tree": {}, "parts": "x", "margin": "0x1p+0"},
    {"tree": {"axis": 0}, "parts": 1, "margin": "0x1p+0"}, {"tree": {"axis": 9}, "parts": 1, "margin": "0x1p+0"},
    {"tree": {"axis": 0, "at": "x", "below": {}, "above": {}}, "parts": 1, "margin": "0x1p+0"},
    {"tree": {"axis": 0, "at": "0", "below": 1, "above": {}}, "parts": 1, "margin": "0x1p+0"},
    {"tree": {"other": 0}, "parts": 1, "margin": "0x1p+0"}, {"tree": {}, "parts": 1},
])  # fmt: skip
def test_a_damaged_tree_is_refused(damage: object, tmp_path: Path) -> None:
    (tmp_path / "parts.jsonl").unlink(missing_ok=True)
    verified(tmp_path, resume=tmp_path / "parts.jsonl", search=1e-9)
    with (tmp_path / "parts.jsonl").open("a") as file:
        file.write(json.dumps({"set": {"0": damage}}) + "\n")
    with pytest.raises(BadInput, match="is a damaged --resume journal"):
        verified(tmp_path, resume=tmp_path / "parts.jsonl")


def test_parts_of_a_box_of_many_inputs_are_those_of_this_box(tmp_path: Path) -> None:
    """The box has more numbers than numpy prints."""
    model, _ = network(np.random.default_rng(7), (1200, 2, 2))
    point = np.zeros((1, 1200), np.float32)

    def robust() -> PropertyResult:
        np.save(tmp_path / "point.npy", point)
        options = {"robust": tmp_path / "point.npy", "radius": 1e-3, "resume": tmp_path / "kept", "search": 0.1}
        return sonnx.verify_property(model, None, unchecked=True, **options)  # type: ignore[arg-type]

    assert robust().tasks[0].shown == robust().tasks[0].shown
    point[0, 600] = 0.5
    with pytest.raises(BadInput, match="was written for another property"):
        robust()


@each_case("option", ["resume", "jobs", "cluster"])
def test_models_whose_search_is_not_divided(option: str, tmp_path: Path) -> None:
    model = tmp_path / "m.onnx"
    graph = '<ir_version: 9, opset_import: ["" : 13]> g (float[1,3] x) => (float[1,3] y) { y = Tanh(x) }'
    model.write_bytes(onnx.parser.parse_model(graph).SerializeToString())
    (tmp_path / "p.vnnlib").write_text(vnnlib(3, 3, 0.5, "(<= Y_0 -3)"))
    value = {"resume": tmp_path / "parts.jsonl", "jobs": 2, "cluster": "tcp://localhost:1"}[option]
    with pytest.raises(sonnx.UsageError, match=f"--{option} .* this model"):
        sonnx.verify_property(model, tmp_path / "p.vnnlib", unchecked=True, **{option: value})  # type: ignore[arg-type]


def test_volumes_of_open_parts() -> None:
    leaf = {"slopes": []}
    tree = {
        "axis": 0,
        "at": "0.25",
        "below": leaf,
        "above": {"axis": 1, "at": "0.5", "below": {"open": 2}, "above": {}},
    }
    parts = open_parts(tree, np.zeros(2), np.ones(2))
    assert sorted((part.stage, part.less, part.low.tolist(), part.high.tolist()) for part in parts) == [
        (0, -0.375, [0.25, 0.5], [1.0, 1.0]),
        (2, -0.375, [0.25, 0.0], [1.0, 0.5]),
    ]
    json.dumps(tree)
