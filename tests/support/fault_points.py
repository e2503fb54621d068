"""The points at which a command can be harmed: its calls of the system, and its allocations.

`Faults` counts the calls of this process and of its copies, and harms the process at the call of one number: the call
fails, the disk is full from then on, a file of the user changes, or the process is killed.  Python itself lets an
allocation of one number fail.
"""

from __future__ import annotations

import builtins
import errno
import io
import mmap
import os
import random
import signal
import stat
import sys
from collections.abc import Callable
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import Any


class Harm(Enum):
    """What happens at a point."""

    CALL = "a call fails"
    DISK = "the disk is full"
    MEMORY = "an allocation fails"
    CHANGE = "a file changes meanwhile"
    KILL = "the process is killed"


ERRORS = {
    "open": (errno.EMFILE, errno.EACCES, errno.EIO),
    "read": (errno.EIO,),
    "write": (errno.ENOSPC, errno.EIO),
    "rename": (errno.EIO, errno.ENOSPC),
    "folder": (errno.ENOSPC, errno.EACCES),
    "remove": (errno.EIO,),
    "process": (errno.EAGAIN, errno.ENOMEM),
    "pipe": (errno.EMFILE,),
    "map": (errno.ENOMEM,),
}
"""The errors of each sort of call."""
CALLS = {
    "open": ("open",), "read": ("read",), "write": ("write", "truncate", "fsync"),
    "rename": ("replace", "rename", "link"),
    "folder": ("mkdir",), "remove": ("unlink", "rmdir"), "process": ("fork",), "pipe": ("pipe",),
}  # fmt: skip
"""The functions of `os` of each sort."""
TAKES_ROOM = ("write", "rename", "folder")
"""The calls that fail where a disk is full."""
ALLOCATIONS = "_testcapi"
"""The module of CPython that lets allocations fail; some systems leave it out."""
OPEN, READ, WRITE, UNLINK = os.open, os.read, os.write, os.unlink
"""The functions of the system, which are not counted."""
SAID = 999
"""The descriptor to which a process writes what has harmed it."""
OWN = tuple({str(Path(__file__).parents[2]), sys.prefix, sys.base_prefix, "/usr", "/proc", "/sys", "/dev"})
"""Where the files of the installation are."""


def _content(path: Path) -> bytes:
    descriptor = OPEN(path, os.O_RDONLY)
    content = READ(descriptor, 1 << 30)
    os.close(descriptor)
    return content


class Faults:
    """Counts the calls of a process and its copies, and harms them at one number; 0 harms nothing."""

    def __init__(self, failing: int = 0, harm: Harm = Harm.CALL, seed: int = 0) -> None:
        self.failing, self.harm, self.number = failing, harm, 0
        self.draw = random.Random(f"{seed} {failing} {harm.name}")
        self.main = os.getpid()
        self.opened = dict[int, str]()

    def point(self, sort: str, what: object) -> None:
        """A call, which may be harmed.

        Raises:
            OSError: it fails.
        """
        if isinstance(what, int):
            if stat.S_ISFIFO(os.fstat(what).st_mode) or what in (1, 2):
                return  # a pipe between the processes of the program, or the streams of the command
            what = self.opened.get(what, what)
        if isinstance(what, str | os.PathLike) and os.fspath(what).startswith(OWN):
            return  # a file of the installation
        self.number += 1
        if self.number == self.failing and self.harm is Harm.KILL:
            self._say(f"kill at {sort} {what!r}")
            os.kill(self.draw.choice((os.getpid(), self.main)), signal.SIGKILL)
            signal.pause()  # until the parent, which is gone, takes this process with it
        if self.number == self.failing and self.harm is Harm.CALL:
            self._fail(sort, what, self.draw.choice(ERRORS[sort]))
        if self.number == self.failing and self.harm is Harm.CHANGE:
            self._change(what)
        if 0 < self.failing <= self.number and self.harm is Harm.DISK and sort in TAKES_ROOM:
            self._fail(sort, what, errno.ENOSPC)

    def _fail(self, sort: str, what: object, code: int) -> None:
        self._say(f"{sort} {what!r}: {errno.errorcode[code]}")
        raise OSError(code, os.strerror(code), *([os.fspath(what)] if isinstance(what, str | os.PathLike) else []))

    def _change(self, what: object) -> None:
        """Cut a file of the working folder, change a byte of it, or remove it: the one of the call, else some one."""
        named = [what] if isinstance(what, str | os.PathLike) and Path(what).is_file() else []
        others = sorted(path for path in Path().rglob("*") if path.is_file())
        if not named and not others:
            return
        path = Path(self.draw.choice(named or others))
        how, content = self.draw.choice(("cut", "other byte", "removed")), _content(path)
        self._say(f"change of {path}: {how}")
        if how == "removed":
            UNLINK(path)
            return
        place = self.draw.randrange(len(content)) if content else 0
        other = bytes([content[place] ^ 0x5A]) + content[place + 1 :] if how == "other byte" and content else b""
        descriptor = OPEN(path, os.O_WRONLY | os.O_TRUNC)
        WRITE(descriptor, content[:place] + other)
        os.close(descriptor)

    def _say(self, text: str) -> None:
        WRITE(SAID, f"{text}\n".encode("utf-8", "backslashreplace"))

    def install(self) -> None:
        """Count the calls of this process from now on."""
        for sort, names in CALLS.items():
            for name in names:
                setattr(os, name, self._counted(sort, getattr(os, name)))
        mmap.mmap = self._mapper()  # type: ignore[misc]
        builtins.open = io.open = self._opener()
        if self.harm is Harm.MEMORY and self.failing:
            self._say(f"allocation {self.failing}")
            import_module(ALLOCATIONS).set_nomemory(self.failing, self.failing + 1)

    def _counted(self, sort: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*given: Any, **named: Any) -> Any:
            self.point(sort, given[0] if given else "")
            result = call(*given, **named)
            if sort == "open":
                self.opened[result] = os.fspath(given[0])
            return result

        return counted

    def _mapper(self) -> type[mmap.mmap]:
        point = self.point

        class Mapped(mmap.mmap):
            """A file in memory, whose making is a call."""

            def __new__(cls, *given: Any, **named: Any) -> Any:
                point("map", "")
                return super().__new__(cls, *given, **named)

        return Mapped

    def _opener(self) -> Callable[..., Any]:
        point = self.point

        class File(io.FileIO):
            """A file whose reads and writes are calls."""

            def readinto(self, buffer: Any) -> Any:
                point("read", self.name)
                return super().readinto(buffer)

            def readall(self) -> bytes:
                point("read", self.name)
                return super().readall()

            def write(self, data: Any) -> Any:
                point("write", self.name)
                return super().write(data)

        def opened(
            file: Any, mode: str = "r", buffering: int = -1, encoding: Any = None, errors: Any = None,
            newline: Any = None, closefd: bool = True, opener: Any = None,
        ) -> Any:  # fmt: skip
            point("open", file)
            raw = File(file, mode.replace("b", "").replace("t", ""), closefd, opener)
            if buffering == 0:
                return raw
            wide = {"+": io.BufferedRandom, "r": io.BufferedReader}
            kind = wide.get("+" if "+" in mode else mode[0], io.BufferedWriter)
            buffered = kind(raw)
            if "b" in mode:
                return buffered
            return io.TextIOWrapper(buffered, encoding, errors, newline, line_buffering=buffering == 1)

        return opened
