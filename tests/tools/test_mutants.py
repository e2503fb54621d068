"""The mutation test of the code: which files and tests a name stands for, what is left out, what is printed."""

from __future__ import annotations

import pytest

from tests.support.cases import each_case
from tests.support.paths import ROOT
from tools import mutants
from tools.mutants import TESTS, Result, Survivor, annotation_places, files_of


@each_case(
    ("name", "folders"),
    [
        ("sonnx.operators.max", ("tests/operators", "tests/numerics", "tests/bounds")),
        ("sonnx.numerics.order", ("tests/numerics", "tests/operators")),
        ("sonnx.numerics.enclosures.sums", ("tests/bounds",)),
        ("sonnx.bounds", ("tests/bounds",)),
        ("sonnx.report.json", ("tests/report",)),
        ("sonnx.proofs.maximum", ("tests/prover",)),
    ],
)
def test_tests_of_a_module(name: str, folders: tuple[str, ...]) -> None:
    assert mutants.tests_of(name) == folders
    assert all((ROOT / folder).is_dir() for folder in folders)


def test_every_package_has_tests() -> None:
    packages = {f"sonnx.{path.parent.name}" for path in (ROOT / "sonnx").glob("*/__init__.py")} | {*TESTS}
    assert [name for name in packages if not all((ROOT / folder).is_dir() for folder in mutants.tests_of(name))] == []


def test_files_of_a_name() -> None:
    assert [path.as_posix() for path in files_of("sonnx.bounds.box")] == ["sonnx/bounds/box.py"]
    assert "proofs/maximum.py" in {path.as_posix() for path in files_of("sonnx.proofs")}
    assert {path.parent.as_posix() for path in files_of("sonnx.numerics")} > {"sonnx/numerics/enclosures"}
    with pytest.raises(FileNotFoundError, match=r"there is no module sonnx\.nothing"):
        files_of("sonnx.nothing")


def test_annotations_are_found() -> None:
    source = "x: int | None = 1 | 2\n\ndef f(a: int | str, *b: int, c: int = 3) -> list[int]:\n    return a\n"
    lines = source.splitlines()
    texts = [lines[line - 1][begin:end] for (line, begin), (_, end) in annotation_places(source)]
    assert sorted(texts) == ["int", "int", "int | None", "int | str", "list[int]"]


def test_what_is_printed() -> None:
    diff = "--- a/m.py\n+++ b/m.py\n@@ -1,2 +1,2 @@\n def f():\n-    return 1\n+    return 2\n"
    survivor = Survivor("sonnx.m", "f", "NumberReplacer", 0, diff)
    assert [*survivor.lines()] == ["sonnx.m.f: NumberReplacer 0", "    -    return 1", "    +    return 2"]
    row = "| `sonnx.m` | `tests/m` | 1,000 | 40 | 39 | 1 |"
    assert Result("sonnx.m", ("tests/m",), 1000, 40, (survivor,)).row == row
