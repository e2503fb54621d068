"""Files: written atomically, and hashed."""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from sonnx.base.errors import UsageError
from sonnx.base.escaping import escape, quote


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a temporary file in the same folder, then rename it: readers see the old content or the new, never a part.

    A link is followed; a device or a pipe is written to directly, because renaming would replace it by a file.

    Raises:
        OSError: the folder cannot be written; the temporary file is removed.
    """
    data = content.encode("utf-8") if isinstance(content, str) else content
    write_with(path, lambda file: file.write(data))


def write_with(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write a file as `write_whole` does, by a function that is given the open file.

    Raises:
        OSError: the folder cannot be written; the temporary file is removed.
    """
    path = path.resolve() if path.is_symlink() else path
    if path.exists() and not path.is_file():
        with path.open("wb") as file:
            write(file)
        return
    name = temporary_beside(path)
    with _errors_about(path):
        descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        try:
            with os.fdopen(descriptor, "wb") as file:
                write(file)
            name.replace(path)
        except BaseException:
            name.unlink(missing_ok=True)
            raise


def temporary_beside(path: Path) -> Path:
    """A name beside a path that nothing else has, also where process numbers repeat, as they do in containers."""
    return path.parent / f".{path.name[:40]}.{os.urandom(8).hex()}"


@contextmanager
def _errors_about(path: Path) -> Iterator[None]:
    """Raise an OSError again with the final path, not that of the temporary file."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error


def regular_bytes(path: Path, most: int) -> bytes:
    """The first bytes of a regular file, at most `most`; pipes and devices may have no end.

    Raises:
        OSError: the file cannot be read, or is none of this sort.
    """
    with os.fdopen(open_regular(path), "rb") as file:
        return file.read(most)


MAX_WHOLE = 1 << 30
"""Bytes of a file that is read as a whole."""


def whole_bytes(path: Path, most: int = MAX_WHOLE) -> bytes:
    """The content of a regular file.

    Raises:
        OSError: the file cannot be read, is none of this sort, or has more than `most` bytes.
    """
    content = regular_bytes(path, most + 1)
    if len(content) > most:
        raise OSError(errno.EFBIG, f"more than {most} bytes", str(path))
    return content


def open_regular(path: Path) -> int:
    """An open descriptor of a regular file; opening does not wait, as that of a pipe would.

    Raises:
        OSError: the file cannot be read, or is none of this sort.
    """
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return descriptor


def json_value(data: bytes | bytearray | str) -> Any:
    """The value of a JSON text.

    Raises:
        ValueError: the text is not JSON, or nested too deeply.
    """
    import json  # a check of a model reads none

    try:
        return json.loads(data)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def require_empty(folder: Path, remains: str) -> None:
    """Refuse a folder with files, or one that cannot be created, before the work begins.

    Args:
        folder: a folder to be written.
        remains: what a folder with files would still hold: "older proof".

    Raises:
        UsageError: with the reason.
    """
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file; name a folder")
    if folder.is_dir() and any(folder.iterdir()):
        raise UsageError(f"{folder} is not empty: name a new folder, so that no {remains} remains")
    parent = folder.absolute().parent
    if not parent.is_dir():
        raise UsageError(f"{parent} is not a folder")
    if not os.access(parent, os.W_OK):
        raise UsageError(f"{parent} cannot be written to: name a folder elsewhere")


def require_free(source: Path, targets: list[Path], force: bool) -> None:
    """Refuse to overwrite an original, and other files unless `force` is set.

    Raises:
        UsageError: a target exists, is a folder, has no folder, or is named twice.
    """
    for target in targets:
        shown = quote(str(target))
        if target.is_dir():
            raise UsageError(f"{shown} is a folder")
        if target.exists() and source.exists() and target.samefile(source):
            raise UsageError(f"{shown} is the original, which is never changed; name another file")
        if target.exists() and not force:
            raise UsageError(f"{shown} exists; --force overwrites it")
        if not target.parent.is_dir():
            raise UsageError(f"the folder {quote(str(target.parent))} does not exist")
    if len(targets) > len({path.resolve() for path in targets}):
        raise UsageError("--output and --report name one file")


VALUES = ".data"
"""What the name of a file of values ends in, behind that of its model."""


def fixed_path(model: Path) -> Path:
    """Where a rewritten model is written by default: NAME.fixed.onnx beside it."""
    return model.with_suffix(f".fixed{model.suffix or '.onnx'}")


def deliver(document: str, path: Path | None) -> None:
    """Write a document to a file atomically and say so, or to standard output where `path` is None.

    Raises:
        OSError: the file cannot be written.
    """
    if path is None:
        sys.stdout.write(document)
    else:
        write_whole(path, document)
        say_written(path)


def say_written(path: Path) -> None:
    """Say on standard error what an option had written."""
    sys.stderr.write(f"wrote {escape(str(path))}\n")


def unusable_because(error: Exception) -> str:
    """Why a file that the tool has written cannot be used again: the words of the system, or that it is another one."""
    return getattr(error, "strerror", None) or "it has another format, or is damaged"


def make_folder(folder: Path) -> None:
    """Make a folder, and those above it that are missing; whatever the umask, their owner can write to them.

    Raises:
        OSError: a folder cannot be made.
    """
    for path in reversed([folder, *folder.parents]):
        if not path.is_dir():
            make_new_folder(path, exist_ok=True)


def make_new_folder(folder: Path, *, exist_ok: bool = False) -> None:
    """Make one folder, as `make_folder` does.

    Raises:
        OSError: it cannot be made, or exists.
    """
    folder.mkdir(exist_ok=exist_ok)
    folder.chmod(folder.stat().st_mode | stat.S_IRWXU)


def write_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write a temporary folder in the same place, then rename it: a reader sees all of it or nothing.

    Args:
        folder: a folder that does not exist, or an empty one.
        files: the content of each file by its path in the folder.

    Raises:
        OSError: the folder cannot be written; the temporary folder is removed.
    """
    with staged(folder) as part:
        for name, content in files.items():
            path = part / name
            make_folder(path.parent)
            path.write_bytes(content)


@contextmanager
def staged(folder: Path, *, beside_others: bool = False) -> Iterator[Path]:
    """A temporary folder, which becomes the folder where the body succeeds: all of its files, or nothing.

    Args:
        folder: a folder that does not exist, or an empty one.
        beside_others: the folder may have other files, and older ones of the same names; where one of them cannot be
            replaced, each gets its old content back.

    Raises:
        OSError: the folder cannot be written; the temporary folder is removed.
    """
    target = folder.absolute()
    part = temporary_beside(target)
    with _errors_about(folder):
        make_new_folder(part)
        try:
            yield part
            if beside_others and target.is_dir():
                _move_files(part, target)
            else:
                part.replace(target)
        finally:
            import shutil  # loads compression libraries

            shutil.rmtree(part, ignore_errors=True)


def _move_files(source: Path, target: Path) -> None:
    """Move the files of a folder to another one in the same place, all of them or none."""
    older = source / f".{os.urandom(8).hex()}"
    names = sorted(path.name for path in source.iterdir())
    older.mkdir()
    moved: list[str] = []
    try:
        for name in names:
            if (target / name).exists():
                os.link(target / name, older / name) if (target / name).is_file() else None
            (source / name).replace(target / name)
            moved.append(name)
    except BaseException:
        for name in moved:
            if (older / name).exists():
                (older / name).replace(target / name)
            else:
                (target / name).unlink()
        raise


def sha256(source: Path | bytes | memoryview) -> str:
    """The SHA-256 of a file, which is read in blocks, or of bytes, in hexadecimal digits.

    Raises:
        OSError: the file cannot be read.
    """
    import hashlib  # loads OpenSSL, and a report as text states no hash

    if isinstance(source, bytes | memoryview):
        return hashlib.sha256(source).hexdigest()
    with os.fdopen(open_regular(source), "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
