"""Versions: the operator set that a model imports, and the IR version of its file."""

from __future__ import annotations

from msgspec.structs import replace

from sonnx.base.escaping import quote
from sonnx.checker.verdicts import Where
from sonnx.model.ir import Import, Node, subgraphs
from sonnx.model.scopes import canonical_domain
from sonnx.profile import catalogue
from sonnx.profile.definitions import OperatorDefinition, Parameter, at
from sonnx.profile.onnx_schemas import schema_at
from sonnx.rewriter.context import RewriteContext
from sonnx.rewriter.rewrite import Edit, ModelChange, Trigger, rewrite


@rewrite("specified-versions", Trigger.RULE_SELECTED)
def specified_versions(context: RewriteContext) -> ModelChange | None:
    """The model with the oldest standard operator set in which every node has its specified version.

    Only where the present version means the same: it is specified or equivalent in the operator's data file, and
    everything the node writes and leaves out means the same in both.
    """
    now, model = context.operator_set, context.model
    if now is None or not context.active_rules.strict or model.functions:
        return None
    nodes = model.graph.nodes
    # What of a node decides whether its version may change; of equal nodes one is looked at.
    forms = {(node.operator, node.domain, len(node.inputs), frozenset(one.name for one in node.attributes)): node
             for node in nodes}  # fmt: skip
    versions = range(1, catalogue.editions().operator_set + 1)
    possible = [then for then in versions if all(_keeps_meaning(node, now, then) for node in forms.values())]
    if not nodes or not possible or now in possible:
        return None
    oldest = min(possible)
    imports = tuple(Import(one.domain, oldest) if canonical_domain(one.domain) == "" else one for one in model.imports)
    edit = Edit(Where("model", "model"), f"operator set {now}", f"operator set {oldest}")
    return ModelChange(replace(model, imports=imports), (edit,))


FIRST_WITH_STEPS = 9
"""The operator set from which the operators of every rewrite exist, Where the last of them (ONNX Where-9)."""


@rewrite("raised-operator-set", Trigger.RULE_SELECTED)
def raised_operator_set(context: RewriteContext) -> ModelChange | None:
    """The model with the oldest standard operator set that has what rewrites write, and every node its meaning.

    Only where an operator outside the profile is to be replaced.
    """
    now, model = context.operator_set, context.model
    edition = context.active_rules.edition
    if now is None or now >= FIRST_WITH_STEPS or model.functions:
        return None
    forms = {(node.operator, node.domain, len(node.inputs), frozenset(one.name for one in node.attributes)): node
             for node in model.graph.nodes}  # fmt: skip
    if all(canonical_domain(node.domain) == "" and edition.status(node.operator) for node in forms.values()):
        return None
    versions = range(FIRST_WITH_STEPS, catalogue.editions().operator_set + 1)
    then = next((then for then in versions if all(_stays(node, now, then) for node in forms.values())), None)
    if then is None:
        return None
    imports = tuple(Import(one.domain, then) if canonical_domain(one.domain) == "" else one for one in model.imports)
    edit = Edit(Where("model", "model"), f"operator set {now}", f"operator set {then}")
    return ModelChange(replace(model, imports=imports), (edit,))


def _stays(node: Node, now: int, then: int) -> bool:
    """Whether a node means the same: it is of another domain, or has the same version or an equivalent one."""
    if next(subgraphs(node), None) is not None:
        return False
    if canonical_domain(node.domain):
        return True
    schemas = schema_at("", node.operator, now), schema_at("", node.operator, then)
    if None not in schemas and schemas[0].version == schemas[1].version:  # type: ignore[union-attr]
        return True
    return _keeps_meaning(node, now, then)


@rewrite("merged-imports", Trigger.RULE_SELECTED)
def merged_imports(context: RewriteContext) -> ModelChange | None:
    """The model with one import of each operator set that it imports several times with one version."""
    model = context.model
    versions: dict[str, set[int | None]] = {}
    for import_ in model.imports:
        versions.setdefault(canonical_domain(import_.domain), set()).add(import_.version)
    kept: dict[tuple[str, int | None], Import] = {}
    for index, import_ in enumerate(model.imports):
        domain = canonical_domain(import_.domain)
        clear = len(versions[domain]) == 1 and import_.version is not None
        kept.setdefault((domain, None if clear else index), import_)
    if len(kept) == len(model.imports):
        return None
    imports = tuple(kept.values())
    edit = Edit(Where("model", "model"), _listed(model.imports), _listed(imports))
    return ModelChange(replace(model, imports=imports), (edit,))


def _listed(imports: tuple[Import, ...]) -> str:
    return "operator sets " + ", ".join(f"{quote(import_.domain)} {import_.version}" for import_ in imports)


def _keeps_meaning(node: Node, now: int, then: int) -> bool:
    """Whether a node means the same under another operator set, and has the specified version there."""
    known = None if canonical_domain(node.domain) else catalogue.operator(node.operator)
    if known is None or next(subgraphs(node), None) is not None:
        return False
    one, other = known.version_at(now), known.version_at(then)
    if one is None or other is None or (known.specified is not None and other != known.specified):
        return False
    return one == other or (one in known.equivalent and _same_call(known, node, one, other))


def _same_call(known: OperatorDefinition, node: Node, one: int, other: int) -> bool:
    written = {attribute.name for attribute in node.attributes}
    parameters = [parameter for parameter in known.parameters if _exists(parameter, one) or _exists(parameter, other)]
    return _inputs(known, one)[: len(node.inputs)] == _inputs(known, other)[: len(node.inputs)] and all(
        _same_parameter(parameter, parameter.name in written, one, other) for parameter in parameters
    )


def _inputs(known: OperatorDefinition, version: int) -> list[str]:
    existing = [
        operand
        for operand in known.inputs
        if operand.since <= version and (operand.before is None or version < operand.before)
    ]
    return [formal.name for formal in existing]


def _same_parameter(parameter: Parameter, written: bool, one: int, other: int) -> bool:
    """A parameter that is written must be one in both versions; the absence of another must mean the same."""
    if written:
        moved = parameter.input is not None and parameter.input <= max(one, other)
        return _exists(parameter, one) and _exists(parameter, other) and not moved
    absent = [at(parameter.absent, version) if _exists(parameter, version) else None for version in (one, other)]
    meanings = {expression.text if expression else "" for expression in absent}
    added = not (_exists(parameter, one) and _exists(parameter, other))
    return len(meanings) == 1 or added


def _exists(parameter: Parameter, version: int) -> bool:
    return parameter.since <= version and (parameter.before is None or version < parameter.before)


IR_VERSION_OF_CONSTANTS = 4


@rewrite("format-version", Trigger.ALWAYS)
def format_version(context: RewriteContext) -> ModelChange | None:
    """The model in the oldest format that has constants, if it has an initializer that is not a graph input.

    Below IR version 4 every initializer must be a graph input too, with a value the caller may not replace; from 4 on
    it must not be one to be a constant (ONNX IR, GraphProto.initializer).
    """
    model, graph, version = context.model, context.model.graph, context.model.ir_version
    inputs = {value.name for value in graph.inputs}
    constant = {tensor.name for tensor in graph.initializers}
    if version is None or not 0 < version < IR_VERSION_OF_CONSTANTS or constant <= inputs:
        return None
    kept = tuple(value for value in graph.inputs if value.name not in constant)
    edit = Edit(
        Where("model", "model"),
        f"IR version {version}, {len(inputs & constant)} constants among the graph inputs",
        f"IR version {IR_VERSION_OF_CONSTANTS}, none",
    )
    return ModelChange(replace(model, ir_version=IR_VERSION_OF_CONSTANTS, graph=replace(graph, inputs=kept)), (edit,))
