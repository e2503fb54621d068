"""What processes of a test do after it has ended what started them."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path

SECONDS = 30


def is_running(process: int) -> bool:
    """Whether a process is there and has not ended."""
    try:
        return Path(f"/proc/{process}/stat").read_text("utf-8").rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def still_running(processes: Iterable[int]) -> list[int]:
    """Those that have not ended after some time."""
    listed, deadline = [*processes], time.monotonic() + SECONDS
    while any(map(is_running, listed)) and time.monotonic() < deadline:
        time.sleep(0.02)
    return [number for number in listed if is_running(number)]
