"""Which outputs of a call may be left out together, as the rules about nodes decide it.

These rules are functions of a call, without an expression.  Each is asked about every combination of outputs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

from sonnx.checker.rules import ActiveRules
from sonnx.graph.call import Call
from sonnx.language.domain import Value, given_key
from sonnx.profile.definitions import OperatorDefinition
from sonnx.profile.signature import Signature
from sonnx.prover.smt_values import Truth, all_of, any_of, negate

ABOUT_OUTPUTS = ("output-count", "outputs-connected")
"""The rules about nodes that ask which outputs are connected."""
Presence = tuple[bool, ...]
"""Whether each output is connected."""


def accepted_outputs(
    described: OperatorDefinition, signature: Signature, rules: ActiveRules
) -> tuple[tuple[str, tuple[Presence, ...]], ...]:
    """The rules in force that refuse some combination of outputs, each with the combinations it accepts."""
    combinations = list(product(*([False, True] if output.optional else [True] for output in signature.outputs)))
    refusing: list[tuple[str, tuple[Presence, ...]]] = []
    for rule, decide in rules.decided_about("node"):
        if rule.slug in ABOUT_OUTPUTS:
            accepted = tuple(
                flags for flags in combinations if not any(decide(_call(described, signature, rules, flags)))
            )
            refusing += [(rule.slug, accepted)] * (len(accepted) < len(combinations))
    return tuple(refusing)


def _call(described: OperatorDefinition, signature: Signature, rules: ActiveRules, present: Presence) -> Call:
    """A call with these outputs; those left out at the end are not listed."""
    listed = present[: max([index + 1 for index, there in enumerate(present) if there], default=0)]
    version, status = signature.version, rules.edition.status(described.name)
    return Call(
        described.name, "", "", version, version, (), (), listed, described, signature, status, True, False, None, False
    )


def output_rules(
    described: OperatorDefinition, signature: Signature, rules: ActiveRules, names: Mapping[str, Value]
) -> Iterator[tuple[str, Truth]]:
    """The rules of `accepted_outputs`, each with the condition that a call meets it."""
    for slug, accepted in accepted_outputs(described, signature, rules):
        yield slug, any_of([_exactly(signature, present, names) for present in accepted])


def _exactly(signature: Signature, present: Presence, names: Mapping[str, Value]) -> Truth:
    """The condition that exactly these outputs are connected."""
    connected = [names[given_key(output.name)] for output in signature.outputs]
    return all_of([flag if there else negate(flag) for flag, there in zip(connected, present, strict=True)])
