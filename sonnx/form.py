"""The form of a call: all that does not depend on the types and shapes of its tensors."""

from __future__ import annotations

from sonnx.calls import Inputs, judge_facts, judge_form
from sonnx.facts import Tensor as TensorFacts
from sonnx.graph_rules import Call
from sonnx.inforce import InForce
from sonnx.judging import Outcome, outcome


class Form:
    """Calls that differ in the facts of their tensors only: what is said of all of them."""

    def __init__(self, call: Call, in_force: InForce) -> None:
        self.call, self.in_force = call, in_force
        self.answers = judge_form(call, in_force)

    def judge(self, inputs: Inputs, outputs: Inputs) -> tuple[Outcome, list[TensorFacts]]:
        """What is said of one of the calls, and the facts of its outputs after it."""
        more, computed = judge_facts(self.call, inputs, outputs, self.in_force)
        return outcome([*self.answers, *more]), computed
