"""The form of a call: all that does not depend on the types and shapes of its tensors."""

from __future__ import annotations

from sonnx.calls import Inputs, judge_facts, judge_form, together
from sonnx.facts import Tensor as TensorFacts
from sonnx.graph_rules import Call
from sonnx.inforce import InForce
from sonnx.judging import Outcome, outcome
from sonnx.node_facts import environment, written_names
from sonnx.together import OFTEN, Together


class Form:
    """Calls that differ in the facts of their tensors only: what is said of all of them, and how many there were."""

    def __init__(self, call: Call, in_force: InForce) -> None:
        self.call, self.in_force, self.number = call, in_force, 0
        self.answers = judge_form(call, in_force)
        self.together: Together | None = None

    def judge(self, inputs: Inputs, outputs: Inputs) -> tuple[Outcome, list[TensorFacts]]:
        """What is said of one of the calls, and the facts of its outputs after it."""
        more, computed = judge_facts(self.call, inputs, outputs, self.in_force)
        return outcome([*self.answers, *more]), computed

    def at_once(self, inputs: Inputs, outputs: Inputs) -> Outcome | None:
        """What is said of a call whose facts are all known through; its outputs stay as declared.  None: left open."""
        self.number += 1
        made = self.call.signature
        if self.number < OFTEN or made is None:
            return None
        if self.number == OFTEN:
            names = environment(made, self.call.attributes, inputs, outputs)
            self.together = together(self.call, self.answers, names, self.in_force)
        if self.together is None:
            return None
        return self.together.outcome(written_names(made, self.call.attributes, inputs, outputs))
