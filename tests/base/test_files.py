"""Writing files: whole or not at all, and nothing but files is replaced by one."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest

from sonnx.base.files import staged, write_folder, write_whole
from sonnx.cli.main import run
from tests.support.models import chain


def test_a_file_is_written_whole(tmp_path: Path) -> None:
    for content in ("first", b"second"):
        write_whole(tmp_path / "report", content)
    assert (tmp_path / "report").read_text() == "second"
    assert [*tmp_path.iterdir()] == [tmp_path / "report"]


def test_a_pipe_stays_a_pipe(tmp_path: Path) -> None:
    """As /dev/null stays a device, which a user who may write /dev would lose."""
    pipe, found = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: found.append(pipe.read_text()))
    reader.start()
    write_whole(pipe, "content")
    reader.join(timeout=20)
    assert found == ["content"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert [*tmp_path.iterdir()] == [pipe]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    link = tmp_path / "link"
    link.symlink_to("folder/report")
    for content in ("first", "second"):
        write_whole(link, content)
        assert link.readlink() == Path("folder/report")
        assert (tmp_path / "folder/report").read_text() == content


def test_a_folder_is_not_replaced(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="directory"):
        write_whole(tmp_path, "content")


@pytest.mark.parametrize(
    "line",
    [
        "audit m.onnx --output new/pack", "check m.onnx --pages new", "run m.onnx --random --output new",
        "prove m.onnx --emit-smt2 new", "export coq new",
    ],
)  # fmt: skip
def test_a_folder_that_is_written_is_usable_whatever_the_umask(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command that could not use its own folder would end in the middle and leave a part."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.onnx").write_bytes(chain(1).SerializeToString())
    if line.startswith("audit"):
        (tmp_path / "new").mkdir()
    before = os.umask(0o777)
    try:
        code = run(line.split())
    finally:
        os.umask(before)
    assert code in (0, 1, 3)
    folders = [path for path in tmp_path.rglob("*") if path.is_dir()]
    assert folders
    assert all(path.stat().st_mode & stat.S_IRWXU == stat.S_IRWXU and path.name[0] != "." for path in folders)


def test_what_a_killed_process_left_does_not_stop_a_later_one(tmp_path: Path) -> None:
    """In a container the later process may have the number of the killed one."""
    (tmp_path / f".report.{os.getpid()}").write_text("half")
    (tmp_path / f".folder.{os.getpid()}").mkdir()
    write_whole(tmp_path / "report", "whole")
    write_folder(tmp_path / "folder", {"a/b": b"whole"})
    assert (tmp_path / "report").read_text() == (tmp_path / "folder/a/b").read_text() == "whole"
    assert len([*tmp_path.iterdir()]) == 4


def test_a_name_as_long_as_the_system_allows(tmp_path: Path) -> None:
    for name in ("x" * 255, "\N{GRINNING FACE}" * 63):
        write_whole(tmp_path / name, "content")
        assert (tmp_path / name).read_text() == "content"


def test_files_of_a_folder_are_replaced_all_or_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside other files; where one cannot be replaced, the others get their old content back."""
    folder = tmp_path / "folder"
    folder.mkdir()
    for name in ("a", "b", "other"):
        (folder / name).write_text("old")

    def write(content: str) -> None:
        with staged(folder, beside_others=True) as part:
            for name in ("a", "b", "c"):
                (part / name).write_text(content)

    replace = Path.replace
    monkeypatch.setattr(Path, "replace", lambda path, to: replace(path, to if path.name != "c" else tmp_path / "no/c"))
    with pytest.raises(OSError, match="No such file"):
        write("new")
    assert {path.name: path.read_text() for path in folder.iterdir()} == dict.fromkeys(("a", "b", "other"), "old")
    monkeypatch.undo()
    write("new")
    assert {path.name: path.read_text() for path in folder.iterdir()} == {
        **dict.fromkeys(("a", "b", "c"), "new"), "other": "old",
    }  # fmt: skip
    assert [*tmp_path.iterdir()] == [folder]
