"""What a call does to the facts of its outputs, whoever evaluates its expressions.

The checker evaluates rules and shapes on facts, the prover on solver terms.  In which order rules are evaluated, which
ones wait for others, and how declared and computed types and shapes go together is said here once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from sonnx.graph.environment import NOTHING_STATED
from sonnx.language.domain import Expression, given_key, input_key
from sonnx.language.evaluator import TensorFacts, Unknown, evaluate
from sonnx.profile.definitions import Editions, Output, Rule, at
from sonnx.profile.signature import Signature, active_condition

ShapeOf = Callable[[Output], Any]
"""The computed shape of an output: a tuple of extents (of a repeated output a tuple of shapes), or Unknown."""


def demands(signature: Signature, editions: Editions) -> Iterator[tuple[Rule, Expression | None]]:
    """The operator's own rules in order, each with its condition under the text in force, None where it has none."""
    for rule in signature.rules:
        yield rule, active_condition(rule, signature.text, editions)


def complete_types(signature: Signature, names: dict[str, Any]) -> None:
    """Give each output without a declared element type the one its operator gives it."""
    for output in signature.outputs:
        stated = names[output.name]
        listed = (stated,) if isinstance(stated, TensorFacts) else stated
        if not any(isinstance(each.type, Unknown) for each in listed):
            continue
        element = _element(signature, output, names)
        if not isinstance(element, Unknown):
            different = {id(each): each for each in listed}  # of many outputs most have one declaration
            typed = {
                key: each._replace(type=element) for key, each in different.items() if isinstance(each.type, Unknown)
            }
            listed = tuple([typed.get(id(each), each) for each in listed])
            names[output.name] = listed[0] if isinstance(stated, TensorFacts) else listed


def _element(signature: Signature, output: Output, names: Mapping[str, Any]) -> str | Unknown:
    """The element type that the operator gives an output."""
    if output.constant and isinstance(names[output.constant], TensorFacts):
        return names[output.constant].type  # type: ignore[no-any-return]
    chosen = at(output.element, signature.version)
    if chosen is not None:
        return evaluate(chosen, names)  # type: ignore[no-any-return]
    if output.type not in signature.groups:
        return output.type or NOTHING_STATED.type
    for _, name in present(signature.groups[output.type], names):
        value = names[name]
        for each in (value,) if isinstance(value, TensorFacts) else value:
            if not isinstance(each.type, Unknown):
                return each.type
    return signature.single.get(output.type, NOTHING_STATED.type)


def output_facts(
    signature: Signature,
    names: Mapping[str, Any],
    declared: Sequence[TensorFacts],
    open_rules: Collection[str],
    shape_of: ShapeOf,
    is_open: Callable[[Any], bool] = lambda dimension: isinstance(dimension, Unknown),
    not_computed: Unknown | None = None,
) -> list[TensorFacts]:
    """The facts of the outputs after a call: what is declared, and where nothing is, what the operator computes.

    Args:
        signature: the signature of the operator.
        names: the names of its rules, outputs with completed types.
        declared: the declared facts of the outputs the node has.
        open_rules: the names of the rules that do not hold; a shape that relies on one is not computed.
        shape_of: computes the shape of an output.
        is_open: whether a declared dimension states nothing that a computed one may not replace.
        not_computed: what is known of a shape that is neither declared nor computed, because of `open_rules`; by
            default what the declaration states.
    """
    result = list(declared)
    for index, output in enumerate(signature.outputs[: len(declared)]):
        constant = names.get(output.constant)
        if isinstance(constant, TensorFacts):
            shape = filled(declared[index].shape, constant.shape, is_open)
            result[index] = TensorFacts(names[output.name].type, shape, constant.values)
            continue
        if not output.variadic and _is_settled(declared[index].shape, is_open):
            result[index] = declared[index]._replace(type=names[output.name].type)
            continue
        waits = output.name not in signature.shapes or not set(output.relies).isdisjoint(open_rules)
        computed = NOTHING_STATED.shape if waits else shape_of(output)
        if waits and not_computed is not None and isinstance(declared[index].shape, Unknown):
            result[index] = declared[index]._replace(shape=not_computed)
            continue
        if output.variadic:
            result[index:] = _each(names[output.name], declared[index:], computed, is_open)
        else:
            shape = filled(declared[index].shape, computed, is_open)
            result[index] = declared[index]._replace(type=names[output.name].type, shape=shape)
    return result


def _is_settled(shape: Any, is_open: Callable[[Any], bool]) -> bool:
    """Whether a declared shape leaves nothing to compute."""
    return isinstance(shape, tuple) and not any(map(is_open, shape))


def _each(
    typed: Sequence[TensorFacts], declared: Sequence[TensorFacts], shapes: Any, is_open: Callable[[Any], bool]
) -> list[TensorFacts]:
    """The facts of a repeated output, one shape for each; where their number is another, as declared."""
    fitting = isinstance(shapes, tuple) and len(shapes) == len(declared)
    computed = shapes if fitting else [NOTHING_STATED.shape] * len(declared)
    return [
        as_declared
        if as_declared.type is as_typed.type and not fitting
        else as_declared._replace(type=as_typed.type, shape=filled(as_declared.shape, shape, is_open))
        for as_declared, as_typed, shape in zip(declared, typed, computed, strict=True)
    ]


def filled(stated: Any, computed: Any, is_open: Callable[[Any], bool]) -> Any:
    """A declared shape, each dimension that states nothing replaced by the computed one."""
    if isinstance(computed, Unknown):
        return stated
    if isinstance(stated, Unknown):
        return computed
    if len(stated) != len(computed):
        return stated
    return tuple([new if is_open(old) else old for old, new in zip(stated, computed, strict=True)])


def present(group: Iterable[str], names: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The formals of a group that a call has, each with its name among the facts."""
    for formal in group:
        name = input_key(formal) if input_key(formal) in names else formal
        if not isinstance(names[name], TensorFacts) or names.get(given_key(formal), True):
            yield formal, name


def members(group: Iterable[str], names: Mapping[str, Any]) -> tuple[TensorFacts, ...]:
    """The tensors of a group of formals that a call has."""
    values = [names[name] for _, name in present(group, names)]
    return tuple(chain.from_iterable((value,) if isinstance(value, TensorFacts) else value for value in values))


def member_names(group: Iterable[str], names: Mapping[str, Any]) -> list[str]:
    """The formal of each of these tensors: X, or X[0], X[1] of a repeated one."""
    member_names = list[str]()
    for formal, name in present(group, names):
        value = names[name]
        member_names += (
            (formal,) if isinstance(value, TensorFacts) else [f"{formal}[{index}]" for index in range(len(value))]
        )
    return member_names
