"""Which characters can be printed, by one version of Unicode, whatever the Python that runs this.

`str.isprintable` follows the Unicode data of Python, so that a verdict would depend on it.
"""

from __future__ import annotations

import re

UNICODE = "15.1.0"
"""The version of Unicode that the table is from."""

_UNPRINTABLE = (
    "0-1f 7f-a0 ad 600-605 61c 6dd 70f 890-891 8e2 1680 180e 2000-200f 2028-202f 205f-2064 2066-206f 3000 d800-dfff "
    "feff fff9-fffb 110bd 110cd 13430-1343f 1bca0-1bca3 1d173-1d17a e0001 e0020-e007f "
)
"""Control, format, surrogate and separator characters but the space, in hexadecimal digits: `tools/unprintable.py`."""

_PRIVATE = "e000-f8ff f0000-ffffd 100000-10fffd"
"""Characters for private use, whose look depends on the font: a range that no version of Unicode changes."""


def _class(ranges: str) -> str:
    """The ranges as the inside of a character class."""
    pairs = (word.partition("-") for word in ranges.split())
    return "".join(f"\\U{int(first, 16):08x}-\\U{int(last or first, 16):08x}" for first, _, last in pairs)


_SEARCH = re.compile(f"[{_class(_UNPRINTABLE)}]").search
_SEARCH_SHOWN = re.compile(f"[{_class(_UNPRINTABLE)}{_class(_PRIVATE)}]").search


def is_printable(text: str) -> bool:
    """Whether a text has no control, format, surrogate or separator character besides the space."""
    return text.isprintable() if text.isascii() else _SEARCH(text) is None


def is_shown_as_it_is(text: str) -> bool:
    """Whether a text is printable and has no character for private use, so that a message shows it as it is."""
    return text.isprintable() if text.isascii() else _SEARCH_SHOWN(text) is None
