"""Deviations justify exactly what they name, and a record that does not match its findings fails."""

from __future__ import annotations

import hashlib
import json
import tomllib
from datetime import date
from pathlib import Path
from typing import Any

import jsonschema
import onnx
import onnx.parser
import pytest

import sonnx
from sonnx import Verdict
from sonnx.cli.main import run
from tests.support.cases import each_case

ROOT = Path(__file__).parent.parent.parent
SCHEMA = json.loads((ROOT / "sonnx" / "schema" / "deviations.json").read_text("utf-8"))
TODAY = date(2026, 11, 20)
TEXT = """<ir_version: 10, opset_import: ["" : 18]>
g (float[2, 3] a, float[N] s) => (int64[2] y, float[N] t, int64[2] z)
{ y = ArgMax <axis = -1> (a)
  t = Max(s)
  z = ArgMax <axis = -1, keepdims = 0, select_last_index = 0> (a) }"""
"""Fails at node 0 no-default-values twice; at nodes 0 and 2 ArgMax.axis-not-negative; s and t explicit-shape; at node 0
the shape of y, a rule of ONNX itself."""


def model(text: str = TEXT) -> bytes:
    return onnx.parser.parse_model(text).SerializeToString()


DIGEST = hashlib.sha256(model()).hexdigest()
DEFAULTS = ("graph/node[0]", "keepdims is not written; ONNX then takes 1")
OTHER_DEFAULT = ("graph/node[0]", "select_last_index is not written; ONNX then takes 0")


def record(rule: str, *findings: tuple[str, ...], **changed: str) -> str:
    keys = {
        "id": f'"{rule}"', "rule": f'"{rule}"', "model": f'"{DIGEST}"', "reason": '"r"', "risk": '"k"',
        "approver": '"a"', "expires": "2026-11-20",
    }  # fmt: skip
    listed = []
    for each in findings:
        pairs = (f"{key} = {json.dumps(text)}" for key, text in zip(("place", "states"), each, strict=False))
        listed.append(f"{{ {', '.join(pairs)} }}")
    lines = [f"{key} = {value}" for key, value in (keys | changed).items()]
    return "\n".join(["[[deviation]]", *lines, f"findings = [{', '.join(listed)}]", ""])


def judged(tmp_path: Path, *records: str, source: bytes | None = None, on: date = TODAY) -> sonnx.Report:
    path = tmp_path / "deviations.toml"
    path.write_text("\n".join(records), "utf-8")
    return sonnx.check(source or model(), deviations=path, date=on)


def failures(report: sonnx.Report) -> dict[str, str]:
    return {each.rule: each.actual for each in report.findings if each.rule.startswith("deviation.")}


def test_the_model_fails_as_the_tests_below_assume() -> None:
    found = [(each.rule, each.where.place, each.verdict) for each in sonnx.check(model()).findings]
    assert found.count(("no-default-values", "graph/node[0]", Verdict.FAIL)) == 2
    assert found.count(("ArgMax.axis-not-negative", "graph/node[0]", Verdict.FAIL)) == 1
    assert found.count(("explicit-shape", "graph/input[1]", Verdict.FAIL)) == 1


def test_what_is_named_is_deviated_and_nothing_else(tmp_path: Path) -> None:
    before = sonnx.check(model())
    after = judged(tmp_path, record("no-default-values", DEFAULTS))
    changed = [(a, b) for a, b in zip(before.findings, after.findings, strict=True) if a != b]
    assert [(a.verdict, a.actual, b.verdict, b.deviation) for a, b in changed] == [
        (Verdict.FAIL, DEFAULTS[1], Verdict.DEVIATED, "no-default-values")
    ]
    assert after.verdict is Verdict.FAIL
    assert after.number(Verdict.DEVIATED) == 1
    assert after.number(Verdict.FAIL) == before.number(Verdict.FAIL) - 1
    own = sum(count.number for count in after.counts if count.rule.startswith("deviation."))
    assert own == 5
    assert sum(c.number for c in after.counts) - own == sum(c.number for c in before.counts)


def test_a_model_whose_failures_are_all_justified_conforms_with_deviations(tmp_path: Path) -> None:
    text = """<ir_version: 10, opset_import: ["" : 18]>
g (float[2, 3] a) => (int64[2, 1] y) { y = ArgMax <axis = 1> (a) }"""
    source = model(text)
    digest = f'"{hashlib.sha256(source).hexdigest()}"'
    whole = record("no-default-values", DEFAULTS, OTHER_DEFAULT, model=digest)
    report = judged(tmp_path, whole, source=source)
    assert (report.verdict, report.exit_code()) == (Verdict.DEVIATED, 0)
    half = record("no-default-values", DEFAULTS, model=digest)
    assert judged(tmp_path, half, source=source).exit_code() == 1


STALE = "0" * 64
WRONG = {
    "stale": (record("no-default-values", DEFAULTS, model=f'"{STALE}"'), {"deviation.current"}),
    "expired": (record("no-default-values", DEFAULTS, expires="2026-11-19"), {"deviation.unexpired"}),
    "stale and expired": (
        record("no-default-values", DEFAULTS, expires="2026-11-19", model=f'"{STALE}"'),
        {"deviation.current", "deviation.unexpired"},
    ),
    "unused": (record("no-dead-node", ("graph/node[0]",)), {"deviation.used"}),
    "another place": (record("no-default-values", ("graph/node[1]",)), {"deviation.used"}),
    "another message": (record("no-default-values", ("graph/node[0]", "axis")), {"deviation.used"}),
    "a beginning of a place": (record("no-default-values", ("graph",)), {"deviation.used"}),
    "a pattern": (record("no-default-values", ("graph/node[*]",)), {"deviation.used"}),
    "one of two is gone": (record("explicit-shape", ("graph/input[1]",), ("graph/input[9]",)), {"deviation.exact"}),
    "two failures by one place": (record("no-default-values", ("graph/node[0]",)), {"deviation.exact"}),
    "named twice": (record("explicit-shape", ("graph/input[1]",), ("graph/input[1]",)), {"deviation.exact"}),
    "validity": (record("ArgMax.y-shape".replace("y", "Y"), ("graph/node[0]",)), {"deviation.permitted"}),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_record_that_does_not_match_its_findings_fails_and_justifies_nothing(tmp_path: Path, name: str) -> None:
    text, rules = WRONG[name]
    report = judged(tmp_path, text)
    assert failures(report).keys() == rules
    assert report.verdict is Verdict.FAIL
    assert not report.number(Verdict.DEVIATED)
    before = sonnx.check(model()).findings
    assert report.findings[: len(before)] == before


def test_the_last_day_is_a_day_on_which_it_holds(tmp_path: Path) -> None:
    assert not failures(judged(tmp_path, record("no-default-values", DEFAULTS), on=date(2026, 11, 20)))
    assert failures(judged(tmp_path, record("no-default-values", DEFAULTS), on=date(2026, 11, 21)))


def test_two_records_cannot_justify_one_failure(tmp_path: Path) -> None:
    report = judged(
        tmp_path, record("no-default-values", DEFAULTS), record("no-default-values", DEFAULTS, id='"second"')
    )
    assert failures(report).keys() == {"deviation.exact"}
    assert report.number(Verdict.DEVIATED) == 1


def test_error_conditions_cannot_be_waived(tmp_path: Path) -> None:
    text = '<ir_version: 10, opset_import: ["" : 13]> g (float[0] a, float[1] b) => (float[0] y) { y = Max(a, b) }'
    source = model(text)
    digest = f'"{hashlib.sha256(source).hexdigest()}"'
    report = judged(tmp_path, record("Max.broadcastable", ("graph/node[0]",), model=digest), source=source)
    assert failures(report) == {"deviation.permitted": "Max.broadcastable is an error condition of the profile"}


def test_a_failed_restriction_that_also_breaks_onnx_cannot_be_waived(tmp_path: Path) -> None:
    """float8 is outside the profile for Max, and outside ONNX's own list too."""
    text = '<ir_version: 10, opset_import: ["" : 13]> g (float8e5m2[2] a) => (float8e5m2[2] y) { y = Max(a) }'
    source = model(text)
    [found] = [each for each in sonnx.check(source).findings if each.rule == "Max.X-type"]
    assert found.breaks_onnx
    digest = f'"{hashlib.sha256(source).hexdigest()}"'
    report = judged(tmp_path, record("Max.X-type", (found.where.place,), model=digest), source=source)
    assert failures(report).keys() == {"deviation.permitted"}


def test_undecided_results_cannot_be_waived(tmp_path: Path) -> None:
    """Max.Y-shape is undecided at a node whose dimension is a symbol, and stays so when the symbol is accepted."""
    text = '<ir_version: 10, opset_import: ["" : 13]> g (float[N] a, float[M] b) => (float[K] y) { y = Max(a, b) }'
    source = model(text)
    open_ = [each for each in sonnx.check(source).findings if each.verdict is Verdict.UNDECIDED]
    assert open_
    digest = f'"{hashlib.sha256(source).hexdigest()}"'
    places = ("graph/input[0]",), ("graph/input[1]",), ("graph/output[0]",)
    shapes = record("explicit-shape", *places, model=digest)
    report = judged(tmp_path, shapes, source=source)
    assert (report.verdict, report.exit_code()) == (Verdict.UNDECIDED, 3)
    waived = record(open_[0].rule, (open_[0].where.place,), model=digest)
    assert judged(tmp_path, shapes, waived, source=source).exit_code() != 0


def test_an_accepted_operator_gets_a_note(tmp_path: Path) -> None:
    text = '<ir_version: 10, opset_import: ["" : 13]> g (float[2] a) => (float[2] y) { y = Identity(a) }'
    source = model(text)
    digest = f'"{hashlib.sha256(source).hexdigest()}"'
    report = judged(tmp_path, record("operator-in-profile", ("graph/node[0]",), model=digest), source=source)
    assert report.verdict is Verdict.DEVIATED
    assert any("1 node outside it, accepted by deviations" in note for note in report.notes)


# ------------------------------------------------------------------ the file

MALFORMED = {
    "no TOML": "deviation = [",
    "no record": "deviation = []",
    "nothing": "",
    "an unknown key": record("explicit-shape", ("graph",), severity='"high"'),
    "an unknown rule": record("explicit-shapes", ("graph",)),
    "a tag": record("GR2", ("graph",)),
    "an operator": record("Max", ("graph",)),
    "a rule of the project": record("tailoring.rank", ("graph",)),
    "no finding": record("explicit-shape"),
    "an empty reason": record("explicit-shape", ("graph",), reason='" "'),
    "a reason of two lines": record("explicit-shape", ("graph",), reason='"a\\nb"'),
    "an escape in a reason": record("explicit-shape", ("graph",), reason='"a\\u001b[31m"'),
    "a day in quotes": record("explicit-shape", ("graph",), expires='"2027-01-01"'),
    "a time": record("explicit-shape", ("graph",), expires="2027-01-01T00:00:00"),
    "a short hash": record("explicit-shape", ("graph",), model='"00"'),
    "a hash in capitals": record("explicit-shape", ("graph",), model=f'"{DIGEST.upper()}"'),
    "one name for two": record("explicit-shape", ("graph",)) * 2,
    "a list for a table": "deviation = [1]",
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_file_is_a_usage_error(tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "d.toml").write_text(MALFORMED[name], "utf-8")
    (tmp_path / "m.onnx").write_bytes(model())
    assert run(["check", str(tmp_path / "m.onnx"), "--deviations", str(tmp_path / "d.toml")]) == 2
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert "d.toml" in said.err


def plain(data: Any) -> Any:
    """TOML data as a JSON Schema sees them: days are texts."""
    return json.loads(json.dumps(data, default=str))


LEFT_TO_THE_READER = {
    "no TOML", "a day in quotes", "an unknown rule", "a tag", "an operator", "a rule of the project",
    "an escape in a reason", "one name for two",
}  # fmt: skip
"""What a JSON Schema cannot see."""


@each_case("name", sorted(MALFORMED.keys() - LEFT_TO_THE_READER))
def test_the_schema_refuses_the_same(name: str) -> None:
    validator = jsonschema.Draft202012Validator(SCHEMA)
    assert not validator.is_valid(plain(tomllib.loads(MALFORMED[name])))


def test_the_schema_accepts_the_example_of_the_page_which_is_used_as_it_stands(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "deviations.md").read_text("utf-8")
    example = page.partition("```toml\n")[2].partition("```")[0]
    jsonschema.Draft202012Validator(SCHEMA).validate(plain(tomllib.loads(example)))
    (tmp_path / "d.toml").write_text(example, "utf-8")
    exported = ROOT / "examples" / "as_exported.onnx"
    report = sonnx.check(exported, deviations=tmp_path / "d.toml", date=date(2026, 12, 31))
    assert not failures(report)
    assert report.number(Verdict.DEVIATED) == 1


# ------------------------------------------------------------------ the command line


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("m.onnx").write_bytes(model())
    Path("fine.onnx").write_bytes(
        model('<ir_version: 10, opset_import: ["" : 13]> g (float[2] a) => (float[2] y) { y = Max(a) }')
    )
    Path("d.toml").write_text(record("no-default-values", DEFAULTS), "utf-8")
    return tmp_path


WITH = ("--deviations", "d.toml", "--date", "2026-11-20")


def test_every_format_shows_a_deviation(folder: Path, printed: Any) -> None:
    for name in ("text", "html", "markdown", "json", "sarif", "github", "junit"):
        said = printed(name, "m.onnx", *WITH)
        for wanted in ("deviated", "2026-11-20", "no-default-values"):
            assert wanted in said, (name, wanted)
    [report] = json.loads(printed("json", "m.onnx", *WITH))["reports"]
    assert report["deviations"]["sha256"] == hashlib.sha256(Path("d.toml").read_bytes()).hexdigest()
    assert [each["reason"] for each in report["deviations"]["records"]] == ["r"]


def test_sarif_suppresses_what_is_deviated(folder: Path, printed: Any) -> None:
    plain_run = json.loads(printed("sarif", "m.onnx"))["runs"][0]["results"]
    results = json.loads(printed("sarif", "m.onnx", *WITH))["runs"][0]["results"]
    [suppressed] = [each for each in results if "suppressions" in each]
    assert suppressed["properties"]["verdict"] == "deviated"
    assert suppressed["suppressions"][0]["status"] == "accepted"
    assert [each["partialFingerprints"] for each in results] == [each["partialFingerprints"] for each in plain_run]


def test_one_file_has_records_of_several_models(folder: Path) -> None:
    assert run(["check", "fine.onnx"]) == 0
    assert run(["check", "fine.onnx", *WITH]) == 1, "the record is about no model of the run"
    reports = [sonnx.check("fine.onnx"), sonnx.check("m.onnx")]
    assert run(["check", "--jobs", "0", "fine.onnx", "m.onnx", *WITH]) == max(report.exit_code() for report in reports)


def test_a_date_without_deviations_and_a_selection_with_them_are_usage_errors(folder: Path) -> None:
    assert run(["check", "m.onnx", "--date", "2026-11-20"]) == 2
    assert run(["check", "m.onnx", *WITH, "--select", "Max"]) == 2
    for day in ("tomorrow", "20261120", "2026-W01-1"):
        with pytest.raises(SystemExit) as end:
            run(["check", "m.onnx", "--deviations", "d.toml", "--date", day])
        assert end.value.code == 2


def test_a_printed_file_of_deviations_justifies_everything_once_it_is_filled_in(folder: Path, printed: Any) -> None:
    printed("deviations", "m.onnx", "--output", "filled.toml")
    assert run(["check", "m.onnx", "--deviations", "filled.toml"]) == 2, "empty reasons are refused"
    text = Path("filled.toml").read_text("utf-8")
    for key in ("reason", "risk", "approver"):
        text = text.replace(f'{key:8} = ""', f'{key:8} = "x"')
    Path("filled.toml").write_text(text.replace("0001-01-01", "2027-01-01"), "utf-8")
    report = sonnx.check("m.onnx", deviations="filled.toml", date=TODAY)
    assert not failures(report)
    left = [each for each in report.findings if each.verdict is Verdict.FAIL]
    assert all(each.breaks_onnx or report.rules[each.rule].kind != "restriction" for each in left)
    assert report.number(Verdict.DEVIATED) == 6


def test_the_judged_bytes_are_the_hashed_bytes(folder: Path) -> None:
    assert sonnx.check("m.onnx", hashed=True).sha256 == DIGEST
    assert sonnx.check("m.onnx").sha256 == DIGEST
    assert sonnx.check("m.onnx", hashed=False).sha256 == ""
    assert sonnx.check(model(), hashed=True).sha256 == DIGEST
