"""Writing files: whole or not at all, and nothing but files is replaced by one."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest

from sonnx.base.files import write_whole


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
