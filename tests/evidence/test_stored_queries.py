"""Queries of theorems are stored beside bytecode; they count for these files of the program and its own catalogue."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from sonnx.evidence import pack_parts
from sonnx.proofs import registry
from sonnx.prover.queries import questions_of
from sonnx.prover.theorem import Theorem


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sys, "pycache_prefix", None)
    monkeypatch.setattr(pack_parts, "__file__", str(tmp_path / "pack_parts.py"))
    return tmp_path / "__pycache__"


def chosen() -> list[Theorem]:
    found = [each for each in registry.stated() if each.id in ("order.total", "argmax.scan")]
    assert len(found) == 2
    return found


def changed(folder: Path) -> None:
    """Change the texts in the stored table, so that one sees whether it is used."""
    [stored] = folder.iterdir()
    content = stored.read_bytes()
    assert b"check-sat" in content
    stored.write_bytes(content.replace(b"check-sat", b"check-SAT"))


def is_changed(theorem: Theorem) -> bool:
    queries = pack_parts._stored_queries([theorem])[theorem.id]
    return any("check-SAT" in text for query in queries for text in query.texts.values())


def test_stored_queries_are_those_that_are_built(folder: Path) -> None:
    built = {
        each.id: [(question.name, question.hash) for question in questions_of(each, "z3", each.obligations)]
        for each in chosen()
    }
    for _ in range(2):
        found = pack_parts._stored_queries(chosen())
        assert {name: [(query.name, query.hash) for query in queries] for name, queries in found.items()} == built
    assert len([*folder.iterdir()]) == 1


def test_they_count_for_the_same_program_solver_and_catalogue(
    folder: Path, copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`copy` is a profile in use that is not the one of the installation."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pack_parts, "in_use", lambda: pack_parts.INSTALLED)
        first, second = chosen()
        pack_parts._stored_queries([first])
        changed(folder)
        assert is_changed(first), "the table is read, or this test tells nothing"
        assert not is_changed(second), "which it does not have"
        assert is_changed(first)
        patch.setattr(pack_parts, "own_hash", lambda: "0" * 64)
        assert not is_changed(first)
        changed(folder)
        patch.setattr(pack_parts, "installed", lambda solver: "another")
        assert not is_changed(first)
        changed(folder)
        patch.setattr(pack_parts.driver, "source_hash", lambda theorem: "of another source")
        assert not is_changed(first)
    assert not is_changed(first)


def test_an_interpreter_without_bytecode_builds_them(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.implementation, "cache_tag", None)
    assert pack_parts._stored_queries(chosen()).keys() == {each.id for each in chosen()}
    assert not folder.exists()


def test_theorems_about_operators_are_those_of_the_whole_registry() -> None:
    every = [each for each in registry.theorems() if not each.id.startswith("derived.")]
    derived = [each for each in registry.theorems() if each.id.startswith("derived.Max-")]
    found = registry.about_operators(frozenset({"Max"}))
    assert [each.id for each in found] == sorted(each.id for each in (*every, *derived))
    assert derived
