"""The profile in WhyML: what is written for constructs of the language, and what Why3 says of all of it."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from sonnx.language.parser import parse
from sonnx.language.type_checker import SHAPE, TENSOR, ListType
from sonnx.language.whyml import identifier, names_as_written, written
from sonnx.report import whyml
from tests.support.cases import each_case
from tests.support.editions import NEWEST

PROOFS = Path(__file__).parents[2] / "proofs" / "why3"
LIMIT = "60"
"""Seconds for one goal."""
needs_why3 = pytest.mark.skipif(shutil.which("why3") is None, reason="why3 is not installed")


@each_case(
    ("text", "expected"),
    [
        ("X.rank == 2 and axis // 2 >= -1", "(((length t_X.shape) = 2) /\\ ((floor_div axis 2) >= (-1)))"),
        ("all(s > 0 for s in s0)", "(forall s : int. mem s s0 -> (s > 0))"),
        ("any(x.rank == 1 for x in L)", "(exists x : tensor. mem x t_L /\\ ((length x.shape) = 1))"),
        ("s0 == [1, axis]", "(s0 == (cons 1 (cons axis empty)))"),
        ("X.type in ['int8']", '(mem t_X.element_type (cons "int8" empty))'),
        ("all(i != axis for i in range(X.rank))", "(forall i : int. 0 <= i < (length t_X.shape) -> (i <> axis))"),
        ("X.values[0] > 1", "(t_X.values[0] >. (from_int 1))"),
        ("(1 if written(axis) else 2) == 1", "((if written_axis then 1 else 2) = 1)"),
    ],
)
def test_constructs(text: str, expected: str) -> None:
    types = {"X": TENSOR, "L": ListType(TENSOR), "s0": SHAPE, "axis": "int", "written(axis)": "bool"}
    assert written(parse(text), names_as_written(types)).text == expected


def test_names_are_names_of_whyml() -> None:
    assert [identifier(each) for each in ("X", "epsilon", "end", "axis", "given(L)", "B-shape")] == [
        "t_X", "epsilon_", "end_", "axis", "given_L", "t_B_shape"
    ]  # fmt: skip


def test_every_operator_of_an_edition_has_a_module_with_its_rules() -> None:
    text = whyml.files("2026-08")[whyml.OPERATORS]
    for made in whyml.signatures("2026-08"):
        assert f"module {whyml.module_name(made)}\n" in text
        assert all(f"predicate {identifier(f'rule_{each.name}')} " in text for each in made.rules if each.tags)
    assert text.count("predicate precondition") == len(list(whyml.signatures("2026-08"))) > 20


def export(folder: Path, edition: str) -> Path:
    for name, text in whyml.files(edition).items():
        (folder / name).write_text(text)
    return folder


def why3(*arguments: str) -> str:
    done = subprocess.run(["why3", "prove", *arguments], capture_output=True, text=True, timeout=3600)
    return done.stdout + done.stderr


def results(file: Path, library: Path) -> dict[str, set[str]]:
    """What each installed prover says of each goal of a file, by number and place."""
    found: dict[str, set[str]] = {}
    for prover in filter(shutil.which, ("z3", "cvc4")):
        said = why3("-P", prover, "-t", LIMIT, "-a", "split_vc", "-L", str(library), str(file))
        goals = re.findall(r"(line \d+, characters [\d-]+):\n.*\nProver result is: ([A-Z]\w+)", said)
        for number, (place, result) in enumerate(goals):
            found.setdefault(f"{number}: {place}", set()).add(result)
    return found


@needs_why3
@pytest.mark.campaign
@pytest.mark.parametrize("edition", ["2025-10", "2026-08", NEWEST])
def test_why3_accepts_the_types_of_the_export(edition: str, tmp_path: Path) -> None:
    library = export(tmp_path, edition)
    for name in (whyml.BUILT_INS, whyml.ORDER, whyml.OPERATORS):
        assert "error" not in (said := why3("--type-only", "-L", str(library), str(library / name))).lower(), said
        assert not [line for line in said.splitlines() if "warning" not in line and not line.startswith("File")], said


@needs_why3
@pytest.mark.campaign
def test_why3_proves_the_inductions(tmp_path: Path) -> None:
    """All goals; with a maximum that takes the smaller of two values, some are not proved."""
    library = export(tmp_path, NEWEST)
    proved = results(PROOFS / "induction.mlw", library)
    assert len(proved) > 40 and not {place: each for place, each in proved.items() if "Valid" not in each}
    order = (library / whyml.ORDER).read_text()
    changed = order.replace("(if ((key y sign infinity) > (key x", "(if ((key y sign infinity) < (key x")
    assert changed != order
    (library / whyml.ORDER).write_text(changed)
    assert any("Valid" not in each for each in results(PROOFS / "induction.mlw", library).values())


@needs_why3
@pytest.mark.campaign
def test_why3_proves_the_sums(tmp_path: Path) -> None:
    """All goals, which are about no exported function; with another element of the patch, some are not proved."""
    file = PROOFS / "sums.mlw"
    proved = results(file, tmp_path)
    assert len(proved) > 90 and not {place: each for place, each in proved.items() if "Valid" not in each}
    text = file.read_text("utf-8")
    changed = text.replace("then 0.0 else x (place k)", "then 1.0 else x (place k)")
    assert changed != text
    (tmp_path / file.name).write_text(changed, "utf-8")
    assert any("Valid" not in each for each in results(tmp_path / file.name, tmp_path).values())


@needs_why3
@pytest.mark.campaign
@pytest.mark.parametrize("file", ["working_group.mlw", "working_group_lists.mlw"])
def test_why3_compares_the_conditions_with_those_of_the_working_group(file: str, tmp_path: Path) -> None:
    proved = results(PROOFS / file, export(tmp_path, "2026-08"))
    assert proved and not {place: each for place, each in proved.items() if "Valid" not in each}
