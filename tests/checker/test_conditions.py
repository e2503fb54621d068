"""Conditions of claims: every option is a condition or says why it cannot change an answer, and results state them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

import numpy as np
import onnx
import onnx.parser
import pytest
from msgspec import structs

from sonnx.base.options import KeepsAnswer, Options
from sonnx.bounds.options import BoundsOptions
from sonnx.checker.conditions import FIELDS, Conditions, settings_of
from sonnx.checker.options import BatchOptions, CheckOptions, ModelOptions, ProfileOptions
from sonnx.cli.main import run
from sonnx.equivalence.options import DiffOptions, EquivalenceOptions
from sonnx.evidence.options import AuditOptions
from sonnx.executor.options import ComparisonOptions, ExecutionOptions, PreparationOptions
from sonnx.model.limits import DEFAULT_LIMITS
from sonnx.properties.options import VerifyOptions
from sonnx.prover.options import ProofOptions
from sonnx.rewriter.options import FixOptions
from sonnx.suite.options import RunOptions

ANALYSES: tuple[type[Options], ...] = (
    CheckOptions, BatchOptions, ModelOptions, ProfileOptions, PreparationOptions, ExecutionOptions, ComparisonOptions,
    BoundsOptions, VerifyOptions, EquivalenceOptions, DiffOptions, ProofOptions, FixOptions, AuditOptions, RunOptions,
)  # fmt: skip
"""The options of each command whose result has conditions."""
SEED = {("EquivalenceOptions", "seed"), ("DiffOptions", "seed")}
"""Options of the library alone that change which inputs a search tries; no command has them."""


def described(kind: type[Options]) -> Iterator[tuple[structs.FieldInfo, bool]]:
    """Each option, with whether the command line has it."""
    named = {option.name for option, _ in kind.arguments()}
    for option in structs.fields(kind):
        yield option, option.name in named


@pytest.mark.parametrize("kind", ANALYSES, ids=lambda kind: kind.__name__)
def test_every_option_is_a_condition_or_keeps_the_answer(kind: type[Options]) -> None:
    kept = dict(kind.kept_answers())
    assert all(kept.values())
    assert not kept.keys() & FIELDS
    for option, on_command_line in described(kind):
        stated = option.name in kept or option.name in FIELDS or on_command_line
        assert stated or (kind.__name__, option.name) in SEED, option.name


def value_of(option: structs.FieldInfo) -> Any:
    """A value of an option that is not its default, for those that have no field of their own; None where none fits."""
    kind = option.type
    while get_origin(kind) is Annotated:
        assert not any(isinstance(part, KeepsAnswer) for part in get_args(kind)[1:])
        kind = get_args(kind)[0]
    if option.name == "limits":
        return {**DEFAULT_LIMITS, "nodes": 5}
    members = [part for part in (get_args(kind) or (kind,)) if part is not type(None)]
    for candidate in (True, 7, 1.5, Path("p"), "text", ("a",)):
        kinds = [tuple if get_origin(part) is not None else part for part in members]
        if option.default != candidate and type(candidate) in kinds:
            return candidate
    return None


@pytest.mark.parametrize("kind", ANALYSES, ids=lambda kind: kind.__name__)
def test_each_setting_is_stated(kind: type[Options]) -> None:
    """Options that differ in a setting differ in the stated conditions."""
    kept, plain = dict(kind.kept_answers()), kind()
    for option, argument in kind.arguments():
        if option.name in kept or option.name in FIELDS or (value := value_of(option)) is None:
            continue
        try:
            changed = structs.replace(plain, **{option.name: value})
        except Exception:  # noqa: BLE001  (it needs another option)
            continue
        flag = f"--{argument.name or option.name.replace('_', '-')}"
        assert any(text.startswith(flag) for text in settings_of(changed)), option.name


WORDS = [
    (Conditions(), ""),
    (Conditions("2026-11"), "edition 2026-11"),
    (Conditions("2026-11", checked=False), "not checked; operators by edition 2026-11"),
    (Conditions("2026-11", sizes={"N": 2}, box=("x=[1,2]",)), "edition 2026-11, for N=2, with x in [1, 2]"),
    (Conditions("2026-11", tried={"x": (1, 3)}), "edition 2026-11, for x=[1, 3] only"),
    (Conditions("2026-11", strict_versions=True), "edition 2026-11, specified versions only"),
    (
        Conditions("2026-11", hypotheses="ieee-any", budgets=("--search 2 s",)),
        "edition 2026-11, hypotheses ieee-any, stopped by --search 2 s",
    ),
]


@pytest.mark.parametrize(("conditions", "words"), WORDS)
def test_words_limit_the_claim(conditions: Conditions, words: str) -> None:
    assert conditions.words == words
    assert conditions.limited("conforms") == (f"conforms ({words})" if words else "conforms")


MODEL = """<ir_version: 8, opset_import: ["" : 17]>
g (float[N, 3] x, float[N, 3] z) => (float[N, 3] y) { y = Add(x, z) }"""
DIVISION = """<ir_version: 8, opset_import: ["" : 14]> g (int32[2] a, int32[2] b) => (int32[2] c) { c = Div(a, b) }"""
HALF = """<ir_version: 8, opset_import: ["" : 17]> g (float[1, N] x) => (float[1, N] y)
<float[1] h = {0.5}> { y = Mul(x, h) }"""
TWO = """(declare-const X_0 Real) (declare-const X_1 Real) (declare-const Y_0 Real) (declare-const Y_1 Real)
(assert (>= X_0 0)) (assert (<= X_0 1)) (assert (>= X_1 0)) (assert (<= X_1 1)) (assert (>= Y_0 2))"""


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in (("open", MODEL), ("division", DIVISION), ("half", HALF)):
        onnx.save(onnx.parser.parse_model(text), f"{name}.onnx")
    Path("two.vnnlib").write_text(TWO)
    for name in ("x", "z"):
        np.save(f"{name}.npy", np.zeros((2, 3), np.float32))
    return tmp_path


INPUTS = "--input x=x.npy --input z=z.npy"
COMMANDS = {
    "check open.onnx": ["--bind N=2", "--bind N=3", "--bind N=2 --strict-versions", "--bind N=2 --edition 2026-10"],
    "check division.onnx --accept-assumptions": ["", "--box a=[1,2] --box b=[1,2]", "--box a=[1,2] --box b=[0,2]"],
    "run open.onnx": [f"--bind N=2 {INPUTS}", f"--bind N=2 {INPUTS} --unchecked", "--bind N=3 --random"],
    "bound open.onnx --bind N=2": ["--box x=[0,1] --box z=[0,1]", "--box x=[0,1] --box z=[0,2]"],
    "verify half.onnx two.vnnlib --bind N=2": ["", "--hypotheses onnxruntime-cpu"],
    "equivalent open.onnx open.onnx": ["", "--bind N=2", "--bind N=3", "--bind N=2 --identical"],
    "diff open.onnx open.onnx": ["", "--bind N=2", "--edition 2026-10"],
    "rules --since 2026-10 --edition 2026-11 open.onnx": ["", "--bind N=2"],
    "prove open.onnx": ["", "--assume N>=2"],
    "fix open.onnx --dry-run": ["--bind N=2", "--bind N=3", "--bind N=2 --samples 1"],
}
"""By command with what all its calls have, the options of calls whose stated conditions differ."""


def conditions_of(document: Any) -> Any:
    """The conditions that a document states."""
    if "reports" in document:
        [document] = document["reports"]
    return document.get("conditions") or document["result"]["conditions"]


@pytest.mark.parametrize("command", COMMANDS)
def test_results_of_other_options_state_other_conditions(
    command: str, models: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the document, and in the headline where the option limits what the result is about."""
    stated, words, first_lines = [], [], []
    for options in COMMANDS[command]:
        arguments = f"{command} {options}".split()
        run([*arguments, "--format", "json"])
        conditions = conditions_of(json.loads(capsys.readouterr().out))
        words.append(conditions["words"])
        stated.append(json.dumps(conditions, sort_keys=True))
        run(arguments)
        first_lines.append(capsys.readouterr().out)
    assert len({*stated}) == len(stated)
    for text, said in zip(words, first_lines, strict=True):
        assert text in said


@pytest.mark.parametrize("form", ["concise", "github", "sarif", "junit", "markdown", "html", "text"])
def test_every_format_states_the_box_and_the_sizes(form: str, models: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["check", "division.onnx", "--box", "a=[1,2]", "--box", "b=[1,2]", "--format", form])
    assert "with a in [1, 2], b in [1, 2]" in capsys.readouterr().out.replace("&#160;", " ")
    run(["check", "open.onnx", "--bind", "N=2", "--format", form])
    assert "for N=2" in capsys.readouterr().out


def test_quiet_states_the_box(models: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "division.onnx", "--box", "a=[1,2]", "--box", "b=[1,2]", "-q"]) == 0
    assert "with a in [1, 2], b in [1, 2]" in capsys.readouterr().out


def test_a_day_may_be_a_text(models: Path) -> None:
    kept = CheckOptions(deviations=Path("d.toml"), date="2026-11-30")  # type: ignore[arg-type]
    assert kept.date == date(2026, 11, 30)
