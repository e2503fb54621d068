"""Validation of a rewritten model: the reference executor runs it and the original, and compares every bit; and both
are compared as terms, for all inputs.

Operators that the executor cannot run are left out of both models and named in the result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from sonnx.base.errors import ErrorCondition, NotExecutable, Stop
from sonnx.base.escaping import escape, quote
from sonnx.equivalence.decision import ReportOn, compare_models
from sonnx.equivalence.interpretation.expansion import may_be_random
from sonnx.equivalence.options import EquivalenceOptions
from sonnx.equivalence.result import Answer
from sonnx.equivalence.sides import side_of
from sonnx.executor.distance import first_difference
from sonnx.executor.executor import ModelRunner
from sonnx.executor.model_inputs import required_inputs
from sonnx.executor.preparation import RunDomain
from sonnx.model.ir import NOT_STATED, Model, Node, Type, ValueInfo, subgraphs
from sonnx.model.scopes import Scope, canonical_domain, function_key, is_same, scopes
from sonnx.numerics.formats import Array
from sonnx.operators import is_executable
from sonnx.report.fix_record import AppliedRewrite, Validation
from sonnx.rewriter.passes import every_rewrite
from sonnx.rewriter.sample_inputs import sample_inputs


class Differs(AssertionError):
    """The rewritten model gives another value: a defect of this tool; nothing is written."""


def compared_as_terms(
    found: Validation, original: Model, rewritten: Model, domain: RunDomain, report_on: ReportOn
) -> Validation:
    """The validation with the answer for all inputs; `domain` has what is known of calls, `report_on` of models.

    Functions that differ in declarations only are the same one, as their terms would be.

    Raises:
        Differs: the models are different functions.
    """
    names = {value.name for value in rewritten.graph.inputs}
    names |= {tensor.name for tensor in original.graph.initializers}
    unused = tuple([value for value in original.graph.inputs if value.name not in names])
    whole = rewritten
    if unused:
        whole = replace(rewritten, graph=replace(rewritten.graph, inputs=(*rewritten.graph.inputs, *unused)))
    if _differ_in_declarations(original, whole) and _is_function(original):
        return replace(found, for_all_inputs=Answer.IDENTICAL)
    sides = [side_of(model, name, "", None) for model, name in ((original, "original"), (whole, "rewritten"))]
    try:
        options = EquivalenceOptions(edition=domain.rules.edition.name, runs=0)
        result = compare_models(sides[0], sides[1], options, domain, report_on)
    except Stop as stop:
        return replace(found, for_all_inputs=Answer.UNDECIDED, stopped=str(stop))
    if result.answer is Answer.DIFFERENT:
        raise Differs("the rewritten model is another function; this is a defect of sonnx, and nothing is written")
    shapes = ", ".join(f"{escape(name)} of shape {list(shape)}" for name, shape in result.binding.items())
    unmatched, text = result.unmatched, f" (for {shapes})" if shapes else ""
    if not result.proved:
        stops = (
            f"{quote(unmatched.first)} and {quote(unmatched.second)}: {unmatched.reason}" if unmatched
            else "; ".join(result.not_valid) or "no match"
        )  # fmt: skip
        text = f"{stops}{text}"
    return replace(found, for_all_inputs=result.answer, stopped=text)


PartlyRewritten = Callable[[frozenset[str]], Model]
"""The original after the rewrites of some names only."""

RunResult = Mapping[str, Array] | ErrorCondition
"""The outputs of a model by name, or the error condition that its inputs meet."""


def validate(
    partly_rewritten: PartlyRewritten,
    applied: Sequence[AppliedRewrite],
    rewritten: Model,
    domain: RunDomain,
    number: int,
    invalid_before: Sequence[str] = (),
    invalid_after: Sequence[str] = (),
) -> Validation:
    """Run both models on a number of sets of inputs, unchecked where they are outside the profile.

    Where the original has no value before some rewrite, it is compared after that rewrite; `invalid_before` and
    `invalid_after` are the rules by which the models are not valid ONNX and so have no values.

    Raises:
        Differs: an output has another value, or one model has a value where the other has none.
    """
    if invalid_after:
        reason = f"the rewritten model is not valid ONNX ({', '.join(invalid_after)}), so its values are undefined"
        return Validation(number, missing=reason)
    names = frozenset(
        applied_rewrite.name for applied_rewrite in applied if set(applied_rewrite.rules) & set(invalid_before)
    )
    reasons = list(invalid_before) if names else []
    while True:
        original = partly_rewritten(names)
        try:
            validation = _compared(original, rewritten, domain, number, _lifted(applied))
            return replace(validation, after=tuple(sorted(names)), because="; ".join(reasons))
        except _NoValue as stop:
            serving = {applied_rewrite.name for applied_rewrite in applied if stop.rule in applied_rewrite.rules}
            more = serving if stop.rule else _making_executable(applied)
            if more <= names:
                return Validation(number, outputs=len(original.graph.outputs), missing=str(stop))
            names |= more
            reasons.append(stop.rule or str(stop))


def _lifted(applied: Sequence[AppliedRewrite]) -> frozenset[str]:
    """The error conditions of the original under which the rewritten model has a value."""
    known = every_rewrite()
    return frozenset([rule for rewrite in applied for rule in known[rewrite.name].description.lifts])


def _making_executable(applied: Sequence[AppliedRewrite]) -> set[str]:
    known = every_rewrite()
    return {applied_rewrite.name for applied_rewrite in applied if known[applied_rewrite.name].makes_executable}


class _NoValue(Exception):
    """The original has no value at all; `rule` is the rule that it breaks, "" where there is none."""

    def __init__(self, rule: str, sentence: str) -> None:
        super().__init__(sentence)
        self.rule = rule


def _compared(original: Model, rewritten: Model, domain: RunDomain, number: int, lifted: frozenset[str]) -> Validation:
    declared = _declared_types(original) | _declared_types(rewritten)
    one, other = executable_part(original, declared), executable_part(rewritten, declared)
    if list(map(_identity, one.left_out)) != list(map(_identity, other.left_out)):
        names = ", ".join(dict.fromkeys(quote(node.operator) for node in (*one.left_out, *other.left_out)))
        raise _NoValue("", f"sonnx cannot run {names}, and their nodes differ between the models")
    left_out = tuple(dict.fromkeys(node.operator for node in one.left_out))
    validation = Validation(number, outputs=len(one.outputs), left_out=left_out)
    try:
        runners = [ModelRunner(part.model, unchecked=True, domain=domain) for part in (one, other)]
        same = _computes_alike(one, other)
        for given in sample_inputs(required_inputs(one.model), number):
            first = _run(given, runners[0], one)
            validation = _with_one_more(validation, first, first if same else _run(given, runners[1], other), lifted)
    except Stop as stop:
        if not validation.inputs:
            raise _NoValue("", str(stop)) from None
        return replace(validation, missing=str(stop))
    nothing = "" if validation.inputs or not number else "no generated input has a value in either model"
    return replace(validation, missing=nothing)


def _computes_alike(one: ExecutablePart, other: ExecutablePart) -> bool:
    """Whether two models differ in declarations only, so that a run of one is a run of the other."""
    return one.outputs == other.outputs and _differ_in_declarations(one.model, other.model)


def _differ_in_declarations(one: Model, other: Model) -> bool:
    """Whether the value_info of their main graphs is all that two models differ in, if in anything."""
    stripped = [replace(model, graph=replace(model.graph, value_info=())) for model in (one, other)]
    return is_same(*stripped)


def _is_function(model: Model) -> bool:
    """Whether the outputs follow from the inputs: nothing is read before it exists, and no node may be random."""
    every = [*scopes(model)]
    defined = every[0].defined_at.keys() >= {value.name for value in model.graph.outputs}
    nodes = (node for scope in every for node in scope.graph.nodes)
    return defined and not every[0].early_uses and not any(map(may_be_random, nodes))


def _with_one_more(found: Validation, one: RunResult, other: RunResult, lifted: frozenset[str]) -> Validation:
    """One set of inputs more; values in both models, or the same error condition; one result is that of both.

    Where the original meets an error condition that a rewrite lifts, there is nothing to compare.
    """
    if isinstance(one, ErrorCondition) and one.rule in lifted:
        return replace(found, without_value=found.without_value + 1)
    if isinstance(one, ErrorCondition):
        if not isinstance(other, ErrorCondition):
            raise _NoValue(one.rule, str(one))
        if one.rule != other.rule:
            raise Differs(
                f"the original meets the error condition {one.rule}, the rewritten model {other.rule}; "
                "nothing is written"
            )
        return replace(found, without_value=found.without_value + 1)
    if isinstance(other, ErrorCondition):
        raise Differs(
            f"the rewritten model meets the error condition {other.rule}, the original does not; nothing is written"
        )
    elements, bitwise = found.elements + sum(values.size for values in one.values()), found.bitwise
    if one is not other:
        _require_equal(one, other)
        bitwise = bitwise and _equal_bits(one, other)
    return replace(found, inputs=found.inputs + 1, elements=elements, bitwise=bitwise)


def _run(given: Mapping[str, Array], runner: ModelRunner, part: ExecutablePart) -> RunResult:
    """The outputs of a part, or the error condition that these inputs meet."""
    names = {value.name for value in required_inputs(part.model)}
    inputs = {name: values for name, values in given.items() if name in names}
    try:
        values = runner.run(inputs).values
    except ErrorCondition as stop:
        return stop
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        if isinstance(error, Stop):
            raise
        raise NotExecutable(f"the executor fails on a node outside the profile ({type(error).__name__})") from None
    return {shown: values[name] for shown, name in part.outputs.items()}


def _equal_bits(one: Mapping[str, Array], other: Mapping[str, Array]) -> bool:
    return all(first_difference(other[name], values, bits=True) is None for name, values in one.items())


def _require_equal(one: Mapping[str, Array], other: Mapping[str, Array]) -> None:
    """All elements are equal.

    Raises:
        Differs: one is not.
    """
    if one.keys() != other.keys():
        raise Differs(f"the outputs are {', '.join(map(quote, one))} and {', '.join(map(quote, other))}")
    for name, values in one.items():
        difference = first_difference(other[name], values)
        if difference is not None:
            where = f"{escape(name)} differs {difference.place}: {difference.found}, not {difference.wanted}"
            raise Differs(f"{where}; this is a defect of sonnx, and nothing is written")


# ------------------------------------------------------------------ models without the nodes that cannot be run
#
# The inputs of such a node become outputs, and its outputs become inputs with arbitrary values.  If the node is in both
# models, and gets the same inputs in both for any outputs it gives, then what it computes does not matter.


class ExecutablePart(Struct, frozen=True):
    """A model without the nodes that are left out; `outputs` maps a description of each compared value to its name."""

    model: Model
    left_out: tuple[Node, ...]
    outputs: Mapping[str, str]


def _declared_types(model: Model) -> dict[str, Type]:
    return dict(Scope("graph", model.graph, {}).declared)


def executable_part(model: Model, declared: Mapping[str, Type]) -> ExecutablePart:
    """The model without nodes of operators the executor does not know; `declared` has the types of their outputs."""
    graph, functions = model.graph, {function_key(function) for function in model.functions}
    unknown = tuple(node for node in graph.nodes if _not_executable(node, functions))
    outputs = {f"the output {value.name}": value.name for value in graph.outputs}
    for node in unknown:
        name = next(filter(None, node.outputs), node.name)
        outputs |= {f"input {index} of the node of {name}": given for index, given in enumerate(node.inputs) if given}
    arbitrary = tuple(
        ValueInfo(name, declared.get(name, NOT_STATED)) for node in unknown for name in node.outputs if name
    )
    part = replace(
        graph,
        nodes=tuple(node for node in graph.nodes if not _not_executable(node, functions)),
        inputs=(*graph.inputs, *arbitrary),
        outputs=tuple(ValueInfo(name, declared.get(name, NOT_STATED)) for name in dict.fromkeys(outputs.values())),
    )
    return ExecutablePart(replace(model, graph=part), unknown, outputs)


def _not_executable(node: Node, functions: set[tuple[str, str, str]]) -> bool:
    """Whether the executor does not know the operator; calls of functions and nodes with graphs are left to it."""
    if (canonical_domain(node.domain), node.operator, node.overload) in functions or next(
        subgraphs(node), None
    ) is not None:
        return False
    return not is_executable(node)


def _identity(node: Node) -> object:
    """What is equal for a node that is left out of both models."""
    return node.operator, node.domain, node.outputs, len(node.inputs), node.attributes
