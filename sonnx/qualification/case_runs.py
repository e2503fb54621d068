"""The verification cases: every case of tests/cases with the verdict it must get, run in this environment."""

from __future__ import annotations

from collections.abc import Iterator

from sonnx.api import check
from sonnx.cases import Case, cases
from sonnx.qualification.models import model_bytes
from sonnx.qualification.procedures import Outcome
from sonnx.verdict import Report, Verdict


def said(report: Report) -> dict[str, set[str]]:
    """What a report says in the words of a case; folded findings are not said."""
    found: dict[str, set[str]] = {}
    for finding in report.roots:
        word = "invalid" if finding.breaks_onnx else "violates" if finding.verdict is Verdict.FAIL else finding.verdict
        found.setdefault(str(word), set()).add(finding.rule)
    return found


def wrong(case: Case, edition: str) -> str:
    """How the verdict on a case differs from the expected one, "" where it does not; `edition` "" is the default."""
    report = check(model_bytes(case), edition=edition or None, strict_versions=case.strict_versions)
    expected = {word: set(rules) for word, rules in case.expected[edition].items() if word != "conforms" and rules}
    passed = {count.rule for count in report.counts if count.verdict is Verdict.PASS}
    missing = case.expected[edition].get("conforms", frozenset()) - passed
    found = said(report)
    parts = [f"says {_listed(found)}, not {_listed(expected)}"] if found != expected else []
    return "; ".join([*parts, *([f"{', '.join(sorted(missing))} did not pass"] if missing else [])])


def _listed(said: dict[str, set[str]]) -> str:
    return "; ".join(f"{word} {', '.join(sorted(rules))}" for word, rules in sorted(said.items())) or "nothing"


def run_cases() -> Iterator[Outcome]:
    """Every case under every edition it names."""
    for case in cases():
        for edition in case.expected:
            actual = wrong(case, edition)
            named = sorted({f"rule {rule}" for rules in case.expected[edition].values() for rule in rules})
            title = f"{case.id} [{edition or 'default edition'}]"
            yield Outcome(title, tuple(named), not actual, actual)
