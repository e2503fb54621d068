"""What differs between two runs of a suite."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from msgspec import structs

import sonnx
from sonnx.base.errors import BadInput, UsageError
from sonnx.profile import catalogue
from sonnx.suite.difference import run_difference
from sonnx.suite.judge import JudgedDifference
from sonnx.suite.result import Counts, Deviation, SuiteRun

SCHEMA = Path(sonnx.__file__).parent / "report" / "suite_difference.schema.json"


def deviation(operator: str, kind: str, number: int, explained: str | None = None) -> Deviation:
    return Deviation(
        operator=operator, kind=kind, element="float", number=number, case=f"{operator}-0001", data_set=2, call="call",
        value_class="spread", broken=None, difference=JudgedDifference(kind, 0, (1,), "1", "0"), inputs={"x": "[1]"},
        errata=(), explained=explained, data_sets="a" * 64,
    )  # fmt: skip


def run(title: str, *deviations: Deviation, operators: tuple[str, ...] = ("ArgMax", "Max")) -> SuiteRun:
    counts = {name: Counts(within=9, outside=1) for name in operators}
    return SuiteRun(
        suite="suite", implementation=title, edition="2026-11", suite_sha256="0" * 64, hypotheses="ieee-any",
        operators=counts, deviations=deviations, problems=(),
    )  # fmt: skip


OLD = run("runtime 1", deviation("ArgMax", "NaN", 3), deviation("Max", "integer", 1))
RUNS = {
    "the same": (OLD, {}, 0),
    "one new": (structs.replace(OLD, deviations=(*OLD.deviations, deviation("Max", "NaN", 2))), {"Max NaN": "new"}, 1),
    "one gone": (structs.replace(OLD, deviations=OLD.deviations[:1]), {"Max integer": "gone"}, 0),
    "more and fewer": (
        run("runtime 2", deviation("ArgMax", "NaN", 4), deviation("Max", "integer", 1)),
        {"ArgMax NaN": "more often"},
        0,
    ),
    "a new reading": (
        structs.replace(OLD, deviations=(*OLD.deviations, deviation("Max", "sign of zero", 1, "an-erratum"))),
        {"Max sign of zero": "new"},
        0,
    ),
    "a reading that this version states": (
        structs.replace(OLD, deviations=(*OLD.deviations, deviation("Max", "sign of zero", 1, "max-formal-property"))),
        {"Max sign of zero": "new"},
        0,
    ),
    "an operator was not run": (run("runtime 2", OLD.deviations[0], operators=("ArgMax",)), {}, 3),
}


@pytest.mark.parametrize("name", RUNS)
def test_each_change_is_told(name: str, tmp_path: Path) -> None:
    newer, wanted, code = RUNS[name]
    (tmp_path / "old.json").write_text(OLD.to_json(), "utf-8")
    (tmp_path / "new.json").write_text(newer.to_json(), "utf-8")
    found = run_difference(tmp_path / "old.json", tmp_path / "new.json")
    assert {f"{each.example.operator} {each.example.kind}": each.change for each in found.changes} == wanted
    assert found.exit_code == code
    jsonschema.validate(json.loads(found.to_json()), json.loads(SCHEMA.read_text("utf-8")))
    for change in wanted.values():
        assert change in found.to_format("text")
    for reading in (each.example.explained for each in found.changes if each.example.explained):
        known = catalogue.errata().get(reading)
        assert (f"{reading}: {known.defect}" if known else reading) in found.to_format("text")


def test_runs_of_different_suites_are_not_compared(tmp_path: Path) -> None:
    (tmp_path / "old.json").write_text(OLD.to_json(), "utf-8")
    other = structs.replace(OLD, operators={**OLD.operators, "Max": Counts(within=3)})
    (tmp_path / "new.json").write_text(other.to_json(), "utf-8")
    with pytest.raises(UsageError, match="different suites: other numbers of data sets of Max"):
        run_difference(tmp_path / "old.json", tmp_path / "new.json")
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        run_difference(tmp_path / "old.json", tmp_path / "none.json")
    (tmp_path / "new.json").write_text("{}", "utf-8")
    with pytest.raises(BadInput, match="not a JSON report of sonnx suite run"):
        run_difference(tmp_path / "old.json", tmp_path / "new.json")
