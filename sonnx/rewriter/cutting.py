"""`fix --cut`: a rewritten model in parts, those that conform and those outside the profile, which run one by one.

Every node without a finding is in a part that conforms.  Parts alternate: a value that a node outside the profile gives
is an input of the next part that conforms.  A part has the nodes as they are, under the names of the whole model, so
that the parts one after the other compute what the whole model computes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath

from msgspec import Struct
from msgspec.structs import replace

from sonnx.base.errors import UsageError
from sonnx.base.escaping import escape, plural, quote
from sonnx.base.files import sha256
from sonnx.base.reported import json_text
from sonnx.checker.checker import evaluate_model
from sonnx.checker.conditions import Conditions
from sonnx.checker.report import Finding, Report
from sonnx.checker.report_builder import Subject
from sonnx.checker.rules import ActiveRules
from sonnx.checker.verdicts import Verdict
from sonnx.model.ir import NOT_STATED, Graph, Model, Node, ValueInfo
from sonnx.model.reader import read
from sonnx.model.scopes import Scope, canonical_domain, captured
from sonnx.model.writer import Unwritable, write
from sonnx.profile import catalogue
from sonnx.report.cut_record import STEPS, CutRecord, CutStep, CutValue, OutsideOperator
from sonnx.rewriter.fix_report import FixResult
from sonnx.rewriter.operator_names import OperatorName

_NODE = re.compile(r"graph/node\[(\d+)\]")
MOST_NAMED = 4
"""Values of a border that a line of text names; the record has all."""
SETTLED = (Verdict.PASS, Verdict.NOT_APPLICABLE)


class ModelParts(Struct, frozen=True):
    """The parts of a model as files, and the record of them."""

    record: CutRecord
    parts: Mapping[str, bytes]
    """The content of the file of each part by its name."""

    @property
    def files(self) -> dict[str, bytes]:
        """All files of the folder by name."""
        return {**self.parts, STEPS: json_text(self.record).encode("utf-8")}

    def to_text(self) -> str:
        """One line for each step, ending in a line feed."""
        return "".join(f"{line}\n" for line in _lines(self.record))


class _Part(Struct, frozen=True):
    """The nodes of one part by their indices in the whole model, and the borders of the part."""

    conforming: bool
    nodes: tuple[int, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


def cut(result: FixResult, *, strict: bool) -> ModelParts:
    """The parts of a rewritten model.

    Args:
        result: what `fix` gives.
        strict: whether only the version of an operator that a text specifies is accepted.

    Raises:
        UsageError: a part cannot be written as one file.
    """
    assert result.sides is not None  # noqa: S101  `fix` gives them
    model, report = result.sides[1].model, result.after
    rules = ActiveRules(catalogue.edition_named(report.edition), strict)
    outside = _nodes_with_findings(model, report.findings)
    while True:
        parts = _parts(model.graph, outside)
        _require_whole(model.graph, parts)
        written = [_model_of(model, part, index) for index, part in enumerate(parts)]
        files = [_bytes_of(part) for part in written]
        reports = [_checked(data, model, rules) for data in files]
        more = {
            part.nodes[index]
            for part, each, checked in zip(parts, written, reports, strict=True)
            if part.conforming
            for index in _nodes_with_findings(each, checked.findings)
        }
        if not more:
            break
        outside |= more
    steps = [_step(*each) for each in zip(range(len(parts)), parts, written, files, reports, strict=True)]
    given = {name for part in parts for name in part.outputs}
    record = CutRecord(
        model=PurePath(result.before.name).name,
        original_sha256=result.source_sha256,
        whole_sha256=sha256(result.model_bytes()),
        edition=report.edition,
        inputs=tuple(map(_value, model.graph.inputs)),
        outputs=tuple(map(_value, model.graph.outputs)),
        passed=tuple(value.name for value in model.graph.outputs if value.name not in given),
        steps=tuple(steps),
    )
    return ModelParts(record, {step.file: data for step, data in zip(steps, files, strict=True)})


def _nodes_with_findings(model: Model, findings: Iterable[Finding]) -> set[int]:
    """The nodes that a finding is about, or one about a value that they give."""
    producers = {name: index for index, node in enumerate(model.graph.nodes) for name in node.outputs if name}
    found = set()
    for finding in findings:
        if finding.verdict in SETTLED:
            continue
        match = _NODE.match(finding.where.place)
        if match:
            found.add(int(match[1]))
        elif finding.where.kind == "value" and finding.where.name in producers:
            found.add(producers[finding.where.name])
    return found


# ------------------------------------------------------------------ the parts


def _parts(graph: Graph, outside: Collection[int]) -> list[_Part]:
    """The parts in the order in which they run.

    The stage of a node is that of the latest node it reads from, or the next one where that node is of the other sort:
    even stages conform.  So no part reads what a later one gives, and there are as few as the order allows.  A constant
    is in every part that reads it.
    """
    constants = {node.outputs[0]: index for index, node in enumerate(graph.nodes) if _is_constant(node)}
    constants = {name: index for name, index in constants.items() if index not in outside}
    stages = dict[int, int]()
    produced = {value.name: 0 for value in graph.inputs}
    for index, node in enumerate(graph.nodes):
        if index in constants.values():
            continue
        stage = int(index in outside)
        for name in _read(node):
            before = produced.get(name, 0)  # a constant, or a value that a graph inside the node defines
            stage = max(stage, before + ((before ^ stage) & 1))
        stages[index] = stage
        produced.update(dict.fromkeys(filter(None, node.outputs), stage))
    held = {tensor.name for tensor in graph.initializers} | {sparse.name for sparse in graph.sparse_initializers}
    held |= constants.keys()
    first = min(stages.values(), default=0)
    wanted = [value.name for value in graph.outputs]
    parts = []
    for stage in sorted({*stages.values(), first}):
        own = [index for index, each in stages.items() if each == stage]
        reads = dict.fromkeys(name for index in own for name in _read(graph.nodes[index]))
        given = {name for index in own for name in graph.nodes[index].outputs if name}
        later = {name for index, each in stages.items() if each > stage for name in _read(graph.nodes[index])}
        outputs = [name for name in wanted if name in given or (name in held and stage == first)]
        outputs += sorted((given & later) - {*wanted})
        taken = tuple(name for name in reads if name in produced and name not in given)
        copied = [constants[name] for name in {**reads, **dict.fromkeys(outputs)} if name in constants]
        parts.append(_Part(stage % 2 == 0, tuple(sorted({*own, *copied})), taken, tuple(outputs)))
    return parts


def _is_constant(node: Node) -> bool:
    """Whether the node is the same in every part: it reads nothing."""
    return node.operator == OperatorName.CONSTANT and not canonical_domain(node.domain) and len(node.outputs) == 1


def _read(node: Node) -> Iterator[str]:
    """The values that a node reads, also in its graphs; names that those define are harmless here."""
    yield from filter(None, node.inputs)
    yield from sorted(captured(node))


def _require_whole(graph: Graph, parts: Sequence[_Part]) -> None:
    """The parts have every node once, constants as often as they are read, and each reads only what is there before.

    Raises:
        AssertionError: they do not; a defect.
    """
    numbers = Counter(index for part in parts for index in part.nodes)
    for index, node in enumerate(graph.nodes):
        assert numbers[index] == 1 or _is_constant(node)  # noqa: S101
    there = {value.name for value in graph.inputs}
    for part in parts:
        assert there.issuperset(part.inputs)  # noqa: S101
        there |= {*part.outputs}
    assert there.issuperset(value.name for value in graph.outputs)  # noqa: S101


def _model_of(model: Model, part: _Part, index: int) -> Model:
    """A part as a model of its own, with the constants and declarations that it needs."""
    graph = model.graph
    nodes = tuple(graph.nodes[each] for each in part.nodes)
    used = {name for node in nodes for name in (*_read(node), *node.outputs)} | {*part.outputs}
    types = Scope("graph", graph, {}).declared
    borders = {*part.inputs, *part.outputs}
    return replace(
        model,
        functions=() if part.conforming else model.functions,
        graph=replace(
            graph,
            name=f"{graph.name or 'graph'}.{index}",
            inputs=tuple(ValueInfo(name, types.get(name, NOT_STATED)) for name in part.inputs),
            outputs=tuple(ValueInfo(name, types.get(name, NOT_STATED)) for name in part.outputs),
            value_info=tuple(
                ValueInfo(name, types[name])
                for node in nodes
                for name in node.outputs
                if name in types and name not in borders
            ),
            initializers=tuple(tensor for tensor in graph.initializers if tensor.name in used),
            sparse_initializers=tuple(tensor for tensor in graph.sparse_initializers if tensor.name in used),
            nodes=nodes,
            annotations=(),
        ),
    )


def _bytes_of(part: Model) -> bytes:
    try:
        return write(part)
    except (Unwritable, ValueError) as reason:
        raise UsageError(f"a part of the model cannot be written as one file: {reason}") from None


def _checked(data: bytes, model: Model, rules: ActiveRules) -> Report:
    part = read(data, limits=model.limits)
    return evaluate_model(part, rules, Subject.of(part, "", Conditions()))


# ------------------------------------------------------------------ the record


def _step(index: int, part: _Part, model: Model, data: bytes, report: Report) -> CutStep:
    conforms = part.conforming and report.exit_code() == 0
    return CutStep(
        file=f"{index}-{'conforming' if conforms else 'outside'}.onnx",
        sha256=sha256(data),
        conforms=conforms,
        verdict=report.verdict,
        nodes=len(part.nodes),
        inputs=tuple(map(_value, model.graph.inputs)),
        outputs=tuple(map(_value, model.graph.outputs)),
        outside=() if conforms else tuple(_outside(model, report)),
        findings=() if conforms else tuple(dict.fromkeys(_of_whole_part(report))),
    )


def _outside(model: Model, report: Report) -> Iterator[OutsideOperator]:
    names = [".".join(filter(None, [canonical_domain(node.domain), node.operator])) for node in model.graph.nodes]
    reasons: dict[str, dict[str, None]] = {name: {} for name in names}  # ordered sets
    for finding in report.roots:
        match = _NODE.match(finding.where.place)
        if match and finding.verdict not in SETTLED:
            reasons[names[int(match[1])]][_sentence(finding)] = None
    for name, sentences in reasons.items():
        yield OutsideOperator(name, names.count(name), tuple(sentences))


def _of_whole_part(report: Report) -> Iterator[str]:
    """What the check says of a part that is not about one node."""
    for finding in report.roots:
        if finding.verdict not in SETTLED and not _NODE.match(finding.where.place):
            yield _sentence(finding)


def _sentence(finding: Finding) -> str:
    return f"{finding.rule} ({finding.verdict}): {finding.actual}"


def _value(value: ValueInfo) -> CutValue:
    return CutValue(value.name, str(value.type))


def _lines(record: CutRecord) -> Iterator[str]:
    conforming = sum(step.nodes for step in record.steps if step.conforms)
    total = sum(step.nodes for step in record.steps)
    yield f"{conforming} of {plural(total, 'node')} in parts that conform; {plural(len(record.steps), 'step')}:"
    for step in record.steps:
        borders = f"takes {_named(step.inputs)}; gives {_named(step.outputs)}"
        yield f"  {escape(step.file)}: {plural(step.nodes, 'node')}, {borders}"
        if step.outside:
            yield "    outside the profile: " + "; ".join(
                f"{escape(each.operator)}, {plural(each.nodes, 'node')}" for each in step.outside if each.reasons
            )


def _named(values: Sequence[CutValue]) -> str:
    shown = ", ".join(quote(value.name) for value in values[:MOST_NAMED]) or "nothing"
    return shown + (f" and {len(values) - MOST_NAMED} more" if len(values) > MOST_NAMED else "")
