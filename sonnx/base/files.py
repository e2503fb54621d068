"""Files: written whole or not at all, and known by their hash."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path


def write_whole(path: Path, content: str | bytes) -> None:
    """Write beside the file, then rename: a reader sees the old content or the new, never a part.

    What a link names is written, and a device or a pipe is written to: neither is put aside for a file.

    Raises:
        OSError: where the folder cannot be written; nothing is left behind.
    """
    data = content.encode("utf-8") if isinstance(content, str) else content
    path = path.resolve() if path.is_symlink() else path
    if path.exists() and not path.is_file():
        with path.open("wb") as file:
            file.write(data)
        return
    name = path.parent / f".{path.name}.{os.getpid()}"
    with _naming(path):
        descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
            name.replace(path)
        except BaseException:
            name.unlink(missing_ok=True)
            raise


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """An error is about what was to be written, and not about the name it had before."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error


def deliver(document: str, path: Path | None) -> None:
    """A document to a file, whole or not at all; without one to standard output.

    Raises:
        OSError: where the file cannot be written.
    """
    if path is None:
        sys.stdout.write(document)
    else:
        write_whole(path, document)


def write_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write a folder beside its place, then rename it: it is there as a whole or not at all.

    Args:
        folder: a new folder, or an empty one.
        files: contents by names, which may have folders of their own.

    Raises:
        OSError: where the folder cannot be written; nothing is left behind.
    """
    target = folder.absolute()
    part = target.parent / f".{target.name}.{os.getpid()}"
    with _naming(folder):
        part.mkdir()
        try:
            for name, content in files.items():
                path = part / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
            part.replace(target)
        except BaseException:
            shutil.rmtree(part, ignore_errors=True)
            raise


def sha256(source: Path | bytes | memoryview) -> str:
    """The SHA-256 of a file, read piece by piece, or of bytes.

    Raises:
        OSError: where the file cannot be read.
    """
    if isinstance(source, bytes | memoryview):
        return hashlib.sha256(source).hexdigest()
    with source.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
