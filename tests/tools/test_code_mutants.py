"""Mutants of modules: what they are, which tests they meet, and the record of those that no test detects."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cases import each_case, spread
from tests.support.paths import ROOT
from tools import code_mutants
from tools.code_mutants import Mutant, digest, module_path, places, read_record, write_record

RECORD = read_record()
SOURCE = '''"""A module."""
BLOCK_ELEMENTS = 8


def f(x: list[int], flag: bool = True) -> int | None:
    """Its first sentence."""
    if not x or x[0] < 3:
        return None
    x.clear()
    total = sum(x[1:], 5) + max(2, len(x))
    total += 1
    return total if flag else -total
'''
CHANGES = {
    ("not x or x[0] < 3", "not x"),
    ("not x or x[0] < 3", "x[0] < 3"),
    ("x[0] < 3", "x[0] >= 3"),
    ("x[0] < 3", "x[0] <= 3"),
    ("not x", "x"),
    ("0", "1"),
    ("0", "-1"),
    ("3", "4"),
    ("3", "2"),
    ("if not x or x[0] < 3: ...", "if not (not x or x[0] < 3): ..."),
    ("x.clear()", "pass"),
    ("sum(x[1:], 5) + max(2, len(x))", "sum(x[1:], 5) - max(2, len(x))"),
    ("sum(x[1:], 5)", "sum(5, x[1:])"),
    ("1", "2"),
    ("1", "0"),
    ("5", "6"),
    ("5", "4"),
    ("max(2, len(x))", "min(2, len(x))"),
    ("2", "3"),
    ("2", "1"),
    ("total += 1", "pass"),
    ("return total if flag else -total", "return"),
    ("total if flag else -total", "-total if flag else total"),
    ("-total", "total"),
    ("True", "False"),
}


def test_mutants_of_a_module() -> None:
    """All of its code, without annotations, docstrings and the sizes of blocks."""
    assert {(each.mutant.old, each.mutant.new) for each in places(SOURCE)} == CHANGES
    assert {each.mutant.function for each in places(SOURCE)} == {"f"}


def test_a_mutant_is_the_module_with_one_place_changed() -> None:
    for each in places(SOURCE):
        compile(each.text, "", "exec")
        assert each.text != SOURCE
        lines = zip(SOURCE.splitlines(), each.text.splitlines(), strict=False)
        different = [number for number, (before, after) in enumerate(lines, 1) if before != after]
        assert different[0] == each.first <= each.last


def test_the_digest_is_about_code_alone() -> None:
    other = SOURCE.replace("Its first sentence.", "Another.").replace("x.clear()", "x.clear()  # why")
    assert digest(other) == digest(SOURCE)
    assert len({digest(each.text) for each in places(SOURCE)} | {digest(SOURCE)}) > len(CHANGES)


def test_equal_changes_in_one_line_are_told_apart() -> None:
    made = [each.mutant for each in places("def f(a):\n    return a[0] + a[0]\n")]
    assert len(set(made)) == len(made)
    assert Mutant("f", "return a[0] + a[0]", "0 (2)", "1") in made


@each_case(
    ("module", "folder"),
    [
        ("sonnx.operators.max", "tests/operators"),
        ("sonnx.numerics.order", "tests/numerics"),
        ("sonnx.numerics.enclosures.sums", "tests/bounds"),
        ("sonnx.report.json", "tests/report"),
    ],
)
def test_tests_of_a_module(module: str, folder: str) -> None:
    assert folder in code_mutants.tests_of(module)
    assert (ROOT / folder).is_dir()


def test_which_tests_reach_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the package; of a function they do not run, those of bounds; else all of the module, imported anew."""
    module = "sonnx.operators.averages"
    source = module_path(module).read_text("utf-8")
    first = {function: place.first for place in reversed(places(source)) if (function := place.mutant.function)}
    lines = {
        code_mutants.TESTS["sonnx.operators"]: {"slow": (2, "global_average"), "quick": (1, "global_average")},
        code_mutants.TESTS_OF_BOUNDS: {"of bounds": (1, "fast_global_average")},
    }

    def traced(folders: tuple[str, ...]) -> object:
        name = str(module_path(module).relative_to(ROOT))
        return {
            test: {"seconds": seconds, "lines": {name: [first[function]]}}
            for test, (seconds, function) in lines[folders].items()
        }

    monkeypatch.setattr(code_mutants, "traced", traced)
    jobs = {x.mutant.function: code_mutants.reaching(module, x, source) for x in places(source)}
    found = {function: (list(job.tests), job.at_import) for function, job in jobs.items()}
    assert found == {
        "global_average": (["quick", "slow"], False),
        "fast_global_average": (["of bounds"], False),
        "_along_axes": (["quick", "slow"], True),
        "": (["quick", "slow"], True),
    }


# ------------------------------------------------------------------ the record


def test_every_survivor_is_a_mutant_with_a_reason() -> None:
    """A survivor whose code has changed is to be tried again: make mutants.

    Of the modules that are as they were recorded, a part is looked at; of the others, all.
    """
    recorded = spread(RECORD.modules, 3)
    for name, result in RECORD.modules.items():
        source = module_path(name).read_text("utf-8")
        assert set(result.survivors.values()) <= {"", *RECORD.reasons}, name
        assert len(result.survivors) <= result.tried <= result.mutants, name
        if name in recorded or result.digest != digest(source):
            lines = {mutant.line for mutant in result.survivors}
            assert result.survivors.keys() <= {place.mutant for place in places(source, lines)}, name
    used = {reason for result in RECORD.modules.values() for reason in result.survivors.values()}
    assert {*RECORD.reasons} == used - {""}
    assert all(reason.endswith(".") for reason in RECORD.reasons.values())


def test_few_survivors_have_no_reason() -> None:
    assert len(RECORD.unexplained) <= 0.03 * RECORD.tried
    assert RECORD.modules


def test_the_document_states_the_record() -> None:
    text = (ROOT / "docs" / "robustness.md").read_text("utf-8")
    survivors = [reason for result in RECORD.modules.values() for reason in result.survivors.values()]
    detected = RECORD.tried - len(survivors)
    share = f"{100 * detected / RECORD.tried:.0f} %"
    explained = len(survivors) - len(RECORD.unexplained)
    row = [len(RECORD.modules), f"{RECORD.tried:,}", f"{detected:,} ({share})", explained, len(RECORD.unexplained)]
    assert f"| {' | '.join(map(str, row))} |" in text


def test_the_record_is_read_as_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code_mutants, "RECORD", tmp_path / "record.toml")
    write_record(RECORD)
    assert read_record() == RECORD
    assert (tmp_path / "record.toml").read_text("utf-8") == (ROOT / "tools" / "code_survivors.toml").read_text("utf-8")
