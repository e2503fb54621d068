"""What is run on a changed model or rule text, and what must hold of it: one function for each way in.

A target returns nothing.  Whatever it raises is a defect of the tool: the errors the tool documents are caught here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

import sonnx
from sonnx.base.errors import UsageError
from sonnx.checker.rules import evaluate_rule
from sonnx.executor.model_inputs import required_inputs
from sonnx.language.domain import RuleError
from sonnx.language.evaluator import TensorFacts, Unknown, UnknownCause
from sonnx.language.parser import parse as parse_rule
from sonnx.language.type_checker import SHAPE, TENSOR, type_of
from sonnx.model.reader import read
from sonnx.numerics.formats import ELEMENTS
from sonnx.profile.definitions import Rule
from sonnx.prover.model_walk import prove_model
from sonnx.report.formats import DOCUMENT_FORMATS, FORMATS
from sonnx.report.model_proof import ProofReport
from tests.fuzz.mutation import Draw, model, rule_text
from tests.support.invariants import acting

REFUSALS = (sonnx.Unreadable, UsageError)
SHOWN = (*["text"] * 6, *["concise"] * 2, *["json", "github", "markdown"] * 3, *["junit"] * 2, "html", "sarif")
PROVED = (*["junit", "github", "markdown"] * 3, "html", "sarif")
"""The longest documents seldom."""

assert set(PROVED) | {"text"} == set(DOCUMENT_FORMATS)
assert set(SHOWN) | {"deviations"} == set(FORMATS)
LARGEST = 1000
"""Elements of an input that is made up for a run."""

UNKNOWN = Unknown(UnknownCause.RUN_TIME, "the value is known at run time only")
KINDS = {"x": TENSOR, "s": SHAPE, "a": "int", "written(a)": "bool", "given(x)": "bool", "constant(x)": "bool"}
LISTS = ((), (2, 0, -1, UNKNOWN, 2**70), (1,) * 50, (UNKNOWN,), UNKNOWN)
FACTS = {
    "x": (
        TensorFacts("float", (2, UNKNOWN, 0), (1, 2, -3)), TensorFacts(UNKNOWN, UNKNOWN),
        TensorFacts("int8", (), (0.5, 2**60)),
    ),
    "s": LISTS, "a": (0, -3, 2**64, UNKNOWN),
}  # fmt: skip
TRUTHS = (True, False, UNKNOWN)
RULE = Rule("fuzz", "value", "restriction", "", "", "", "")


def harmless(text: str) -> None:
    found = acting(text) - {"\n"}
    assert not found, f"raw {sorted(map(ascii, found))} in {text[:200]!a}"


def check(data: bytes) -> None:
    """`sonnx check` in every edition and format, one of them at a time."""
    draw = Draw(data[::-1])
    form, edition = draw.one(SHOWN), draw.one((None, "2025-10", "2026-08"))
    source = model(data)
    try:
        report = sonnx.check(source, edition)
    except REFUSALS as error:
        harmless(str(error))
        return
    harmless(report.to_format(form))
    answered = sum(count.number for count in report.counts)
    assert answered, "a report without an answer"


def prove(data: bytes) -> None:
    """`sonnx prove MODEL` as text, and in another format."""
    form = Draw(data[::-1]).one(PROVED)
    try:
        proof = prove_model(model(data))
    except REFUSALS as error:
        harmless(str(error))
        return
    report = ProofReport.of(proof)
    harmless(report.to_text())
    harmless(report.to_format(form))


def run(data: bytes) -> None:
    """`sonnx run`, of models that conform and of others; equal inputs give equal values."""
    source = model(data)
    try:
        read_model = read(source)
        given = {value.name: _array(value.type, Draw(data[::-1])) for value in required_inputs(read_model)}
        values = sonnx.run(source, given, unchecked=bool(data[:1] < b"\xd0"))
    except (*REFUSALS, sonnx.Stop) as error:
        harmless(str(error))
        return
    again = sonnx.run(source, given, unchecked=True)
    assert all(values[name].tobytes() == again[name].tobytes() for name in values)


def _array(declared: object, draw: Draw) -> np.ndarray:
    shape = [size if isinstance(size, int) and 0 <= size <= 10 else 2 for size in declared.shape or ()][:6]
    while np.prod(shape, dtype=object) > LARGEST:
        shape.pop()
    kind = ELEMENTS.get(declared.element or "", ELEMENTS["float"])
    numbers = [draw.one((0, 1, 2, 1, 3)) for _ in range(int(np.prod(shape)))]
    return np.array(numbers).reshape(shape).astype(kind)


def language(data: bytes) -> None:
    """A rule text: refused with a sentence, or judged on facts of the kinds it asks for."""
    text, draw = rule_text(data), Draw(data[::-1])
    try:
        rule = parse_rule(text)
        kind = type_of(rule, KINDS)
    except RuleError as error:
        assert str(error)
        return
    if kind == "bool":
        names = {name: draw.one(FACTS.get(name, TRUTHS)) for name in sorted(rule.names)}
        assert evaluate_rule(RULE, rule, names).verdict


TARGETS: Mapping[str, Callable[[bytes], None]] = {"check": check, "prove": prove, "run": run, "language": language}
