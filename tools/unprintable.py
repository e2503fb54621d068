"""Writes the ranges of sonnx/base/printable.py from the Unicode data of the Python that runs this.

`python3.13 tools/unprintable.py` prints the lines of the table; the version of Unicode stands in the module.
"""

from __future__ import annotations

import unicodedata

CATEGORIES = ("Cc", "Cf", "Cs", "Zs", "Zl", "Zp")
"""Control, format, surrogate and separator characters."""


def ranges() -> list[tuple[int, int]]:
    """The first and the last code point of each run of unprintable characters; the space is printable."""
    found: list[tuple[int, int]] = []
    for code in range(0x110000):
        if code == 0x20 or unicodedata.category(chr(code)) not in CATEGORIES:
            continue
        if found and found[-1][1] == code - 1:
            found[-1] = found[-1][0], code
        else:
            found.append((code, code))
    return found


def lines(width: int = 110) -> list[str]:
    """The ranges in hexadecimal digits, in lines of source text."""
    words = [f"{first:x}" if first == last else f"{first:x}-{last:x}" for first, last in ranges()]
    rows = [""]
    for word in words:
        if len(rows[-1]) + len(word) > width:
            rows.append("")
        rows[-1] += f"{word} "
    return [row.strip() for row in rows]


if __name__ == "__main__":
    print(unicodedata.unidata_version)
    print("\n".join(lines()))
