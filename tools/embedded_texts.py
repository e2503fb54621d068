"""Write tables.ml: the texts that `sonnx export coq DIR` writes, as strings of the program sonnx-verified.

`python -m tools.embedded_texts DIR`
"""

from __future__ import annotations

import sys
from itertools import count
from pathlib import Path

TEXTS = {"format": "format.txt", "rules": "rules.v", "editions": "editions.txt", "schemas": "schemas.txt"}


def quoted(text: str) -> str:
    """A quoted string of OCaml, in a delimiter that the text does not have."""
    mark = next(mark for number in count(1) if f"|{(mark := 'q' * number)}}}" not in text)
    return f"{{{mark}|{text}|{mark}}}"


def main() -> None:
    """Write the file."""
    folder = Path(sys.argv[1])
    lines = (f"let {name} = {quoted((folder / file).read_text('utf-8'))}\n" for name, file in TEXTS.items())
    (folder / "tables.ml").write_text("".join(lines), "utf-8")


if __name__ == "__main__":
    main()
