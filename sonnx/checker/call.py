"""Judging one call of an operator: its place in the profile, its signature, and the operator's own rules.

Everything here is a function of a `Call` and of facts without names, so that equal calls are judged once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sonnx.base.escaping import escape
from sonnx.checker.environment import NOTHING_STATED, environment, evaluate
from sonnx.checker.graph_rules import Call
from sonnx.checker.report import Verdict
from sonnx.checker.rules import ActiveRules, RuleResult, evaluate_rule, is_out_of_place, relying
from sonnx.language.domain import Expression
from sonnx.language.evaluator import Evaluator, TensorFacts, Unknown, first_unknown
from sonnx.language.explainer import show
from sonnx.language.structure import Read, reads
from sonnx.profile.definitions import Output, Rule, Tag, at
from sonnx.profile.signature import Signature, demanded

Inputs = Sequence[TensorFacts | None]
OPEN = (Verdict.FAIL, Verdict.UNDECIDED)
PLANNED = "the operator is planned: until a text specifies it, only what ONNX demands is asked"


def judge_form(call: Call, in_force: ActiveRules) -> list[RuleResult]:
    """The answers that need no facts of the tensors: profile, version, attributes, counts."""
    answers = [_graph_answer(rule, call, in_force) for rule in in_force.deciding("node")]
    if call.status == "planned":
        of_a_call = (*in_force.about("parameter"), *in_force.about("input"))
        return answers + [RuleResult(rule, Verdict.NOT_APPLICABLE, PLANNED) for rule, _ in of_a_call]
    if call.signature is not None:
        answers += _parameter_answers(call, call.signature, in_force, {})
        answers += _input_answers(call, call.signature, in_force)
    return answers


def judge_facts(
    call: Call, inputs: Inputs, outputs: Inputs, in_force: ActiveRules
) -> tuple[list[RuleResult], list[TensorFacts]]:
    """The answers about the tensors of a call, and the facts of its outputs after it."""
    declared = [NOTHING_STATED if each is None else each for each in outputs]
    if call.signature is None:
        return [], declared
    names = environment(call.signature, call.attributes, inputs, outputs)
    _complete_types(call.signature, names)
    own = list(_own_answers(call.signature, names, in_force))
    closed = {answer.rule.name for answer in own if answer.verdict in OPEN}
    computed = _computed(call.signature, names, declared, closed)
    absent = [] if call.status == "planned" else _parameter_answers(call, call.signature, in_force, names)
    return [*absent, *group_answers(call.signature, names, in_force), *own], computed


def _graph_answer(rule: Rule, call: Call, in_force: ActiveRules) -> RuleResult:
    if rule.slug == "operator-in-profile" and call.status in ("specified", "draft") and call.known is None:
        text = f"the rules of {escape(call.operator)} are not written yet: nothing else is said about the node"
        return RuleResult(rule, Verdict.NOT_CHECKED, text)
    defects = [defect.actual for defect in in_force.decide(rule)(call)]
    if not defects:
        return RuleResult(rule, Verdict.PASS)
    return RuleResult(rule, Verdict.FAIL, "; ".join(defects), rule.statement, rule.kind == "validity")


def _parameter_answers(
    call: Call, made: Signature, in_force: ActiveRules, names: Mapping[str, Any]
) -> Iterator[RuleResult]:
    """Without names: the parameters that are written, or whose absence always means the same; with names the others."""
    written = {attribute.name for attribute in call.attributes}
    for rule, demand in in_force.about("parameter"):
        for parameter in made.attributes:
            absent = made.absent[parameter.name]
            if bool(names) is (absent is not None and parameter.name not in written and bool(absent.names)):
                facts = {"written": parameter.name in written, "value_when_absent": absent is not None}
                answer = evaluate_rule(rule, demand, {"parameter": facts})
                if answer.verdict is Verdict.FAIL:
                    answer = _saying(
                        answer, f"{parameter.name} is not written; its absence means {_meaning(absent, names)}"
                    )
                yield _with_tags(answer, parameter.tags)


def _meaning(absent: Expression | None, names: Mapping[str, Any]) -> str:
    """What an absence means: the value, or the formula where the model does not determine it."""
    if absent is None:
        return "nothing"
    value = evaluate(absent, Evaluator(), names)
    return absent.text if first_unknown((value,)) else show(value)


def _input_answers(call: Call, made: Signature, in_force: ActiveRules) -> Iterator[RuleResult]:
    for rule, demand in in_force.about("input"):
        for index, formal in enumerate(made.inputs):
            if formal.optional and not formal.exempt:
                connected = index < len(call.inputs) and call.inputs[index]
                answer = evaluate_rule(rule, demand, {"input": {"connected": connected}})
                instead = f"; {formal.instead}" if formal.instead else ""
                text = f"the optional input {formal.name} is omitted{instead}"
                yield _with_tags(_saying(answer, text), formal.tags)


def group_answers(
    made: Signature, names: Mapping[str, Any], in_force: ActiveRules, *, onnx_only: bool = False
) -> Iterator[RuleResult]:
    """What the rules about tensors of one type say of each group of them."""
    for rule, demand in in_force.about("group"):
        for members in _groups(made, names, () if onnx_only else made.one_type):
            tensors = _members(members, names)
            answer = _naming(evaluate_rule(rule, demand, {"group": tuple(tensors.values())}), list(tensors))
            tags = dict.fromkeys(tag for each in made.formals if each.name in members for tag in each.type_tags)
            by_onnx = members in made.groups.values()
            yield _with_tags(answer if by_onnx else replace(answer, breaks_onnx=False), tuple(tags))


def _groups(made: Signature, names: Mapping[str, Any], alike: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Tensors of one type: those ONNX gives one type variable, and those only the text of the profile wants alike."""
    groups = tuple(made.groups.values())
    beyond = [members for members in alike if not any(set(members) <= set(group) for group in groups)]
    return [members for members in (*groups, *beyond) if len(_members(members, names)) > 1]


def _present(members: Iterable[str], names: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The letters of a group's members that a call has, each with its name among the facts."""
    for letter in members:
        name = f"{letter}_input" if f"{letter}_input" in names else letter
        if not isinstance(names[name], TensorFacts) or names.get(f"given({letter})", True):
            yield letter, name


def _members(members: Iterable[str], names: Mapping[str, Any]) -> dict[str, TensorFacts]:
    """The tensors of a type group by the letter of each; inputs and outputs that are left out are none."""
    found: dict[str, TensorFacts] = {}
    for letter, name in _present(members, names):
        value = names[name]
        if isinstance(value, TensorFacts):
            found[letter] = value
        else:
            found |= {f"{letter}[{index}]": item for index, item in enumerate(value)}
    return found


def _naming(answer: RuleResult, letters: list[str]) -> RuleResult:
    """The answer about `group[i]` in the letters of the operator."""
    actual = answer.actual
    if not actual:
        return answer
    for index in range(len(letters) - 1, -1, -1):
        actual = actual.replace(f"group[{index}]", letters[index])
    return replace(answer, actual=actual, letters=tuple(letter for letter in letters if letter in actual))


def _own_answers(made: Signature, names: Mapping[str, Any], in_force: ActiveRules) -> Iterator[RuleResult]:
    causes: dict[str, str] = {}
    for rule in made.rules:
        cause = next((causes[name] for name in rule.relies if name in causes), "")
        demand = demanded(rule, made.text, in_force.editions)
        waits = demand is None or (cause and not is_out_of_place(rule, names))
        answer = relying(rule, cause) if waits else evaluate_rule(rule, demand, names)
        if answer.verdict is Verdict.ASSUMED and demand is not None:
            answer = replace(answer, letters=_at_run_time(made, (demand, rule.when), names))
        if answer.verdict in OPEN:
            in_force_too = answer.cause in in_force.slugs or "." in answer.cause
            causes[rule.name] = answer.cause if in_force_too else rule.slug
        yield answer


def _at_run_time(made: Signature, texts: Iterable[Expression | None], names: Mapping[str, Any]) -> tuple[str, ...]:
    """The inputs whose values conditions read, also through definitions, where these are known at run time only."""
    waiting, read = [text for text in texts if text is not None], dict[str, Expression]()
    while waiting:
        text = waiting.pop()
        read[text.text] = text
        waiting += [
            made.define[name] for name in text.names if name in made.define and made.define[name].text not in read
        ]
    used = {name for text in read.values() for name in text.names}
    tensors = {each.name: names.get(f"{each.name}_input", names[each.name]) for each in made.inputs}
    return tuple(
        name
        for name, tensor in tensors.items()
        if name in used and isinstance(tensor, TensorFacts) and isinstance(tensor.values, Unknown)
        if f"{name}_input" in names or any(Read(name, "values") in reads(text) for text in read.values())
    )


def _complete_types(made: Signature, names: dict[str, Any]) -> None:
    """An output without a declared element type has the one its operator gives it."""
    for output in made.outputs:
        given = names[output.name]
        if isinstance(given, TensorFacts):
            names[output.name] = _typed(made, output, given, names)
        else:
            names[output.name] = tuple([_typed(made, output, each, names) for each in given])


def _typed(made: Signature, output: Output, tensor: TensorFacts, names: Mapping[str, Any]) -> TensorFacts:
    if not isinstance(tensor.type, Unknown):
        return tensor
    if output.constant and isinstance(names[output.constant], TensorFacts):
        return tensor._replace(type=names[output.constant].type)
    chosen = at(output.element, made.version)
    if chosen is not None:
        element = evaluate(chosen, Evaluator(), names)
        return tensor if isinstance(element, Unknown) else tensor._replace(type=element)
    if output.type not in made.groups:
        return tensor._replace(type=output.type) if output.type else tensor
    known = [each.type for each in _members(made.groups[output.type], names).values()]
    single = made.single.get(output.type, tensor.type)
    return tensor._replace(type=next((each for each in known if not isinstance(each, Unknown)), single))


def _computed(
    made: Signature, names: Mapping[str, Any], declared: list[TensorFacts], closed: set[str]
) -> list[TensorFacts]:
    """The facts of the outputs: what is declared, and where nothing is, what the operator computes."""
    result = list(declared)
    for index, output in enumerate(made.outputs[: len(declared)]):
        shape = declared[index].shape
        known = names.get(output.constant)
        if isinstance(known, TensorFacts):
            shape = _filled(shape, known.shape)
            result[index] = TensorFacts(names[output.name].type, shape, known.values)
            continue
        open_ = output.name not in made.shapes or not closed.isdisjoint(output.relies)
        computed = NOTHING_STATED.shape if open_ else evaluate(made.shapes[output.name], Evaluator(), names)
        if output.variadic:
            result[index:] = _each_computed(names[output.name], declared[index:], computed)
        else:
            result[index] = declared[index]._replace(type=names[output.name].type, shape=_filled(shape, computed))
    return result


def _each_computed(typed: Sequence[TensorFacts], declared: list[TensorFacts], shapes: Any) -> list[TensorFacts]:
    """The facts of a repeated output, one shape for each; where their number is another, as declared."""
    fitting = isinstance(shapes, tuple) and len(shapes) == len(declared)
    computed = shapes if fitting else [NOTHING_STATED.shape] * len(declared)
    return [
        stated._replace(type=made.type, shape=_filled(stated.shape, shape))
        for stated, made, shape in zip(declared, typed, computed, strict=True)
    ]


def _filled(stated: Any, computed: Any) -> Any:
    """A declared shape, each dimension without a number replaced by the computed one."""
    if isinstance(computed, Unknown):
        return stated
    if isinstance(stated, Unknown):
        return computed
    if len(stated) != len(computed):
        return stated
    return tuple([b if isinstance(a, Unknown) else a for a, b in zip(stated, computed, strict=True)])


def _saying(answer: RuleResult, actual: str) -> RuleResult:
    return replace(answer, actual=actual, letters=()) if answer.verdict is Verdict.FAIL else answer


def _with_tags(answer: RuleResult, tags: tuple[Tag, ...]) -> RuleResult:
    """The answer with the tags the operator's text gives the formal, before those of the general rule."""
    if answer.verdict is not Verdict.FAIL or not tags:
        return answer
    return replace(answer, rule=replace(answer.rule, tags=(*tags, *answer.rule.tags)))
