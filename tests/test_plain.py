"""The reading for speed says what the three-valued one says, or nothing."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import sonnx
from sonnx import catalogue, checking, form, together
from sonnx.cases import cases
from sonnx.expression import parse
from sonnx.facts import Cause, Tensor, Unknown
from sonnx.judging import judge, verdict_of
from sonnx.misuse import Misuse
from sonnx.plain import DEEPEST, MOST, NotPlain, program
from sonnx.qualification.models import model_bytes
from sonnx.qualification.rule_mutants import asked, mutants
from sonnx.verdict import Verdict

sys.path.insert(0, str(Path(__file__).parent / "fuzz"))
import mutation

SAYS = {0: Verdict.PASS, 1: Verdict.NOT_APPLICABLE, 2: Verdict.NOT_APPLICABLE}
TYPES = ("float", "int64", "bool", "float16", "uint8")


REAL_NUMBERS = {
    "BatchNormalization.epsilon-positive",
    "Gemm.no-scaling",
    "LSTM.clip-not-negative",
    "Resize.scales-length",
}
LONG_LISTS = {"Cast.output-type", "Cast.target-numbered"}
NO_TENSORS = {"Identity.V-allowed"}
"""Rules it leaves whatever the model: they read such values."""


def other(value: Any, draw: random.Random) -> Any:
    """A value of the same kind: other numbers, another rank, now and then one that is not known."""
    if draw.random() < 0.02:
        return Unknown(Cause.RUN_TIME, "drawn", draw.choice(["", "N"]))
    match value:
        case Tensor():
            rank = draw.choice([len(value.shape)] * 3 + [draw.randrange(5)]) if isinstance(value.shape, tuple) else 2
            shape = tuple(other(1, draw) for _ in range(rank))
            return value._replace(type=draw.choice([value.type, draw.choice(TYPES)]), shape=shape)
        case bool():
            return draw.choice([value, value, not value])
        case int():
            return draw.choice([value, 0, 1, 1, 2, 3, draw.randrange(-4, 9)])
        case tuple():
            return tuple(other(item, draw) for item in value)
    return value


def changed(names: Mapping[str, Any], draw: random.Random) -> dict[str, Any]:
    """Some of the names with other values."""
    return {name: other(value, draw) if draw.random() < 0.5 else value for name, value in names.items()}


def texts() -> Iterator[tuple[str, str]]:
    """Every text a case asks, and its mutants."""
    for slug, text in asked():
        yield from ((slug, each) for each in (text, *mutants(text)))


def test_every_text_is_read_alike() -> None:
    """Each condition of each rule and each mutant of it, on what the cases state and on changes of that."""
    draw = random.Random(1)
    settled = left = 0
    stated = {slug: those for (slug, _), those in asked().items()}
    for slug, text in texts():
        demand = parse(text)
        for one in draw.choices(stated[slug], k=2):
            try:
                answer_of = program([(one.rule.when, demand, {})])
            except NotPlain:
                break
            for names in (one.names, *(changed(one.names, draw) for _ in range(6))):
                if not demand.names <= names.keys():
                    continue
                said = answer_of(names)
                if said is None:
                    left += 1
                    continue
                settled += 1
                assert judge(one.rule, demand, names).verdict is SAYS[said], (slug, text, names)
    assert settled > 8_000
    assert left > 8_000


def test_what_holds_and_is_known_is_settled() -> None:
    """Of the unchanged texts it leaves only what it says it leaves: the reading is not silent throughout."""
    silent = set()
    for (slug, text), those in asked().items():
        try:
            answer_of = program([(those[0].rule.when, parse(text), {})])
        except NotPlain:
            continue
        passing = [one.names for one in those if verdict_of(one.rule, parse(text), one.names) is Verdict.PASS]
        if passing and all(answer_of(names) is None for names in passing):
            silent.add(slug)
    assert silent == REAL_NUMBERS | LONG_LISTS | NO_TENSORS


def reports(data: bytes) -> list[sonnx.Report]:
    made = []
    for edition in catalogue.editions().editions:
        try:
            made.append(sonnx.check(data, edition))
        except (sonnx.Unreadable, Misuse):
            continue
    return made


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Every form is judged by its function from its first call on; the list says whether that settled each."""
    monkeypatch.setattr(form, "OFTEN", 1)
    monkeypatch.setattr(checking, "OFTEN", 0)
    settled, outcome = [], together.Together.outcome

    def noted(self: together.Together, names: Mapping[str, Any]) -> Any:
        found = outcome(self, names)
        settled.append(found is not None)
        return found

    monkeypatch.setattr(together.Together, "outcome", noted)
    return settled


def models() -> list[bytes]:
    draw = random.Random(2)
    changes = [mutation.model(draw.randbytes(draw.randrange(2, 30))) for _ in range(400)]
    return [*{model_bytes(case) for case in cases()}, *changes]


def test_reports_are_the_same(request: pytest.FixtureRequest) -> None:
    """All cases and changes of them, with and without: the same findings, counts and coverage."""
    given = models()
    before = [reports(data) for data in given]
    settled = request.getfixturevalue("at_once")
    assert [reports(data) for data in given] == before
    assert sum(settled) > len(settled) / 4


@pytest.mark.parametrize("text", ["1.5 * len(shape) > 2", "any(v > 0 for v in X.values)"])
def test_what_it_does_not_write(text: str) -> None:
    with pytest.raises(NotPlain):
        program([(None, parse(text), {})])


def test_long_lists_and_deep_loops_are_left() -> None:
    answer_of = program([(None, parse("all(d >= 0 for d in shape)"), {})])
    assert answer_of({"shape": (1,) * MOST}) == 0
    assert answer_of({"shape": (1,) * (MOST + 1)}) is None
    answer_of = program([(None, parse("all(i >= 0 for i in range(n))"), {})])
    assert answer_of({"n": MOST}) == 0
    assert answer_of({"n": MOST + 1}) is None
    loops = "all(a >= 0 for a in s)"
    for _ in range(DEEPEST):
        loops = f"all({loops} for {'bcd'[_]} in s)"
    with pytest.raises(NotPlain):
        program([(None, parse(loops), {})])


@pytest.mark.parametrize(
    "text", ["shape[-1] == 1", "shape[n:0] == shape", "7 // n == -4", "max([] + shape[0:0]) == 1", "shape[9] == 1"]
)
def test_what_no_text_defines_is_left(text: str) -> None:
    """Python has a value for some of these."""
    try:
        demand = parse(text)
    except ValueError:
        pytest.skip("no text of the language")
    assert program([(None, demand, {})])({"shape": (1,), "n": -2}) is None
