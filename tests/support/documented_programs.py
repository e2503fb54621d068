"""The Python programs of the documents as files, for mypy: `python -m tests.support.documented_programs FOLDER`."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from tests.support.paths import ROOT

PAGES = ("README.md", "docs/library.md", "docs/how-to-engineer.md", "docs/how-to-tool-builder.md")


def main(folder: Path) -> None:
    """Write each program to a file of its own.

    Raises:
        ValueError: a page has no program.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for page in PAGES:
        text = (ROOT / page).read_text("utf-8")
        programs = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
        if not programs:
            raise ValueError(f"{page} has no program")
        for number, program in enumerate(programs):
            (folder / f"{Path(page).stem.lower().replace('-', '_')}_{number}.py").write_text(program, "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
