"""Which rules and operators a theorem bears on.

Rules that use a word the theorem is about, also inside other words or through a definition of their file; rules that
name its erratum; and what the theorem names itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from sonnx.language.domain import Expression
from sonnx.language.parser import with_inner
from sonnx.profile import catalogue
from sonnx.profile.definitions import Operator, Rule, at


def functions(theorem: Any) -> tuple[str, ...]:
    """The functions a theorem is about, by name."""
    return tuple(dict.fromkeys(each.__name__ for each in theorem.sources if not isinstance(each, str)))


def bears_on(theorem: Any) -> tuple[str, ...]:
    """Slugs of rules and names of operators, sorted."""
    known = _by_key()
    words_about = [
        each.__name__ for each in theorem.sources if getattr(each, "__module__", "") == "sonnx.language.builtins"
    ]
    found = {slug for key in (*words_about, theorem.erratum) for slug in known.get(key, ())}
    return tuple(sorted(found | set(theorem.concerns)))


@cache
def _by_key() -> Mapping[str, tuple[str, ...]]:
    """Rules by the words they use and by the errata they name."""
    found: dict[str, list[str]] = {}
    for slug, texts, errata in _texts():
        used = with_inner(word for text in texts for word in text.words)
        for key in (*used, *errata):
            found.setdefault(key, []).append(slug)
    return {key: tuple(slugs) for key, slugs in found.items()}


def _texts() -> Iterator[tuple[str, list[Expression], tuple[str, ...]]]:
    """Every rule, and every shape of an output, with its texts and the definitions they use."""
    for rule in (*catalogue.general_rules(), *catalogue.graph_rules()):
        yield rule.slug, _demands(rule), rule.errata
    for described in catalogue.operators():
        for rule in described.rules:
            yield rule.slug, defined(described, _demands(rule)), rule.errata
        for output in described.outputs:
            shape = at(output.shape, described.versions[-1])
            if shape is not None:
                yield f"{described.name}.{output.name}-shape", defined(described, [shape]), output.errata


def _demands(rule: Rule) -> list[Expression]:
    return [text for text in (rule.require, rule.onnx, rule.when) if text is not None]


def defined(described: Operator, texts: list[Expression]) -> list[Expression]:
    """The texts with the definitions of the operator's file they use, and those these use."""
    waiting, found = [name for text in texts for name in sorted(text.names)], dict[str, list[Expression]]()
    while waiting:
        name = waiting.pop()
        if name in described.define and name not in found:
            found[name] = list(described.define[name].values())
            waiting += [inner for text in found[name] for inner in sorted(text.names)]
    return [*texts, *(text for several in found.values() for text in several)]


DERIVED = "derived"


def page_of(theorem: Any) -> str:
    """The name of its page, without the suffix."""
    topic, _, rest = str(theorem.id).partition(".")
    return f"{DERIVED}-{rest.partition('-')[0].lower()}" if topic == DERIVED else topic
