"""What a suite covers, as a document: classes, cases, and the labels of the texts, with a reason where one has none."""

from __future__ import annotations

from sonnx.base.errors import Unfinished
from sonnx.base.escaping import escape, plural
from sonnx.profile import catalogue
from sonnx.report.document import CaseResult, Criterion, Document, Section, Standing, printable
from sonnx.report.rendered import Rendered
from sonnx.suite.archive import Part, Suite
from sonnx.suite.call_search import SATISFIABLE, UNKNOWN, UNSATISFIABLE

WITHOUT_CASE = "no comparison of it is split, and no case breaks it alone"


def reason_without_case(part: Part, label: str) -> str:
    """Why no case tests a label: for each rule that has it, why no case is about the rule."""
    described = catalogue.operator(part.operator)
    rules = () if described is None else described.rules
    named = [rule.slug for rule in rules if label in {f"{tag.label}@{tag.text}" for tag in rule.tags}]
    return "; ".join(f"{slug}: {part.unbroken.get(slug, WITHOUT_CASE)}" for slug in named) or WITHOUT_CASE


class SuiteReport(Suite, Rendered, frozen=True, kw_only=True):
    """What a suite covers."""

    @property
    def exit_code(self) -> int:
        """0; 3 where the solver decided no answer for a class, or an operator is not made."""
        undecided = any(
            any(class_.answer == UNKNOWN for class_ in part.classes)
            or (part.pairs and (part.pairs.unknown or part.pairs.not_asked))
            for part in self.parts
        )
        return Unfinished.exit_code if undecided or self.unfinished else 0

    def document(self) -> Document:
        """The suite as a document: a section for each version of an operator."""
        waiting = tuple(
            CaseResult("made", name, "not made", Standing.OPEN, "sonnx suite make --resume makes it")
            for name in self.unfinished
        )
        cases, sets = sum(part.positive + part.negative for part in self.parts), sum(part.sets for part in self.parts)
        document = Document(
            command="suite report", title=f"Suite {escape(self.folder)}", subject="the texts",
            headline=self.conditions.limited(f"{plural(cases, 'case')} with {plural(sets, 'data set')}"),
            code=self.exit_code,
            criteria={
                "label": Criterion("Every label of the texts has a case, or a reason.", "suite"),
                "made": Criterion("Every operator that the suite is about is made.", "suite"),
                "class": Criterion("The solver decides whether a class has a conforming call.", "suite"),
            },
            sections=(*map(_section, self.parts), *([Section("not made", "", waiting)] if waiting else [])),
            facts=(("hypotheses", self.hypotheses), ("bounds of classes", self.bounds)),
        )  # fmt: skip
        return printable(document)


def _section(part: Part) -> Section:
    answers: list[str] = [class_.answer for class_ in part.classes]
    counted = ", ".join(f"{answers.count(text)} {text}" for text in (SATISFIABLE, UNSATISFIABLE, UNKNOWN))
    left = sum(excluded.number for excluded in part.excluded)
    note = (
        f"{len(answers)} classes ({counted}); {part.positive} conforming cases with {plural(part.sets, 'data set')}, "
        f"{part.negative} that break a rule; {left} data sets left out; "
        f"{plural(part.without_bound, 'output')} without a bound"
    )
    largest = max((extent for extents in part.sizes.values() for extent in extents), default=0)
    note += f"; {plural(len(part.sizes), 'axis', 'axes')} with extents up to {largest}" if largest else ""
    if part.pairs is not None:
        note += (
            f"; pairs of classes: {part.pairs.covered} covered, {part.pairs.unsatisfiable} unsatisfiable, "
            f"{len(part.pairs.unknown)} unknown, {part.pairs.not_asked} not asked"
        )
    name = f"{part.operator}-{part.version}"
    complete = UNKNOWN not in answers
    standing = Standing.GOOD if complete else Standing.OPEN
    cases = [CaseResult("class", name, "decided" if complete else "incomplete", standing, note, shown=True)]
    cases += [
        CaseResult("class", class_.name, class_.answer, Standing.OPEN, "the solver gave no answer")
        for class_ in part.classes
        if class_.answer == UNKNOWN
    ]
    cases += [
        CaseResult("class", f"{one} with {other}", "unknown", Standing.OPEN, "the solver gave no answer for the pair")
        for one, other in (part.pairs.unknown if part.pairs is not None else ())
    ]
    if part.pairs is not None and part.pairs.not_asked:
        text = f"{part.pairs.not_asked} pairs were not asked: the steps of the solver were used up"
        cases.append(CaseResult("class", f"pairs of {name}", "undecided", Standing.OPEN, text, shown=True))
    for label, ids in part.labels.items():
        if ids:
            cases.append(
                CaseResult("label", f"{name} {label}", "tested", Standing.GOOD, f"{plural(len(ids), 'case')}: {ids[0]}")
            )
        else:
            cases.append(
                CaseResult("label", f"{name} {label}", "no case", Standing.NOTE, reason_without_case(part, label))
            )
    return Section(f"{name} in {part.edition}", "", tuple(cases))
