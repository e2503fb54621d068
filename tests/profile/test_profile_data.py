"""The profile is a value: several can be in use in one process, one after another and in threads."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import sonnx
from sonnx.profile import catalogue
from sonnx.profile.profile_data import INSTALLED, Catalogue, in_use
from tests.support.paths import ROOT

MODEL = ROOT / "examples" / "as_exported.onnx"


@pytest.fixture
def other(tmp_path: Path) -> Catalogue:
    """A profile whose rule about dead nodes has another remedy."""
    shutil.copytree(ROOT / "restrictions", tmp_path / "restrictions")
    graph = tmp_path / "restrictions" / "graph.toml"
    text = graph.read_text("utf-8")
    before, slug, after = text.partition('slug      = "no-dead-node"')
    assert slug
    remedy = after[after.index("remedy") : after.index("\n", after.index("remedy"))]
    graph.write_text(before + slug + after.replace(remedy, 'remedy    = "Ask the owner."', 1), "utf-8")
    return Catalogue(tmp_path / "restrictions")


def remedy() -> str:
    return sonnx.check(MODEL).rules["no-dead-node"].remedy


def test_the_profile_in_use_is_read_and_the_other_one_stays(other: Catalogue) -> None:
    installed = remedy()
    with other.in_use():
        assert remedy() == "Ask the owner."
        assert catalogue.editions() is catalogue.editions(), "read once"
    assert remedy() == installed != "Ask the owner."
    with other.in_use():
        assert in_use() is other
    assert in_use() is INSTALLED


def test_threads_have_profiles_of_their_own(other: Catalogue) -> None:
    def run(profile: Catalogue) -> list[str]:
        with profile.in_use():
            return [remedy() for _ in range(20)]

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(run, [INSTALLED, other] * 4))
    assert [len(set(result)) for result in results] == [1] * 8
    assert results[1::2] == [["Ask the owner."] * 20] * 4 and results[0][0] != "Ask the owner."


def test_a_changed_file_is_read_after_forgetting(other: Catalogue) -> None:
    with other.in_use():
        remedy()
        path = other.folder / "graph.toml"
        path.write_text(path.read_text("utf-8").replace("Ask the owner.", "Remove it."), "utf-8")
        assert remedy() == "Ask the owner."
        other.forget()
        assert remedy() == "Remove it."


def test_child_processes_refuse_another_profile(other: Catalogue) -> None:
    with other.in_use(), pytest.raises(sonnx.UsageError, match="child processes read the profile of the installation"):
        sonnx.check_models([str(MODEL)], jobs=1)
