"""What changed between two models: nodes, constants, findings of the check, and which evidence stands.

Both models are interpreted with one store of terms, so that a node whose outputs are the same terms computes the same.
Nodes that differ are compared part by part with the node they became (`node_changes.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from sonnx.base.errors import BadInput
from sonnx.base.escaping import escape, plural, quote
from sonnx.checker.report import Finding, Report
from sonnx.checker.request import CheckRequest, check_model
from sonnx.checker.verdicts import Verdict
from sonnx.equivalence.decision import compare_sized, conditions_of
from sonnx.equivalence.diff.changes import (
    EvidenceStanding,
    FindingChange,
    ModelChanges,
    NodeChange,
)
from sonnx.equivalence.diff.node_changes import NodeComparison
from sonnx.equivalence.diff.node_pairs import GraphTerms, Pairs
from sonnx.equivalence.interpretation.model_terms import terms_of
from sonnx.equivalence.normal_forms.layouts import stated_layout
from sonnx.equivalence.options import EquivalenceOptions, PairOptions
from sonnx.equivalence.result import Answer, Equivalence
from sonnx.equivalence.sides import Side, demand_same_type, sized_sides, with_shapes
from sonnx.equivalence.terms.store import empty_store
from sonnx.equivalence.walk import Walk
from sonnx.executor.model_inputs import required_inputs
from sonnx.model.ir import Model, Type
from sonnx.model.scopes import canonical_domain, imports_of
from sonnx.profile import catalogue

STANDS, PARTLY, RENEW = "stands", "stands in part", "renew"


def changes_of(first: Side, second: Side, options: PairOptions) -> ModelChanges:
    """What changed between two models.

    Raises:
        BadInput: a constant has no values, or a shape does not fit.
        UsageError: an unknown edition, or a symbol that neither model has.
    """
    edition = catalogue.edition_named(options.edition).name
    first, second = sized_sides(first, second, options)
    answer, claim = _answer(first, second, options)
    if answer is not None and answer.binding:
        first = with_shapes(first, answer.binding)
        names = {name: options.renamed.get(name, name) for name in answer.binding}
        second = with_shapes(second, {names[name]: shape for name, shape in answer.binding.items()})
    compared = _compared(first, second, options, edition)
    nodes = tuple(compared.nodes())
    request = CheckRequest(edition)
    reports = [check_model(side.model, "", request, side.file.name) for side in (first, second)]
    header = [*_header(first.model, second.model, options.renamed), *_precision(answer)]
    return ModelChanges(
        first.file, second.file, conditions_of(first, second, options, answer.binding if answer else {}),
        None if answer is None else answer.answer,
        claim,
        (*header, *_layouts(first.model, second.model)),
        nodes,
        (reports[0].verdict, reports[1].verdict),
        tuple(_findings(reports[0], reports[1], compared.pairs)),
        tuple(_evidence(nodes, answer, claim or _given_sizes(options))),
    )  # fmt: skip


def node_changes(first: Side, second: Side, options: PairOptions) -> Iterator[NodeChange]:
    """What became of each node.

    Raises:
        BadInput: a constant has no values, or a shape does not fit.
        UsageError: an unknown edition, or a symbol that neither model has.
    """
    edition = catalogue.edition_named(options.edition).name
    return _compared(*sized_sides(first, second, options), options, edition).nodes()


def _answer(first: Side, second: Side, options: PairOptions) -> tuple[Equivalence | None, str]:
    """Whether both are the same function, and for which shapes; None with the reason where this cannot be asked."""
    try:
        answer = compare_sized(first, second, EquivalenceOptions.of(options)).result
    except BadInput as stop:
        return None, str(stop)
    shapes = ", ".join(f"{escape(name)} of shape {list(shape)}" for name, shape in answer.binding.items())
    return answer, f"for {shapes} only" if shapes else ""


def _compared(first: Side, second: Side, options: PairOptions, edition: str) -> NodeComparison:
    """The nodes of both models in terms of one store; inputs of one type have one name there."""
    store = empty_store(edition)
    partners = {value.name: options.renamed.get(value.name, value.name) for value in required_inputs(first.model)}
    own_types, their_types = ({value.name: value.type for value in side.model.graph.inputs} for side in (first, second))
    shared = {
        partner: name for name, partner in partners.items()
        if partner in their_types and _is_one_type(own_types[name], their_types[partner])
    }  # fmt: skip
    _, values = terms_of(first.model, store, first.folder, {name: name for name in partners})
    common_names = {
        value.name: shared.get(value.name, f"{value.name} of the second model")
        for value in required_inputs(second.model)
    }
    _, their_values = terms_of(second.model, store, second.folder, common_names)
    outputs = {value.name: options.renamed.get(value.name, value.name) for value in first.model.graph.outputs}
    inputs = {name: partner for name, partner in partners.items() if partner in shared}
    sides = GraphTerms(first.model.graph, values), GraphTerms(second.model.graph, their_values)
    return NodeComparison((first.model, second.model), *sides, Pairs(*sides, outputs | inputs), Walk(store))


def _is_one_type(first: Type, second: Type) -> bool:
    try:
        demand_same_type("", first, second)
    except BadInput:
        return False
    return True


# ------------------------------------------------------------------ header and findings


def _header(first: Model, second: Model, renamed: Mapping[str, str]) -> Iterator[str]:
    """The differences of inputs, outputs, operator sets and IR version."""
    for what in ("input", "output"):
        types, their_types = (
            {value.name: value.type for value in getattr(model.graph, f"{what}s")} for model in (first, second)
        )
        partners = {name: renamed.get(name, name) for name in types}
        for name, partner in partners.items():
            if partner not in their_types:
                yield f"the {what} {quote(name)} is gone"
            elif types[name] != their_types[partner]:
                yield f"the {what} {quote(name)}: {types[name]} -> {their_types[partner]}"
            elif name != partner:
                yield f"the {what} {quote(name)} is called {quote(partner)}"
        yield from (f"the {what} {quote(name)} is new" for name in their_types if name not in partners.values())
    versions = imports_of(first.imports), imports_of(second.imports)
    for domain in sorted(versions[0].keys() | versions[1].keys()):
        before, after = (version.get(domain, "none") for version in versions)
        if before != after:
            yield f"operator set{f' of {quote(domain)}' if domain else ''}: {before} -> {after}"
    if first.ir_version != second.ir_version:
        yield f"IR version: {first.ir_version} -> {second.ir_version}"


def _precision(answer: Equivalence | None) -> Iterator[str]:
    """What has fewer digits in one of the models, by kind and type."""
    counted = Counter((each.kind, each.format, each.narrower) for each in (answer.narrowings if answer else ()))
    for (kind, element, narrower), number in sorted(counted.items()):
        yield f"precision: {plural(number, kind)} rounded to {element} in the {narrower} model"


def _layouts(first: Model, second: Model) -> Iterator[str]:
    """Operators on tensors whose elements stand in another order, by layout, where one model has more of them."""
    stated = [
        [stated_layout(canonical_domain(node.domain), node) for node in model.graph.nodes] for model in (first, second)
    ]
    counts = [Counter(each.layout for each in listed if each is not None) for listed in stated]
    for layout in sorted(counts[0].keys() | counts[1].keys()):
        if counts[0][layout] != counts[1][layout]:
            named = "channels in blocks (NCHWc)" if layout == "blocks" else "channels last (NHWC)"
            yield f"layout: {plural(counts[0][layout], 'node')} with {named} -> {counts[1][layout]}"


def _findings(first: Report, second: Report, pairs: Pairs) -> Iterator[FindingChange]:
    """The findings of either model that the other one does not have at the node or value that corresponds."""
    before = [(_subject(root, pairs), root) for root in first.roots]
    after = [(_subject(root, None), root) for root in second.roots]
    for findings, others, new in ((before, after, False), (after, before, True)):
        left = Counter(subject for subject, _ in others)
        for subject, finding in findings:
            if left[subject] > 0:
                left[subject] -= 1
            else:
                where = finding.where
                yield FindingChange(
                    new,
                    finding.rule,
                    finding.verdict,
                    where.place,
                    where.kind,
                    where.name,
                    where.operator,
                    finding.actual,
                )


def _subject(finding: Finding, pairs: Pairs | None) -> tuple[str, Verdict, str]:
    """What a finding is about, by the places and names of the second model where `pairs` has them."""
    where = finding.where
    begin, bracket, rest = where.place.partition("graph/node[")
    number, close, inner = rest.partition("]")
    if bracket and not begin and number.isdigit():
        index = int(number) if pairs is None else pairs.forward.get(int(number))
        place = f"node {index}{close}{inner}" if index is not None else f"gone {number}{inner}"
        return finding.rule, finding.verdict, place
    name = where.name if pairs is None else pairs.partner(where.name) or where.name
    return finding.rule, finding.verdict, f"{where.kind} {name}" if where.name else where.place


# ------------------------------------------------------------------ evidence


def _given_sizes(options: PairOptions) -> str:
    """The numbers of symbols and the shapes that were given, "" where none were."""
    sizes = [f"{escape(name)} = {number}" for name, number in options.bind.items()]
    sizes += [f"{escape(name)} of shape {list(shape)}" for name, shape in options.input_shapes.items()]
    return f"for {', '.join(sizes)} only" if sizes else ""


def _evidence(nodes: Sequence[NodeChange], answer: Equivalence | None, sizes: str) -> Iterator[EvidenceStanding]:
    """Which kinds of evidence about the first model stand for the second one, for these sizes of inputs."""
    pairs = [node for node in nodes if node.first is not None and node.second is not None]
    whole = len(pairs) == len(nodes)
    identical = sum(pair.value is Answer.IDENTICAL for pair in pairs)
    unchanged = sum(pair.upstream_unchanged for pair in pairs)
    total = sum(node.second is not None for node in nodes)
    all_same = answer is not None and answer.answer.at_any_size is Answer.IDENTICAL and not answer.binding

    where_equal = f", {sizes}" if sizes else ""
    narrowed = answer is not None and answer.answer.at_any_size is Answer.NARROWED

    def of(number: int) -> str:
        return f"{number} of {plural(total, 'node')} of the second model{where_equal if number else ''}"

    yield EvidenceStanding(
        "verdict (sonnx check)", RENEW, "the whole model, as shown above", "a verdict is about one file",
    )  # fmt: skip
    yield EvidenceStanding(
        "exact values (sonnx run)", STANDS if all_same else PARTLY if identical else RENEW,
        f"all outputs{where_equal}" if all_same else f"the values of {of(identical)}",
        "narrowed values have other bits" if narrowed else "identical values have equal bits for every input",
    )  # fmt: skip
    yield EvidenceStanding(
        "ranges of ideal values (sonnx bound)", STANDS if all_same else PARTLY if identical else RENEW,
        f"all outputs{where_equal}" if all_same else f"the values of {of(identical)}",
        "narrowed constants have other ideal values; equivalent --box bounds the difference"
        if narrowed else "equal exact values have equal ideal values",
    )  # fmt: skip
    same_nodes = STANDS if whole and unchanged == total else PARTLY if unchanged else RENEW
    yield EvidenceStanding(
        "error bounds (sonnx bound)", same_nodes, f"the values of {of(unchanged)}",
        "each narrowing adds an error (equivalent --box)" if narrowed else "they depend on every operation before",
    )  # fmt: skip
    yield EvidenceStanding(
        "proofs about symbols (sonnx prove)", same_nodes, f"the calls of {of(unchanged)}",
        "a proof is about one call and its shapes",
    )  # fmt: skip
    for name in ("values of a runtime (sonnx compare)", "measured time and memory"):
        yield EvidenceStanding(name, RENEW, "the whole model", "a runtime may compile another graph in another way")
    yield EvidenceStanding("evidence pack (sonnx audit)", RENEW, "the whole pack", "it names the SHA-256 of the model")
