"""Whether a rewritten model gives the values of the original: the reference executor runs both, and every bit counts.

A rewrite is not believed.  What the executor cannot run is said, never passed over.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from sonnx.base.errors import ErrorCondition, NotExecutable, Stop
from sonnx.base.escaping import escape, plural, quote
from sonnx.executor.distance import first_difference
from sonnx.executor.executor import asked, run_model
from sonnx.model.ir import NOT_STATED, Model, Node, Type, Value, subgraphs
from sonnx.model.scopes import Scope, function_key, standard
from sonnx.numerics.formats import Array
from sonnx.operators.registry import has_meaning
from sonnx.rewriter.rewrite import Rewrite
from sonnx.rewriter.samples import samples


class Differs(AssertionError):
    """The rewritten model gives another value: a defect of this tool; nothing is written."""


@dataclass(frozen=True, slots=True)
class Validation:
    """What was compared.

    `inputs` sets of inputs were run through both models, `elements` output elements are the same, in every bit or
    but for the bits of NaNs;
    `without_value` sets have no value in either model, by the same rule.  `since` are the kinds of rewrites that had
    to be made before the executor gives the original a value: they rest on their theorem or construction alone, for
    `because`.  `open` says why nothing, or not all that was asked for, was compared.
    """

    asked: int
    inputs: int = 0
    outputs: int = 0
    elements: int = 0
    bits: bool = True
    without_value: int = 0
    since: tuple[str, ...] = ()
    because: str = ""
    left_out: tuple[str, ...] = ()
    """Operators the executor does not know: what goes into their nodes was compared, for any values coming out."""
    beyond: tuple[str, ...] = ()
    """Rewrites that were asked for and change values: they were made after what was compared."""
    open: str = ""

    @property
    def done(self) -> bool:
        """Whether the values of the original were compared, for all inputs asked for."""
        return self.inputs > 0 and not self.open and not (self.since or self.left_out or self.beyond)

    @property
    def sentence(self) -> str:
        """What was compared, for people."""
        if not self.asked:
            return "not validated: no inputs were asked for"
        if not self.inputs:
            return f"not validated: {self.open}"
        said = (
            f"validated: {self.elements} elements of {plural(self.outputs, 'value' if self.left_out else 'output')} "
            f"are the same {'in every bit' if self.bits else 'but for the bits of NaNs'}, "
            f"for {plural(self.inputs, 'set')} of generated inputs with special values"
        )
        said += f"; {self.without_value} more have no value in either model" if self.without_value else ""
        if self.since:
            said += f"; compared since {', '.join(self.since)}, because the original cannot be run ({self.because})"
        if self.left_out:
            unknown = ", ".join(map(escape, self.left_out))
            said += f"; the executor does not know {unknown}: what goes in was compared, for any values that come out"
        if self.beyond:
            said += f"; {', '.join(self.beyond)} came after that, and changes how values are rounded"
        return f"{said}; {self.open}" if self.open else said


Since = Callable[[frozenset[str]], Model]
"""The original after rewrites of some kinds only."""

Outcome = Mapping[str, Array] | ErrorCondition

ORDER = ("constant-condition", "dense-constants", "function-call", "sorted-nodes", "uncalled-functions")
"""Rewrites that make of a model what the executor can run, without touching any operator it can."""


def validate(
    since: Since,
    made: Sequence[Rewrite],
    rewritten: Model,
    edition: str,
    number: int,
    invalid_before: Sequence[str] = (),
    invalid_after: Sequence[str] = (),
) -> Validation:
    """Run both models, unchecked where they are outside the profile, and compare their outputs.

    Where the original has no value because of what a rewrite mends, it is compared since that rewrite; `invalid_before`
    and `invalid_after` are the rules by which the models are no valid ONNX and so have no values.

    Raises:
        Differs: an output has another value, or one model has a value where the other has none.
    """
    if invalid_after:
        return Validation(number, open=f"the model is no valid ONNX ({', '.join(invalid_after)}), so it has no values")
    kinds = frozenset(each.kind for each in made if set(each.rules) & set(invalid_before))
    reasons = list(invalid_before) if kinds else []
    while True:
        original = since(kinds)
        try:
            found = _compared(original, rewritten, edition, number)
            return replace(found, since=tuple(sorted(kinds)), because="; ".join(reasons))
        except _NoValue as stop:
            more = {each.kind for each in made if stop.rule in each.rules} if stop.rule else _order(made)
            if more <= kinds:
                return Validation(number, outputs=len(original.graph.outputs), open=str(stop))
            kinds |= more
            reasons.append(stop.rule or str(stop))


def _order(made: Sequence[Rewrite]) -> set[str]:
    return {each.kind for each in made if each.kind in ORDER}


class _NoValue(Exception):
    """The original has no value at all; `rule` says by which rule."""

    def __init__(self, rule: str, sentence: str) -> None:
        super().__init__(sentence)
        self.rule = rule


def _compared(original: Model, rewritten: Model, edition: str, number: int) -> Validation:
    declared = types(original) | types(rewritten)
    one, other = cut(original, declared), cut(rewritten, declared)
    if not same_nodes(one, other):
        names = ", ".join(dict.fromkeys(quote(node.operator) for node in (*one.nodes, *other.nodes)))
        raise _NoValue("", f"the executor does not know {names}, and not the same nodes of it stand in both models")
    left_out = tuple(dict.fromkeys(node.operator for node in one.nodes))
    found = Validation(number, outputs=len(one.outputs), left_out=left_out)
    try:
        for given in samples(asked(one.model), number):
            found = _one_more(found, _outcome(one, given, edition), _outcome(other, given, edition))
    except Stop as stop:
        if not found.inputs:
            raise _NoValue("", str(stop)) from None
        return replace(found, open=str(stop))
    said = "" if found.inputs or not number else "no generated input has a value in either model"
    return replace(found, open=said)


def _one_more(found: Validation, one: Outcome, other: Outcome) -> Validation:
    """One set of inputs more; values in both models, or the same error condition."""
    if isinstance(one, ErrorCondition):
        if not isinstance(other, ErrorCondition):
            raise _NoValue(one.rule, str(one))
        return replace(found, without_value=found.without_value + _neither(one.rule, other.rule))
    if isinstance(other, ErrorCondition):
        raise Differs(f"the rewritten model stops by {other.rule}, the original does not; nothing is written")
    elements, bits = _same(one, other), found.bits and _same_bits(one, other)
    return replace(found, inputs=found.inputs + 1, elements=found.elements + elements, bits=bits)


def _outcome(left: Cut, given: Mapping[str, Array], edition: str) -> Outcome:
    """The outputs, or the error condition these inputs meet."""
    names = {value.name for value in asked(left.model)}
    inputs = {name: values for name, values in given.items() if name in names}
    try:
        values = run_model(left.model, inputs, None, edition, unchecked=True).values
    except ErrorCondition as stop:
        return stop
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        if isinstance(error, Stop):
            raise
        raise NotExecutable(f"the executor fails on a node outside the profile ({type(error).__name__})") from None
    return {shown: values[name] for shown, name in left.outputs.items()}


def _neither(one: str, other: str) -> int:
    """One set of inputs more for which both models stop by one rule."""
    if one != other:
        raise Differs(f"the original stops by {one}, the rewritten model by {other}; nothing is written")
    return 1


def _same_bits(one: Mapping[str, Array], other: Mapping[str, Array]) -> bool:
    return all(first_difference(other[name], values, bits=True) is None for name, values in one.items())


def _same(one: Mapping[str, Array], other: Mapping[str, Array]) -> int:
    """How many elements were compared, all of them equal."""
    if one.keys() != other.keys():
        raise Differs(f"the outputs are {', '.join(map(quote, one))} and {', '.join(map(quote, other))}")
    for name, values in one.items():
        difference = first_difference(other[name], values)
        if difference is not None:
            said = f"{escape(name)} differs {difference.place}: {difference.found}, not {difference.wanted}"
            raise Differs(f"{said}; this is a defect of the tool, and nothing is written")
    return sum(values.size for values in one.values())


# ------------------------------------------------------------------
# A model without the nodes the executor does not know, so that all others can be compared.
#
# What goes into such a node becomes an output, and what comes out of it an input that gets any values.  If the node
# stands in both models, and gets the same values in both for any values it gives, it does not matter what it computes.


@dataclass(frozen=True)
class Cut:
    """What is left of a model: `outputs` say under which name each value stands that is to be compared."""

    model: Model
    nodes: tuple[Node, ...]
    outputs: Mapping[str, str]


def types(model: Model) -> dict[str, Type]:
    """The declared types of a model's values."""
    return dict(Scope("graph", model.graph, {}).declared)


def cut(model: Model, declared: Mapping[str, Type]) -> Cut:
    """The model without nodes of operators the executor does not know, their outputs as declared elsewhere."""
    graph, functions = model.graph, {function_key(function) for function in model.functions}
    unknown = tuple(node for node in graph.nodes if _unknown(node, functions))
    outputs = {f"the output {value.name}": value.name for value in graph.outputs}
    for node in unknown:
        name = next(filter(None, node.outputs), node.name)
        outputs |= {f"input {index} of the node of {name}": given for index, given in enumerate(node.inputs) if given}
    made = tuple(Value(name, declared.get(name, NOT_STATED)) for node in unknown for name in node.outputs if name)
    left = replace(
        graph,
        nodes=tuple(node for node in graph.nodes if not _unknown(node, functions)),
        inputs=(*graph.inputs, *made),
        outputs=tuple(Value(name, declared.get(name, NOT_STATED)) for name in dict.fromkeys(outputs.values())),
    )
    return Cut(replace(model, graph=left), unknown, outputs)


def _unknown(node: Node, functions: set[tuple[str, str, str]]) -> bool:
    """Calls of functions and graphs inside nodes are no operators; the executor says of them what there is to say."""
    if (standard(node.domain), node.operator, node.overload) in functions or next(subgraphs(node), None) is not None:
        return False
    return not has_meaning(node)


def same_nodes(one: Cut, other: Cut) -> bool:
    """Whether the same nodes were left out, by what they give, their operators and attributes."""
    return [_shown(node) for node in one.nodes] == [_shown(node) for node in other.nodes]


def _shown(node: Node) -> object:
    return node.operator, node.domain, node.outputs, len(node.inputs), node.attributes
