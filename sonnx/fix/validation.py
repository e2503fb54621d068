"""Whether a rewritten model gives the values of the original: the reference executor runs both, and every bit counts.

A rewrite is not believed.  What the executor cannot run is said, never passed over.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sonnx.agreement import first_difference
from sonnx.fix.samples import samples
from sonnx.model import Model
from sonnx.quoting import quote
from sonnx.running import asked, run_model
from sonnx.semantics.formats import Array
from sonnx.stops import ErrorCondition, Stop


class Differs(AssertionError):
    """The rewritten model gives another value: a defect of this tool; nothing is written."""


@dataclass(frozen=True, slots=True)
class Validation:
    """What was compared.

    `inputs` sets of inputs were run through both models, `elements` output elements are the same in every bit;
    `without_value` sets have no value in either model, by the same rule.  `open` says why nothing, or not all asked
    for, was compared.
    """

    asked: int
    inputs: int = 0
    outputs: int = 0
    elements: int = 0
    without_value: int = 0
    open: str = ""

    @property
    def done(self) -> bool:
        """Whether values were compared, and all that were asked for."""
        return self.inputs > 0 and not self.open

    @property
    def sentence(self) -> str:
        """What was compared, for people."""
        if not self.asked:
            return "not validated: no inputs were asked for"
        if not self.inputs:
            return f"not validated: {self.open}"
        said = (
            f"validated: {self.elements} elements of {_plural(self.outputs, 'output')} are the same in every bit, "
            f"for {_plural(self.inputs, 'set')} of generated inputs with special values"
        )
        said += f"; {self.without_value} more have no value in either model" if self.without_value else ""
        return f"{said}; {self.open}" if self.open else said


def _plural(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def validate(original: Model, rewritten: Model, edition: str, number: int) -> Validation:
    """Run both models, unchecked where they are outside the profile, and compare their outputs.

    Raises:
        Differs: an output has another value, or one model has a value where the other has none.
    """
    compared = elements = nothing = 0
    try:
        for given in samples(asked(original), number):
            one, other = (_outcome(model, given, edition) for model in (original, rewritten))
            if isinstance(one, str) or isinstance(other, str):
                nothing += _neither(one, other)
            else:
                elements += _same(one, other)
                compared += 1
    except Stop as stop:
        return Validation(number, compared, len(original.graph.outputs), elements, nothing, str(stop))
    said = "no generated input has a value in either model" if nothing and not compared else ""
    return Validation(number, compared, len(original.graph.outputs), elements, nothing, said)


def _outcome(model: Model, given: Mapping[str, Array], edition: str) -> Mapping[str, Array] | str:
    """The outputs, or the rule of the error condition these inputs meet."""
    names = {value.name for value in asked(model)}
    inputs = {name: values for name, values in given.items() if name in names}
    try:
        return run_model(model, inputs, None, edition, unchecked=True)[0]
    except ErrorCondition as stop:
        return stop.rule


def _neither(one: object, other: object) -> int:
    """One set of inputs more for which both models stop by one rule."""
    if one != other:
        rules = [each if isinstance(each, str) else "no rule" for each in (one, other)]
        raise Differs(f"the original stops by {rules[0]}, the rewritten model by {rules[1]}; nothing is written")
    return 1


def _same(one: Mapping[str, Array], other: Mapping[str, Array]) -> int:
    """How many elements were compared, all of them equal."""
    if one.keys() != other.keys():
        raise Differs(f"the outputs are {', '.join(map(quote, one))} and {', '.join(map(quote, other))}")
    for name, values in one.items():
        difference = first_difference(other[name], values, bits=True)
        if difference is not None:
            said = f"the output {quote(name)} differs {difference.place}: {difference.found}, not {difference.wanted}"
            raise Differs(f"{said}; this is a defect of the tool, and nothing is written")
    return sum(values.size for values in one.values())
