"""Whole numbers on a command line."""

from __future__ import annotations

import argparse
from collections.abc import Callable

LARGEST = 10**9 - 1


def amount(what: str, least: int = 1, largest: int = LARGEST) -> Callable[[str], int]:
    """The type of an option that takes a number of something, in decimal digits."""

    def read(text: str) -> int:
        digits = text.isascii() and text.isdecimal() and len(text) <= len(str(largest))
        if not digits or not least <= int(text) <= largest:
            raise argparse.ArgumentTypeError(f"a number of {what} from {least} to {largest}, not {text[:40]!r}")
        return int(text)

    return read
