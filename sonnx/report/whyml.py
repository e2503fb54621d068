"""The profile in WhyML, the language of Why3: the built-in functions, and what each operator demands of a call.

`builtins.mlw` has the modules Prelude, Numbers and BuiltIns, `order.mlw` the order of values; `operators.mlw` has one
module for each operator of an edition, in the version its text specifies, with a predicate for each rule,
`precondition` (every rule about inputs and parameters) and the shape of each output as a function.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

from sonnx.checker.profile_validation import signature_types
from sonnx.language.domain import BuiltIn, Expression
from sonnx.language.parser import built_ins, read_built_in
from sonnx.language.type_checker import ListType, RuleType, built_in_types, type_of
from sonnx.language.whyml import (
    AND,
    PRELUDE,
    UNKNOWN,
    Written,
    function_text,
    identifier,
    names_as_written,
    type_name,
    written,
)
from sonnx.numerics import order
from sonnx.profile import catalogue
from sonnx.profile.definitions import Rule
from sonnx.profile.signature import Signature, active_condition, signature

BUILT_INS = "builtins.mlw"
ORDER = "order.mlw"
OPERATORS = "operators.mlw"


def files(name: str | None = None) -> dict[str, str]:
    """The files of the export of an edition, by default the default one, by name.

    Raises:
        UsageError: an unknown edition.
    """
    edition = catalogue.edition_named(name).name
    head = (
        f"(* The rules of edition {edition}, written by `sonnx export why3`: to change them, change the profile. *)\n"
    )
    modules = "\n".join("\n".join(_module(candidate)) + "\n" for candidate in signatures(edition))
    return {
        BUILT_INS: f"{head}\n{PRELUDE}\n{_built_ins()}",
        ORDER: f"{head}\n{_order()}",
        OPERATORS: f"{head}\n{modules}",
    }


def signatures(edition: str) -> Iterator[Signature]:
    """The operators that an edition has rules for, each in the version its text specifies."""
    for described in catalogue.operators():
        text = catalogue.editions().editions[edition].text_of(described.name)
        version = None if text is None else described.specified_by(text)
        candidate = None if version is None else signature(described.name, version, edition)
        if candidate is not None:
            yield candidate


def _order() -> str:
    """The functions of the order of values, with each local name replaced by what it stands for."""
    by_name: dict[str, BuiltIn] = {}
    for tree in ast.parse(Path(order.__file__).read_text("utf-8")).body:
        if isinstance(tree, ast.FunctionDef):
            locals_ = _Locals()
            tree.body = [locals_.visit(statement) for statement in tree.body if not locals_.takes(statement)]
            by_name[tree.name] = read_built_in(tree, ast.unparse(tree), by_name, order)
    functions = "\n".join(map(function_text, by_name.values()))
    return f"module Order\n  use int.Int\n\n{functions}end\n"


class _Locals(ast.NodeTransformer):
    """Replaces the names that a body assigns once by the expressions assigned."""

    def __init__(self) -> None:
        self.values: dict[str, ast.expr] = {}

    def takes(self, statement: ast.stmt) -> bool:
        """Whether the statement is an assignment, which is kept and left out of the body."""
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self.values[name] = self.visit(value)
                return True
        return False

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.values.get(node.id, node)


def _built_ins() -> str:
    """The built-in functions: first those on numbers alone, which do not need the prelude."""
    unknown = "".join(f"  constant {name} : {kind}\n" for kind, name in UNKNOWN.items())
    texts = {name: function_text(function) for name, function in built_ins().items()}
    alone = [name for name, function in built_ins().items() if not function.built_ins and _plain(function)]
    numbers = "\n".join(texts[name] for name in alone)
    others = "\n".join(text for name, text in texts.items() if name not in alone)
    return (
        f"module Numbers\n  use int.Int\n\n{unknown}\n{numbers}end\n\n"
        f"module BuiltIns\n  use export Prelude\n  use export Numbers\n\n{others}end\n"
    )


def _plain(function: BuiltIn) -> bool:
    """Whether a function has numbers only and divides none."""
    types, result = built_in_types(function)
    divides = any(isinstance(tree, ast.FloorDiv | ast.Mod) for tree in ast.walk(ast.parse(function.source)))
    return not divides and not any(isinstance(value_type, ListType) for value_type in (*types, result))


def module_name(called: Signature) -> str:
    """The name of the module of an operator, such as `Conv_11`."""
    return f"{called.operator}_{called.version}"


def _module(called: Signature) -> Iterator[str]:
    types = signature_types(called)
    outputs = {formal.name for formal in called.outputs}
    yield f"(* {called.operator}, operator set {called.version}, by the text {called.text} *)"
    yield f"module {module_name(called)}"
    yield "  use builtins.BuiltIns"
    demanded: list[tuple[str, list[str]]] = []
    for rule in called.rules:
        condition = active_condition(rule, called.text, catalogue.editions())
        if condition is None:
            continue
        name, used = (
            identifier(f"rule_{rule.name}"),
            _used(called, [condition, *([rule.when] if rule.when else [])], types),
        )
        yield from ("", f"  (* {_comment(rule)} *)")
        yield f"  predicate {name} {_formals(used, types)} ="
        yield f"    {_body(called, condition, rule.when, types)}"
        if not outputs & {word.removeprefix("given(").removesuffix(")") for word in used}:
            demanded.append((name, used))
    for output, shape in called.shapes.items():
        used = _used(called, [shape], types)
        yield from ("", f"  (* the shape of {output} *)")
        text = type_name(type_of(shape, types))
        yield f"  function {identifier(f'shape_of_{output}')} {_formals(used, types)} : {text} ="
        yield f"    {_with_definitions(called, [shape], types, _text(shape, types))}"
    every = [name for name in types if any(name in used for _, used in demanded)]
    parts = [" ".join([name, *(identifier(word) for word in used)]) for name, used in demanded]
    together = f" {AND} ".join(parts) or "true"
    yield from ("", f"  predicate precondition {_formals(every, types)} =", f"    {together}", "end")


def _comment(rule: Rule) -> str:
    return f"{rule.slug}: {rule.statement}".replace("(*", "( *").replace("*)", "* )").replace('"', "'")


def _body(called: Signature, condition: Expression, when: Expression | None, types: Mapping[str, RuleType]) -> str:
    text = _text(condition, types)
    if when is not None:
        text = f"({_text(when, types)} -> {text})"
    return _with_definitions(called, [condition, *([when] if when else [])], types, text)


def _text(expression: Expression, types: Mapping[str, RuleType]) -> str:
    return written(expression, names_as_written(types)).text


def _definitions(called: Signature, expressions: list[Expression]) -> list[str]:
    """The definitions that expressions use, directly or through others, in the order of the file."""
    waiting, used = [name for expression in expressions for name in expression.names], set[str]()
    while waiting:
        name = waiting.pop()
        if name in called.define and name not in used:
            used.add(name)
            waiting += called.define[name].names
    return [name for name in called.define if name in used]


def _with_definitions(
    called: Signature, expressions: list[Expression], types: Mapping[str, RuleType], text: str
) -> str:
    """The text of an expression, preceded by `let` for each definition that it uses."""
    definitions = _definitions(called, expressions)
    heads = [_let(name, written(called.define[name], names_as_written(types))) for name in definitions]
    return "\n    ".join([*heads, text])


def _let(name: str, definition: Written) -> str:
    return f"let {identifier(name)} = {definition.text} in"


def _used(called: Signature, expressions: list[Expression], types: Mapping[str, RuleType]) -> list[str]:
    """The names of facts that expressions depend on, in the order of the signature."""
    definitions = _definitions(called, expressions)
    names = set().union(
        *(expression.names for expression in expressions),
        *(called.define[definition].names for definition in definitions),
    )
    return [name for name in types if name in names - set(called.define)]


def _formals(names: list[str], types: Mapping[str, RuleType]) -> str:
    return " ".join(f"({identifier(name)} : {type_name(types[name])})" for name in names)
