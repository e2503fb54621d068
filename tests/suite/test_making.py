"""A suite that is being made: what an interrupted run leaves is a suite, and the run can be continued."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec import structs

from sonnx.api.suites import describe_suite
from sonnx.base.errors import BadInput, Unfinished, UsageError
from sonnx.cli.main import run
from sonnx.profile.definitions import OperatorDefinition
from sonnx.suite.archive import Suite, read_suite
from sonnx.suite.making import JOURNAL, Keep, MakeOperators, make_operators, make_suite
from sonnx.suite.options import MakeOptions, RunOptions
from sonnx.suite.runs import run_suite

OPERATORS = ("Constant", "Neg")
OPTIONS = MakeOptions(operator=OPERATORS)


@pytest.fixture(scope="module")
def whole(of_two: Suite) -> Path:
    return Path(of_two.folder)


def stopped_after(number: int, error: BaseException, make_some: MakeOperators = make_operators) -> MakeOperators:
    """Operators are made until some are whole; then an error comes."""

    def make(chosen: Sequence[OperatorDefinition], options: MakeOptions, keep: Keep) -> None:
        make_some(chosen[:number], options, keep)
        raise error

    return make


@pytest.fixture
def interrupted(copied_parts: MakeOperators, tmp_path: Path) -> Path:
    """The folder of a run that has made one of two operators."""
    folder = tmp_path / "suite"
    with pytest.raises(KeyboardInterrupt):
        make_suite(folder, OPTIONS, stopped_after(1, KeyboardInterrupt(), copied_parts))
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_an_interrupted_run_leaves_a_suite_that_says_what_it_lacks(
    interrupted: Path, tmp_path: Path, runtimes_in_this_process: None
) -> None:
    folder = interrupted
    assert read_suite(folder).unfinished == ("Neg",)
    assert (
        describe_suite(folder).exit_code,
        run(["suite", "report", str(folder), "--output", str(tmp_path / "r")]),
    ) == (3, 3)
    assert "Neg" in (tmp_path / "r").read_text()
    ran = run_suite(folder, RunOptions(runtime="reference"))
    assert [*ran.operators] == ["Constant"]
    assert ran.problems == ("Neg.zip is not made: sonnx suite make --resume makes it",)
    assert ran.exit_code in (1, 3)


def test_a_run_that_is_continued_gives_the_files_of_one_that_was_not_interrupted(
    whole: Path, interrupted: Path
) -> None:
    made = list[str]()

    def make(chosen: Sequence[OperatorDefinition], options: MakeOptions, keep: Keep) -> None:
        made.extend(described.name for described in chosen)
        make_operators(chosen, options, keep)

    make_suite(interrupted, MakeOptions(operator=OPERATORS, resume=True, jobs=3), make)
    assert made == ["Neg"]
    assert contents(interrupted) == contents(whole)
    assert not describe_suite(interrupted).unfinished


def test_child_processes_and_a_resumed_run_of_them_give_equal_files(
    whole: Path, interrupted: Path, tmp_path: Path
) -> None:
    parallel, resumed = tmp_path / "parallel", interrupted
    chosen = [word for operator in OPERATORS for word in ("--operator", operator)]
    for folder, more in ((parallel, []), (resumed, ["--resume"])):
        assert run(["suite", "make", *chosen, "--jobs", "2", "--quiet", *more, str(folder)]) == 0
        assert contents(folder) == contents(whole)


@pytest.mark.parametrize("damage", ["archive", "journal", "archive without a line"])
def test_an_operator_that_is_not_whole_is_made_again(
    whole: Path, interrupted: Path, copied_parts: MakeOperators, damage: str
) -> None:
    """The process may be killed between two files."""
    folder = interrupted
    lines = (folder / JOURNAL).read_bytes().splitlines(keepends=True)
    if damage == "archive":
        (folder / "Constant.zip").write_bytes(b"PK")
    elif damage == "journal":
        (folder / JOURNAL).write_bytes(lines[0] + json.dumps({"set": {"Constant": {"parts": 1}}}).encode() + b"\n")
    else:
        (folder / JOURNAL).write_bytes(lines[0] + lines[1][:50])
        (folder / "Neg.zip").write_bytes((whole / "Neg.zip").read_bytes())
        assert describe_suite(folder).unfinished == ("Neg",)
    make_suite(folder, MakeOptions(operator=OPERATORS, resume=True), copied_parts)
    assert contents(folder) == contents(whole)


def test_a_folder_of_another_run_is_not_continued(
    whole: Path, interrupted: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = interrupted
    with pytest.raises(BadInput, match="was written for another set of operators or options"):
        make_suite(folder, MakeOptions(operator=OPERATORS, resume=True, pairs=True))
    with pytest.raises(UsageError, match="is not finished: --resume completes it"):
        make_suite(folder, OPTIONS)
    with pytest.raises(UsageError, match="no run that was interrupted made it"):
        make_suite(whole, MakeOptions(operator=OPERATORS, resume=True))
    assert read_suite(folder).unfinished == ("Neg",)
    assert run(["suite", "make", "--operator", "Constant", "--resume", str(tmp_path / "new"), "--quiet"]) == 0
    assert capsys.readouterr().err == ""


def test_a_process_that_ends_leaves_what_the_others_made(copied_parts: MakeOperators, tmp_path: Path) -> None:
    folder = tmp_path / "suite"
    with pytest.raises(Unfinished, match=r"Neg was not made; the folder has 1 of 2 operators, and --resume makes"):
        make_suite(folder, OPTIONS, stopped_after(1, Unfinished("Neg was not made"), copied_parts))
    assert read_suite(folder).unfinished == ("Neg",)


def test_a_run_that_made_nothing_leaves_nothing(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    for folder in (tmp_path / "new", empty):
        with pytest.raises(KeyboardInterrupt):
            make_suite(folder, OPTIONS, stopped_after(0, KeyboardInterrupt()))
    assert [*tmp_path.iterdir()] == [empty]
    assert not [*empty.iterdir()]


@pytest.mark.skipif(sys.platform == "win32", reason="folders have no locks")
@pytest.mark.parametrize("resume", [False, True])
def test_a_folder_in_which_a_suite_is_being_made_is_refused(
    copied_parts: MakeOperators, tmp_path: Path, resume: bool
) -> None:
    """Another process would empty the folder after its error, or cut the journal while a line is written."""
    folder = tmp_path / "suite"
    second = structs.replace(OPTIONS, resume=resume)

    def make(chosen: Sequence[OperatorDefinition], options: MakeOptions, keep: Keep) -> None:
        before = contents(folder)
        with pytest.raises(UsageError, match="another process makes a suite in"):
            make_suite(folder, second, stopped_after(0, KeyboardInterrupt()))
        assert contents(folder) == before
        copied_parts(chosen, options, keep)

    assert not make_suite(folder, OPTIONS, make).unfinished


def test_suites_of_an_older_format_are_named(whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Suites of format 1 say nothing of sizes; they were refused with an error of the decoder."""
    text = (whole / "suite.json").read_text("utf-8")
    for changed, said in (
        (text.replace('"format": 2', '"format": 1'), "has format 1, and this version of sonnx reads format 2"),
        (text.replace('"format": 2', '"format": 3'), "has format 3, and this version of sonnx reads format 2"),
        (text.replace('"format": 2,', ""), "states no format, and this version of sonnx reads format 2"),
        (text.replace('"hypotheses"', '"assumptions"'), "is not the description of a suite"),
        (text[:100], "is not the description of a suite"),
    ):
        (tmp_path / "suite.json").write_text(changed, "utf-8")
        assert run(["suite", "run", str(tmp_path)]) == 2
        error = capsys.readouterr().err
        assert said in error
        assert len(error.splitlines()) == 1
