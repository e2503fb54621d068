"""What one file of the catalogue cannot tell: whether all of them fit together.

`problems` says each misfit in one sentence; the tests and `sonnx selfcheck` ask that there be none.  It reads every
file, which a check never does.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

from sonnx.base.resources import folder
from sonnx.checker.graph_rules import SUBJECTS
from sonnx.checker.selection import every
from sonnx.language.domain import BuiltIn, Expression, RuleError
from sonnx.language.parser import words
from sonnx.language.type_checker import INPUT, PARAMETER, SHAPE, TENSOR, VALUE, Kind, Many, TypeChecker, show, type_of
from sonnx.language.type_checker import signature as kinds_of_word
from sonnx.model.ir import WIDTH
from sonnx.profile import catalogue
from sonnx.profile.cases import cases
from sonnx.profile.definitions import Edition, Editions, Formal, Operator, Rule, Tag, at, expand, is_slug
from sonnx.profile.signature import Signature, demanded, every_rule, resolve

CLASSES = ("validity", "restriction", "error-condition")
GENERAL: Mapping[str, Mapping[str, Kind]] = {
    "value": {"value": VALUE, "element_types": Many("string")},
    "parameter": {"parameter": PARAMETER},
    "input": {"input": INPUT},
    "group": {"group": Many(TENSOR)},
}
"""The subjects of general.toml, with the names a rule about each may use."""
PARAMETER_KINDS: Mapping[str, Kind] = {
    "int": "int", "ints": Many("int"), "string": "string", "strings": Many("string"), "float": "float",
    "floats": Many("float"), "tensor": TENSOR, "sparse_tensor": TENSOR,
}  # fmt: skip
"""The kinds of ONNX's attributes as rules see them; with a float they can do nothing yet."""


def problems() -> Iterator[str]:
    """One sentence for each misfit of the catalogue; nothing where it is sound."""
    known = catalogue.editions()
    yield from _words()
    yield from _editions(known)
    general, graph, operators = catalogue.general_rules(), catalogue.graph_rules(), catalogue.operators()
    yield from _slugs([*general, *graph, *chain.from_iterable(map(every_rule, operators))])
    for rule in general:
        yield from _general_rule(rule, known)
    yield from _decided(graph)
    for rule in graph:
        yield from _rule(rule, known)
        if rule.require is not None or rule.onnx is not None or rule.when is not None:
            yield f"{rule.slug} is decided by a function and has a condition besides."
    for described in operators:
        yield from _operator(described, known)


# ------------------------------------------------------------------ words and editions


def _words() -> Iterator[str]:
    for word in words().values():
        yield from _word(word)


def _word(word: BuiltIn) -> Iterator[str]:
    try:
        wanted, result = kinds_of_word(word)
        found = word.interpret(TypeChecker(), wanted)
    except (RuleError, KeyError) as error:
        yield f"The word {word.name} does not fit its annotations: {error}."
        return
    if not _fits(found, result):
        yield f"The word {word.name} gives {show(found)} and is annotated as {show(result)}."


def _editions(known: Editions) -> Iterator[str]:
    if known.default not in known.editions:
        yield f"The default edition {known.default} does not exist."
    for family, members in known.families.items():
        yield from _element_types(f"The family {family}", members)
    for limit in known.limits:
        if limit.introduced not in known.texts:
            yield f"The limit {limit.statement!r} names a text {limit.introduced!r} that does not exist."
    for edition in known.editions.values():
        yield from _edition(edition, known)


def _edition(edition: Edition, known: Editions) -> Iterator[str]:
    texts = {edition.general, *edition.operators.values()}
    for text in sorted(texts - known.texts.keys()):
        yield f"Edition {edition.name} takes a text {text} that does not exist."
    for operator in sorted(edition.planned & edition.operators.keys()):
        yield f"Edition {edition.name} both plans and specifies {operator}."
    yield from _element_types(f"Edition {edition.name}", edition.element_types)


def _element_types(who: str, names: Iterable[str]) -> Iterator[str]:
    for name in names:
        if name not in WIDTH and name != "string":
            yield f"{who} lists {name}, which is no element type of ONNX."


# ------------------------------------------------------------------ rules


def _slugs(rules: Iterable[Rule]) -> Iterator[str]:
    for slug, number in Counter(rule.slug for rule in rules).items():
        if not is_slug(slug):
            yield f"{slug!r} has not the form of a slug."
        if number > 1:
            yield f"{number} rules are called {slug}."


def _decided(rules: Iterable[Rule]) -> Iterator[str]:
    """Each rule of graph.toml has its function, and each public function its rule."""
    listed = {(rule.subject, rule.slug.replace("-", "_")) for rule in rules}
    written = {
        (subject, name)
        for subject, module in SUBJECTS.items()
        for name, member in inspect.getmembers(module, inspect.isfunction)
        if member.__module__ == module.__name__ and not name.startswith("_")
    }
    for subject, name in sorted(listed - written):
        yield f"graph_rules has no function {name} about the subject {subject!r} for the rule of that name."
    for subject, name in sorted(written - listed):
        yield f"graph.toml has no rule about the subject {subject!r} for the function {name} of graph_rules."
    for rule in rules:
        if rule.subject not in SUBJECTS:
            yield f"{rule.slug} is about {rule.subject!r}, which is no subject of graph.toml."


def _rule(rule: Rule, known: Editions) -> Iterator[str]:
    """What every rule must have."""
    for field in ("statement", "because", "remedy", "source"):
        if not getattr(rule, field).strip():
            yield f"{rule.slug} has no {field}."
    if rule.kind not in CLASSES:
        yield f"{rule.slug} is of class {rule.kind!r}, not of {', '.join(CLASSES)}."
    for text in (rule.introduced, rule.withdrawn):
        if text is not None and text not in known.texts:
            yield f"{rule.slug} names a text {text!r} that does not exist."
    yield from _tags(rule.slug, rule.tags, known)
    yield from _errata(rule.slug, rule.errata)


def _tags(who: str, tags: Iterable[Tag], known: Editions) -> Iterator[str]:
    for tag in tags:
        if tag.text not in known.texts:
            yield f"{who} has a tag {tag.label} of a text {tag.text!r} that does not exist."
        if not tag.label or not tag.origin:
            yield f"{who} has a tag without label or origin."


def _errata(who: str, ids: Iterable[str]) -> Iterator[str]:
    if not (folder("restrictions") / "errata.toml").is_file():
        return
    for each in ids:
        if each not in catalogue.errata():
            yield f"{who} names an erratum {each} that does not exist."


def _general_rule(rule: Rule, known: Editions) -> Iterator[str]:
    yield from _rule(rule, known)
    names = GENERAL.get(rule.subject)
    if names is None:
        yield f"{rule.slug} is about {rule.subject!r}, which is no subject of general.toml."
    elif rule.require is None:
        yield f"{rule.slug} has no condition."
    else:
        yield from _conditions(rule, (rule.require, rule.onnx, rule.when), names)


def _conditions(rule: Rule, texts: Iterable[Expression | None], names: Mapping[str, Kind]) -> Iterator[str]:
    for text in texts:
        if text is not None:
            yield from _kind(rule.slug, text, "bool", names)


def _kind(who: str, text: Expression, wanted: Kind, names: Mapping[str, Kind]) -> Iterator[str]:
    try:
        found = type_of(text, names)
    except RuleError as error:
        yield f"{who}: {error}."
        return
    if not _fits(found, wanted):
        yield f"{who}: {text.text!r} is of kind {show(found)}, not {show(wanted)}."


def _fits(found: Kind, wanted: Kind) -> bool:
    """Whether a kind is the wanted one; the empty list is a list of anything."""
    return found == wanted or (found == Many("nothing") and isinstance(wanted, Many))


# ------------------------------------------------------------------ operators


def _operator(described: Operator, known: Editions) -> Iterator[str]:
    """What an operator file must have, and each of its versions under each edition that names it."""
    for rule in described.rules:
        yield from _rule(rule, known)
        if rule.require is None:
            yield f"{rule.slug} has no condition."
    yield from _tags(described.name, described.tags, known)
    for tag in described.tags:
        if tag.rule and tag.rule not in {rule.slug for rule in (*catalogue.general_rules(), *catalogue.graph_rules())}:
            yield f"{described.name} has a tag {tag.label} of a rule {tag.rule} that is not a general one."
    for output in described.outputs:
        yield from _tags(f"{described.name}.{output.name}", (*output.tags, *output.type_tags), known)
        yield from _errata(f"{described.name}.{output.name}", output.errata)
    for point in described.rounding:
        yield from _errata(f"{described.name}.{point.name}", point.errata)
    for parameter in described.parameters:
        yield from _tags(f"{described.name}.{parameter.name}", parameter.tags, known)
        yield from _errata(f"{described.name}.{parameter.name}", parameter.errata)
        if parameter.kind not in PARAMETER_KINDS:
            yield f"{described.name}.{parameter.name} is of kind {parameter.kind!r}, which no rule can read."
    yield from _operator_types(described, known)
    yield from _relies(described)
    made = [
        resolve(described, version, text, known, edition.name)
        for edition in known.editions.values()
        if (text := edition.text_of(described.name)) is not None
        for version in described.versions
    ]
    if not made:
        yield f"No edition names {described.name}."
    yield from _status(described, known)
    yield from dict.fromkeys(chain.from_iterable(_signature(each, known) for each in made))
    in_force = {rule.slug for each in made for rule in each.rules}
    for rule in described.rules:
        if rule.slug not in in_force and not rule.inert:
            yield f"{rule.slug} is in force in no version and edition."


def _status(described: Operator, known: Editions) -> Iterator[str]:
    """A file names the version a text specifies as soon as an edition takes one."""
    for edition in known.editions.values():
        if described.specified is None and described.name in edition.operators:
            yield f"Edition {edition.name} specifies {described.name}, whose file names no specified version."
    for text, version in described.specified_in.items():
        if text not in known.texts or version not in described.versions:
            yield f"{described.name} names version {version} for the text {text}; one of them is unknown."
    if described.instead and described.specified is not None:
        yield f"{described.name} is specified and says what to write instead."


def _operator_types(described: Operator, known: Editions) -> Iterator[str]:
    for variable, by_version in described.types.items():
        for names in by_version.values():
            yield from _element_types(f"{described.name}.{variable}", expand(names, known.families))
    for variable, by_text in described.profile.items():
        for text, names in by_text.items():
            if text not in known.texts:
                yield f"{described.name}.{variable} names a text {text!r} that does not exist."
            yield from _element_types(f"{described.name}.{variable}", expand(names, known.families))
        if variable not in described.types:
            yield f"{described.name} restricts the types of {variable}, which it does not have."
    formals: tuple[Formal, ...] = (*described.inputs, *described.outputs)
    for each in formals:
        if each.type not in described.types:
            yield from _element_types(f"{described.name}.{each.name}", (each.type,))


def _relies(described: Operator) -> Iterator[str]:
    """What is relied on is a rule of the file, and is asked before."""
    names = [rule.name for rule in described.rules]
    for index, rule in enumerate(described.rules):
        for name in rule.relies:
            if name not in names[:index]:
                yield f"{rule.slug} relies on {name}, which is no rule above it in the file."
    for output in described.outputs:
        for name in output.relies:
            if name not in names:
                yield f"{described.name}.{output.name} relies on {name}, which is no rule of the file."
    yield from _implied(described)


def _implied(described: Operator) -> Iterator[str]:
    """What a rule or a shape follows from is a rule of the file, one derived from its types, or a general one."""
    known = {rule.name for rule in described.rules} | {f"{variable}-allowed" for variable in described.types}
    known |= {rule.slug for rule in catalogue.general_rules()}
    stated = [(each.name, each.implied_by) for each in described.rules]
    stated += [(each.name, each.implied_by) for each in described.outputs]
    for name, implied_by in stated:
        for unknown in sorted(set().union(*implied_by.values()) - known):
            yield f"{described.name}.{name} is implied by {unknown}, which is no rule of the file and no general one."


def _signature(made: Signature, known: Editions) -> Iterator[str]:
    """The texts in force at one version under one edition are of the right kind."""
    who = f"{made.operator}-{made.version}"
    names = dict(_tensors(made))
    for parameter in made.parameters:
        wanted = PARAMETER_KINDS.get(parameter.kind, parameter.kind)
        if parameter in made.values:
            names[f"{parameter.name}_input"] = names.pop(parameter.name, TENSOR)
            names[f"constant({parameter.name})"] = "bool"
        names[f"written({parameter.name})"] = "bool"
        absent = made.absent[parameter.name]
        if absent is not None:
            yield from _kind(f"{who}, absence of {parameter.name}", absent, wanted, names)
        elif at(parameter.absent, made.version) is None and not parameter.absent and not parameter.required:
            yield f"{who} does not say what the absence of {parameter.name} means."
        names[parameter.name] = wanted
    for name, text in made.define.items():
        try:
            names[name] = type_of(text, names)
        except RuleError as error:
            yield f"{who}, definition of {name}: {error}."
    for output in made.outputs:
        if output.name in made.shapes:
            wanted = Many(SHAPE) if output.variadic else SHAPE
            yield from _kind(f"{who}, shape of {output.name}", made.shapes[output.name], wanted, names)
        element = at(output.element, made.version)
        if element is not None:
            yield from _kind(f"{who}, element type of {output.name}", element, "string", names)
    for rule in made.rules:
        yield from _conditions(rule, (demanded(rule, made.text, known), rule.onnx, rule.when), names)


def _tensors(made: Signature) -> Iterator[tuple[str, Kind]]:
    for each in made.inputs:
        yield each.name, Many(TENSOR) if each.variadic else TENSOR
        if not each.variadic:
            yield f"given({each.name})", "bool"
            yield f"constant({each.name})", "bool"
    for output in made.outputs:
        yield output.name, Many(TENSOR) if output.variadic else TENSOR
        if not output.variadic:
            yield f"given({output.name})", "bool"


# ------------------------------------------------------------------
# What `sonnx selfcheck` does: read and validate everything this installation judges by.


def selfcheck() -> tuple[list[str], bool]:
    """Lines to print, and whether nothing is wrong."""
    found = list(problems())
    known = catalogue.editions()
    lines = [
        f"editions {len(known.editions)}, texts {len(known.texts)}, errata {len(catalogue.errata())}",
        f"rules {len(every())}, operators with rules {len(catalogue.operators())}",
        f"words {len(words())}, cases {len(cases())}",
        *(f"problem: {problem}" for problem in found),
        "this installation is sound" if not found else f"{len(found)} problems",
    ]
    return lines, not found
