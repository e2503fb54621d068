"""The rules about one call of an operator: its place in the profile, its signature, and the rules of the operator.

Everything here is a function of a `Call` and of facts without names, so that equal calls are evaluated once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sonnx.base.escaping import escape
from sonnx.checker.environment import NOTHING_STATED, environment, evaluate
from sonnx.checker.graph_rules import Call
from sonnx.checker.report import Verdict
from sonnx.checker.rules import ActiveRules, RuleResult, evaluate_rule, relying
from sonnx.language.domain import Expression, given_key, input_key
from sonnx.language.evaluator import Evaluator, TensorFacts, Unknown, first_unknown
from sonnx.language.explainer import show
from sonnx.language.structure import Read, reads
from sonnx.profile.definitions import Output, Rule, Tag, at
from sonnx.profile.signature import Signature, demanded

Inputs = Sequence[TensorFacts | None]
_BLOCKING = (Verdict.FAIL, Verdict.UNDECIDED)
_PLANNED = "the operator is planned: until a text specifies it, only the rules of ONNX apply"


def judge_form(call: Call, active: ActiveRules) -> list[RuleResult]:
    """The results that do not depend on the tensors: profile, version, attributes, numbers of inputs and outputs."""
    results = [_graph_rule_result(rule, call, active) for rule in active.deciding("node")]
    if call.status == "planned":
        of_a_call = (*active.about("parameter"), *active.about("input"))
        return results + [RuleResult(rule, Verdict.NOT_APPLICABLE, _PLANNED) for rule, _ in of_a_call]
    if call.signature is not None:
        results += _parameter_results(call, call.signature, active, {})
        results += _input_results(call, call.signature, active)
    return results


def judge_facts(
    call: Call, inputs: Inputs, outputs: Inputs, active: ActiveRules
) -> tuple[list[RuleResult], list[TensorFacts]]:
    """The results about the tensors of a call, and the facts of its outputs."""
    declared = [NOTHING_STATED if each is None else each for each in outputs]
    if call.signature is None:
        return [], declared
    names = environment(call.signature, call.attributes, inputs, outputs)
    _complete_types(call.signature, names)
    own = list(_operator_results(call.signature, names, active))
    closed = {result.rule.name for result in own if result.verdict in _BLOCKING}
    computed = _computed(call.signature, names, declared, closed)
    absent = [] if call.status == "planned" else _parameter_results(call, call.signature, active, names)
    return [*absent, *group_answers(call.signature, names, active), *own], computed


def _graph_rule_result(rule: Rule, call: Call, active: ActiveRules) -> RuleResult:
    if rule.slug == "operator-in-profile" and call.status in ("specified", "draft") and call.known is None:
        text = f"the rules of {escape(call.operator)} are not written yet: no other rule is checked for the node"
        return RuleResult(rule, Verdict.NOT_CHECKED, text)
    violations = [violation.actual for violation in active.decide(rule)(call)]
    if not violations:
        return RuleResult(rule, Verdict.PASS)
    return RuleResult(rule, Verdict.FAIL, "; ".join(violations), rule.statement, rule.kind == "validity")


def _parameter_results(
    call: Call, signature: Signature, active: ActiveRules, names: Mapping[str, Any]
) -> Iterator[RuleResult]:
    """The results of rules about parameters.

    Without facts: for parameters that are written, or whose absence always means the same.  With facts: for the others.
    """
    written = {attribute.name for attribute in call.attributes}
    for rule, demand in active.about("parameter"):
        for parameter in signature.attributes:
            absent = signature.absent[parameter.name]
            if bool(names) is (absent is not None and parameter.name not in written and bool(absent.names)):
                facts = {"written": parameter.name in written, "value_when_absent": absent is not None}
                result = evaluate_rule(rule, demand, {"parameter": facts})
                if result.verdict is Verdict.FAIL:
                    result = _with_actual(
                        result, f"{parameter.name} is not written; its absence means {_meaning(absent, names)}"
                    )
                yield _with_tags(result, parameter.tags)


def _meaning(absent: Expression | None, names: Mapping[str, Any]) -> str:
    """What an absence means: the value, or the expression where the model does not determine the value."""
    if absent is None:
        return "nothing"
    value = evaluate(absent, Evaluator(), names)
    return absent.text if first_unknown((value,)) else show(value)


def _input_results(call: Call, signature: Signature, active: ActiveRules) -> Iterator[RuleResult]:
    for rule, demand in active.about("input"):
        for index, formal in enumerate(signature.inputs):
            if formal.optional and not formal.exempt:
                connected = index < len(call.inputs) and call.inputs[index]
                result = evaluate_rule(rule, demand, {"input": {"connected": connected}})
                yield _with_tags(_with_actual(result, f"the optional input {formal.name} is omitted"), formal.tags)


def group_answers(
    signature: Signature, names: Mapping[str, Any], active: ActiveRules, *, onnx_only: bool = False
) -> Iterator[RuleResult]:
    """The results of the rules about groups of tensors with one element type."""
    for rule, demand in active.about("group"):
        for members in _groups(signature, names, () if onnx_only else signature.one_type):
            tensors = _members(members, names)
            result = _with_names(evaluate_rule(rule, demand, {"group": tuple(tensors.values())}), list(tensors))
            tags = dict.fromkeys(tag for each in signature.formals if each.name in members for tag in each.type_tags)
            by_onnx = members in signature.groups.values()
            yield _with_tags(result if by_onnx else replace(result, breaks_onnx=False), tuple(tags))


def _groups(signature: Signature, names: Mapping[str, Any], alike: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Groups of tensors with one element type: by the type variables of ONNX, and by the text of the profile only."""
    groups = tuple(signature.groups.values())
    beyond = [members for members in alike if not any(set(members) <= set(group) for group in groups)]
    return [members for members in (*groups, *beyond) if len(_members(members, names)) > 1]


def _present(members: Iterable[str], names: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The formal names of a group's members that a call has, each with the name of its facts."""
    for formal in members:
        name = input_key(formal) if input_key(formal) in names else formal
        if not isinstance(names[name], TensorFacts) or names.get(given_key(formal), True):
            yield formal, name


def _members(members: Iterable[str], names: Mapping[str, Any]) -> dict[str, TensorFacts]:
    """The tensors of a type group by formal name, without omitted inputs and outputs."""
    found: dict[str, TensorFacts] = {}
    for formal, name in _present(members, names):
        value = names[name]
        if isinstance(value, TensorFacts):
            found[formal] = value
        else:
            found |= {f"{formal}[{index}]": item for index, item in enumerate(value)}
    return found


def _with_names(result: RuleResult, formals: list[str]) -> RuleResult:
    """The result with each `group[i]` replaced by the formal name."""
    actual = result.actual
    if not actual:
        return result
    for index in range(len(formals) - 1, -1, -1):
        actual = actual.replace(f"group[{index}]", formals[index])
    return replace(result, actual=actual, names=tuple(name for name in formals if name in actual))


def _operator_results(signature: Signature, names: Mapping[str, Any], active: ActiveRules) -> Iterator[RuleResult]:
    causes: dict[str, str] = {}
    for rule in signature.rules:
        cause = next((causes[name] for name in rule.relies if name in causes), "")
        demand = demanded(rule, signature.text, active.editions)
        result = relying(rule, cause) if cause or demand is None else evaluate_rule(rule, demand, names)
        if result.verdict is Verdict.ASSUMED and demand is not None:
            result = replace(result, names=_at_run_time(signature, (demand, rule.when), names))
        if result.verdict in _BLOCKING:
            cause_is_active = result.cause in active.slugs or "." in result.cause
            causes[rule.name] = result.cause if cause_is_active else rule.slug
        yield result


def _at_run_time(signature: Signature, texts: Iterable[Expression | None], names: Mapping[str, Any]) -> tuple[str, ...]:
    """The inputs known at run time only whose values the conditions read, directly or through definitions."""
    waiting, read = [text for text in texts if text is not None], dict[str, Expression]()
    while waiting:
        text = waiting.pop()
        read[text.text] = text
        waiting += [
            signature.define[name]
            for name in text.names
            if name in signature.define and signature.define[name].text not in read
        ]
    used = {name for text in read.values() for name in text.names}
    tensors = {each.name: names.get(input_key(each.name), names[each.name]) for each in signature.inputs}
    return tuple(
        name
        for name, tensor in tensors.items()
        if name in used and isinstance(tensor, TensorFacts) and isinstance(tensor.values, Unknown)
        if input_key(name) in names or any(Read(name, "values") in reads(text) for text in read.values())
    )


def _complete_types(signature: Signature, names: dict[str, Any]) -> None:
    """Give each output without a declared element type the one of its operator."""
    for output in signature.outputs:
        given = names[output.name]
        if isinstance(given, TensorFacts):
            names[output.name] = _typed(signature, output, given, names)
        else:
            names[output.name] = tuple([_typed(signature, output, each, names) for each in given])


def _typed(signature: Signature, output: Output, tensor: TensorFacts, names: Mapping[str, Any]) -> TensorFacts:
    if not isinstance(tensor.type, Unknown):
        return tensor
    if output.constant and isinstance(names[output.constant], TensorFacts):
        return tensor._replace(type=names[output.constant].type)
    chosen = at(output.element, signature.version)
    if chosen is not None:
        element = evaluate(chosen, Evaluator(), names)
        return tensor if isinstance(element, Unknown) else tensor._replace(type=element)
    if output.type not in signature.groups:
        return tensor._replace(type=output.type) if output.type else tensor
    known = [each.type for each in _members(signature.groups[output.type], names).values()]
    single = signature.single.get(output.type, tensor.type)
    return tensor._replace(type=next((each for each in known if not isinstance(each, Unknown)), single))


def _computed(
    signature: Signature, names: Mapping[str, Any], declared: list[TensorFacts], closed: set[str]
) -> list[TensorFacts]:
    """The facts of the outputs: what is declared, and where nothing is declared, what the operator computes."""
    result = list(declared)
    for index, output in enumerate(signature.outputs[: len(declared)]):
        shape = declared[index].shape
        known = names.get(output.constant)
        if isinstance(known, TensorFacts):
            shape = _filled(shape, known.shape)
            result[index] = TensorFacts(names[output.name].type, shape, known.values)
            continue
        unknown = output.name not in signature.shapes or not closed.isdisjoint(output.relies)
        computed = NOTHING_STATED.shape if unknown else evaluate(signature.shapes[output.name], Evaluator(), names)
        if output.variadic:
            result[index:] = _each_computed(names[output.name], declared[index:], computed)
        else:
            result[index] = declared[index]._replace(type=names[output.name].type, shape=_filled(shape, computed))
    return result


def _each_computed(typed: Sequence[TensorFacts], declared: list[TensorFacts], shapes: Any) -> list[TensorFacts]:
    """The facts of a variadic output, with one computed shape each; as declared where the numbers differ."""
    fitting = isinstance(shapes, tuple) and len(shapes) == len(declared)
    computed = shapes if fitting else [NOTHING_STATED.shape] * len(declared)
    return [
        stated._replace(type=with_type.type, shape=_filled(stated.shape, shape))
        for stated, with_type, shape in zip(declared, typed, computed, strict=True)
    ]


def _filled(stated: Any, computed: Any) -> Any:
    """A declared shape with each dimension that is not a number replaced by the computed one."""
    if isinstance(computed, Unknown):
        return stated
    if isinstance(stated, Unknown):
        return computed
    if len(stated) != len(computed):
        return stated
    return tuple([b if isinstance(a, Unknown) else a for a, b in zip(stated, computed, strict=True)])


def _with_actual(result: RuleResult, actual: str) -> RuleResult:
    return replace(result, actual=actual, names=()) if result.verdict is Verdict.FAIL else result


def _with_tags(result: RuleResult, tags: tuple[Tag, ...]) -> RuleResult:
    """The result with the tags that the operator's text gives a parameter or tensor, before those of the rule."""
    if result.verdict is not Verdict.FAIL or not tags:
        return result
    return replace(result, rule=replace(result.rule, tags=(*tags, *result.rule.tags)))
