"""What changed between two models: a document, JSON (model_changes.schema.json), and a page with both graphs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from msgspec.structs import replace

from sonnx.base.escaping import escape, escape_once, plural, quote
from sonnx.base.reported import Result, json_text
from sonnx.checker.verdicts import Verdict, Where
from sonnx.equivalence.diff.changes import ConstantChange, FindingChange, ModelChanges, NodeChange, NodeStatus
from sonnx.equivalence.result import Answer
from sonnx.report.document import CaseResult, Criterion, Document, Section, Standing
from sonnx.report.graph_pair import NOT_DRAWN, Emphasis, Outlines, pictures
from sonnx.report.markdown import code_span, escaped, table_cell
from sonnx.report.phrases import place
from sonnx.report.rendered import Rendered

CRITERIA = {
    "node": "The node is in both models, with the same attributes and constants.",
    "finding": "Both models have the same findings of the check.",
    "evidence": "What was shown of the first model stands for the second one.",
}
STANDINGS = {"stands": Standing.GOOD, "stands in part": Standing.NOTE, "renew": Standing.NOTE}
VALUES = {
    Answer.IDENTICAL: "its values are identical",
    Answer.ROUNDING: "its values are equal up to rounding",
    Answer.UNDECIDED: "its values are not shown equal",
}
MAX_ROWS = 100
"""Nodes that a comment lists."""
MAX_CONSTANTS = 4
"""Changed constants of one node that a sentence names."""


class ModelChangesDocument(Result, frozen=True):
    """What changed between two models: sonnx diff --format json."""

    exit: Literal[0, 1]
    """The exit code of the command."""
    result: ModelChanges
    """What changed."""


@dataclass(frozen=True, slots=True)
class ModelChangesReport(Rendered):
    """What changed between two models, with its renderings.

    Attributes:
        result: what changed.
        outlines: the graphs, for the page.
    """

    result: ModelChanges
    outlines: Outlines = NOT_DRAWN

    @property
    def exit_code(self) -> Literal[0, 1]:
        """0 where nothing changed, 1 otherwise."""
        return 0 if self.result.unchanged else 1

    def document(self) -> Document:
        """The result as a document."""
        return document(self.result, self.exit_code)

    def to_json(self) -> str:
        """One JSON document (model_changes.schema.json)."""
        return json_text(ModelChangesDocument(exit=self.exit_code, result=self.result))

    def to_format(self, name: str) -> str:
        """The result in a format.

        Raises:
            UsageError: an unknown format.
        """
        return markdown(self.result) if name == "markdown" else Rendered.to_format(self, name)

    def page(self) -> Document:
        """The document with drawings of both graphs."""
        names = self.result.first.name, self.result.second.name
        drawn = tuple(pictures(self.result.nodes, self.outlines, names, Emphasis.CHANGES))
        return replace(self.document(), pictures=drawn)


def document(changes: ModelChanges, code: int) -> Document:
    """What changed as a document: nodes, findings, evidence."""
    nodes = tuple(_node_case(node) for node in changes.nodes if node.status is not NodeStatus.SAME)
    sections = [Section("nodes", changes.second.name, nodes)] if nodes else []
    findings = tuple(
        CaseResult(
            "finding", f"{change.rule}, {place(_where(change))}", "new" if change.new else "gone",
            _finding_standing(change), escape_once(f"{change.verdict} {change.rule}: {change.message}"),
            where=_where(change),
        )
        for change in changes.findings
    )  # fmt: skip
    sections += [Section("findings", changes.second.name, findings)] if findings else []
    evidence = tuple(
        CaseResult(
            "evidence", standing.evidence, standing.standing, STANDINGS[standing.standing],
            f"{standing.extent}: {standing.because}", cells=(standing.extent, standing.because),
        )
        for standing in changes.evidence
    )  # fmt: skip
    sections.append(Section("evidence", changes.second.name, evidence, heads=("for", "because")))
    return Document(
        command="diff",
        title="what changed between two models?",
        subject=f"{escape(changes.first.name)} and {escape(changes.second.name)}",
        headline=changes.conditions.limited(headline(changes)),
        code=code,
        criteria={name: Criterion(text, "equivalence") for name, text in CRITERIA.items()},
        sections=tuple(sections),
        facts=tuple((term, escape_once(text)) for term, text in _facts(changes)),
        tiles=tuple(_tiles(changes)),
        hashes={file.name: file.sha256 for file in (changes.first, changes.second) if file.sha256},
    )


def headline(changes: ModelChanges) -> str:
    """The number of nodes of each status, and whether both models are the same function."""
    counted = ((changes.number(status), status.value) for status in NodeStatus)
    nodes = ", ".join(f"{number} {word}" for number, word in counted if number) or "no nodes"
    answer = "inputs or outputs differ" if changes.answer is None else f"the function is {changes.answer.value}"
    if changes.answer is Answer.UNDECIDED:
        answer = "not decided whether the function is the same"
    return f"nodes: {nodes}; {answer}"


def _tiles(changes: ModelChanges) -> Iterator[tuple[str, str]]:
    moved = changes.number(NodeStatus.MOVED)
    yield (
        f"{changes.number(NodeStatus.SAME) + moved}",
        f"of {plural(changes.second.nodes, 'node')} unchanged, {moved} moved",
    )
    yield f"{changes.number(NodeStatus.CHANGED)}", "changed"
    yield f"{changes.number(NodeStatus.NEW)} / {changes.number(NodeStatus.GONE)}", "new / gone"
    new = sum(finding.new for finding in changes.findings)
    yield f"{new} / {len(changes.findings) - new}", "findings new / gone"


def _facts(changes: ModelChanges) -> Iterator[tuple[str, str]]:
    yield from changes.conditions.facts()
    if changes.claim:
        yield "answer", changes.claim
    yield from (("header", text) for text in changes.header)
    before, after = changes.verdicts
    yield "check", f"{before} in both" if before is after else f"{before} -> {after}"
    for status in (NodeStatus.GONE, NodeStatus.NEW):
        nodes = [node.second or node.first for node in changes.nodes if node.status is status]
        counted = Counter(node.operator for node in nodes if node is not None)
        if counted:
            yield status.value, ", ".join(f"{number} {operator}" for operator, number in sorted(counted.items()))
    renamed = sum(node.renamed for node in changes.nodes)
    if renamed:
        yield "renamed", plural(renamed, "node")
    affected = sum(node.status is NodeStatus.SAME and node.value is Answer.UNDECIDED for node in changes.nodes)
    if affected:
        yield "affected", f"{plural(affected, 'unchanged node')} whose values are not shown equal"


def _where(change: FindingChange) -> Where:
    return Where(change.place, change.kind, change.name, change.operator)


def _finding_standing(change: FindingChange) -> Standing:
    return Standing.BAD if change.new and change.verdict is Verdict.FAIL else Standing.NOTE


def _node_case(change: NodeChange) -> CaseResult:
    standing = Standing.OPEN if change.value is Answer.UNDECIDED else Standing.NOTE
    text = escape_once("; ".join(_sentences(change)))
    return CaseResult("node", _node_name(change), change.status.value, standing, text, where=_node_where(change))


def _node_where(change: NodeChange) -> Where:
    node = change.second or change.first
    assert node is not None  # noqa: S101  a change has a node
    return Where(f"graph/node[{node.index}]", "node", node.name or node.output, node.operator)


def _node_name(change: NodeChange) -> str:
    model = "first" if change.second is None else "second"
    return f"{place(_node_where(change))} of the {model} model"


def _sentences(change: NodeChange) -> Iterator[str]:
    yield from change.changes
    yield from (_constant_text(constant) for constant in change.constants[:MAX_CONSTANTS])
    if len(change.constants) > MAX_CONSTANTS:
        yield f"and {len(change.constants) - MAX_CONSTANTS} more constants"
    if change.status in (NodeStatus.GONE, NodeStatus.NEW):
        other_model = "second" if change.status is NodeStatus.GONE else "first"
        if change.counterpart:
            exact = "" if change.value is Answer.IDENTICAL else ", up to rounding"
            yield f"the {other_model} model has its values{exact}: {quote(change.counterpart)}"
        else:
            yield f"no value of the {other_model} model is shown equal"
    elif change.value is not None:
        yield VALUES[change.value]


def _constant_text(change: ConstantChange) -> str:
    if change.other_type:
        return f"{quote(change.first)}: {change.type} -> {change.other_type}"
    share = f"{change.changed} of {plural(change.elements, 'element')} of {quote(change.first)}"
    if change.largest is None:
        return f"{share} differ"
    relative = "" if change.relative is None else f", {change.relative:.3g} of the largest"
    return f"{share} differ by at most {change.largest:.3g}{relative}"


# ------------------------------------------------------------------ Markdown


def markdown(changes: ModelChanges) -> str:
    """A comment for a pull request: the headline, tables of nodes and evidence, and the findings by rule."""
    lines = [f"# {code_span(escape(changes.first.name))} and {code_span(escape(changes.second.name))}", ""]
    lines += [f"**{escaped(headline(changes))}**", ""]
    lines += [
        f"* {escaped(term[:1].upper() + term[1:])}: {code_span(escape_once(text))}" for term, text in _facts(changes)
    ]
    changed = [node for node in changes.nodes if node.status is not NodeStatus.SAME]
    rows = [(change.status.value, table_cell(_node_name(change)), escaped(escape_once("; ".join(_sentences(change)))))
            for change in changed[:MAX_ROWS]]  # fmt: skip
    lines += _table("Nodes", ("change", "node", "what changed"), rows)
    lines += ["", f"and {len(changed) - MAX_ROWS} more nodes, which the JSON report lists"] * (len(changed) > MAX_ROWS)
    counted = Counter((finding.new, finding.verdict.value, finding.rule) for finding in changes.findings)
    listed = [("new" if new else "gone", verdict, table_cell(rule), str(number))
              for (new, verdict, rule), number in counted.items()]  # fmt: skip
    lines += _table("Findings", ("change", "verdict", "rule", "places"), listed)
    evidence = [
        (standing.standing, standing.evidence, escaped(standing.extent), standing.because)
        for standing in changes.evidence
    ]
    lines += _table("Evidence about the first model", ("standing", "evidence", "for", "because"), evidence)
    return "\n".join(lines) + "\n"


def _table(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    if not rows:
        return []
    lines = [f"| {' | '.join(row)} |" for row in (heads, *rows)]
    return ["", f"## {title}", "", lines[0], f"|{'---|' * len(heads)}", *lines[1:]]
