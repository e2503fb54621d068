"""Tables of restrictions/ are stored beside bytecode, and a stored one counts for the text it was made of only."""

import sys

import pytest

from sonnx.profile.stored_tables import table
from sonnx.profile.toml_files import CatalogueError


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sys, "pycache_prefix", None)
    found = tmp_path / "rules.toml"
    found.write_text('a = "x"\n')
    return found


def stored(path):
    [found] = path.parent.glob("__pycache__/*")
    return found


def test_the_stored_table_is_used_for_its_text_and_for_no_other(path, monkeypatch):
    assert table(path, "r") == {"a": "x"}
    data = stored(path).read_bytes()
    stored(path).write_bytes(data.replace(b"x", b"z"))
    assert table(path, "r") == {"a": "z"}, "the stored table is read, or this test tells nothing"
    path.write_text('a = "y"\n')
    assert table(path, "r") == {"a": "y"}


@pytest.mark.parametrize("keep", [0, 10, -1])
def test_a_damaged_table_is_made_again(path, keep):
    table(path, "r")
    stored(path).write_bytes(stored(path).read_bytes()[:keep])
    assert table(path, "r") == {"a": "x"}


def test_where_nothing_can_be_stored_the_text_is_read(path):
    (path.parent / "__pycache__").write_text("a file, not a folder")
    assert table(path, "r") == {"a": "x"}
    path.write_text("a = 1979-05-27\n")
    assert str(table(path, "r")["a"]) == "1979-05-27"


def test_a_text_that_is_not_toml_is_named(path):
    path.write_text("a =\n")
    with pytest.raises(CatalogueError, match=r"^rules\.toml is not valid TOML"):
        table(path, "rules.toml")


def test_an_interpreter_without_bytecode_reads_the_text(path, monkeypatch):
    monkeypatch.setattr(sys.implementation, "cache_tag", None)
    assert table(path, "r") == {"a": "x"}
    assert not (path.parent / "__pycache__").exists()
