"""The domain of stated facts: what a model states of its values, and what the rules say of each call.

Everything here is a function of a `Call` and of facts without names, so that equal calls are evaluated once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from sys import maxsize
from typing import Any

from msgspec.structs import replace

from sonnx.base.escaping import escape
from sonnx.checker.graph_rules import Decision
from sonnx.checker.graph_rules.nodes import misspelt
from sonnx.checker.rules import (
    ALL,
    ActiveRules,
    Demands,
    KnownResults,
    Listing,
    RuleResult,
    SubjectResults,
    is_out_of_place,
)
from sonnx.checker.satisfiability import OpenCall, open_call, witness
from sonnx.checker.verdicts import Verdict
from sonnx.graph.call import Call
from sonnx.graph.derived_values import with_derived_values
from sonnx.graph.environment import (
    NOTHING_STATED,
    StoredValue,
    constant_facts,
    declared_facts,
    environment,
    replaceable_facts,
)
from sonnx.graph.interpreter import Transferred
from sonnx.graph.transfer import complete_types, member_names, members, output_facts
from sonnx.graph.views import Views
from sonnx.language.domain import Expression, input_key
from sonnx.language.evaluator import TensorFacts, Unknown, evaluate, first_unknown
from sonnx.language.explainer import value_text
from sonnx.language.steps import are_left
from sonnx.language.structure import Read, reads
from sonnx.model.ir import NOT_STATED, Attribute, SparseTensor, Tensor, Type
from sonnx.profile.definitions import Rule, Tag, at
from sonnx.profile.signature import Signature

Facts = Sequence[TensorFacts | None]
OPEN = (Verdict.FAIL, Verdict.UNDECIDED)
SETTLED = (Verdict.PASS, Verdict.NOT_APPLICABLE)
_MEMBER = r"\bgroup\[(\d+)\]"
MOST_KNOWN_CALLS = 1 << 14
"""Calls that a `KnownCalls` keeps."""
MOST_COMPARED_BYTES = 1 << 20
"""Bytes of the largest constant that a `KnownCalls` compares by its bytes."""
PLANNED = "the operator is planned: until a text specifies it, only the rules of ONNX apply"


class KnownCalls(dict[object, Transferred[TensorFacts, SubjectResults]]):
    """What calls do that an earlier model had: evaluations of another model with equal calls on equal facts take it.

    Those that explain no result serve only evaluations that explain none.
    """

    def __init__(self) -> None:
        super().__init__()
        self._unexplained = dict[object, Transferred[TensorFacts, SubjectResults]]()
        self._contents = dict[int, tuple[object, object]]()  # by identity, with the object that keeps its identity
        self._meanings = dict[int, object]()

    def key(self, rules: ActiveRules, call: Call, inputs: Facts, outputs: Facts) -> object | None:
        """What the results of a call follow from; None where that is more than can be compared, or memory is full."""
        is_full = len(self) + len(self._unexplained) >= MOST_KNOWN_CALLS
        if is_full or call.function is not None or rules.tailoring is not None:
            return None
        attributes = tuple([self._meaning(attribute) for attribute in call.attributes])
        operator = call.operator, call.domain, call.overload, call.operator_set, call.version, call.imported
        where = rules.edition.name, rules.strict, call.status, call.in_function, call.strict, call.ir_version
        stated = call.inputs, call.outputs, call.definition is None, call.signature, attributes
        return operator, where, stated, tuple([self._compared(each) for each in inputs]), tuple(outputs)

    def known(self, key: object, *, is_explained: bool) -> Transferred[TensorFacts, SubjectResults] | None:
        """What is known of a call with this key."""
        transferred = self.get(key)
        return self._unexplained.get(key) if transferred is None and not is_explained else transferred

    def keep(self, key: object, transferred: Transferred[TensorFacts, SubjectResults], *, is_explained: bool) -> None:
        """Keep what a call with this key does."""
        (self if is_explained else self._unexplained)[key] = transferred

    def _meaning(self, attribute: Attribute) -> object:
        """What is equal for attributes that say the same; each of tensors, types and graphs is equal to itself only."""
        meaning = self._meanings.get(attribute.identity)
        if meaning is None:
            plain = all(type(item) in (int, float, str) for item in attribute.items)
            # as text, because 1, 1.0 and True are equal, and so are 0.0 and -0.0
            meaning = repr(attribute.compared()) if plain else attribute.identity
            self._meanings[attribute.identity] = meaning
        return meaning

    def _compared(self, facts: TensorFacts | None) -> TensorFacts | None:
        """Facts that are equal where all that rules read is: stored values are compared by their bytes.

        Each walk and each check reads constants again, and models repeat them.  Long ones, and those that
        are not computed yet, are compared by identity.
        """
        if facts is None or type(facts.values) is not StoredValue or facts.values.tensor.content is None:
            return facts
        tensor = facts.values.tensor
        content = tensor.content
        known = self._contents.get(id(content))
        if known is None:
            compared: object = id(content)
            if isinstance(content, memoryview) and len(content) <= MOST_COMPARED_BYTES:
                compared = sha256(content).digest()
            known = self._contents[id(content)] = content, compared
        return facts._replace(values=("stored", tensor.element, tensor.dims, known[1]))


class FactsDomain:
    """Values are facts; a call gives the results of all rules about it.

    Results that need no facts of the tensors (profile, version, attributes, counts) are evaluated once per call.
    """

    def __init__(self, rules: ActiveRules, most: int = maxsize, known_calls: KnownCalls | None = None) -> None:
        """Explains the first `most` results of a rule with one verdict, those that a report lists.

        `known_calls` is what evaluations of other models under the same edition have kept.
        """
        self.rules, self._listing, self._known_calls = rules, Listing(most), known_calls
        self._of_calls: dict[Call, list[RuleResult]] = {}
        self._results = KnownResults()

    def declared(self, type_: Type) -> TensorFacts:
        """What a declaration states."""
        return NOTHING_STATED if type_ == NOT_STATED else declared_facts(type_)

    def constant(self, tensor: Tensor, replaceable: bool) -> TensorFacts:
        """What an initializer states; of one that a caller may replace the values are known at run time only."""
        return replaceable_facts(tensor) if replaceable else constant_facts(tensor)

    def sparse(self, tensor: SparseTensor) -> TensorFacts:
        """What a sparse initializer states: it is a dense tensor that is stored in sparse format."""
        return declared_facts(Type("tensor", tensor.element, tensor.dims, True))

    def call(self, call: Call, inputs: Facts, outputs: Facts) -> Transferred[TensorFacts, SubjectResults]:
        """The results of all rules about a call, and the facts of its outputs after it."""
        known_calls, full = self._known_calls, self._listing.full
        key = None if known_calls is None or full > 0 else known_calls.key(self.rules, call, inputs, outputs)
        transferred = None if known_calls is None or key is None else known_calls.known(key, is_explained=not full)
        if transferred is None:
            transferred = self._transferred(call, inputs, outputs)
            if known_calls is not None and key is not None and are_left():
                known_calls.keep(key, transferred, is_explained=not full)
        self._listing.listed(transferred.result)
        return transferred

    def _transferred(self, call: Call, inputs: Facts, outputs: Facts) -> Transferred[TensorFacts, SubjectResults]:
        signature, after = call.signature, [NOTHING_STATED if output is None else output for output in outputs]
        if signature is None:
            results = self._results.of(self._without_facts(call))
        else:
            names = environment(signature, call.attributes, inputs, outputs)
            complete_types(signature, names)
            results, open_rules = self._with_facts(call, signature, self.rules.demands(signature), names)
            after = output_facts(
                signature, names, after, open_rules, lambda output: evaluate(signature.shapes[output.name], names)
            )
            if signature.elements and all(map(leaves_values, results.reported)):
                after = with_derived_values(signature, names, after)
        return Transferred(after, results)

    def own_results(self, signature: Signature, demands: Demands, views: Views) -> list[RuleResult]:
        """The results of the operator's own rules for one call, in order."""
        results = list(_own_results(signature, demands, views, self.rules, self._listing))
        return _with_witness(signature, demands, views.names, results)

    def _without_facts(self, call: Call) -> list[RuleResult]:
        results = self._of_calls.get(call)
        if results is None:
            results = self._of_calls[call] = without_facts(call, self.rules)
        return results

    def _with_facts(
        self, call: Call, signature: Signature, demands: Demands, names: Mapping[str, Any]
    ) -> tuple[SubjectResults, frozenset[str]]:
        """The results of all rules about a call, and the names of the open ones."""
        rules, listing, views = self.rules, self._listing, Views(names)
        own = self.own_results(signature, demands, views)
        if not _has_dense_operands(names):
            operands = list(_operand_results(call, signature, rules, names))
        elif demands.dense is None:
            operands = demands.dense = list(_operand_results(call, signature, rules, names))
        else:
            operands = demands.dense
        absent = [] if call.status == "planned" else _parameter_results(call, signature, rules, names)
        key = demands.of_groups(views), listing.full
        groups = demands.groups.get(key)
        if groups is None:
            groups = demands.groups[key] = list(group_results(signature, names, rules, listing))
        open_rules = frozenset([result.rule.name for result in own if result.verdict in OPEN])
        return self._results.of([*self._without_facts(call), *absent, *operands, *groups, *own]), open_rules


def leaves_values(result: RuleResult) -> bool:
    """Whether a rule that does not hold leaves the values of a call: a text restricts what ONNX defines.

    A restriction of an operator that no text introduced stands where ONNX is silent.  One that waits for another
    restriction leaves them too, unless ONNX demands a part of it; so does an error condition that waits, because a
    value that no text defines is not derived (`derived_values`).  A rule of a project adds to an edition, and leaves
    what follows under the edition alone.
    """
    rule = result.rule
    if rule.kind == "project":
        return True
    if rule.kind == "error-condition" and result.verdict is Verdict.UNDECIDED:
        return bool(result.cause)
    if rule.kind != "restriction" or ("." in rule.slug and rule.introduced == "onnx"):
        return False
    if result.verdict is Verdict.UNDECIDED:
        return bool(result.cause) and rule.onnx is None
    return result.verdict is Verdict.FAIL and not result.breaks_onnx


def without_facts(call: Call, rules: ActiveRules) -> list[RuleResult]:
    """The results that need no facts of the tensors: profile, version, attributes, counts."""
    results = [_graph_result(*each, call) for each in rules.decided_about("node")]
    if call.status == "planned":
        about_calls = (*rules.general_rules_about("parameter"), *rules.general_rules_about("input"))
        return results + [RuleResult(rule, Verdict.NOT_APPLICABLE, PLANNED) for rule, _ in about_calls]
    if call.signature is not None:
        results += _parameter_results(call, call.signature, rules, None)
        results += _input_results(call, call.signature, rules)
    return results


def _graph_result(rule: Rule, decide: Decision, call: Call) -> RuleResult:
    if rule.slug == "operator-in-profile" and call.status in ("specified", "draft") and call.definition is None:
        text = f"the rules of {escape(call.operator)} are not written yet: no other rule is checked for the node"
        return RuleResult(rule, Verdict.NOT_CHECKED, text)
    defects = list(decide(call))
    if not defects:
        return RuleResult(rule, Verdict.PASS)
    failures = [defect for defect in defects if defect.verdict is Verdict.FAIL]
    text = "; ".join(defect.actual for defect in failures or defects)
    if not failures:
        return RuleResult(rule, defects[0].verdict, text, rule.statement, False, defects[0].cause)
    return RuleResult(rule, Verdict.FAIL, text, rule.statement, rule.kind == "validity")


def _parameter_results(
    call: Call, signature: Signature, rules: ActiveRules, names: Mapping[str, Any] | None
) -> Iterator[RuleResult]:
    """The rules about parameters; with names those whose absence means an expression on facts, else all others."""
    written, meant = {attribute.name for attribute in call.attributes}, misspelt(call)
    for condition in rules.conditions_about("parameter"):
        for parameter in signature.attributes:
            absent = signature.absent[parameter.name]
            depends_on_facts = absent is not None and parameter.name not in written and bool(absent.names)
            if depends_on_facts is (names is not None):
                stated = {"written": parameter.name in written, "value_when_absent": absent is not None}
                result = condition.result(Views({"parameter": stated}))
                if result.verdict is Verdict.FAIL:
                    meaning = _meaning(absent, names or {})
                    result = _stating(result, f"{parameter.name} is not written; ONNX then takes {meaning}")
                    if parameter.name in meant:  # the failure of the misspelt name says it
                        result = replace(result, verdict=Verdict.UNDECIDED, cause="known-attribute")
                yield _with_tags(result, parameter.tags)


def _meaning(absent: Expression | None, names: Mapping[str, Any]) -> str:
    """What an absence means: the value, or the expression where the model does not determine the value."""
    if absent is None:
        return "nothing"
    value = evaluate(absent, names)
    return absent.text if first_unknown((value,)) else value_text(value)


def _input_results(call: Call, signature: Signature, rules: ActiveRules) -> Iterator[RuleResult]:
    for condition in rules.conditions_about("input"):
        for index, formal in enumerate(signature.inputs):
            if formal.optional and not formal.exempt:
                connected = index < len(call.inputs) and call.inputs[index]
                result = condition.result(Views({"input": {"connected": connected}}))
                instead = f"; {formal.instead}" if formal.instead else ""
                yield _with_tags(_stating(result, f"the optional input {formal.name} is omitted{instead}"), formal.tags)


def _has_dense_operands(names: Mapping[str, Any]) -> bool:
    """Whether each operand is a dense tensor, as far as it is stated."""
    for value in names.values():
        facts = value if type(value) is tuple else (value,)
        for one in facts:
            if type(one) is TensorFacts and one.kind not in DENSE:
                return False
    return True


def _operand_results(
    call: Call, signature: Signature, rules: ActiveRules, names: Mapping[str, Any]
) -> Iterator[RuleResult]:
    """The rules about inputs and outputs, for each that is not a dense tensor, else once for all of them."""
    others = list[tuple[str, str]]()
    for formal in signature.formals:
        formals = member_names((formal.name,), names)
        kinds = [facts.kind for facts in members((formal.name,), names)]
        others += [pair for pair in zip(formals, kinds, strict=True) if pair[1] not in DENSE]
    known = (at(call.definition.kinds, signature.version) if call.definition else None) or ()
    if others and known:  # values of one type variable are of one kind
        kinds = [facts.kind for group in signature.groups.values() for facts in members(group, names)]
        known = known if len({kind for kind in kinds if kind != "not stated"}) == 1 else ()
    for condition in rules.conditions_about("operand"):
        for name, kind in others or [("", DENSE[0])]:
            result = condition.result(Views({"operand": {"kind": kind}, "kinds": (*DENSE, *known)}))
            stated = _stating(result, f"{name} is a {kind}, {signature.operator} takes tensors")
            yield replace(stated, names=(name,)) if result.verdict is Verdict.FAIL else result


DENSE = ("tensor", "not stated")
"""The kinds of values that every operator takes."""


def group_results(
    signature: Signature,
    names: Mapping[str, Any],
    rules: ActiveRules,
    listing: Listing = ALL,
    *,
    onnx_only: bool = False,
) -> Iterator[RuleResult]:
    """The rules about tensors of one type, for each group of them."""
    for condition in rules.conditions_about("group"):
        for group in _groups(signature, names, () if onnx_only else signature.one_type):
            about_members = condition.result(Views({"group": members(group, names)}), listing)
            result = _naming(about_members, group, names)
            tags = dict.fromkeys(
                tag for formal in signature.formals if formal.name in group for tag in formal.type_tags
            )
            by_onnx = group in signature.groups.values()
            yield _with_tags(result if by_onnx else replace(result, breaks_onnx=False), tuple(tags))


def _groups(signature: Signature, names: Mapping[str, Any], alike: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Tensors of one type: those ONNX gives one type variable, and those only the text of the profile wants alike."""
    groups = tuple(signature.groups.values())
    beyond = [wanted for wanted in alike if not any(set(wanted) <= set(group) for group in groups)]
    return [group for group in (*groups, *beyond) if len(members(group, names)) > 1]


def _naming(result: RuleResult, group: tuple[str, ...], names: Mapping[str, Any]) -> RuleResult:
    """The result about `group[i]` in the names of the operator's formals."""
    shown = dict.fromkeys(map(int, re.findall(_MEMBER, result.actual)))
    if not shown:
        return result
    formals = member_names(group, names)
    actual = re.sub(_MEMBER, lambda match_: formals[int(match_[1])], result.actual)
    return replace(result, actual=actual, names=tuple([formals[index] for index in sorted(shown)]))


def _own_results(
    signature: Signature, demands: Demands, views: Views, rules: ActiveRules, listing: Listing
) -> Iterator[RuleResult]:
    """The operator's own rules; one that relies on an open rule waits for the cause of that."""
    causes: dict[str, str] = {}
    for rule, condition in demands.rules:
        cause = next((causes[name] for name in rule.relies if name in causes), "") if causes else ""
        if condition is None or (cause and not is_out_of_place(rule, views.names)):
            result = demands.relying(rule, cause)
        else:
            result = condition.result(views, listing)
        verdict = result.verdict
        if verdict in SETTLED:
            yield result
            continue
        is_read = condition is not None and not listing.is_full(rule, verdict)
        if verdict is Verdict.ASSUMED and condition is not None and is_read:
            result = replace(result, names=_at_run_time(signature, (condition.demand, rule.when), views.names))
        elif verdict is Verdict.FAIL and condition is not None and is_read:
            result = _with_derived(result, signature, condition.demand, views.names)
        if verdict in OPEN:
            is_active = result.cause in rules.slugs or "." in result.cause
            causes[rule.name] = result.cause if is_active else rule.slug
        yield result


def _with_witness(
    signature: Signature, demands: Demands, names: Mapping[str, Any], results: list[RuleResult]
) -> list[RuleResult]:
    """The results, where a shape is assumed with a value that gives it, or failing because no value does."""
    shapes = {f"{signature.operator}.{name}-shape" for name in signature.shapes}
    assumed = [result for result in results if result.verdict is Verdict.ASSUMED]
    if not any(result.rule.slug in shapes for result in assumed):
        return results
    if any(result.verdict is Verdict.FAIL and result.breaks_onnx for result in results):
        return results  # a necessary condition on the declared shapes says it, or another defect comes first
    call = open_call(signature, names)
    if call is None:
        return results
    slugs = {result.rule.slug for result in assumed}
    conditions = [(rule, condition.demand) for rule, condition in demands.rules if condition and rule.slug in slugs]
    found = witness(signature, call, [(rule.when, demand) for rule, demand in conditions])
    if found is None:
        return results
    if found:
        return [replace(result, witness=found) if result in assumed else result for result in results]
    of_onnx = [(rule.when, demand) for rule, demand in conditions if rule.kind == "validity"]
    possible = witness(signature, call, of_onnx)
    if possible is None:
        return results
    failing = shapes & slugs
    if possible:  # what the profile adds leaves no value: the restrictions that do so alone, or all together
        added = [(rule, demand) for rule, demand in conditions if rule.kind == "restriction"]
        alone = {rule.slug for rule, demand in added if witness(signature, call, [*of_onnx, (rule.when, demand)]) == ""}
        failing = alone or {rule.slug for rule, _ in added}
    return [
        _without_value(result, call, breaks_onnx=not possible) if result.rule.slug in failing else result
        for result in results
    ]


def _without_value(result: RuleResult, call: OpenCall, *, breaks_onnx: bool) -> RuleResult:
    """The failure of a rule that no values of the open operands satisfy together with the declared shape."""
    declared = " and ".join(map(value_text, call.declared))
    text = f"no value of {call.shown} gives the declared shape {declared}{'' if breaks_onnx else ' and satisfies this'}"
    return replace(result, verdict=Verdict.FAIL, actual=text, breaks_onnx=breaks_onnx, names=call.parameters)


def _at_run_time(
    signature: Signature, conditions: Iterable[Expression | None], names: Mapping[str, Any]
) -> tuple[str, ...]:
    """The inputs whose values conditions read, also through definitions, where these are known at run time only."""
    return tuple(
        name for name, tensor in _tensors_read(signature, conditions, names) if isinstance(tensor.values, Unknown)
    )


def _with_derived(result: RuleResult, signature: Signature, demand: Expression, names: Mapping[str, Any]) -> RuleResult:
    """The failure, with the names of the inputs whose values it rests on, and those values that nodes compute."""
    read = dict(_tensors_read(signature, (demand,), names))
    said = "".join(
        f"; the constants of the model determine {name} = {value_text(tensor.values)}"
        for name, tensor in read.items()
        if tensor.derived
    )
    return replace(result, actual=result.actual + said, names=tuple(dict.fromkeys((*result.names, *read))))


def _tensors_read(
    signature: Signature, conditions: Iterable[Expression | None], names: Mapping[str, Any]
) -> Iterator[tuple[str, TensorFacts]]:
    """The inputs whose values conditions read, also through definitions."""
    waiting, by_text = [condition for condition in conditions if condition is not None], dict[str, Expression]()
    while waiting:
        expression = waiting.pop()
        by_text[expression.text] = expression
        waiting += [
            signature.define[name]
            for name in expression.names
            if name in signature.define and signature.define[name].text not in by_text
        ]
    used = {name for expression in by_text.values() for name in expression.names}
    for operand in signature.inputs:
        tensor = names.get(input_key(operand.name), names[operand.name])
        if operand.name not in used or not isinstance(tensor, TensorFacts):
            continue
        if input_key(operand.name) in names or any(
            Read(operand.name, "values") in reads(each) for each in by_text.values()
        ):
            yield operand.name, tensor


def _stating(result: RuleResult, actual: str) -> RuleResult:
    """A failure with what the model states in other words; other results as they are."""
    return replace(result, actual=actual, names=()) if result.verdict is Verdict.FAIL else result


def _with_tags(result: RuleResult, tags: tuple[Tag, ...]) -> RuleResult:
    """The result with the tags the operator's text gives the formal, before those of the general rule."""
    if result.verdict is not Verdict.FAIL or not tags:
        return result
    return replace(result, rule=replace(result.rule, tags=(*tags, *result.rule.tags)))
