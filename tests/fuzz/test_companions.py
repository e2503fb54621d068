"""Damaged copies of every file that a command reads beside a model; all of them in `make companions-campaign`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from random import Random

import pytest

from tests.support import companions
from tests.support.cases import examples

MOST = examples(1, 40)
"""Copies of each sort of damage."""
CHANGES = examples(9, 400)
"""Changed bytes of a file."""


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory: pytest.TempPathFactory, shared_folder: Path) -> Iterator[Path]:
    """The companions, in which the commands run."""
    companions.share(shared_folder)
    path = tmp_path_factory.mktemp("companions")
    companions.lay_out(path)
    with chdir(path):
        yield path


@pytest.mark.parametrize("kind", companions.COMPANIONS)
def test_a_damaged_file_is_refused_in_a_sentence(kind: str) -> None:
    """Bytes, texts and values of other types: no failure of the tool, nothing that acts on a terminal or CI system."""
    reports = companions.COMPANIONS[kind].reports
    copies = 0
    listed = [*companions.damaged(kind, MOST)]
    if kind in companions.COSTLY:
        listed = Random(kind).sample(listed, min(len(listed), examples(2, 200)))
    for copies, copy in enumerate(listed, 1):
        report = reports[copies % len(reports)] if copy.acts else "text"
        reason = companions.wrong_with(kind, copy, report)
        assert not reason, f"{copy.what}, {report}: {reason}"
    assert copies


@pytest.mark.parametrize("kind", companions.COMPANIONS)
def test_the_valid_file_is_read(kind: str) -> None:
    """Otherwise nothing behind the first check of a reader is tried."""
    code, _, said = companions.command(kind)
    companions.return_to_start()
    assert code in (0, 1, 3), said


def test_a_failure_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    copy = companions.Damaged("of the test", b"{}")

    def broken(*_: object) -> None:
        raise KeyError("x")

    monkeypatch.setattr("sonnx.api.suites.read_suite", broken)
    assert companions.wrong_with("suite", copy).startswith("KeyError")
    monkeypatch.undo()
    monkeypatch.setattr(companions, "run", lambda _: print("\n::error::x") or 0)
    assert "CI system" in companions.wrong_with("suite", copy)
    monkeypatch.setattr(companions, "run", lambda _: print("\x1b[31m") or 0)
    assert "it prints" in companions.wrong_with("suite", copy)


def test_each_changed_byte_of_an_archive_of_a_suite_is_noticed() -> None:
    place, valid = companions.content_of("archive of a suite")
    for number in range(-3, CHANGES):
        content = companions.with_changed_byte(valid, number)
        if content != valid:
            Path(place).write_bytes(content)
            assert companions.quietly(["suite", "report", "suite"])[0] == 2, f"change {number}"
    Path(place).write_bytes(valid)


def test_each_changed_number_of_a_suite_is_noticed() -> None:
    """The cases and data sets that suite.json declares are compared with those in the archives."""
    place, valid = companions.content_of("suite")
    part = json.loads(valid)["parts"][0]
    for key in ("positive", "negative", "sets", "version", "operator", "edition"):
        suite = json.loads(valid)
        suite["parts"][0][key] = part[key] + 1 if isinstance(part[key], int) else f"{part[key]}x"
        Path(place).write_text(json.dumps(suite))
        assert companions.quietly(["suite", "report", "suite"])[0] == 2, key
    Path(place).write_bytes(valid)


def test_each_changed_byte_of_a_certificate_is_noticed() -> None:
    """The parts that it states show the property, or it is refused; its words follow from the rest."""
    _, valid = companions.content_of("certificate")
    stated = json.loads(valid)
    line = companions.COMPANIONS["certificate"].line.split()
    for key, value in {"model": "0" * 64, "property": "0" * 64, "format": "x", "claim": "x", "boxes": [[]]}.items():
        Path("controller.json").write_text(json.dumps({**stated, key: value}))
        assert companions.quietly(line)[0] == 2, key
    words = {**stated, "conditions": {**stated["conditions"], "words": "for all sizes"}}
    Path("controller.json").write_text(json.dumps(words))
    code, _, said = companions.quietly(line)
    assert (code, "that are not its conditions" in said) == (2, True)
    Path("controller.json").write_bytes(valid)
