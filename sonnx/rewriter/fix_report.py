"""The result of `sonnx fix`: each rewrite with the places it changed, what remains, and what was validated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePath

from msgspec import Struct, structs

from sonnx.base.errors import UsageError
from sonnx.base.escaping import escape, escape_once, plural, quote
from sonnx.base.files import sha256, write_whole, write_with
from sonnx.base.outward import upper_bound_text
from sonnx.base.reported import json_text
from sonnx.checker.conditions import MODEL, Conditions
from sonnx.checker.report import Finding, Report
from sonnx.checker.verdicts import Verdict
from sonnx.equivalence.options import PairOptions
from sonnx.equivalence.sides import Side
from sonnx.model.values_file import ValuesFile
from sonnx.profile import catalogue
from sonnx.report.check import CheckReport
from sonnx.report.check_document import STANDINGS
from sonnx.report.document import CaseResult, Criterion, Document, Section, Standing, rule_criterion
from sonnx.report.fix_record import AppliedRewrite, CheckedModel, FixRecord, KeptNode, RemainingFindings, Validation
from sonnx.report.graph_pair import Emphasis, PairedGraphs, pictures
from sonnx.report.phrases import VERDICT_PHRASES, grouped, operators_outside, place
from sonnx.report.rendered import Rendered
from sonnx.rewriter.cost import Cost

HOLDS_FOR = "holds for "
"""How the note of a rewrite begins whose result has the values of the original for some inputs only."""
SHOWN_EDITS = 8
"""Places of one rewrite that are printed by default; the JSON record has all."""


class FixResult(Struct, Rendered, frozen=True):
    """The result of `fix`: a rewritten model, as text and as a record.

    `before` is the check of the original, `after` that of the new model; `rewrites` are all places that were changed,
    in the order of the changes; `unknown_shapes` says for each value without a complete shape why that is so;
    `validation` is what was compared between both models.
    """

    before: CheckReport
    after: CheckReport
    rewrites: tuple[AppliedRewrite, ...]
    unknown_shapes: Mapping[str, str]
    validation: Validation
    conditions: Conditions
    _model: bytes
    costs: tuple[Cost, Cost]
    """The estimated costs of a run of the original and of the new model."""
    values: ValuesFile | None = None
    """The large constants in a file of their own, where the original has such a file."""
    sources: tuple[Path, ...] = ()
    """The files of the values of the original."""
    sides: tuple[Side, Side] | None = None
    """Both models, for the drawings of the page."""
    kept: tuple[KeptNode, ...] = ()
    """The nodes that --keep-slow leaves as they are."""

    @property
    def source_sha256(self) -> str:
        """The SHA-256 of the original."""
        return self.conditions.digests[MODEL]

    def model_bytes(self) -> bytes:
        """The new model as a file; its large constants stand in `values`, where the original has them outside, too."""
        return self._model

    def write(self, path: Path) -> None:
        """Write the new model, and its values beside it, where it has a file of them.

        Raises:
            UsageError: one of them is a file of the original.
        """
        beside = [] if self.values is None else [path.parent / self.values.name]
        for target in (path, *beside):
            if target.exists() and any(source.exists() and target.samefile(source) for source in self.sources):
                raise UsageError(
                    f"{quote(str(target))} has values of the original, which is never changed; name another file"
                )
        if self.values is not None:
            write_with(beside[0], self.values.write)
        write_whole(path, self._model)

    def to_text(self, *, every_place: bool = False) -> str:
        """A text for people, ending in a line feed, with the first places of each rewrite, or every place."""
        return render(self, None if every_place else SHOWN_EDITS)

    def to_json(self, output: str | None = None) -> str:
        """The record as JSON (sonnx/report/rewrites.schema.json); `output` is the file written, None for none."""
        return json_text(self.record(output))

    def page(self) -> Document:
        """The document with drawings of both graphs."""
        if self.sides is None:
            return self.document()
        graphs = PairedGraphs.of(*self.sides, PairOptions(edition=self.after.edition))
        names = self.sides[0].file.name, self.sides[1].file.name
        drawn = tuple(pictures(graphs.nodes, graphs.outlines, names, Emphasis.CHANGES))
        return structs.replace(self.document(), pictures=drawn)

    def document(self) -> Document:
        """A case for each remaining finding, and one for each rewrite."""
        return document_of(self)

    def record(self, output: str | None = None) -> FixRecord:
        """The record; `output` is the file written, None for none."""
        exit_code, before, after = self.after.exit_code(), PurePath(self.before.name).name, PurePath(output or "").name
        return FixRecord(
            exit=exit_code,  # type: ignore[arg-type]
            edition=self.after.edition,
            conditions=self.conditions,
            original=CheckedModel.of(before, self.source_sha256, self.before),
            rewritten=CheckedModel.of(after, sha256(self._model), self.after),
            rewrites=self.rewrites,
            left=self.remaining,
            validation=self.validation,
            kept=self.kept,
        )

    @property
    def remaining(self) -> tuple[RemainingFindings, ...]:
        """The findings of the new model that do not follow from another one, by rule and verdict."""
        return tuple(map(self._remaining, grouped(self.after.roots)))

    @property
    def causes(self) -> Mapping[str, int]:
        """The reasons for which several values, over all rules, have no shape, with the number of findings."""
        counts = Counter(
            self.unknown_shapes[finding.where.name]
            for finding in self.after.roots
            if finding.where.kind == "value" and finding.where.name in self.unknown_shapes
        )
        return {reason: number for reason, number in counts.most_common() if number > 1}

    def _remaining(self, findings: list[Finding]) -> RemainingFindings:
        reasons: dict[str, tuple[Finding, ...]] = {}
        for finding in findings:
            where = finding.where
            reason = (where.kind == "value" and self.unknown_shapes.get(where.name)) or finding.actual
            reasons[reason] = (*reasons.get(reason, ()), finding)
        first = findings[0]
        return RemainingFindings(self.after.rules[first.rule], first.verdict, tuple(findings), reasons)


# ------------------------------------------------------------------ as text


def render(result: FixResult, shown: int | None = SHOWN_EDITS) -> str:
    """The whole text, ending in a line feed, with a number of places of each rewrite, None for all."""
    blocks = [f"{escape(result.before.name)}: {headline(result)}"]
    blocks += ["\n".join(_rewrite(applied, shown)) for applied in _by_name(result.rewrites)]
    remaining = result.remaining
    blocks += ["\n".join(["Remaining findings:", *_lines(remaining)])] if remaining else []
    blocks.append("\n".join(_summary(result)))
    return "\n\n".join(blocks) + "\n"


def headline(result: FixResult) -> str:
    """Findings before and after, and the verdict on the new model."""
    before, after = len(result.before.roots), len(result.after.roots)
    verdict = VERDICT_PHRASES[result.after.verdict]
    rewrites = plural(len(result.rewrites), "rewrite")
    return result.conditions.limited(f"{rewrites}, findings {before} before and {after} after: it {verdict}")


def _by_name(rewrites: Iterable[AppliedRewrite]) -> Iterable[list[AppliedRewrite]]:
    found: dict[str, list[AppliedRewrite]] = {}
    for rewrite in rewrites:
        found.setdefault(rewrite.name, []).append(rewrite)
    return found.values()


def _rewrite(applied: Sequence[AppliedRewrite], shown: int | None) -> Iterator[str]:
    rules = sorted({rule for rewrite in applied for rule in rewrite.rules})
    yield f"{applied[0].title} ({len(applied)})" + (f", for {', '.join(rules)}" if rules else "")
    if applied[0].theorem:
        yield f"  values unchanged by theorem {applied[0].theorem}: sonnx theorems --select {applied[0].theorem}"
    notes = sorted({rewrite.changes for rewrite in applied} - {""})
    yield from (f"  note: {escape(changes)}" for changes in notes[:shown])
    for applied_rewrite in applied[:shown]:
        yield f"  {place(applied_rewrite.where)}"
        yield f"    - {applied_rewrite.before}"
        yield f"    + {applied_rewrite.after}"
        if applied_rewrite.bounded:
            yield f"    {escape(applied_rewrite.value)}: {_difference(applied_rewrite)}"
    if shown is not None and len(applied) > shown:
        yield f"  and {len(applied) - shown} more (--all prints them)"


def _difference(each: AppliedRewrite) -> str:
    """How far the value is from that of the original, within the hypotheses and on the box of the summary."""
    if each.difference is None:
        return "no bound of the difference is known"
    return f"implementations of both models differ by at most {upper_bound_text(each.difference)} on the box"


def _lines(remaining: Iterable[RemainingFindings]) -> Iterator[str]:
    for each in remaining:
        yield f"  {each.verdict} {each.rule.slug} ({plural(len(each.findings), 'place')}): {each.rule.remedy}"
        for reason, findings in each.by_reason.items():
            more = f" and {len(findings) - 1} more" if len(findings) > 1 else ""
            yield f"    {place(findings[0].where)}{more}: {reason}"


def _summary(result: FixResult) -> Iterator[str]:
    yield f"findings before: {counted(result.before)}"
    yield f"findings after:  {counted(result.after)}"
    outside = operators_outside(result.after.findings)
    if outside:
        yield f"operators left that are outside the profile: {outside}"
    if result.kept:
        yield f"left as they are, because the replacement is slow: {_kept(result.kept)}"
    for reason, number in result.causes.items():
        yield f"{number} findings behind one cause: {reason}"
    if result.rewrites:
        yield f"grade: {_grade(result)}"
        yield f"nodes: {_nodes(result)}"
        yield f"estimated: {_costs(result)}"
        yield result.validation.sentence


def _nodes(result: FixResult) -> str:
    """The price of the rewrites in nodes; --keep leaves those of an operator."""
    before, after = result.before.coverage.nodes, result.after.coverage.nodes
    return f"{before} before, {after} after"


def _grade(result: FixResult) -> str:
    """How values are related, and for which inputs only."""
    limits = sorted({each.changes.partition(":")[0] for each in result.rewrites if each.changes.startswith(HOLDS_FOR)})
    return ", which ".join([result.validation.qualified_grade, *limits])


def _kept(nodes: Sequence[KeptNode]) -> str:
    """The nodes that --keep-slow leaves, with the estimated ratio of costs."""
    shown = [f"{node.operator} {node.name or node.where} ({node.ratio:.1f} times)" for node in nodes[:SHOWN_EDITS]]
    return ", ".join(shown) + (f" and {len(nodes) - SHOWN_EDITS} more" if len(nodes) > SHOWN_EDITS else "")


def _costs(result: FixResult) -> str:
    """The price of the rewrites in operations and in bytes of values."""
    before, after = result.costs
    text = f"{before.operations} operations before, {after.operations} after; "
    text += f"{before.bytes_written} bytes of values before, {after.bytes_written} after"
    if before.unknown or after.unknown:
        nodes = plural(before.unknown, "node")
        text += f"; without {nodes} before and {after.unknown} after, whose shapes are not known"
    return text


def counted(report: Report) -> str:
    """The findings by rule, the most frequent first."""
    counter = Counter(
        root.rule if root.verdict is Verdict.FAIL else f"{root.rule} {root.verdict}" for root in report.roots
    )
    return ", ".join(f"{number} {rule}" for rule, number in counter.most_common()) or "none"


# ------------------------------------------------------------------ as a document, for the other formats


def document_of(result: FixResult) -> Document:
    """A case for each remaining finding, and one for each rewrite, whose criterion is the kind of rewrite."""
    name, edition = result.before.name, catalogue.editions().editions[result.after.edition]
    rules = {findings.rule.slug: rule_criterion(findings.rule, edition) for findings in result.remaining}
    made = {
        rewrite.name: Criterion(
            rewrite.title, "rewrite", source=f"theorem {rewrite.theorem}" if rewrite.theorem else ""
        )
        for rewrite in result.rewrites
    }
    sections = (
        Section(f"{escape(name)}: remaining findings", name, tuple(_remaining(result))),
        Section(f"{escape(name)}: rewrites", name, tuple(_rewrites(result))),
    )
    return Document(
        command="fix",
        title="a model rewritten into the profile",
        subject=escape(name),
        headline=headline(result),
        code=result.after.exit_code(),
        criteria={**rules, **made},
        sections=tuple(section for section in sections if section.cases),
        facts=tuple(_facts(result)),
        hashes={name: result.source_sha256},
        tiles=(
            (f"{len(result.before.roots)} → {len(result.after.roots)}", "findings before and after"),
            (f"{len(result.rewrites)}", "places rewritten"),
            (f"{result.before.coverage.nodes} → {result.after.coverage.nodes}", "nodes before and after"),
            (str(result.validation.grade), "how the values are related"),
        ),
    )


def _facts(result: FixResult) -> Iterator[tuple[str, str]]:
    yield from result.conditions.facts()
    yield "findings before", counted(result.before)
    yield "findings after", counted(result.after)
    yield "grade", _grade(result)
    yield "nodes", _nodes(result)
    yield "estimated", _costs(result)
    outside = operators_outside(result.after.findings)
    if outside:
        yield "operators left that are outside the profile", outside
    if result.kept:
        yield "left as they are, because the replacement is slow", _kept(result.kept)
    yield "validation", escape_once(result.validation.sentence)


def _remaining(result: FixResult) -> Iterator[CaseResult]:
    for each in result.remaining:
        standing, slug = STANDINGS[each.verdict], each.rule.slug
        for reason, findings in each.by_reason.items():
            for finding in findings:
                yield CaseResult(slug, slug, str(each.verdict), standing, escape_once(reason), (), finding.where)


def _rewrites(result: FixResult) -> Iterator[CaseResult]:
    for rewrite in result.rewrites:
        apart = _difference(rewrite) if rewrite.bounded else ""
        details = (
            ("for", ", ".join(rewrite.rules)), ("changes", escape_once(rewrite.changes)), ("difference", apart),
        )  # fmt: skip
        yield CaseResult(
            rewrite.name, rewrite.name, "rewritten", Standing.GOOD, escape_once(f"{rewrite.before} → {rewrite.after}"),
            tuple((term, text) for term, text in details if text), rewrite.where,
        )  # fmt: skip
