"""What ONNX demands of a node itself: its attributes, and which inputs and outputs it has."""

from __future__ import annotations

from sonnx.base.errors import NotExecutable
from sonnx.base.escaping import quote
from sonnx.checker.rules import ActiveRules
from sonnx.checker.verdicts import Verdict
from sonnx.graph.call import Call
from sonnx.operators.stated_signature import StatedSignature


class NodeValidity:
    """What ONNX demands of a node itself, by the rules of the check: attributes, inputs and outputs."""

    def __init__(self, rules: ActiveRules) -> None:
        self.rules = rules
        self._valid = set[object]()

    def require(self, call: Call) -> None:
        """Nothing, for a valid node.

        Raises:
            NotExecutable: a rule does not hold.
        """
        attributes = tuple(
            [(attribute.name, attribute.kind, attribute.reference, attribute.fields) for attribute in call.attributes]
        )
        key = call.operator, call.operator_set, call.inputs, call.outputs, attributes
        if key not in self._valid:
            for rule, decide in self.rules.decided_about("node"):
                for violation in decide(call) if rule.kind == "validity" else ():
                    if violation.verdict is Verdict.FAIL:
                        raise NotExecutable(f"{violation.actual} ({rule.slug})")
            self._valid.add(key)


def require_stated_count(call: Call, signature: StatedSignature) -> None:
    """Inputs, outputs and attributes as the signature has them.

    Raises:
        NotExecutable: the node has others.
    """
    for what, connected, (least, greatest) in (
        ("input", call.inputs, signature.inputs),
        ("output", call.outputs, signature.outputs),
    ):
        if not least <= len(connected) <= greatest or not all(connected[:least]):
            number = f"{least}" if least == greatest else f"{least} to {greatest}"
            raise NotExecutable(f"{call.operator} has {number} {what}s, none of the first {least} left out")
    known = signature.attributes
    for attribute in call.attributes:
        if attribute.name not in known:
            raise NotExecutable(f"{call.operator} has no attribute {quote(attribute.name)}")
        if attribute.kind != known[attribute.name]:
            kinds = f"{attribute.kind}, not {known[attribute.name]}"
            raise NotExecutable(f"the attribute {quote(attribute.name)} is of kind {kinds}")
