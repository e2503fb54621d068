"""Says what does not fit a release: the tag, the changelog, or a version that a page names.

python -m tools.release v0.9.0
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
PINNED = re.compile(r"\brev: v(\d+\.\d+\.\d+)")
"""A page tells the reader to take this version of the hook."""


def version_of(root: Path) -> str:
    """The version that pyproject.toml states."""
    stated: str = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    return stated


def obstacles(tag: str, root: Path = ROOT) -> Iterator[str]:
    """One sentence for each thing that does not fit a release with a tag."""
    version = version_of(root)
    if tag != f"v{version}":
        yield f"the tag is {tag}, and pyproject.toml states the version {version}"
    heading = re.search(r"^## (.*)$", (root / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    if heading is None or not re.fullmatch(rf"{re.escape(version)}, \d{{4}}-\d\d-\d\d", heading[1]):
        stated = heading[1] if heading else "nothing"
        yield f"the first heading of CHANGELOG.md is {stated!r}, not the version and the day of its release"
    for page in sorted((root / "docs").glob("*.md")):
        for found in PINNED.findall(page.read_text("utf-8")):
            if found != version:
                yield f"docs/{page.name} tells readers to take v{found}, not v{version}"


def main(arguments: list[str]) -> int:
    """Print the obstacles; 0 where there is none."""
    if len(arguments) != 1:
        print("usage: python -m tools.release TAG", file=sys.stderr)
        return 2
    listed = list(obstacles(arguments[0]))
    print("\n".join(listed) or f"{arguments[0]} can be released")
    return 1 if listed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
