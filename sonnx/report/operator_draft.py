"""`sonnx draft`: a data file for an operator that the profile has no text of, for the working group to complete.

The file has what ONNX states.  What ONNX leaves open, or only a text of the profile can decide, stands in it as
questions; where the reader demands an expression that nobody has written yet, it has one that is never decided.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TypeVar

from msgspec import json

from sonnx.base.errors import UsageError
from sonnx.base.escaping import quote
from sonnx.base.suggestions import did_you_mean
from sonnx.model.onnx_definitions import AttributeDefinition, FormalDefinition, OperatorVersion, operator_versions
from sonnx.profile import catalogue
from sonnx.profile.onnx_schemas import schema_domains, schema_operators, schemas

T = TypeVar("T")
WIDTH = 120
NEVER_DECIDED = "[agreed(0, 1) for k in range(agreed(0, 1))]"
"""A shape of which neither the rank nor an extent is known."""
WRITTEN_KINDS = ("int", "ints", "float", "floats", "string", "strings", "tensor", "sparse_tensor")
"""The kinds of attributes that a data file can state."""


def operator_draft(operator: str) -> str:
    """A data file for an operator of the standard domain of ONNX.

    Raises:
        UsageError: ONNX has no such operator, the profile has a file of it, or it has graphs inside its nodes.
    """
    _require_open(operator)
    versions = operator_versions(operator)
    unwritable = sorted({each.kind for version in versions for each in version.attributes.values()} - {*WRITTEN_KINDS})
    if unwritable:
        raise UsageError(f"{operator} has an attribute of the kind {unwritable[0]}, which a data file cannot state")
    parts = [
        _head(operator, versions),
        _types(versions),
        _formals("inputs", [(version.version, version.inputs) for version in versions]),
        *_outputs(versions),
        _parameters(versions),
        _kinds(versions),
        _questions(operator, versions),
    ]
    text = "\n".join(part for part in parts if part)
    catalogue.operator_in(text, f"{operator.lower()}.toml")  # a draft that the reader refuses is a defect
    return text


def _require_open(operator: str) -> None:
    known = schema_operators("")
    if operator not in known:
        domains = [domain for domain in schema_domains() if domain and operator in schema_operators(domain)]
        if domains:
            raise UsageError(f"{operator} is of the domain {domains[0]}; data files describe the standard domain")
        raise UsageError(f"ONNX has no operator {quote(operator)}{did_you_mean(operator, known)}")
    if catalogue.operator(operator) is not None:
        raise UsageError(f"the profile has a data file of {operator}; sonnx explain {operator} shows what it says")
    if not operator_versions(operator):
        raise UsageError(f"{operator} is deprecated in every version of ONNX")


# ------------------------------------------------------------------ the parts of the file


def _head(operator: str, versions: Sequence[OperatorVersion]) -> str:
    first, last = versions[0].version, versions[-1].version
    named = f"{operator}-{last}" if first == last else f"{operator}-{first} to {operator}-{last}"
    lines = [
        "#:schema ../schema/operator.json",
        *_comment(
            f"A draft that `sonnx draft {operator}` wrote: what the onnx package states of the operator and, at the "
            "end, the questions that a text of the profile has to answer."
        ),
        "#",
        f"# ONNX {operator}-{last}:",
        "#",
        *_quoted(versions[-1].text),
        "",
        f'operator = "{operator}"',
        f'summary  = "What ONNX states of {operator}-{last}; no text of the profile yet."',
        f'formula  = "not written yet; see ONNX {operator}-{last}"',
        f'source   = "ONNX {named}; no SONNX text yet"',
        "",
        "[versions]",
        f"known = {_list(version.version for version in versions)}",
    ]
    return "\n".join(lines) + "\n"


def _types(versions: Sequence[OperatorVersion]) -> str:
    variables = dict.fromkeys(name for version in versions for name in version.types)
    blocks = []
    for variable in variables:
        found = {each.version: _families(each.types[variable]) for each in versions if variable in each.types}
        lines = [f"{start} = {_strings(elements)}" for start, elements in _changes(found)]
        blocks.append("\n".join([f"[types.{variable}]", *lines]) + "\n")
    return "\n".join(blocks)


def _formals(table: str, by_version: Sequence[tuple[int, Sequence[FormalDefinition]]]) -> str:
    lines = [f"{name} = {_inline(pairs)}" for name, pairs in _formal_pairs(by_version).items()]
    return "\n".join([f"[{table}]", *lines]) + "\n" if lines else ""


def _outputs(versions: Sequence[OperatorVersion]) -> Iterator[str]:
    newest = versions[-1]
    for name, pairs in _formal_pairs([(version.version, version.outputs) for version in versions]).items():
        lines = [f"[outputs.{name}]", *[f"{key} = {value}" for key, value in pairs]]
        if _has_shape_of_input(versions):
            lines += [
                f'shape = "{newest.inputs[0].name}.shape"',
                f'because = "The inference of ONNX gives version {newest.version} the shape of the input."',
            ]
        else:
            lines += [
                f"# OPEN: the shape of {name}. This one is never decided.",
                f'shape = "{_undecided_shape(pairs)}"',
                'because = "not written yet"',
            ]
        yield "\n".join(lines) + "\n"


def _has_shape_of_input(versions: Sequence[OperatorVersion]) -> bool:
    """Whether the newest version gives its output the shape of its input, by a name that all versions have."""
    return versions[-1].same_shape and len({each.name for version in versions for each in version.inputs}) == 1


def _undecided_shape(pairs: Iterable[tuple[str, str]]) -> str:
    """A shape that is never decided, of a variadic output a list of them."""
    return f"[{NEVER_DECIDED} for j in range(agreed(0, 1))]" if ("variadic", "true") in pairs else NEVER_DECIDED


def _parameters(versions: Sequence[OperatorVersion]) -> str:
    names = dict.fromkeys(name for version in versions for name in version.attributes)
    lines = []
    for name in names:
        pairs = _parameter_pairs(versions, name)
        lines.append(f"{name} = {_inline(pairs)}")
    return "\n".join(["[parameters]", *lines]) + "\n" if lines else ""


def _parameter_pairs(versions: Sequence[OperatorVersion], name: str) -> list[tuple[str, str]]:
    having = {each.version: each.attributes[name] for each in versions if name in each.attributes}
    pairs = _dotted("kind", {version: f'"{each.kind}"' for version, each in having.items()})
    inputs = [each.version for each in versions if name in {formal.name for formal in each.inputs}]
    is_input = bool(inputs) and min(inputs) > max(having)
    if is_input:
        pairs.append(("input", str(min(inputs))))
    pairs += _span(list(having), [each.version for each in versions], until_end=is_input)
    required = [version for version, each in having.items() if each.required]
    if required:
        pairs.append(("required", str(required[0])))
        later = [version for version in having if version > required[-1]]
        pairs += [("optional", str(later[0]))] if later else []
    if len(required) < len(having) or is_input:
        meanings = {version: _absent(each) for version, each in having.items() if not each.required}
        pairs += _dotted("absent", meanings or dict.fromkeys(having, '"none"'))
    return pairs


def _kinds(versions: Sequence[OperatorVersion]) -> str:
    found = {version.version: version.kinds for version in versions}
    lines = [f"{start} = {_strings(kinds)}" for start, kinds in _changes(found) if kinds]
    return "\n".join(["[kinds]", *lines]) + "\n" if lines else ""


def _questions(operator: str, versions: Sequence[OperatorVersion]) -> str:
    asked = [*_asked_of_history(operator, versions), *_asked(versions[-1], versions)]
    lines = ["# Open questions for the working group", "#"]
    for number, question in enumerate(asked, 1):
        lines += _comment(question, first=f"{number}. ", rest=" " * (len(str(number)) + 2))
    return "\n".join(lines) + "\n"


def _asked_of_history(operator: str, versions: Sequence[OperatorVersion]) -> Iterator[str]:
    deprecated = [version for version, schema in schemas("", operator).items() if schema.deprecated]
    if deprecated:
        yield f"Need: ONNX deprecates the operator from version {min(deprecated)} on. Does the profile want it?"
    if len(versions) > 1:
        listed = ", ".join(str(version.version) for version in versions)
        yield f"Versions: ONNX has {listed}. Which one is specified, and which mean the same? {_differences(versions)}"


def _asked(newest: OperatorVersion, versions: Sequence[OperatorVersion]) -> Iterator[str]:
    elements = {element for names in newest.types.values() for element in names}
    elements |= {formal.type for formal in (*newest.inputs, *newest.outputs)}
    numbers = any(element.startswith(("float", "bfloat")) for element in elements)
    yield "Formula: which real value does each element of each output have, for every input?"
    if not newest.deterministic:
        yield "Determinism: ONNX calls the operator not deterministic. Which value is the right one?"
    if newest.steps:
        yield (
            f"Rounding: ONNX defines the operator as a function of {', '.join(newest.steps)}. "
            "Is each step rounded, or the result once?"
        )
    elif numbers:
        yield "Rounding: is the result the real value, rounded once to nearest, ties to even?"
    if numbers:
        yield "Special values: what do NaN, infinities, subnormal numbers, overflow and -0 give?"
    if any(element.startswith(("int", "uint")) for element in elements):
        yield "Integers: is overflow an error, or is the result taken modulo a power of two?"
    if not _has_shape_of_input(versions):
        yield "Shapes: which shapes may the inputs have, and which shapes do the outputs have?"
    yield "Element types: which of those above does the profile take?"
    for formal in newest.inputs:
        if formal.optional:
            yield f"Input {formal.name}: what does its absence mean, and does the profile demand that it is connected?"
        if formal.variadic:
            yield f"Input {formal.name}: how many tensors may stand there, and must their shapes be equal?"
    for name, attribute in newest.attributes.items():
        meaning = "" if attribute.required or attribute.default is not None else " What does its absence mean?"
        yield f"Attribute {name} ({attribute.kind}): which values are allowed?{meaning}"


def _differences(versions: Sequence[OperatorVersion]) -> str:
    """What the signatures of versions that follow each other say of their difference."""
    said = []
    for older, newer in pairwise(versions):
        changes = [*_added(older, newer, "adds"), *_added(newer, older, "removes")]
        said.append(f"Version {newer.version} {' and '.join(changes) or 'has the same signature'}.")
    return " ".join(said)


def _added(older: OperatorVersion, newer: OperatorVersion, verb: str) -> Iterator[str]:
    for what, names in {
        "the attribute": [name for name in newer.attributes if name not in older.attributes],
        "the input": [each.name for each in newer.inputs if each.name not in {old.name for old in older.inputs}],
        "the output": [each.name for each in newer.outputs if each.name not in {old.name for old in older.outputs}],
    }.items():
        if names:
            yield f"{verb} {what}{'s' if len(names) > 1 else ''} {', '.join(names)}"
    before = {element for names in older.types.values() for element in names}
    types = sorted({element for names in newer.types.values() for element in names} - before)
    if types:
        yield f"{verb} {', '.join(types)}"


# ------------------------------------------------------------------ TOML


def _formal_pairs(
    by_version: Sequence[tuple[int, Sequence[FormalDefinition]]],
) -> dict[str, list[tuple[str, str]]]:
    """The keys of each input or output, in the order of the node."""
    longest = max((len(formals) for _, formals in by_version), default=0)
    names = dict.fromkeys(
        formals[index].name for index in range(longest) for _, formals in by_version if index < len(formals)
    )
    found = {}
    for name in names:
        having = {version: each for version, formals in by_version for each in formals if each.name == name}
        pairs = _dotted("type", {version: f'"{each.type}"' for version, each in having.items()})
        pairs += [("variadic", "true")] if any(each.variadic for each in having.values()) else []
        if any(each.optional for each in having.values()):
            pairs += _dotted("optional", {version: str(each.optional).lower() for version, each in having.items()})
        found[name] = pairs + _span(list(having), [version for version, _ in by_version])
    return found


def _span(having: Sequence[int], every: Sequence[int], *, until_end: bool = False) -> list[tuple[str, str]]:
    """The keys `since` and `before` of what only some versions have."""
    later = [version for version in every if version > having[-1]]
    pairs = [("since", str(having[0]))] if having[0] != every[0] else []
    return pairs + ([("before", str(later[0]))] if later and not until_end else [])


def _dotted(key: str, values: Mapping[int, str]) -> list[tuple[str, str]]:
    """One key, or one for each version from which on the value is another one."""
    changes = list(_changes(values))
    return [(key, changes[0][1])] if len(changes) == 1 else [(f"{key}.{start}", value) for start, value in changes]


def _changes(values: Mapping[int, T]) -> Iterator[tuple[int, T]]:
    last: object = None
    for index, (version, value) in enumerate(values.items()):
        if not index or value != last:
            yield version, value
        last = value


def _absent(attribute: AttributeDefinition) -> str:
    """What the absence of an attribute means, as an expression of the rule language in TOML."""
    return '"none"' if attribute.default is None else _string(_expression(attribute.default))


def _expression(value: object) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_expression, value))}]"
    return repr(value)


def _families(elements: Iterable[str]) -> tuple[str, ...]:
    """Element types, with families of them by their names."""
    left = dict.fromkeys(elements)
    found = []
    for family, members in catalogue.editions().families.items():
        if all(member in left for member in members):
            found.append(family)
            left = {name: None for name in left if name not in members}
    return (*found, *left)


def _inline(pairs: Iterable[tuple[str, str]]) -> str:
    return "{ " + ", ".join(f"{key} = {value}" for key, value in pairs) + " }"


def _string(text: str) -> str:
    return json.encode(text).decode("ascii")


def _strings(texts: Iterable[str]) -> str:
    return _list(map(_string, texts))


def _list(items: Iterable[object]) -> str:
    return f"[{', '.join(map(str, items))}]"


def _comment(text: str, first: str = "", rest: str = "") -> list[str]:
    indented = textwrap.wrap(text, WIDTH - 2, initial_indent=first, subsequent_indent=rest)
    return [f"# {line}" for line in indented]


def _quoted(text: str) -> list[str]:
    """What ONNX states, as comments; a character that TOML does not allow there is escaped."""
    lines = textwrap.dedent(text).strip().splitlines()
    return [f"#   {_printable(line)}".rstrip() for line in lines]


def _printable(line: str) -> str:
    return "".join(char if char.isprintable() and char.isascii() else f"\\u{ord(char):04x}" for char in line.rstrip())
