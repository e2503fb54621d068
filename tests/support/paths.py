"""Folders of the repository."""

from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
TESTS = ROOT / "tests"
DATA = TESTS / "data"
DOCS = ROOT / "docs"
