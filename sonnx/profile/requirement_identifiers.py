"""Identifiers of rules as requirements, and the register of all that were ever stated: requirement_identifiers.txt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from sonnx.base.resources import folder
from sonnx.profile.definitions import Rule

FILE = "requirement_identifiers.txt"
WITHDRAWN = "withdrawn"


def requirement_identifier(rule: Rule, edition: str) -> str:
    """The identifier of a rule as a requirement of an edition: `SONNX-2026-11/Max/broadcastable`."""
    return f"SONNX-{edition}/{_name(rule)}"


def _name(rule: Rule) -> str:
    """The identifier without the edition."""
    operator, dot, name = rule.slug.partition(".")
    return f"{operator}/{name}" if dot else f"general/{operator}"


def register() -> str:
    """The register: a line for each identifier that was ever stated, with the word withdrawn where its rule is gone."""
    return (folder("restrictions") / FILE).read_text("utf-8")


def register_faults(text: str, rules: Iterable[Rule]) -> Iterator[str]:
    """One sentence for each identifier that is listed or used twice, lost, or used again after it was withdrawn."""
    lines = [line.split() for line in text.splitlines() if line and not line.startswith("#")]
    listed = Counter(name for name, *_ in lines)
    withdrawn = {name for name, *state in lines if state == [WITHDRAWN]}
    used = Counter(map(_name, rules))
    for name in sorted(name for name, number in listed.items() if number > 1):
        yield f"The requirement identifier {name} is listed twice in {FILE}."
    for name in sorted(name for name, number in used.items() if number > 1):
        yield f"The requirement identifier {name} is used twice."
    for name in sorted(used.keys() & withdrawn):
        yield f"The requirement identifier {name} was withdrawn, and is that of a rule again."
    for name in sorted(used.keys() - listed.keys()):
        yield f"The requirement identifier {name} is not listed in {FILE}."
    for name in sorted(listed.keys() - used.keys() - withdrawn):
        yield f"The requirement identifier {name} has no rule; mark it as {WITHDRAWN} in {FILE}."
