"""The record of the proofs belongs to these theorems, and `python -m tools.record` writes it."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from sonnx.base.errors import UsageError
from sonnx.profile import catalogue
from sonnx.profile.index import rules_by_slug
from sonnx.proofs import registry
from sonnx.prover import dependencies, driver, record
from sonnx.prover.results import SOLVERS, STATED_KINDS
from sonnx.prover.theorem import Mutant
from sonnx.workers import theorems
from tools import record as tools_record
from tools.record import main

RECORD = record.read(record.usual_path())


def test_every_theorem_is_recorded():
    assert [each.id for each in registry.theorems() if each.id not in RECORD] == []
    assert set(RECORD) <= {each.id for each in registry.theorems()}


def test_a_changed_definition_that_refutes_nothing_survives():
    result = next(iter(driver.prove([next(each for each in registry.theorems() if each.id == "order.total")], "z3")))
    same = Mutant("the same", result.theorem.obligations)
    mutants = (same, *result.theorem.mutants)
    made = record.entry(structs.replace(result, theorem=replace(result.theorem, mutants=mutants)))
    assert made["mutants"]["the same"] == "survives"
    assert set(made["mutants"].values()) == {"survives", "refuted"}


def test_a_stale_entry_is_found(tmp_path, capsys):
    """`make proofs` compares every entry; here one that is right, and the same with another question or outcome."""
    name, path = "order.total", tmp_path / "record.json"
    for changed in ({}, {"smt2_sha256": "0" * 64}, {"status": "refuted"}):
        path.write_text(json.dumps({"format": record.FORMAT, "theorems": {name: {**RECORD[name], **changed}}}))
        stale = f"{name}: proofs/record.json is stale" if changed else ""
        assert main(["--check", "--select", name, "--output", str(path), "--jobs", "0"]) == int(bool(changed))
        assert capsys.readouterr().err.startswith(stale)


def test_only_what_is_not_as_recorded_is_decided(tmp_path, capsys, monkeypatch):
    """Another version, another counterexample, and a call that needs no solver; with --no-cache all are decided."""
    names = ("order.total", "wrap.quotient-error", "derived.Relu-14.satisfiable")
    path, decided = tmp_path / "record.json", []
    prove = tools_record.prove_theorems
    monkeypatch.setattr(
        tools_record,
        "prove_theorems",
        lambda found, *rest: decided.extend(each.id for each in found) or prove(found, *rest),
    )

    def checked(name, *more, **changed):
        decided.clear()
        entries = {each: RECORD[each] for each in names} | {name: {**RECORD[name], **changed}}
        path.write_text(json.dumps({"format": record.FORMAT, "theorems": entries}))
        select = [part for each in names for part in ("--select", each)]
        code = main(["--check", *select, "--output", str(path), "--jobs", "0", *more])
        capsys.readouterr()
        return code, decided

    assert checked(names[0]) == (0, [])
    older = {"z3 0.1: unsat": 1}
    assert checked(names[0], answers=older) == (0, [names[0]])
    assert checked(names[1], replayed="something else") == (0, [names[1]])
    assert checked(names[1], counterexample={"a": 6, "b": 3}) == (0, [names[1]])
    assert checked(names[2], smt2_sha256="0" * 64) == (1, [names[2]])
    assert checked(names[0], "--no-cache") == (0, sorted(names))


def test_an_entry_says_what_the_theorem_states():
    for theorem in (each for each in registry.theorems() if each.id in RECORD):
        known = RECORD[theorem.id]
        assert known["status"] == theorem.expected, theorem.id
        assert known["kind"] in (STATED_KINDS[theorem.expected], "computed"), theorem.id
        assert known["confirmed"] != bool(theorem.reason_single), theorem.id
        assert known["mutants"] == {each.name: "refuted" for each in theorem.mutants}, theorem.id
        assert all(who.split()[0] in SOLVERS for who in known["answers"]), theorem.id


def test_what_theorems_bear_on_exists():
    known = rules_by_slug().keys() | {each.name for each in catalogue.operators()}
    for theorem in registry.theorems():
        assert not set(dependencies.bears_on(theorem)) - known, theorem.id


def test_a_word_bears_on_the_rules_that_use_it():
    by_id = {each.id: each for each in registry.theorems()}
    assert {"MaxPool.every-window-touches", "MaxPool.Y-shape"} <= set(
        dependencies.bears_on(by_id["window.chosen-windows"])
    )
    assert "Max.broadcastable" in dependencies.bears_on(by_id["broadcast.zero-against-one"]), "by its erratum"
    assert dependencies.bears_on(by_id["value.Neg"]) == ("Neg",)


# ------------------------------------------------------------------ recording


def outcomes(*names):
    return list(driver.prove(driver.select(registry.theorems(), names)))


def test_a_record_is_kept_and_read_again(tmp_path):
    path, present = tmp_path / "record.json", [each.id for each in registry.theorems()]
    record.write(path, outcomes("wrap.unique", "wrap.quotient-error"), present)
    found = record.read(path)
    assert {name: each["status"] for name, each in found.items()} == {
        "wrap.unique": "proved",
        "wrap.quotient-error": "refuted",
    }
    assert found["wrap.unique"]["mutants"] == {"one number more": "refuted"}
    assert found["wrap.quotient-error"]["replayed"].startswith("1 / 2 is 0")
    assert found["wrap.unique"]["confirmed"] is False
    record.write(path, outcomes("wrap.unique"), ["wrap.unique"])
    assert list(record.read(path)) == ["wrap.unique"]


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"format": 1, "theorems": {}}', "\ud7ff{"])
def test_what_is_not_a_record_is_refused(tmp_path, content):
    path = tmp_path / "record.json"
    path.write_text(content, "utf-8")
    with pytest.raises(UsageError, match="is not a record of theorems"):
        record.read(path)
    with pytest.raises(UsageError, match="is not a record of theorems"):
        record.write(path, [], [])
    assert path.read_text("utf-8") == content


def test_the_same_run_gives_the_same_bytes(tmp_path):
    paths = [tmp_path / name for name in ("one.json", "other.json")]
    for path in paths:
        record.write(path, outcomes("quantization"), [each.id for each in registry.theorems()])
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert json.loads(paths[0].read_text())["format"] == record.FORMAT


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("--select wrap --output nowhere/there", "the folder nowhere does not exist"),
        ("--select wrap --output text", "text is not a record of theorems"),
    ],
)
def test_a_record_that_cannot_be_written_is_refused_before_anything_is_proved(tmp_path, monkeypatch, line, sentence):
    monkeypatch.chdir(tmp_path)
    Path("text").write_text("text")
    monkeypatch.setattr(theorems, "prove_theorems", None)
    with pytest.raises(UsageError, match=re.escape(sentence)):
        main(line.split())
    assert [path.name for path in tmp_path.iterdir()] == ["text"]


def test_the_program_records_what_it_proves(tmp_path):
    path = tmp_path / "record.json"
    assert main(["--select", "wrap.unique", "--output", str(path), "--jobs", "1", "--no-cache"]) == 0
    [(name, entry)] = record.read(path).items()
    assert (name, entry["kind"], entry["status"]) == ("wrap.unique", "theorem", "proved")
    assert entry["mutants"] == {"one number more": "refuted"}
