"""Services of child processes, each of which does one thing to its process when it is asked."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from sonnx.supervise.frames import MAX_LENGTH


class Behaving:
    """Answers with the request, but for some."""

    def greeting(self) -> bytes:
        """See `sonnx.supervise.child.Answering`."""
        return b"ready"

    def answer(self, request: bytes | bytearray) -> bytes:
        """See `sonnx.supervise.child.Answering`."""
        match bytes(request).decode():
            case "exit":
                os._exit(7)
            case "signal":
                os.kill(os.getpid(), signal.SIGSEGV)
            case "hang":
                time.sleep(600)
            case "memory":
                return bytes(1 << 30)
            case "large":
                return bytes(3 << 20)
            case "error":
                raise RuntimeError("two\nlines")
            case "print":
                print("not an answer", flush=True)
                os.write(1, b"nor this")
            case "pipe":
                os.close(pipe_of_answers())
                time.sleep(600)
            case "long":
                os.write(pipe_of_answers(), b"\0" + (MAX_LENGTH - 1).to_bytes(8, "little"))
                time.sleep(600)
            case "kind":
                os.write(pipe_of_answers(), b"\x09" + bytes(8))
            case "text":
                os.write(pipe_of_answers(), b"Hello, world. Here I am.\n")
            case "half":
                os.write(pipe_of_answers(), b"\0" + (100).to_bytes(8, "little") + b"half")
                os._exit(0)
            case "child":
                started = subprocess.Popen(
                    [sys.executable, "-c", "import time; time.sleep(600)"], pass_fds=[pipe_of_answers()]
                )
                return str(started.pid).encode()
        return bytes(request)


def pipe_of_answers() -> int:
    """The descriptor to which the process writes answers."""
    return next(number for number in range(3, 64) if _is_output(number))


def _is_output(number: int) -> bool:
    try:
        target = str(Path(f"/proc/self/fd/{number}").readlink())
        flags = int(Path(f"/proc/self/fdinfo/{number}").read_text().split("flags:")[1].split()[0], 8)
    except OSError:
        return False
    return target.startswith("pipe:") and flags & os.O_ACCMODE == os.O_WRONLY


def service() -> Behaving:
    """See `sonnx.supervise.child`."""
    return Behaving()
