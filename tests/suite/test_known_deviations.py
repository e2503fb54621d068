"""Known deviations and must-pass lists: a rerun passes with exactly the deviations that were accepted."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from msgspec import structs

import sonnx
from sonnx.base.errors import BadInput, UsageError
from sonnx.cli.main import run
from sonnx.report.document import Standing
from sonnx.suite.accepted_runs import with_known
from sonnx.suite.archive import Suite
from sonnx.suite.known_deviations import read_known
from sonnx.suite.must_pass import case_ids, must_pass_name
from sonnx.suite.options import RunOptions
from sonnx.suite.result import SuiteRun, read_run
from sonnx.suite.runs import run_suite

DAY = datetime.date(2026, 11, 28)
RUNTIME = f"{__name__}:LosesNaN"
pytestmark = pytest.mark.usefixtures("runtimes_in_this_process")


class LosesNaN:
    """Relu for float and double; a NaN becomes 0, and any other type is refused."""

    title = "loses NaN 1.0"

    def load(self, model: bytes, folder: Path | None) -> object:
        """See `sonnx.executor.runtimes.Runtime`."""
        runner = sonnx.prepare(model, unchecked=True)

        def answer(inputs: dict[str, object]) -> dict[str, object]:
            import numpy as np

            values = runner.run(inputs)
            if any(array.dtype not in (np.float32, np.float64) for array in values.values()):
                raise ValueError("the type is not implemented")
            return {name: np.where(np.isnan(array), array.dtype.type(0), array) for name, array in values.items()}

        return answer


@pytest.fixture(scope="module")
def suite(few_of_relu: Suite) -> Suite:
    return few_of_relu


@pytest.fixture(scope="module")
def ran(suite: Suite, runtimes_in_this_process: None) -> SuiteRun:
    return run_suite(Path(suite.folder), RunOptions(runtime=RUNTIME))


def filled(ran: SuiteRun, path: Path, old: str = "", new: str = "") -> Path:
    """The template of a run with a reason, and with a text replaced."""
    text = ran.to_format("deviations")
    for key in ("reason", "risk", "approver"):
        text = text.replace(f'{key:14} = ""', f'{key:14} = "known since 1.0"')
    text = text.replace("0001-01-01", "2027-01-01")
    assert old in text
    path.write_text(text.replace(old, new) if old else text, "utf-8")
    return path


def test_a_run_passes_with_exactly_the_deviations_that_are_known(suite: Suite, ran: SuiteRun, tmp_path: Path) -> None:
    assert ran.exit_code == 1
    path = filled(ran, tmp_path / "known.toml")
    again = run_suite(Path(suite.folder), RunOptions(runtime=RUNTIME, deviations=path, date=DAY))
    assert again.exit_code == 0
    assert {each.standing for each in again.deviations if each.kind in ("NaN", "refused")} == {"deviated"}
    assert again.operators == ran.operators, "the counts are not changed"
    assert "0 kinds of deviation, " in again.one_line()
    assert f"{sum(each.accepted == 'D1' for each in again.deviations)} known" in again.one_line()
    assert "known since 1.0" in again.to_format("html")
    read = read_run("run.json", again.to_json().encode())
    assert (read.known, read.exit_code) == (again.known, 0)


def test_a_badge_says_how_much_was_run_and_what_deviates(suite: Suite, ran: SuiteRun, tmp_path: Path) -> None:
    badge = json.loads(ran.to_format("badge"))
    kinds = sum(each.standing is Standing.BAD for each in ran.deviations)
    assert kinds
    assert badge == {
        "schemaVersion": 1, "label": f"SONNX {ran.edition}", "color": "red",
        "message": f"{len(ran.operators)} operator{'s' * (len(ran.operators) > 1)}: {kinds} kind"
        f"{'s' * (kinds > 1)} of deviation",
    }  # fmt: skip
    path = filled(ran, tmp_path / "known.toml")
    accepted = run_suite(Path(suite.folder), RunOptions(runtime=RUNTIME, deviations=path, date=DAY))
    badge = json.loads(accepted.to_format("badge"))
    assert badge["color"] == "brightgreen"
    assert "passed (" in badge["message"]
    assert badge["message"].endswith(" known)")
    refused = structs.replace(ran, deviations=tuple(each for each in ran.deviations if each.kind == "refused"))
    assert "not decided" in refused.to_format("badge")


def test_a_build_server_gets_the_verdicts_of_a_run(suite: Suite, ran: SuiteRun, tmp_path: Path) -> None:
    """A kind that deviates fails its case; one that a record accepts does not."""
    path = filled(ran, tmp_path / "known.toml")
    accepted = run_suite(Path(suite.folder), RunOptions(runtime=RUNTIME, deviations=path, date=DAY))
    failed, passed = (ElementTree.fromstring(each.to_format("junit")) for each in (ran, accepted))
    assert failed.findall(".//failure")
    assert failed.findall(".//error"), "a refusal is open"
    assert not passed.findall(".//failure") + passed.findall(".//error")


WRONG = {
    "expired": (("2027-01-01", "2026-11-27"), "unexpired: it expired on 2026-11-27; the day is 2026-11-28"),
    "another version": (("loses NaN 1.0", "loses NaN 0.9"), "current: it is about loses NaN 0.9"),
    "another kind": (('kind = "NaN"', 'kind = "infinity"'), "used: the run has no deviation Relu float infinity"),
    "another number": (("number = ", "number = 1"), "times, not 1"),
    "other data sets": (('data_sets = "', 'data_sets = "0'), "occurs in other data sets"),
    "named twice": (("findings = [", "findings = [FIRST"), "is named twice"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_record_that_is_not_exact_accepts_nothing(ran: SuiteRun, tmp_path: Path, name: str) -> None:
    (old, new), said = WRONG[name]
    text = filled(ran, tmp_path / "first.toml").read_text("utf-8")
    first = next(line for line in text.splitlines() if line.startswith("  {"))
    path = filled(ran, tmp_path / "known.toml", old, new.replace("FIRST", first))
    judged = with_known(ran, read_known(path), DAY)
    assert judged.known is not None
    assert said in "; ".join(judged.known.records[0].wrong)
    assert (judged.exit_code, {each.accepted for each in judged.deviations}) == (1, {None})
    assert "not exact" in judged.to_text()


def test_a_record_about_deviations_that_are_gone_fails(ran: SuiteRun, tmp_path: Path) -> None:
    mended = structs.replace(ran, deviations=tuple(each for each in ran.deviations if each.kind != "NaN"))
    judged = with_known(mended, read_known(filled(ran, tmp_path / "known.toml")), DAY)
    assert judged.exit_code == 1
    new = structs.replace(ran, suite_sha256="0" * 64)
    assert with_known(new, read_known(tmp_path / "known.toml"), DAY).exit_code == 1


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"known since 1.0"', '""', "is empty"),
        ("suite          =", "model =", "unknown"),
        ('suite          = "', 'suite = "x', "suite is not a SHA-256"),
        ("[[deviation]]", "[deviation]", "deviation is"),
        ("expires        = 2027-01-01", 'expires = "soon"', "expires"),
    ],
)
def test_a_file_of_another_form_is_misuse(ran: SuiteRun, tmp_path: Path, old: str, new: str, said: str) -> None:
    path = filled(ran, tmp_path / "known.toml", old, new)
    with pytest.raises(UsageError, match=said):
        read_known(path)


def test_the_command_takes_the_file_and_a_day(
    suite: Suite, ran: SuiteRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["suite", "run", suite.folder, "--runtime", RUNTIME, "--quiet"]
    assert run([*words, "--format", "deviations"]) == 1
    assert capsys.readouterr().out == ran.to_format("deviations")
    known = ["--deviations", str(filled(ran, tmp_path / "known.toml"))]
    assert run([*words, *known, "--date", str(DAY)]) == 0
    assert "2027-01-01" in capsys.readouterr().out
    assert run([*words, *known, "--date", "2027-01-02"]) == 1
    assert run([*words, "--date", "2027-01-02"]) == 2
    with pytest.raises(SystemExit):
        run([*words, *known, "--date", "tomorrow"])


def test_of_the_cases_of_a_must_pass_list_none_may_be_refused(suite: Suite, ran: SuiteRun, tmp_path: Path) -> None:
    listed = Path(suite.folder) / must_pass_name(suite)
    ids = [line for line in listed.read_text("utf-8").splitlines() if not line.startswith("#")]
    assert ids == [*case_ids(suite, "Relu", conforming=True)]
    assert len(ids) == suite.parts[0].positive
    whole = run_suite(Path(suite.folder), RunOptions(runtime=RUNTIME, must_pass=listed))
    refused = next(each for each in whole.deviations if each.kind == "refused")
    assert (whole.exit_code, refused.standing) == (1, "fail")
    chosen = tmp_path / "mine.txt"
    exact = run_suite(Path(suite.folder), RunOptions(runtime="reference", must_pass=listed))
    counts = exact.operators["Relu"]
    assert (exact.exit_code, counts.within + counts.outside) == (0, suite.parts[0].sets)
    failing = {each.case for each in ran.deviations}
    chosen.write_text("# mine\n" + "".join(f"{name}  # a case\n" for name in ids[:1]), "utf-8")
    of_one = run_suite(Path(suite.folder), RunOptions(runtime=RUNTIME, must_pass=chosen))
    assert of_one.must_pass_sha256
    assert "must-pass list" in of_one.one_line()
    assert sum((of_one.operators["Relu"].within, of_one.operators["Relu"].outside)) < suite.parts[0].sets
    assert failing
    for content, said in (("nothing-0001\n", "lists 'nothing-0001', which"), ("# none\n", "lists no case")):
        chosen.write_text(content, "utf-8")
        with pytest.raises(BadInput, match=said):
            run_suite(Path(suite.folder), RunOptions(runtime=RUNTIME, must_pass=chosen))
