"""One name has one meaning in the whole tree, and the modules of a package do not import each other in circles."""

from __future__ import annotations

import ast
import builtins
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.support.paths import ROOT


@cache
def trees() -> dict[str, ast.Module]:
    """The syntax tree of each module of the package, by name."""
    return _trees("sonnx")


@cache
def _trees(folder: str) -> dict[str, ast.Module]:
    return {name: ast.parse(text) for name, text in texts(folder).items()}


@cache
def texts(folder: str) -> dict[str, str]:
    """The text of each module of a folder, by name."""
    paths = (path.relative_to(ROOT) for path in (ROOT / folder).rglob("*.py"))
    return {_module(path): (ROOT / path).read_text("utf-8") for path in paths}


@cache
def statements(folder: str = "sonnx") -> dict[str, list[ast.stmt]]:
    """The statements of each module of a folder, by name."""
    return {name: [*_statements(tree)] for name, tree in _trees(folder).items()}


def _statements(node: ast.AST) -> Iterator[ast.stmt]:
    """The statements in a node, without a look at their expressions, of which there are ten times as many."""
    for part in ("body", "handlers", "cases", "orelse", "finalbody"):
        for each in getattr(node, part, ()):
            if isinstance(each, ast.stmt):
                yield each
            yield from _statements(each)


@cache
def imports() -> dict[str, list[ast.Import | ast.ImportFrom]]:
    """The statements of import in each module, by name."""
    return {
        name: [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]
        for name, nodes in statements().items()
    }


def _module(path: Path) -> str:
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def _imports(module: str) -> Iterator[str]:
    for node in imports()[module]:
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                yield name if name in trees() else node.module


def test_public_types_have_different_names() -> None:
    types = (node for tree in trees().values() for node in tree.body if isinstance(node, ast.ClassDef))
    numbers = Counter(node.name for node in types if not node.name.startswith("_"))
    assert {name for name, number in numbers.items() if number > 1} == set()


PROTOCOLS: dict[str, str] = {}
"""The protocol by each name that several modules define for one purpose, where other modules import it bare."""


def test_a_function_that_is_imported_by_its_name_alone_has_one_definition() -> None:
    """A reader of `facts_of(x)` need not look at the imports to know what it says."""
    modules = trees() | _trees("proofs")
    functions = {
        module: {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        for module, tree in modules.items()
    }
    homes: dict[str, set[str]] = {}
    for nodes in (statements() | statements("proofs")).values():
        for node in nodes:
            if isinstance(node, ast.ImportFrom) and node.module in functions:
                for alias in node.names:
                    if alias.asname is None and alias.name in functions[node.module]:
                        homes.setdefault(alias.name, set()).add(node.module)
    several = {name: sorted(defined_in) for name, defined_in in homes.items() if len(defined_in) > 1}
    assert {name: defined_in for name, defined_in in several.items() if name not in PROTOCOLS} == {}
    assert several.keys() >= PROTOCOLS.keys(), "a protocol is listed whose name has one definition"


def test_no_local_is_named_like_a_class_of_another_meaning() -> None:
    """Of names of several words: single words such as `text` or `place` say what a value is for, whatever its class."""
    classes = {node.name for nodes in statements().values() for node in nodes if isinstance(node, ast.ClassDef)}
    class_of = {_snake_case(name): name for name in classes if "_" in _snake_case(name)}
    misnamed = {
        (module, name, stated)
        for module, nodes in statements().items()
        for function in nodes if isinstance(function, ast.FunctionDef)
        for name, stated in _stated_classes(function)
        if name in class_of and stated not in (class_of[name], f"_{class_of[name]}")
    }  # fmt: skip
    assert misnamed == set()


def test_no_local_is_named_like_a_type_variable() -> None:
    """`value_t` for a value of the type ValueT says nothing: the name is lost where the type is generic."""
    variables = {
        _snake_case(node.targets[0].id)
        for nodes in statements().values()
        for node in nodes
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and _is_type_variable(node.value)
    }
    suspected = re.compile(rf"\b(?:{'|'.join(name for name in variables if '_' in name)})\b")
    names = {
        (module, node.id)
        for module, tree in trees().items()
        if suspected.search(texts("sonnx")[module])
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in variables and "_" in node.id
    }
    assert names == set()


def test_no_module_imports_itself_by_way_of_others() -> None:
    known = {module: set(_imports(module)) & trees().keys() - {module} for module in trees()}
    while removed := {module for module, imported in known.items() if not imported}:
        known = {module: imported - removed for module, imported in known.items() if module not in removed}
    while removed := known.keys() - set().union(*known.values()):
        known = {module: imported for module, imported in known.items() if module not in removed}
    assert {module for module in known if _reaches(known, module)} == set()


def test_nothing_is_unpickled() -> None:
    """Processes exchange JSON; a Dask cluster alone pickles, and is trusted.  The stored tables are marshalled code."""
    pickling = {"pickle", "shelve", "multiprocessing", "concurrent.futures.process", "ProcessPoolExecutor", "dill"}
    imported = {
        name: {alias.name for node in nodes for alias in node.names}
        | {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
        for name, nodes in imports().items()
    }
    assert {name for name, modules in imported.items() if modules & pickling} == set()


def test_no_function_of_the_library_switches_the_garbage_collector() -> None:
    """It is that of the whole process; the program may do so in its own processes."""
    own_processes = {"sonnx.__main__", "sonnx.base.garbage", "sonnx.workers.theorems"}
    switching = {
        name for name, nodes in imports().items() if any(alias.name == "gc" for node in nodes for alias in node.names)
    }
    callers = {name for name in trees() if "sonnx.base.garbage" in _imports(name)}
    assert (switching, callers) == (own_processes, {"sonnx.__main__", "sonnx.supervise.child"})


def _reaches(known: dict[str, set[str]], module: str) -> bool:
    """Whether a module imports itself by way of others."""
    seen: set[str] = set()
    waiting = [*known[module]]
    while waiting:
        other = waiting.pop()
        if other not in seen:
            seen.add(other)
            waiting += known.get(other, ())
    return module in seen


def _snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.strip("_")).lower()


def _is_type_variable(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "TypeVar"


def _stated_classes(function: ast.FunctionDef) -> Iterator[tuple[str, str]]:
    """The arguments and locals of a function with the class that an annotation or a construction states."""
    signature = function.args
    several = [each for each in (signature.vararg, signature.kwarg) if each]
    for argument in (*signature.posonlyargs, *signature.args, *signature.kwonlyargs, *several):
        yield from ((argument.arg, stated) for stated in _annotated(argument.annotation))
    for node in _statements(function):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield from ((node.target.id, stated) for stated in _annotated(node.annotation))
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            yield from ((node.targets[0].id, stated) for stated in _constructed(node.value))


def _annotated(annotation: ast.expr | None) -> Iterator[str]:
    """The class of an annotation that names one, apart from None."""
    match annotation:
        case ast.Name(id=name):
            yield name
        case ast.Subscript(value=ast.Name(id=name)):
            yield name
        case ast.BinOp(left=left, right=ast.Constant(value=None)):
            yield from _annotated(left)


def _constructed(value: ast.expr) -> Iterator[str]:
    """The class of a literal, and of a call that names a class."""
    match value:
        case ast.Call(func=ast.Name(id=name)) if name[:1].isupper() or name in vars(builtins):
            yield name
        case ast.List() | ast.ListComp() | ast.Dict() | ast.DictComp() | ast.Set() | ast.SetComp() | ast.JoinedStr():
            yield type(value).__name__
        case ast.Constant(value=constant) if constant is not None:
            yield type(constant).__name__
