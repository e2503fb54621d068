"""The file of --resume: what was kept is there after a kill at any moment, and is taken for the same work only."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sonnx.base.errors import BadInput
from sonnx.supervise import journal as journal_module
from sonnx.supervise.identity import differing, tool_identity, value_hash
from sonnx.supervise.journal import Journal
from tests.support.paths import ROOT

IDENTITY = {"model": "a", "set of options": "b"}


def opened(path: Path, **changed: str) -> Journal:
    return Journal(path, "test", {**IDENTITY, **changed})


def test_values_are_there_again(tmp_path: Path) -> None:
    path, first = tmp_path / "kept", opened(tmp_path / "kept")
    assert (first.values, first.is_new) == ({}, True)
    odd = {"nan": float("inf"), "name \udc80": "\udcff", "large": 1 << 200, "nested": [[None, True]]}
    first.update({"one": 1, "two": odd})
    first.update({"three": 3}, ["one"])
    assert opened(path).values == first.values == {"two": odd, "three": 3}
    assert not opened(path).is_new


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"model": "c"}, "was written for another model; name another file"),
        ({"set of options": "c"}, "was written for another set of options; name another file"),
        ({"program": "c"}, "was written for another program; name another file"),
    ],
)
def test_another_identity_is_refused_with_what_differs(tmp_path: Path, changed: dict[str, str], sentence: str) -> None:
    opened(tmp_path / "kept").update({"one": 1})
    before = (tmp_path / "kept").read_bytes()
    with pytest.raises(BadInput, match=sentence):
        opened(tmp_path / "kept", **changed)
    with pytest.raises(BadInput, match="was written for another command"):
        Journal(tmp_path / "kept", "another", IDENTITY)
    assert (tmp_path / "kept").read_bytes() == before


@pytest.mark.parametrize(
    "content",
    [b"x", b"\n", b"{}\n", b"[1]\n", b'{"sonnx":"journal"}\n', b"\xff\n", b"[" * 100_000 + b"\n", b'"x"\n{}\n'],
    ids=range(8),
)
def test_another_file_is_refused_and_stays(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "kept").write_bytes(content)
    with pytest.raises(BadInput, match="is not a --resume journal"):
        opened(tmp_path / "kept")
    assert (tmp_path / "kept").read_bytes() == content


def test_what_is_no_file_and_what_is_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(BadInput, match="is not a regular file"):
            opened(path)
    opened(tmp_path / "kept").update({"one": "x" * 100})
    monkeypatch.setattr(journal_module, "MAX_BYTES", 100)
    with pytest.raises(BadInput, match="has 100 bytes or more"):
        opened(tmp_path / "kept")


def test_a_torn_line_is_removed_wherever_it_ends(tmp_path: Path) -> None:
    path, kept = tmp_path / "kept", opened(tmp_path / "kept")
    kept.update({"one": 1})
    before = path.read_bytes()
    kept.update({"two": 2}, ["one"])
    line = path.read_bytes()[len(before) :]
    for end in range(len(line)):
        path.write_bytes(before + line[:end])
        again = opened(path)
        assert again.values == {"one": 1}
        again.update({"three": 3})
        assert opened(path).values == {"one": 1, "three": 3}


def test_the_file_does_not_grow_by_what_was_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_module, "SPARE_BYTES", 1000)
    path, kept = tmp_path / "kept", opened(tmp_path / "kept")
    for number in range(500):
        kept.update({"value": "x" * number, str(number % 7): number}, [str((number + 1) % 7)])
        assert opened(path).values == kept.values
    assert path.stat().st_size < 4000


WRITER = """
import sys
from pathlib import Path
from sonnx.supervise import journal
journal.SPARE_BYTES = 500
kept = journal.Journal(Path(sys.argv[1]), "test", {})
number = kept.values.get("number", 0)
print("begun", flush=True)
while True:
    number += 1
    kept.update({"number": number, f"copy {number % 5}": number}, [f"copy {(number + 2) % 5}"])
"""


def test_a_kill_at_any_moment_leaves_a_whole_change(tmp_path: Path) -> None:
    draw, last = random.Random(1), 0
    for _ in range(12):
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path / "kept")], stdout=subprocess.PIPE, cwd=ROOT
        ) as writer:
            assert writer.stdout is not None
            writer.stdout.readline()
            time.sleep(draw.random() / 10)
            writer.send_signal(signal.SIGKILL)
        values = Journal(tmp_path / "kept", "test", {}).values
        number = values["number"]
        assert number > last
        assert values[f"copy {number % 5}"] == number
        assert f"copy {(number + 2) % 5}" not in values
        last = number


def test_identities() -> None:
    ours = tool_identity(("onnx", "no-such-package"))
    assert ours["version of no-such-package"] == ""
    assert differing(ours, ours) is None
    assert differing({**ours, "version of onnx": "0"}, ours) == "version of onnx"
    assert differing({**ours, "more": "0"}, ours) == "more"
    assert value_hash({"a": 1, "b": 2}) == value_hash({"b": 2, "a": 1}) != value_hash({"a": 1, "b": 3})
    json.dumps(ours)
