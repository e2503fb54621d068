"""The validation of the profile: do its files fit together, and do rules and functions of `graph_rules` match?

`problems` yields a sentence for each misfit; the tests and `sonnx tool selfcheck` require that there are none.  It
reads all files of the profile, which a check never does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

from sonnx.checker.graph_rules import DECISIONS
from sonnx.language.domain import BuiltIn, Expression, RuleError, constant_key, given_key, input_key, written_key
from sonnx.language.parser import built_ins
from sonnx.language.type_checker import (
    INPUT,
    OPERAND,
    PARAMETER,
    SHAPE,
    TENSOR,
    VALUE,
    ListType,
    RuleType,
    TypeChecker,
    built_in_types,
    show_type,
    type_of,
)
from sonnx.model.ir import WIDTH
from sonnx.profile import catalogue
from sonnx.profile.cases import all_cases
from sonnx.profile.definitions import (
    Edition,
    Editions,
    Formal,
    OperatorDefinition,
    Rule,
    Tag,
    at,
    expand,
    expressions_in,
    is_slug,
)
from sonnx.profile.index import rules_by_slug
from sonnx.profile.profile_data import in_use
from sonnx.profile.requirement_identifiers import register, register_faults
from sonnx.profile.signature import Signature, active_condition, every_rule, resolve
from sonnx.profile.toml_files import CatalogueError

CLASSES = ("validity", "restriction", "error-condition")
GENERAL: Mapping[str, Mapping[str, RuleType]] = {
    "value": {"value": VALUE, "element_types": ListType("string")},
    "parameter": {"parameter": PARAMETER},
    "input": {"input": INPUT},
    "group": {"group": ListType(TENSOR)},
    "operand": {"operand": OPERAND, "kinds": ListType("string")},
}
"""The subjects of general.toml, with the types of the names that a rule about each may use."""
PARAMETER_KINDS: Mapping[str, RuleType] = {
    "int": "int", "ints": ListType("int"), "string": "string", "strings": ListType("string"), "float": "float",
    "floats": ListType("float"), "tensor": TENSOR, "sparse_tensor": TENSOR,
}  # fmt: skip
"""The kinds of ONNX's attributes as types of the rule language."""


def problems() -> Iterator[str]:
    """One sentence for each misfit of the profile."""
    editions = catalogue.editions()
    yield from _built_ins()
    yield from _editions(editions)
    general, graph, operators = catalogue.general_rules(), catalogue.graph_rules(), catalogue.operators()
    unread = list(_unread([general, graph, operators]))
    if unread:  # what follows reads them
        yield from unread
        return
    yield from _slugs([*general, *graph, *chain.from_iterable(map(every_rule, operators))])
    for rule in general:
        yield from _general_rule(rule, editions)
    yield from _decided(graph)
    for rule in graph:
        yield from _rule(rule, editions)
        if rule.require is not None or rule.onnx is not None or rule.when is not None:
            yield f"{rule.slug} is decided by a function and also has a condition."
    for definition in operators:
        yield from _operator(definition, editions)
    yield from register_faults(register(), rules_by_slug().values())


def _unread(parts: Iterable[object]) -> Iterator[str]:
    """The texts that are not of the rule language, those of no version and edition included."""
    for expression in expressions_in(parts):
        try:
            expression.parsed_now()
        except CatalogueError as error:
            yield f"{error}."


def _built_ins() -> Iterator[str]:
    for function in built_ins().values():
        yield from _built_in(function)


def _built_in(function: BuiltIn) -> Iterator[str]:
    try:
        parameters, result = built_in_types(function)
        result_type = function.interpret(TypeChecker(), parameters)
    except (RuleError, KeyError) as error:
        yield f"The built-in function {function.name} does not fit its annotations: {error}."
        return
    if not _fits(result_type, result):
        returned, annotated = show_type(result_type), show_type(result)
        yield f"The built-in function {function.name} returns {returned} and is annotated as {annotated}."


def _editions(editions: Editions) -> Iterator[str]:
    if editions.default not in editions.editions:
        yield f"The default edition {editions.default} does not exist."
    for family, members in editions.families.items():
        yield from _element_types(f"The family {family}", members)
    for demand in editions.uncheckable:
        if demand.introduced not in editions.texts:
            yield f"The limit {demand.statement!r} names a text {demand.introduced!r} that does not exist."
    for edition in editions.editions.values():
        yield from _edition(edition, editions)


def _edition(edition: Edition, editions: Editions) -> Iterator[str]:
    texts = {edition.general, *edition.operators.values()}
    for text in sorted(texts - editions.texts.keys()):
        yield f"Edition {edition.name} takes a text {text} that does not exist."
    for operator in sorted(edition.planned & edition.operators.keys()):
        yield f"Edition {edition.name} both plans and specifies {operator}."
    yield from _element_types(f"Edition {edition.name}", edition.element_types)


def _element_types(who: str, names: Iterable[str]) -> Iterator[str]:
    for name in names:
        if name not in WIDTH and name != "string":
            yield f"{who} lists {name}, which is not an element type of ONNX."


def _slugs(rules: Iterable[Rule]) -> Iterator[str]:
    for slug, number in Counter(rule.slug for rule in rules).items():
        if not is_slug(slug):
            yield f"{slug!r} does not have the form of a slug."
        if number > 1:
            yield f"{number} rules are called {slug}."


def _decided(rules: Iterable[Rule]) -> Iterator[str]:
    """Each rule of graph.toml has its function, and each function its rule."""
    listed = {(rule.subject, rule.slug) for rule in rules}
    decided = {(subject, slug) for subject, functions in DECISIONS.items() for slug in functions}
    for subject, slug in sorted(listed - decided):
        yield f"graph_rules has no function for the rule {slug} about the subject {subject!r}."
    for subject, slug in sorted(decided - listed):
        yield f"graph.toml has no rule {slug} about the subject {subject!r}, but graph_rules has its function."
    for rule in rules:
        if rule.subject not in DECISIONS:
            yield f"{rule.slug} is about {rule.subject!r}, which is not a subject of graph.toml."


def _rule(rule: Rule, editions: Editions) -> Iterator[str]:
    """The problems of one rule of any file."""
    for field in ("statement", "because", "remedy", "source"):
        if not getattr(rule, field).strip():
            yield f"{rule.slug} has no {field}."
    if rule.kind not in CLASSES:
        yield f"{rule.slug} has the class {rule.kind!r}, which is not one of {', '.join(CLASSES)}."
    for text in (rule.introduced, rule.withdrawn):
        if text is not None and text not in editions.texts:
            yield f"{rule.slug} names a text {text!r} that does not exist."
    yield from _tags(rule.slug, rule.tags, editions)
    yield from _errata(rule.slug, rule.errata)


def _tags(who: str, tags: Iterable[Tag], editions: Editions) -> Iterator[str]:
    for tag in tags:
        if tag.text not in editions.texts:
            yield f"{who} has a tag {tag.label} of a text {tag.text!r} that does not exist."
        if not tag.label or not tag.origin:
            yield f"{who} has a tag without label or origin."


def _errata(who: str, ids: Iterable[str]) -> Iterator[str]:
    if not (in_use().folder / "errata.toml").is_file():
        return
    for name in ids:
        if name not in catalogue.errata():
            yield f"{who} names an erratum {name} that does not exist."


def _general_rule(rule: Rule, editions: Editions) -> Iterator[str]:
    yield from _rule(rule, editions)
    names = GENERAL.get(rule.subject)
    if names is None:
        yield f"{rule.slug} is about {rule.subject!r}, which is not a subject of general.toml."
    elif rule.require is None:
        yield f"{rule.slug} has no condition."
    else:
        yield from _conditions(rule, (rule.require, rule.onnx, rule.when), names)


def _conditions(rule: Rule, conditions: Iterable[Expression | None], names: Mapping[str, RuleType]) -> Iterator[str]:
    for condition in conditions:
        if condition is not None:
            yield from _typed(rule.slug, condition, "bool", names)


VALUES = ListType("float")
"""The type of the values of a tensor."""


def _typed(who: str, expression: Expression, wanted: RuleType, names: Mapping[str, RuleType]) -> Iterator[str]:
    try:
        value_type = type_of(expression, names)
    except RuleError as error:
        yield f"{who}: {error}."
        return
    if not _fits(value_type, wanted):
        yield f"{who}: {expression.text!r} has the type {show_type(value_type)}, not {show_type(wanted)}."


def _fits(actual: RuleType, wanted: RuleType) -> bool:
    """Whether a type is the wanted one; the empty list fits every list, and whole numbers are numbers."""
    return (
        actual == wanted
        or (actual in (ListType("nothing"), SHAPE) and wanted == VALUES)
        or (actual == ListType("nothing") and isinstance(wanted, ListType))
    )


def _operator(definition: OperatorDefinition, editions: Editions) -> Iterator[str]:
    """The problems of an operator file, and of each of its versions under each edition that names it."""
    for rule in definition.rules:
        yield from _rule(rule, editions)
        if rule.require is None:
            yield f"{rule.slug} has no condition."
    yield from _tags(definition.name, definition.tags, editions)
    general = {rule.slug for rule in (*catalogue.general_rules(), *catalogue.graph_rules())}
    for tag in definition.tags:
        if tag.rule and tag.rule not in general:
            yield f"{definition.name} has a tag {tag.label} of a rule {tag.rule} that is not a general one."
    for output in definition.outputs:
        yield from _tags(f"{definition.name}.{output.name}", (*output.tags, *output.type_tags), editions)
        yield from _errata(f"{definition.name}.{output.name}", output.errata)
    for variable, errata in definition.type_errata.items():
        yield from _errata(f"{definition.name}.{variable}", errata)
        if variable not in definition.types:
            yield f"{definition.name} has errata of a type variable {variable} that does not exist."
    for point in definition.rounding:
        yield from _errata(f"{definition.name}.{point.name}", point.errata)
    for parameter in definition.parameters:
        yield from _tags(f"{definition.name}.{parameter.name}", parameter.tags, editions)
        yield from _errata(f"{definition.name}.{parameter.name}", parameter.errata)
        if parameter.kind not in PARAMETER_KINDS:
            yield f"{definition.name}.{parameter.name} has the kind {parameter.kind!r}, which rules cannot read."
    yield from _operator_types(definition, editions)
    yield from _relies(definition)
    signatures = [
        resolve(definition, version, text, editions, edition.name)
        for edition in editions.editions.values()
        if (text := edition.text_of(definition.name)) is not None
        for version in definition.versions
    ]
    if not signatures:
        yield f"No edition names {definition.name}."
    yield from _status(definition, editions)
    yield from dict.fromkeys(chain.from_iterable(_signature(signature, editions) for signature in signatures))
    active = {rule.slug for signature in signatures for rule in signature.rules}
    for rule in definition.rules:
        if rule.slug not in active and not rule.inert:
            yield f"{rule.slug} is not active in any version and edition."


def _status(definition: OperatorDefinition, editions: Editions) -> Iterator[str]:
    """A file names its specified version if an edition specifies the operator."""
    for edition in editions.editions.values():
        if definition.specified is None and definition.name in edition.operators:
            yield f"Edition {edition.name} specifies {definition.name}, whose file names no specified version."
    for text, version in definition.specified_in.items():
        if text not in editions.texts or version not in definition.versions:
            yield f"{definition.name} names version {version} for the text {text}; one of them is unknown."
    if definition.instead and definition.specified is not None:
        yield f"{definition.name} is specified and says what to write instead."


def _operator_types(definition: OperatorDefinition, editions: Editions) -> Iterator[str]:
    for variable, by_version in definition.types.items():
        for names in by_version.values():
            yield from _element_types(f"{definition.name}.{variable}", expand(names, editions.families))
    for variable, by_text in definition.profile.items():
        for text, names in by_text.items():
            if text not in editions.texts:
                yield f"{definition.name}.{variable} names a text {text!r} that does not exist."
            yield from _element_types(f"{definition.name}.{variable}", expand(names, editions.families))
        if variable not in definition.types:
            yield f"{definition.name} restricts the types of {variable}, which it does not have."
    formals: tuple[Formal, ...] = (*definition.inputs, *definition.outputs)
    for formal in formals:
        if formal.type not in definition.types:
            yield from _element_types(f"{definition.name}.{formal.name}", (formal.type,))


def _relies(definition: OperatorDefinition) -> Iterator[str]:
    """A rule relies only on rules above it in the file."""
    names = [rule.name for rule in definition.rules]
    for index, rule in enumerate(definition.rules):
        for name in rule.relies:
            if name not in names[:index]:
                yield f"{rule.slug} relies on {name}, which is not a rule above it in the file."
    for output in definition.outputs:
        for name in output.relies:
            if name not in names:
                yield f"{definition.name}.{output.name} relies on {name}, which is not a rule of the file."
    yield from _implied(definition)


def _implied(definition: OperatorDefinition) -> Iterator[str]:
    """A rule or a shape is implied by rules of the file, rules derived from its types, or general ones."""
    implying = {rule.name for rule in definition.rules} | definition.type_rules.keys()
    implying |= {rule.slug for rule in catalogue.general_rules()}
    stated = [(rule.name, rule.implied_by) for rule in definition.rules]
    stated += [(output.name, output.implied_by) for output in definition.outputs]
    for name, implied_by in stated:
        for unknown in sorted(set().union(*implied_by.values()) - implying):
            yield f"{definition.name}.{name} is implied by {unknown}, which is not a rule of the file or a general one."


def _signature(signature: Signature, editions: Editions) -> Iterator[str]:
    """The expressions of one version under one edition have the right types."""
    who = f"{signature.operator}-{signature.version}"
    names = dict(_tensors(signature))
    for parameter in signature.parameters:
        wanted = PARAMETER_KINDS.get(parameter.kind, parameter.kind)
        if parameter in signature.values:
            names[input_key(parameter.name)] = names.pop(parameter.name, TENSOR)
            names[constant_key(parameter.name)] = "bool"
        names[written_key(parameter.name)] = "bool"
        absent = signature.absent[parameter.name]
        if absent is not None:
            yield from _typed(f"{who}, absence of {parameter.name}", absent, wanted, names)
        elif at(parameter.absent, signature.version) is None and not parameter.absent and not parameter.required:
            yield f"{who} does not say what the absence of {parameter.name} means."
        names[parameter.name] = wanted
    for name, expression in signature.define.items():
        try:
            names[name] = type_of(expression, names)
        except RuleError as error:
            yield f"{who}, definition of {name}: {error}."
    for operand in signature.inputs:
        if operand.absent[:1].isalpha() and operand.absent not in names:
            yield f"{who}: leaving {operand.name} out means {operand.absent}, which is not a name of the file."
        if operand.absent_when is not None:
            yield from _typed(f"{who}, absence of {operand.name}", operand.absent_when, "bool", names)
    for output in signature.outputs:
        if output.name in signature.shapes:
            wanted = ListType(SHAPE) if output.variadic else SHAPE
            yield from _typed(f"{who}, shape of {output.name}", signature.shapes[output.name], wanted, names)
        if output.name in signature.elements:
            yield from _typed(f"{who}, values of {output.name}", signature.elements[output.name], VALUES, names)
        element = at(output.element, signature.version)
        if element is not None:
            yield from _typed(f"{who}, element type of {output.name}", element, "string", names)
    for rule in signature.rules:
        yield from _conditions(rule, (active_condition(rule, signature.text, editions), rule.onnx, rule.when), names)


def signature_types(signature: Signature) -> dict[str, RuleType]:
    """The type of each name that rules of a version can use."""
    names = dict(_tensors(signature))
    for parameter in signature.parameters:
        if parameter in signature.values:
            names[input_key(parameter.name)] = names.pop(parameter.name, TENSOR)
            names[constant_key(parameter.name)] = "bool"
        names[written_key(parameter.name)] = "bool"
        names[parameter.name] = PARAMETER_KINDS.get(parameter.kind, parameter.kind)
    for name, expression in signature.define.items():
        names[name] = type_of(expression, names)
    return names


def _tensors(signature: Signature) -> Iterator[tuple[str, RuleType]]:
    for operand in signature.inputs:
        yield operand.name, ListType(TENSOR) if operand.variadic else TENSOR
        if not operand.variadic:
            yield given_key(operand.name), "bool"
            yield constant_key(operand.name), "bool"
    for output in signature.outputs:
        yield output.name, ListType(TENSOR) if output.variadic else TENSOR
        if not output.variadic:
            yield given_key(output.name), "bool"


def selfcheck() -> tuple[list[str], bool]:
    """The output of `sonnx tool selfcheck`, and whether no problem was found."""
    sentences = list(problems())
    editions = catalogue.editions()
    lines = [
        f"editions {len(editions.editions)}, texts {len(editions.texts)}, errata {len(catalogue.errata())}",
        f"rules {len(rules_by_slug())}, operators with rules {len(catalogue.operators())}",
        f"built-in functions {len(built_ins())}, cases {len(all_cases())}",
        *(f"problem: {problem}" for problem in sentences),
        "this installation is sound" if not sentences else f"{len(sentences)} problems",
    ]
    return lines, not sentences
