"""What a process takes: the processor time of commands that benchmarks compare."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

REPOSITORY = Path(__file__).parent.parent
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
"""Of the processes: an installed tool and what it is compared with have their bytecode."""


class Spent(NamedTuple):
    """What a process has taken."""

    seconds: float
    """Of processor time, with its own processes: other work disturbs it less than the wall time."""
    code: int
    """Its exit code."""


def spent(*arguments: str) -> Spent:
    """Run Python with these arguments, without its output."""
    return spent_by([sys.executable, *arguments])


def spent_by(command: Sequence[str], **environment: str) -> Spent:
    """Run a command with further variables of the environment, without its output."""
    quiet = [(os.POSIX_SPAWN_OPEN, place, os.devnull, os.O_WRONLY, 0) for place in (1, 2)]
    child = os.posix_spawnp(command[0], command, {**ENVIRONMENT, **environment}, file_actions=quiet)
    _, status, used = os.wait4(child, 0)
    return Spent(used.ru_utime + used.ru_stime, os.waitstatus_to_exitcode(status))
