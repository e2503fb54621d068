"""Changed models and rule texts: hundreds of executions here, a campaign with `make fuzz` (docs/robustness.md)."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import onnx.parser
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sonnx
from sonnx.profile.cases import all_cases
from sonnx.prover.model_walk import prove_model
from tests.fuzz import command_targets, mutation, targets
from tests.fuzz.campaign import COMMAND_SHARES, SHARES
from tests.fuzz.commands import commands
from tests.support.cases import each_case, examples

EXECUTIONS = {
    "check": examples(150, 1500),
    "language": examples(150, 800),
    "run": examples(80, 250),
    "prove": examples(15, 50),
}
SECONDS = 10


def late(*_: object) -> None:
    raise AssertionError("it takes too long")


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Fails when the block takes more processor time.

    The timer repeats: what a signal raises while an object is deleted is lost.
    """
    signal.setitimer(signal.ITIMER_PROF, seconds, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


@pytest.fixture(autouse=True)
def clock() -> Iterator[None]:
    before = signal.signal(signal.SIGPROF, late)
    yield
    signal.signal(signal.SIGPROF, before)


@each_case("target", EXECUTIONS)
def test_nothing_but_what_is_documented_is_raised(target: str) -> None:
    @settings(database=None, max_examples=EXECUTIONS[target])
    @given(st.binary(min_size=2, max_size=100))
    def one(data: bytes) -> None:
        with within(SECONDS):
            targets.TARGETS[target](data)

    one()


COMMAND_LINES = tuple(name for name in COMMAND_SHARES if name not in ("audit", "compare", "files beside a model"))
"""Those that take less than a second; the others need a pack, a suite or a process."""


@each_case("target", COMMAND_LINES)
def test_whole_command_lines(target: str) -> None:
    draw = Random(target)
    for _ in range(examples(3, 60)):
        with within(SECONDS):
            command_targets.TARGETS[target](draw.randbytes(draw.randrange(2, 100)))


def test_every_target_has_a_share(tmp_path: Path) -> None:
    assert SHARES.keys() == targets.TARGETS.keys()
    assert COMMAND_SHARES.keys() == command_targets.TARGETS.keys()
    about_models = {*SHARES, *COMMAND_SHARES} - {"language", "files beside a model"}
    assert about_models >= dict(commands(str(tmp_path / "m.onnx"), 0)).keys()


# ------------------------------------------------------------------ the fuzzer itself


def test_changes_are_many_and_repeatable() -> None:
    inputs = [bytes([i, i >> 1, 3, i * 7 % 256, 5, i % 11, 9, i % 13, i, 2, i % 3, 77]) * 4 for i in range(200)]
    made = [mutation.model(data) for data in inputs]
    assert made == [mutation.model(data) for data in inputs]
    assert len(set(made)) > 150
    assert len(set(made) - set(mutation.bases())) > 150
    texts = {mutation.rule_text(data) for data in inputs}
    assert len(texts) > 100


def test_every_case_is_a_base() -> None:
    assert len(mutation.bases()) > 0.9 * len(all_cases())


@pytest.mark.parametrize("breaks", ["ValueError", "raw character", "hang"])
def test_a_defect_is_seen(monkeypatch: pytest.MonkeyPatch, breaks: str) -> None:
    """The oracle fails where the tool raises, prints what acts on a terminal, or goes on for ever."""

    def check(*_: object, **__: object) -> object:
        if breaks == "ValueError":
            raise ValueError("boom")
        if breaks == "raw character":
            raise targets.sonnx.Unreadable("a \x1b[31m red sentence")
        while True:
            pass

    monkeypatch.setattr(targets.sonnx, "check", check)
    with pytest.raises((AssertionError, ValueError)), within(0.05):
        targets.check(b"any")


# ------------------------------------------------------------------ what was found


FOUND_BY_PROVE = {
    "an attribute that is not a whole number":
        "float[2] x) => (float[2] y) { y = LeakyRelu <alpha = 0.5> (x)",
    "an attribute that is not a number":
        "float[2] x) => (float[2] y) { y = LeakyRelu <alpha = nan> (x)",
    "a rule about the values of an input":
        "float[1] x, float s, uint8 z) => (uint8[1] y) { y = QuantizeLinear <axis = 1> (x, s, z)",
    "a rule about the values of an input that is a constant": """float[1] x) => (uint8[1] y)
        <float s = {0.5}, uint8 z = {3}> { y = QuantizeLinear <axis = 1> (x, s, z)""",
}  # fmt: skip

FOUND_BY_RUN = {
    "an element type the kernel does not know":
        ("int32[2] x) => (int32[2] y) { y = Erf (x)", "against Erf.input-type"),
    "a matrix that does not fit":
        ("float[1, 3] a, float[3, 4] b, float[2, 4] c) => (float[1, 4] y) { y = Gemm (a, b, c)", "against Gemm"),
    "no group at all":
        ("float[1, 1, 3, 3] x, float[1, 1, 2, 2] w) => (float[1, 1, 2, 2] y) { y = Conv <group = 0> (x, w)",
         "group = 0, needs > 0, against Conv.group-positive"),
}  # fmt: skip


@each_case(("body", "sentence"), FOUND_BY_RUN.values(), ids=FOUND_BY_RUN)
def test_a_run_of_what_is_no_onnx_ends_in_a_sentence(body: str, sentence: str) -> None:
    source = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": 13]> g ({body} }}').SerializeToString()
    given = {v.name: targets._array(v.type, mutation.Draw(b"")) for v in targets.read(source).graph.inputs}
    with pytest.raises((sonnx.NotExecutable, sonnx.ErrorCondition), match=sentence):
        sonnx.run(source, given, unchecked=True)


def test_prove_meets_a_kernel_of_the_wrong_rank() -> None:
    text = """<ir_version: 10, opset_import: ["" : 13]> pool (float[1,1,3,3] x) => (float[1,1,2,3] y) {
   y = MaxPool <kernel_shape = [2], auto_pad = "NOTSET", pads = [0, 0, 0, 0], strides = [1, 1], dilations = [1, 1],
                ceil_mode = 0, storage_order = 0> (x) }"""
    proof = prove_model(onnx.parser.parse_model(text).SerializeToString())
    assert "MaxPool.kernel-length" in {refuted.rule for refuted in proof.refuted}


def test_prove_meets_a_sum_of_which_one_part_has_no_value() -> None:
    text = """<ir_version: 10, opset_import: ["" : 13]> g (float[N] x, float z) => (float[M] y)
{ y = Concat <axis = -1> (x, z) }"""
    proof = prove_model(onnx.parser.parse_model(text).SerializeToString())
    assert proof.refuted


@each_case("body", FOUND_BY_PROVE.values(), ids=FOUND_BY_PROVE)
def test_prove_reads_what_is_no_whole_number(body: str) -> None:
    text = f'<ir_version: 10, opset_import: ["": 16]> g ({body} }}'
    proof = prove_model(onnx.parser.parse_model(text).SerializeToString())
    assert proof.proved
    assert not proof.refuted


def test_prove_meets_a_part_of_a_list_without_a_beginning() -> None:
    """The axis is out of range, so the shape before it has no end."""
    text = """<ir_version: 10, opset_import: ["" : 13]> g () => (float[2] y) <int64[3, 0] w = {}>
{ y = Gather <axis = 2147483648> (w, ) }"""
    proof = prove_model(onnx.parser.parse_model(text).SerializeToString())
    assert proof.refuted


def test_run_refuses_a_tensor_of_a_rank_that_no_array_has() -> None:
    """The product of these extents has more digits than Python prints."""
    model = onnx.parser.parse_model("""<ir_version: 10, opset_import: ["" : 13]>
g () => (float[2] y) <float[2] w = {1, 2}> { y = Max(w) }""")
    model.graph.initializer[0].dims.extend([2**62] * 300)
    with pytest.raises(sonnx.Unfinished, match="'w' has rank 301"):
        sonnx.run(model.SerializeToString(), {}, unchecked=True)
