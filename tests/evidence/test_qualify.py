"""`sonnx qualify`: everything is verified, what goes wrong is seen, and the kit is written whole or not at all."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest
from msgspec.structs import replace

from sonnx.cli import main
from sonnx.equivalence.result import Answer
from sonnx.evidence import configuration, qualification_kit, verification
from sonnx.evidence.bill_of_materials import bill_of_materials
from sonnx.evidence.command_cases import output_cases, pair_cases
from sonnx.evidence.rewrite_cases import rewrite_cases, wrong_rewrite
from sonnx.evidence.verification import Procedure, ProcedureResult, requirements, wrong
from sonnx.evidence.verification import _failed_lines as prepare_by
from sonnx.evidence.verification import _performed as perform_one
from sonnx.profile.cases import all_cases
from tests.support.cases import DEEP, spread
from tests.support.exchange_formats import cyclonedx_faults
from tests.support.paths import ROOT


@pytest.fixture(scope="module")
def made() -> qualification_kit.Kit:
    """In a deep run with all cases and procedures, else with some; the others count as right.

    Other tests run all cases, and `make whole` all procedures.
    """
    chosen = {case.id for case in spread(all_cases(), 20)}
    performed = chosen_procedures()
    rewritten = {case.title for case in spread(rewrite_cases(), 2)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(verification, "wrong", lambda case, edition: wrong(case, edition) if case.id in chosen else "")
        patch.setattr(
            verification, "wrong_rewrite", lambda case, run: wrong_rewrite(case, run) if case.title in rewritten else ""
        )
        needed = {line for procedure in performed for line in procedure.first}
        patch.setattr(
            verification, "_failed_lines", lambda lines, run: prepare_by(lines, run) if needed & {*lines} else ()
        )
        patch.setattr(
            verification,
            "_performed",
            lambda procedure, before, run: (
                perform_one(procedure, before, run)
                if procedure in performed
                else ProcedureResult(procedure.command, procedure.verifies, True)
            ),
        )
        return qualification_kit.make(main.run, main.parser())


def chosen_procedures() -> list[Procedure]:
    """All in a deep run, else the first of each command, then a few spread over the others."""
    every = verification.procedures()
    if DEEP:
        return [*every]
    every = [procedure for procedure in every if "--every-version" not in procedure.command]  # takes seconds
    first = {procedure.command.partition(" ")[0]: procedure for procedure in reversed(every)}
    return [
        procedure for procedure in every if procedure in (*first.values(), *spread(every, max(2, len(every) // 150)))
    ]


def test_everything_is_verified_and_comes_out_as_expected(made: qualification_kit.Kit) -> None:
    assert (made.failed, made.uncovered, made.unknown) == ((), (), ())
    assert made.sound
    assert len(made.requirements) == len({each.id for each in made.requirements})
    assert all(each.text and each.source for each in made.requirements)


@pytest.mark.parametrize("name", ["check", "run", "prove", "theorems", "compare", "rules"])
def test_the_options_of_the_help_are_required(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The options as the help prints them, read from its text."""
    with pytest.raises(SystemExit):
        main.run([name, "--help"])
    options = set(re.findall(r"^  (--[a-z0-9-]+)", capsys.readouterr().out, flags=re.MULTILINE))
    assert options
    assert {f"{name} {option}" for option in options} <= {each.id for each in requirements(main.parser())}


def test_a_wrong_verdict_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A check that lets everything pass gets the cases wrong that must fail."""
    conforming = next(case for case in all_cases() if case.id == "max.md: two equal shapes")
    failing = next(case for case in all_cases() if case.id == "max.md: no input")
    report = verification.check_case(conforming, "")
    monkeypatch.setattr(verification, "check_case", lambda *_: report)
    assert wrong(conforming, "") == ""
    assert wrong(failing, "") == "says nothing, not invalid Max.input-count"


def test_a_wrong_rewrite_is_seen() -> None:
    """Each way in which the result of `fix` can differ from a case."""
    cases_by_title = {each.title: each for each in rewrite_cases()}
    case, other = cases_by_title["declarations, computed through a chain"], cases_by_title["a matrix times a vector"]
    assert wrong_rewrite(case, main.run) == ""
    assert wrong_rewrite(case, lambda _: 4) == "no record is written"
    changed = {
        "rewrites": (("dead-nodes",), "makes the rewrites explicit-declarations, not dead-nodes"),
        "remaining": (("explicit-shape",), "leaves nothing, not explicit-shape"),
        "function": ("different", "answers 'identical' for all inputs, not 'different'"),
        "after": (case.before, "writes other value_info"),
    }
    for name, (value, sentence) in changed.items():
        assert wrong_rewrite(replace(case, **{name: value}), main.run) == sentence
    assert "writes other inputs" in wrong_rewrite(replace(case, after=other.after), main.run)


def test_a_wrong_answer_or_judgement_is_seen() -> None:
    """A case with each other answer, and with each other list of kinds, fails."""
    for pair in (each for each in pair_cases() if each.answer in (Answer.IDENTICAL, Answer.DIFFERENT)):
        assert replace(pair, second=pair.first, answer=Answer.DIFFERENT).wrong() == "answers identical, not different"
    for output in output_cases():
        assert replace(output, kinds=("fault",)).wrong().startswith("reports ")


def test_a_procedure_that_comes_out_otherwise_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = verification.Procedure(
        "rules", ("rules",), 1, prints=("no such text",), says=("nor this",), writes=("file",)
    )
    monkeypatch.setattr(verification, "procedures", lambda: (asked,))
    [outcome] = verification.perform(main.run)
    assert not outcome.passed
    said = "exit code 0, not 1; does not print 'no such text'; does not say 'nor this'; does not write file"
    assert outcome.actual == said


def test_the_kit_is_written_and_says_what_failed(
    made: qualification_kit.Kit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(qualification_kit, "make", lambda *_: made)
    assert main.run(["qualify", "--output", str(tmp_path / "one")]) == 0
    assert main.run(["qualify", "--output", str(tmp_path / "two")]) == 0
    names = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert names == sorted(
        {*re.findall(r"^\| (\S+\.\w+) ", qualification_kit.FIRST_PAGE, flags=re.MULTILINE), "README.md"}
    )
    for name in names:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    assert json.loads((tmp_path / "one" / "kit.json").read_text("utf-8"))["passed"] is True
    bad = verification.ProcedureResult("a case", ("check",), False, "says something else")
    broken = type(made)(**{**{name: getattr(made, name) for name in made.__slots__}, "cases": (bad,)})
    monkeypatch.setattr(qualification_kit, "make", lambda *_: broken)
    assert main.run(["qualify", "--output", str(tmp_path / "three")]) == 1
    assert "NOT AS EXPECTED: says something else" in (tmp_path / "three" / "verification.md").read_text("utf-8")
    assert "* failed: a case: says something else" in (tmp_path / "three" / "README.md").read_text("utf-8")


def test_nothing_is_half_written(
    made: qualification_kit.Kit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(qualification_kit, "make", lambda *_: made)
    monkeypatch.setattr(qualification_kit, "_parts", lambda made: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        main.run(["qualify", "--output", str(tmp_path / "kit")])
    assert list(tmp_path.iterdir()) == []
    for place in (tmp_path, tmp_path / "no" / "kit"):
        assert main.run(["qualify", "--output", str(place)]) == 2
        said = capsys.readouterr().err
        assert said.count("\n") == 1
        assert "exists; name a new folder" in said or "does not exist" in said


def test_a_changed_file_of_a_distribution_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """RECORD holds the hash of b"as delivered" (sha256, base64 without padding) for three files."""
    delivered = "OlM_6QmicCo-yfwxr7ty0hYVzz3RA6aL8KGFjVdhyI8"
    info = tmp_path / "thing-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: thing\nVersion: 1.0\n")
    files = ("same.py", "other.py", "gone.py")
    (info / "RECORD").write_text("".join(f"{name},sha256={delivered},12\n" for name in files))
    (tmp_path / "same.py").write_text("as delivered")
    (tmp_path / "other.py").write_text("as changed")
    monkeypatch.syspath_prepend(str(tmp_path))
    found = configuration._installed("thing", "", {})
    assert (found.version, found.files) == ("1.0", 3)
    assert found.changed == ("gone.py: missing", "other.py: changed")


def test_the_configuration_and_the_bill_of_materials_name_what_the_tool_needs() -> None:
    """Names and licences as pyproject.toml and the packages' own pages state them."""
    found = configuration.configuration()
    assert re.fullmatch("[0-9a-f]{64}", found.source)
    listed = {each.name: each for each in found.distributions}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    direct = {re.split("[<>=]", each)[0].replace("_", "-") for each in project["dependencies"]}
    assert direct <= set(listed)
    assert direct <= set(listed["sonnx"].requires)
    assert {listed[each].needed_for for each in direct} == {""}
    assert (listed["gmpy2"].license, listed["onnx"].license) == ("LGPL-3.0-or-later", "Apache-2.0")
    assert (listed["cvc5"].needed_for, listed["tornado"].needed_for) == ("solvers", "cluster")
    assert "pytest" not in listed
    made = bill_of_materials(found)
    names = [made["metadata"]["component"]["name"], *(each["name"] for each in made["components"])]
    assert sorted(names) == sorted(listed)
    assert cyclonedx_faults(made) == []
    references = {each["ref"] for each in made["dependencies"]}
    assert references == {f"pkg:pypi/{each.name}@{each.version}" for each in found.distributions}
    assert all(references.issuperset(each["dependsOn"]) for each in made["dependencies"])
    assert made == bill_of_materials(configuration.configuration())
