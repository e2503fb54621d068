"""The page of one operator: versions, types, signature, rules with their labels, cases and theorems, errata."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from sonnx.evidence.traceability import Trace
from sonnx.language.domain import Expression
from sonnx.language.printer import formula
from sonnx.profile import catalogue
from sonnx.profile.definitions import Formal, Operator, Output, Parameter, Rule
from sonnx.profile.signature import every_rule

MADE = "<!-- Made by `make pages` from the data of the profile; do not edit. -->"
SAYS = {
    "validity": "ONNX demands it",
    "restriction": "restriction of the profile",
    "error-condition": "error condition of the profile",
}


def page(described: Operator, traced: Mapping[str, Trace], theorems: Iterable[str]) -> str:
    """The page as Markdown; `theorems` are those about the operator as a whole."""
    lines = [MADE, "", f"# {described.name}", "", described.summary, "", "```text", described.formula, "```", ""]
    lines += [f"Source: {described.source}.", ""]
    lines += [*_editions(described), "", *_versions(described), "", *_types(described), "", *_signature(described)]
    lines += ["", "## Rules", ""]
    for rule in every_rule(described):
        lines += _rule(rule, traced[rule.slug])
    lines += ["## Theorems about all rules", "", *_whole(described, tuple(theorems)), ""]
    lines += _errata(described)
    return "\n".join(lines).rstrip() + "\n"


def cell(text: str) -> str:
    """A text in a table, its bars escaped."""
    return text.replace("|", "\\|")


def table(*columns: str) -> list[str]:
    """The head of a table."""
    return [f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]


def span(each: Formal | Parameter | Rule) -> str:
    """From which version on, and up to which."""
    since = f"from {each.since}" if each.since > 1 else ""
    return ", ".join(filter(None, [since, f"before {each.before}" if each.before else ""])) or "all"


def tags_of(tags: Iterable[tuple[str, str]]) -> str:
    """Labels by their text: `2025-10: R2, RI; 2026-08: C1`."""
    by_text: dict[str, list[str]] = {}
    for text, label in tags:
        by_text.setdefault(text, []).append(label)
    return "; ".join(f"{text}: {', '.join(dict.fromkeys(listed))}" for text, listed in by_text.items())


def _labels(each: object) -> str:
    tags = (*getattr(each, "tags", ()), *getattr(each, "type_tags", ()))
    return tags_of((tag.text, tag.label) for tag in tags)


def _editions(described: Operator) -> Iterator[str]:
    known = catalogue.editions().editions
    yield from table("edition", "status", "text")
    for name, edition in known.items():
        status = edition.status(described.name)
        if status:
            yield f"| {name} | {status} | {edition.text_of(described.name)} |"
    if described.instead:
        yield from ("", f"Until a text specifies it: {described.instead}.")


def _versions(described: Operator) -> Iterator[str]:
    yield from table("ONNX version", "")
    for version in reversed(described.versions):
        reason = described.equivalent.get(version) or described.refused.get(version) or ""
        word = "equivalent" if version in described.equivalent else "refused" if version in described.refused else ""
        if not word:
            word = "specified" if version == described.specified else "known; none is specified"
        word += "".join(f"; specified in {text}" for text, each in described.specified_in.items() if each == version)
        yield f"| {version} | {word}{': ' if reason else ''}{cell(reason)} |"


def _types(described: Operator) -> Iterator[str]:
    yield from table("type variable", "from", "element types")
    for variable, by_version in described.types.items():
        for version, names in by_version.items():
            yield f"| {variable} | ONNX version {version} | {', '.join(names)} |"
        for text, names in described.profile.get(variable, {}).items():
            yield f"| {variable} | text {text} | {', '.join(names)} |"


def _signature(described: Operator) -> Iterator[str]:
    yield from table("", "name in ONNX", "type", "versions", "", "labels")
    for kind, formals in (("input", described.inputs), ("output", described.outputs)):
        for each in formals:
            said = ["repeated" if each.variadic else "", "optional" if each.optional else ""]
            said += [getattr(each, "exempt", "") and "may be omitted in the profile"]
            row = [f"{kind} {each.name}", each.onnx, each.type, span(each), ", ".join(filter(None, said))]
            yield f"| {' | '.join([*row, cell(_labels(each))])} |"
    if described.parameters:
        yield from ("", *table("parameter", "kind", "versions", "its absence means", "labels"))
    for parameter in described.parameters:
        where = f", an input from {parameter.input} on" if parameter.input else ""
        row = [parameter.name, f"{parameter.kind}{where}", span(parameter), _absence(parameter), _labels(parameter)]
        yield f"| {' | '.join(map(cell, row))} |"


def _absence(parameter: Parameter) -> str:
    texts = [f"`{text.text}`" if text else "nothing" for text in parameter.absent.values()]
    if len(texts) < 2:
        return "".join(texts) or "it must be written"
    return ", ".join(f"{text} from {since}" for since, text in zip(parameter.absent, texts, strict=True))


def _rule(rule: Rule, trace: Trace) -> Iterator[str]:
    yield from (f"### {rule.slug}", "", rule.statement, "")
    if not rule.slug.endswith("-allowed"):  # its statement lists the types, and its formula only repeats them
        yield from ("```text", *_formulas(rule), "```", "")
    facts = [SAYS[rule.kind], f"versions {span(rule)}", _labels(rule) and f"labels {_labels(rule)}"]
    facts += [f"introduced {rule.introduced}" if rule.introduced != "onnx" else ""]
    facts += [f"withdrawn {rule.withdrawn}" if rule.withdrawn else ""]
    facts += [f"errata {', '.join(rule.errata)}" if rule.errata else ""]
    yield f"* {'; '.join(filter(None, facts))}"
    yield f"* cases: {len(trace.conforming)} conforming, {len(trace.violating)} violating"
    yield from (f"* theorems: {named(trace.theorems)}", "")


def _formulas(rule: Rule) -> Iterator[str]:
    def said(label: str, text: Expression | None) -> Iterator[str]:
        if text is not None:
            yield f"{label}{formula(text)}"

    yield from said("", rule.require)
    yield from said("where      ", rule.when)
    yield from said("ONNX asks  ", rule.onnx if rule.onnx != rule.require else None)


def named(theorems: Sequence[str]) -> str:
    """Theorems by their ids; those about other editions than the default one are counted."""
    default = [name for name in theorems if "-in-" not in name.partition(".")[2].partition(".")[0]]
    others = len(theorems) - len(default)
    more = [f"{others} about other editions"] if others else []
    return ", ".join([*(f"`{name}`" for name in default), *more]) or "none"


def _whole(described: Operator, theorems: Sequence[str]) -> Iterator[str]:
    if theorems:
        yield f"{named(theorems)}."
    else:
        yield "None: no text specifies the operator."


def _errata(described: Operator) -> Iterator[str]:
    parts: tuple[Operator | Rule | Output | Parameter, ...]
    parts = (described, *every_rule(described), *described.outputs, *described.parameters)
    named = dict.fromkeys(name for part in parts for name in part.errata)
    if named:
        yield from ("## Errata", "", *table("erratum", "texts", "what is wrong", "what is done"))
    for name in named:
        erratum = catalogue.errata()[name]
        row = [name, ", ".join(erratum.document), *(" ".join(t.split()) for t in (erratum.defect, erratum.reading))]
        yield f"| {' | '.join(map(cell, row))} |"
