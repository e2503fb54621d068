"""The part of requirements.txt that runs and builds the package, with its hashes, for action.yml.

python -m tools.run_requirements writes requirements-run.txt.
"""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import requires
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent
FILE = "requirements-run.txt"
HEAD = f"# The packages that run and build sonnx, from requirements.txt: python -m tools.{Path(__file__).stem}\n"


def run_requirements(root: Path) -> str:
    """The content of the file: the dependencies, what builds the package, and what these need."""
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    waiting = [Requirement(text) for text in (*project["dependencies"], *project["optional-dependencies"]["build"])]
    names = set[str]()
    while waiting:
        requirement = waiting.pop()
        name = _canonical(requirement.name)
        if name not in names and (requirement.marker is None or requirement.marker.evaluate({"extra": ""})):
            names.add(name)
            waiting += [Requirement(text) for text in requires(name) or ()]
    entries = re.split(r"^(?=[\w.-]+==)", (root / "requirements.txt").read_text("utf-8"), flags=re.MULTILINE)[1:]
    return HEAD + "".join(entry for entry in entries if _canonical(entry.partition("==")[0]) in names)


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


if __name__ == "__main__":
    (ROOT / FILE).write_text(run_requirements(ROOT), "utf-8")
