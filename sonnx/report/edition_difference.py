"""The difference of two editions as text and as a document."""

from __future__ import annotations

from collections.abc import Iterator

from sonnx.base.escaping import escape, escape_once, plural
from sonnx.checker.edition_difference import EditionDifference, ModelDifference
from sonnx.checker.report import Finding
from sonnx.profile import catalogue
from sonnx.report.check_text import MORE_PLACES
from sonnx.report.document import CaseResult, Criterion, Document, Section, Standing, rule_criterion
from sonnx.report.phrases import grouped, place
from sonnx.report.rendered import Rendered

LISTS = ("operators_gone", "operators_new", "rules_gone", "rules_new")
CRITERIA = {
    "operators": "Both editions have the operator.",
    "rules": "Both editions have the rule.",
    "changed": "Both editions state the same.",
    "verdict": "The verdict on the model is the same under both editions.",
}


class EditionDifferenceReport(EditionDifference, Rendered, frozen=True):
    """The difference of two editions, with its renderings."""

    def to_text(self) -> str:
        """The models first, because the reader acts on them; then operators and rules."""
        lines = [line for model in self.models for line in _model(model, self)]
        lines += [f"{escape(file.model)}: unreadable" for file in self.unreadable]
        lines += [*_profiles(self)]
        return "\n".join(lines) + "\n"

    def document(self) -> Document:
        """A section for each model, whose cases are results that only one edition gives, and one for the profile."""
        reports = [report for model in self.models for report in (model.before, model.after)]
        rules = {slug: rule for report in reports for slug, rule in report.rules.items()}
        after = catalogue.editions().editions[self.after]
        changes = sum(model.changes for model in self.models)
        said = f"{plural(len(self.changed), 'statement')} changed"
        if self.models:
            verdicts = plural(changes, "verdict changes", "verdicts change")
            said = f"{verdicts}, of {plural(len(self.models), 'model')}"
        return Document(
            command="rules",
            title="difference of two editions",
            subject=f"edition {self.before} -> {self.after}",
            headline=self.conditions.limited(said),
            code=self.exit_code,
            criteria={slug: rule_criterion(rule, after) for slug, rule in rules.items()}
            | {name: Criterion(text, "edition") for name, text in CRITERIA.items()},
            sections=(*(_section(model, self) for model in self.models), Section("profile", "", tuple(_cases(self)))),
            facts=(
                *self.conditions.facts(),
                *((name.replace("_", " "), ", ".join(getattr(self, name)) or "none") for name in LISTS),
            ),
            unreadable={file.model: file.reason for file in self.unreadable},
        )  # fmt: skip


def _profiles(difference: EditionDifference) -> Iterator[str]:
    yield f"edition {difference.before} -> {difference.after}"
    for name in LISTS:
        listed = getattr(difference, name)
        yield f"{name.replace('_', ' ')} ({len(listed)}): {', '.join(listed) or 'none'}"
    yield f"changed ({len(difference.changed)}){'' if difference.changed else ': nothing'}"
    for change in difference.changed:
        yield f"  {change.name}: {change.what}"
        yield f"    - {change.before}"
        yield f"    + {change.after}"


def _verdicts(model: ModelDifference) -> str:
    return f"{model.verdict_before} -> {model.verdict_after}" if model.changes else f"{model.verdict_after} in both"


def _model(model: ModelDifference, difference: EditionDifference) -> Iterator[str]:
    verdicts = f"{escape(model.name)}: {_verdicts(model)}"
    editions = f"{difference.before} -> {difference.after}"
    yield f"{verdicts} ({', '.join([editions, *difference.conditions.limits()])})"
    for sign, findings in (("-", model.gone), ("+", model.new)):
        for group in grouped([finding for finding in findings if not finding.cause]):
            yield f"  {sign} {group[0].verdict} {group[0].rule}, {plural(len(group), 'place')}"
            yield from (f"      {place(finding.where)}: {finding.actual}" for finding in group[:MORE_PLACES])
            if len(group) > MORE_PLACES:
                yield f"      and {len(group) - MORE_PLACES} more"
        folded = sum(bool(finding.cause) for finding in findings)
        if folded:
            yield f"  {sign} {folded} answers that are undecided only because of failures"
    yield ""


def _section(model: ModelDifference, difference: EditionDifference) -> Section:
    standing = Standing.BAD if model.changes else Standing.GOOD
    verdict = CaseResult("verdict", escape(model.name), "changed" if model.changes else "same", standing,
        _verdicts(model), shown=True)  # fmt: skip
    results = [
        *(_result(finding, f"only in edition {difference.before}") for finding in model.gone),
        *(_result(finding, f"only in edition {difference.after}") for finding in model.new),
    ]
    return Section(escape(model.name), model.name, (verdict, *results))


def _result(finding: Finding, side: str) -> CaseResult:
    return CaseResult(
        finding.rule, place(finding.where), side, Standing.NOTE, escape_once(f"{finding.verdict}: {finding.actual}"),
        where=finding.where, folded=bool(finding.cause),
    )  # fmt: skip


def _cases(difference: EditionDifference) -> Iterator[CaseResult]:
    for name in LISTS:
        criterion, _, which = name.partition("_")
        for listed in getattr(difference, name):
            yield CaseResult(criterion, escape(listed), which, Standing.NOTE, f"{which} in edition {difference.after}")
    for change in difference.changed:
        details = ((difference.before, escape_once(change.before)), (difference.after, escape_once(change.after)))
        yield CaseResult(
            "changed", escape(change.name), "changed", Standing.NOTE, f"the {change.what} differs", details
        )
