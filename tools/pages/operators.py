"""The pages of the operators: two examples, the rules, versions, types, signature, what is known of values, errata."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from sonnx.evidence.traceability import Trace
from sonnx.operators import operator_facts
from sonnx.operators.facts_in_words import facts_in_words, source_of
from sonnx.profile import catalogue
from sonnx.profile.definitions import Formal, OperatorDefinition, Output, Parameter, Rule
from sonnx.profile.signature import every_rule
from sonnx.prover.theorem import Theorem
from sonnx.report.explain import examples
from tools.pages.rule_entries import GENERATED, anchor_of, cell, rule_entry, table, tags_of


def page(
    described: OperatorDefinition, traced: Mapping[str, Trace], theorems: Iterable[str], known: Mapping[str, Theorem]
) -> str:
    """The page as Markdown; `theorems` are those about the operator as a whole, `known` are all by identifier."""
    rules = list(every_rule(described))
    lines = [GENERATED, "", f"# {described.name}", "", described.summary, "", "```text", described.formula, "```", ""]
    lines += [f"Source: {described.source}.", "", *_first_examples(rules)]
    lines += ["## Rules", ""]
    for rule in rules:
        lines += [*rule_entry(traced[rule.slug], known, span(rule)), ""]
    lines += ["## Editions, versions, types", "", *_captioned("Editions that have the operator", _editions(described))]
    lines += [*_captioned("Versions of ONNX", _versions(described)), *_captioned("Element types", _types(described))]
    lines += ["## Signature", "", *_captioned("Inputs and outputs", _operands(described))]
    lines += _captioned("Parameters", _parameters(described)) if described.parameters else []
    lines += ["## Values", "", *_values(described.name), ""]
    lines += ["## Theorems about all rules", "", *_whole(described, tuple(theorems)), ""]
    lines += _errata(described)
    return "\n".join(lines).rstrip() + "\n"


def _first_examples(rules: Sequence[Rule]) -> Iterator[str]:
    """A model that passes and one that fails, both of one rule: of the profile if possible."""
    shown = {rule.slug: dict(examples(rule.slug)) for rule in rules}
    both = [rule for rule in rules if len(shown[rule.slug]) == 2]
    chosen = next((rule for rule in both if rule.kind != "validity"), both[0] if both else None)
    if chosen is None:
        return
    for word, case in shown[chosen.slug].items():
        yield from (f"## An example that {word}", "", f"{case.title[:1].upper()}{case.title[1:]}:", "")
        yield from ("```text", *case.text.splitlines(), "```", "")
    yield from (f"It fails [{chosen.slug}](#{anchor_of(chosen.slug)}): {chosen.remedy}", "")


def _captioned(title: str, rows: Iterable[str]) -> list[str]:
    """A table with its caption."""
    return [f"```{{table}} {title}", *rows, "```", ""]


def _values(name: str) -> Iterator[str]:
    """The facts that run, bound, equivalent, fix and suite know of an operator."""
    operator = operator_facts(name)
    yield f"What `run`, `bound`, `equivalent`, `fix` and `suite` know of it, from `{source_of(operator)}`."
    yield ""
    rows = [f"| `{fact.name}` | {cell(fact.value)} | {cell(fact.meaning)} |" for fact in facts_in_words(operator)]
    yield from _captioned("Facts", [*table("fact", "value", "meaning"), *rows])


def index() -> str:
    """The list of the operators' pages."""
    lines = [GENERATED, "", "# Operators", "", *table("operator", "what it computes", "status in the default edition")]
    known = catalogue.editions()
    edition = known.editions[known.default]
    for operator in catalogue.operators():
        status = edition.status(operator.name)
        lines += [f"| [{operator.name}]({operator.name.lower()}.md) | {cell(operator.summary)} | {status} |"]
    return "\n".join(lines) + "\n"


def span(each: Formal | Parameter | Rule) -> str:
    """The versions, for example "from 10, before 13", or "all"."""
    since = f"from {each.since}" if each.since > 1 else ""
    return ", ".join(filter(None, [since, f"before {each.before}" if each.before else ""])) or "all"


def _labels(each: object) -> str:
    tags = (*getattr(each, "tags", ()), *getattr(each, "type_tags", ()))
    return tags_of((tag.text, tag.label) for tag in tags)


def _editions(described: OperatorDefinition) -> Iterator[str]:
    known = catalogue.editions().editions
    yield from table("edition", "status", "text")
    for name, edition in known.items():
        status = edition.status(described.name)
        if status:
            yield f"| {name} | {status} | {edition.text_of(described.name)} |"
    if described.instead:
        yield f"| until a text specifies it | {cell(described.instead)} | |"


def _versions(described: OperatorDefinition) -> Iterator[str]:
    yield from table("ONNX version", "status")
    for version in reversed(described.versions):
        reason = described.equivalent.get(version) or described.refused.get(version) or ""
        word = "equivalent" if version in described.equivalent else "refused" if version in described.refused else ""
        if not word:
            word = "specified" if version == described.specified else "known, not specified"
        word += "".join(
            f"; specified in {text}" for text, number in described.specified_in.items() if number == version
        )
        yield f"| {version} | {word}{': ' if reason else ''}{cell(reason)} |"


def _types(described: OperatorDefinition) -> Iterator[str]:
    yield from table("type variable", "from", "element types")
    for variable, by_version in described.types.items():
        for version, names in by_version.items():
            yield f"| {variable} | ONNX version {version} | {', '.join(names)} |"
        for text, names in described.profile.get(variable, {}).items():
            yield f"| {variable} | text {text} | {', '.join(names)} |"


def _operands(described: OperatorDefinition) -> Iterator[str]:
    yield from table("part", "name in ONNX", "type", "versions", "properties", "labels")
    for kind, formals in (("input", described.inputs), ("output", described.outputs)):
        for formal in formals:
            properties = ["repeated" if formal.variadic else "", "optional" if formal.optional else ""]
            properties += [getattr(formal, "exempt", "") and "may be omitted in the profile"]
            row = [f"{kind} {formal.name}", formal.onnx, formal.type, span(formal), ", ".join(filter(None, properties))]
            yield f"| {' | '.join([*row, cell(_labels(formal))])} |"


def _parameters(described: OperatorDefinition) -> Iterator[str]:
    yield from table("parameter", "kind", "versions", "if absent", "labels")
    for parameter in described.parameters:
        where = f"; an input since {parameter.input}" if parameter.input else ""
        row = [parameter.name, f"{parameter.kind}{where}", span(parameter), _absence(parameter), _labels(parameter)]
        yield f"| {' | '.join(map(cell, row))} |"


def _absence(parameter: Parameter) -> str:
    texts = [f"`{text.text}`" if text else "nothing" for text in parameter.absent.values()]
    if len(texts) < 2:
        return "".join(texts) or "required"
    return ", ".join(f"{text} from {since}" for since, text in zip(parameter.absent, texts, strict=True))


def named(theorems: Sequence[str]) -> str:
    """The ids of theorems about the default edition, and the number of the others."""
    default = [name for name in theorems if "-in-" not in name.partition(".")[2].partition(".")[0]]
    others = len(theorems) - len(default)
    more = [f"{others} about other editions"] if others else []
    return ", ".join([*(f"`{name}`" for name in default), *more]) or "none"


def _whole(described: OperatorDefinition, theorems: Sequence[str]) -> Iterator[str]:
    if theorems:
        yield f"{named(theorems)}."
    else:
        yield "None: no text specifies the operator yet."


def _errata(described: OperatorDefinition) -> Iterator[str]:
    parts: tuple[OperatorDefinition | Rule | Output | Parameter, ...]
    parts = (described, *every_rule(described), *described.outputs, *described.parameters)
    named = dict.fromkeys(name for part in parts for name in part.errata)
    if not named:
        return
    yield from ("## Errata", "")
    yield from _captioned("Known defects of the texts about the operator", _listed_errata(named))


def _listed_errata(names: Iterable[str]) -> Iterator[str]:
    yield from table("erratum", "texts", "what is wrong", "what this tool does")
    for name in names:
        erratum = catalogue.errata()[name]
        row = [name, ", ".join(erratum.document), *(" ".join(t.split()) for t in (erratum.defect, erratum.reading))]
        yield f"| {' | '.join(map(cell, row))} |"
