"""Mutation test of the code: the tests of a package must detect small changes of its modules.

    python -m tools.code_mutants [--sample N] [--seed S] [--seconds T] [--write] MODULE ...

A mutant is a module with one expression or statement replaced (`tools/syntax_mutants.py`).  The tests of the module's
package are traced once, which says what lines a test runs; then each mutant is imported in a process of its own, which
runs the tests that reach the changed line, the quick ones first, until one fails.  A mutant is *detected* if a test
fails, if the module cannot be imported, or if the process exceeds its limits.

The result is recorded in `code_survivors.toml` with a reason for each mutant that no test can detect.
"""

from __future__ import annotations

import argparse
import ast
import gc
import hashlib
import importlib.util
import json
import os
import random
import resource
import sys
import time
import tomllib
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import _lru_cache_wrapper, cache, partial
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any, NamedTuple

import pytest
from hypothesis import Phase, settings

from sonnx.profile.profile_data import in_use
from tools.syntax_mutants import of_code

ROOT = Path(__file__).parent.parent
RECORD = Path(__file__).with_name("code_survivors.toml")
TESTS = {
    "sonnx.operators": ("tests/operators", "tests/numerics"),
    "sonnx.numerics": ("tests/operators", "tests/numerics"),
    "sonnx.numerics.enclosures": ("tests/bounds",),
    "sonnx.bounds": ("tests/bounds",),
    "sonnx.report": ("tests/report",),
    "sonnx.rewriter": ("tests/rewriter/test_fix.py", "tests/rewriter/test_sums_and_signs.py"),
    "sonnx.equivalence": ("tests/equivalence",),
    "sonnx.suite": ("tests/suite/test_suite.py", "tests/suite/test_deviations.py"),
}
"""The tests of each package, by the longest prefix of a module's name."""
TESTS_OF_BOUNDS = ("tests/bounds",)
"""The tests of the functions `bound` of the operators."""
MAX_TEST_SECONDS = 20.0
"""Processor time of the tests that one mutant must pass, as it was traced: several times what it is otherwise."""
MAX_TRACED_CALLS = 100
"""Calls of a function whose lines are traced in one test: a trace of all takes many times as long as the tests."""
MAX_BYTES = 8 << 30
BROKEN = 99
"""The exit code of a child that did not run the tests."""
OTHERWISE = 98
"""The exit code of a child that cannot patch the module: it must be imported anew."""
DETECTED, SURVIVED, ENDED, NOT_TRIED = "detected", "survived", "ended", "not-tried"


class Mutant(NamedTuple):
    """A changed place of a module: the function and the line it is in, and both source texts."""

    function: str
    line: str
    old: str
    new: str


@dataclass(frozen=True)
class Place:
    """Where a mutant's text stands: the lines, counted from 1, and the whole text of the changed module."""

    mutant: Mutant
    first: int
    last: int
    text: str


# ------------------------------------------------------------------ mutants


def module_path(module: str) -> Path:
    """The source file of a module."""
    return ROOT / (module.replace(".", "/") + ".py")


def places(source: str, lines: Collection[str] = ()) -> list[Place]:
    """The mutants of a module, or of the lines with these texts, that differ from it and compile; in order."""
    places, seen, texts = [], Counter[Mutant](), [line.strip() for line in source.splitlines()]
    for statement in ast.parse(source).body:
        for node, function in _nodes(ast.Module([statement], []), ""):
            if lines and texts[getattr(node, "lineno", 1) - 1] not in lines:
                continue
            for place in _changed(node, function, statement, source):
                seen[place.mutant] += 1
                number = seen[place.mutant]  # the same change of the same text in one line
                own = place.mutant._replace(old=f"{place.mutant.old} ({number})") if number > 1 else place.mutant
                places.append(replace(place, mutant=own))
    return places


def _nodes(node: ast.AST, function: str) -> Iterator[tuple[ast.AST, str]]:
    """The nodes of code that runs, with the function they are in; no annotations, no texts, no sizes of blocks."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "type_comment") or isinstance(node, ast.JoinedStr):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                own = function
                if isinstance(child, ast.FunctionDef | ast.ClassDef):
                    own = f"{function}.{child.name}" if function else child.name
                elif isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
                    continue
                elif isinstance(child, ast.Assign) and not function and "_ELEMENTS" in ast.unparse(child.targets[0]):
                    continue  # no value depends on them
                yield child, own
                yield from _nodes(child, own)


def _changed(node: ast.AST, function: str, statement: ast.stmt, source: str) -> Iterator[Place]:
    """The mutants of a node in a statement of the module."""
    old = ast.unparse(node)
    first = min(each.lineno for each in (statement, *getattr(statement, "decorator_list", ())))
    for new in of_code(node):
        written = ast.unparse(ast.fix_missing_locations(new))
        if written == old or not isinstance(node, ast.expr | ast.stmt):
            continue
        text = _replaced(source, node, written)
        if isinstance(node, ast.If):  # only the test, so that the lines of the body stay where they are
            text = _replaced(source, node.test, f"not ({ast.unparse(node.test)})")
        try:
            compile("\n".join(text.split("\n")[first - 1 : statement.end_lineno]), "", "exec")
        except SyntaxError:
            continue
        last = node.body[0].lineno - 1 if isinstance(node, ast.If) else node.end_lineno or node.lineno
        short = (f"if {ast.unparse(x.test)}: ..." if isinstance(x, ast.If) else ast.unparse(x) for x in (node, new))
        line = source.splitlines()[node.lineno - 1].strip()
        yield Place(Mutant(function, line, *short), node.lineno, max(last, node.lineno), text)


def _replaced(source: str, node: ast.expr | ast.stmt, text: str) -> str:
    """The source with other text for a node, and as many lines as before."""
    lines = source.encode().splitlines(keepends=True)
    first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
    before, after = lines[first][: node.col_offset], lines[last][node.end_col_offset :]
    more = "\n" * (last - first)
    changed = f"({text}{more})" if isinstance(node, ast.expr) else text
    added = b"" if isinstance(node, ast.expr) else more.encode()
    return b"".join([*lines[:first], before + changed.encode() + after, added, *lines[last + 1 :]]).decode()


def digest(source: str) -> str:
    """The identity of what a module does: its syntax without comments and docstrings."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [x for x in body if not (isinstance(x, ast.Expr) and isinstance(x.value, ast.Constant))]  # type: ignore[attr-defined]
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()[:16]


# ------------------------------------------------------------------ processes


class Mutated(MetaPathFinder):
    """Imports one module from another text."""

    def __init__(self, module: str, text: str) -> None:
        self.module, self.text = module, text

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module with the other text."""
        if fullname != self.module:
            return None
        text = self.text

        class Loader(SourceFileLoader):
            def get_code(self, fullname: str) -> CodeType:
                return compile(text, self.path, "exec")

        file = str(module_path(fullname))
        return importlib.util.spec_from_file_location(fullname, file, loader=Loader(fullname, file))


def in_child(work: Callable[[], int], seconds: float) -> int | None:
    """What a function returns in a forked process without output; None where the process exceeds its limits."""
    child = os.fork()
    if child == 0:
        status = BROKEN
        try:
            log = os.open(ROOT / "build" / "mutants" / "last.log", os.O_RDWR | os.O_CREAT | os.O_TRUNC)
            for stream in (0, 1, 2):
                os.dup2(log, stream)
            resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1,) * 2)
            resource.setrlimit(resource.RLIMIT_AS, (MAX_BYTES,) * 2)
            status = work()
        except BaseException:  # noqa: BLE001  # the parent reads the status
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else None
    if code == BROKEN:
        raise RuntimeError("the tests could not be run; build/mutants/last.log says why")
    return code


def run_tests(arguments: Sequence[str], plugin: object) -> int:
    """Run pytest in this process; its exit code."""
    usual = [
        "-q",
        "-x",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "--tb=no",
        "--no-header",
        "-W",
        "ignore::pytest.PytestAssertRewriteWarning",
    ]
    return int(pytest.main([*usual, *arguments], plugins=[plugin]))


class Quick:
    """A pytest plugin: Hypothesis does not search for the smallest example, which costs more than the failure."""

    def pytest_collection(self) -> None:
        """Set it before the tests are read."""
        settings.register_profile("mutants", settings(), phases=(Phase.explicit, Phase.generate))
        settings.load_profile("mutants")


class Selection(Quick):
    """Runs some tests in the given order."""

    def __init__(self, tests: Sequence[str]) -> None:
        self.order = {test: place for place, test in enumerate(tests)}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Keep them, in this order."""
        items[:] = sorted((x for x in items if x.nodeid in self.order), key=lambda x: self.order[x.nodeid])


class Tracer(Quick):
    """Records which lines of `sonnx` a test runs, and how long it takes."""

    def __init__(self, target: Path) -> None:
        self.target, self.started = target, 0.0
        self.tests: dict[str, dict[str, Any]] = {}
        self.lines: dict[CodeType, set[int]] = {}
        self.calls: Counter[CodeType] = Counter()
        self.wanted = tuple(str(ROOT / prefix.replace(".", "/")) for prefix in TESTS)

    def _trace(self, frame: FrameType, event: str, _: object) -> Any:
        code = frame.f_code
        self.calls[code] += 1
        if self.calls[code] > MAX_TRACED_CALLS or not code.co_filename.startswith(self.wanted):
            return None
        add = self.lines.setdefault(code, set()).add

        def local(frame: FrameType, event: str, _: object) -> Any:
            if event == "line":
                add(frame.f_lineno)
            return local

        return local

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self) -> None:
        """Begin."""
        self.lines, self.calls, self.started = {}, Counter(), time.process_time()
        sys.settrace(self._trace)

    def pytest_runtest_teardown(self, item: Any) -> None:
        """End."""
        sys.settrace(None)
        found: dict[str, set[int]] = defaultdict(set)
        for code, lines in self.lines.items():
            found[str(Path(code.co_filename).relative_to(ROOT))] |= lines
        own = {name: sorted(lines) for name, lines in found.items()}
        self.tests[item.nodeid] = {"seconds": time.process_time() - self.started, "lines": own}

    def pytest_runtest_logreport(self, report: Any) -> None:
        """A test that fails without a mutant says nothing."""
        if report.failed:
            self.tests.pop(report.nodeid, None)

    def pytest_sessionfinish(self) -> None:
        """Write the result."""
        self.target.write_text(json.dumps(self.tests))


def patch(module: str, text: str) -> None:
    """Give the functions of an imported module the code of another text, those included that others hold.

    Raises:
        ValueError: the other text differs outside functions or has them elsewhere, or a function has other free
            variables.
    """
    path = str(module_path(module))
    before, after = (dict(_codes(compile(name, path, "exec"))) for name in (module_path(module).read_text(), text))
    differing = {key for key in before if before[key] != after.get(key)}
    innermost = {key for key in differing if not any(_inside(other, key) for other in differing)}
    if not innermost or differing - after.keys() or any(key[0] == "<module>" for key in innermost):
        raise ValueError
    number = 0
    for get_object in gc.get_objects():
        if isinstance(get_object, FunctionType) and get_object.__code__.co_filename == path:
            key = (get_object.__code__.co_qualname, get_object.__code__.co_firstlineno)
            if key in differing:
                get_object.__code__ = after[key]
                number += 1
    if not number:
        raise ValueError
    for get_object in gc.get_objects():  # what the functions have computed before
        if isinstance(get_object, _lru_cache_wrapper) and get_object.__wrapped__.__module__.startswith(tuple(TESTS)):
            get_object.cache_clear()
    in_use().forget()


def _codes(code: CodeType) -> Iterator[tuple[tuple[str, int], CodeType]]:
    """The code objects in a code object, by qualified name and first line."""
    yield (code.co_qualname, code.co_firstlineno), code
    for co_const in code.co_consts:
        if isinstance(co_const, CodeType):
            yield from _codes(co_const)


def _inside(inner: tuple[str, int], outer: tuple[str, int]) -> bool:
    return inner != outer and (outer[0] == "<module>" or inner[0].startswith(f"{outer[0]}."))


class Job(NamedTuple):
    """A mutant to be tried, the tests that reach it, and their processor time.

    `at_import` says that the line runs only while modules are imported, so that a patch comes too late.
    """

    module: str
    place: Place
    tests: Sequence[str]
    seconds: float
    at_import: bool


class Trials(Quick):
    """Tries mutants in forks of a process that has imported the modules and read the tests."""

    def __init__(self, jobs: Sequence[Job], target: Path, end: float) -> None:
        self.jobs, self.target, self.end = jobs, target, end
        self.detections: Counter[str] = Counter()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: Any) -> bool:
        """In the place of a run of all tests: a line with the outcome of each mutant."""
        items = {item.nodeid: item for item in session.items}
        with self.target.open("w") as file:
            for job in self.jobs:
                if time.monotonic() > self.end:
                    break
                tests = [test for test in job.tests if test in items]
                tests.sort(key=lambda test: -self.detections[test])  # a test that detects one mutant detects others
                run = partial(_patched, session, job, [items[test] for test in tests])
                status = in_child(run, 20 + 3 * job.seconds) if tests else 0
                if status is not None and 0 < status <= len(tests):
                    self.detections[tests[status - 1]] += 1
                name = {None: ENDED, 0: SURVIVED, OTHERWISE: NOT_TRIED}.get(status, DETECTED)
                file.write(f"{name}\n")
                file.flush()
        return True


def _patched(session: Any, job: Job, items: Sequence[Any]) -> int:
    """The number of the first test that fails, from 1; 0 if none does."""
    if job.at_import:
        return OTHERWISE
    try:
        patch(job.module, job.place.text)
    except ValueError:
        return OTHERWISE
    for place, item in enumerate(items):
        following = items[place + 1] if place + 1 < len(items) else None
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if session.testsfailed:
            return min(place + 1, OTHERWISE - 1)
    return 0


# ------------------------------------------------------------------ the test


def tests_of(module: str, function: str = "") -> tuple[str, ...]:
    """The folders of tests of a function of a module."""
    if module.startswith("sonnx.operators.") and function.partition(".")[0] == "bound":
        return TESTS_OF_BOUNDS
    prefix = max((test for test in TESTS if f"{module}.".startswith(f"{test}.")), key=len)
    return TESTS[prefix]


@cache
def traced(folders: tuple[str, ...]) -> Mapping[str, Mapping[str, Any]]:
    """The tests of these folders with their seconds and lines, kept in build/ for as long as no source changes."""
    state = hashlib.sha256()
    sources = [ROOT / "tests" / "conftest.py"]
    for folder in ("sonnx", "tests/support", *folders):
        sources += sorted((ROOT / folder).rglob("*.py"))
    for path in sources:
        state.update(path.read_bytes())
    target = ROOT / "build" / "mutants" / f"{'-'.join(folders).replace('/', '.')}-{state.hexdigest()[:16]}.json"
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        started = time.monotonic()
        status = in_child(lambda: run_tests([*folders, "--maxfail=1000"], Tracer(target)), 3600)
        print(f"traced {', '.join(folders)} in {time.monotonic() - started:.0f} s; pytest ended with {status}")
    found: dict[str, dict[str, Any]] = json.loads(target.read_text())
    return found


def reaching(module: str, place: Place, source: str) -> Job:
    """A changed line with its tests, those of the fewest seconds first: that run it, then that run its function.

    If no test of the package runs the function, they are those of bounds.  Of code that runs at import, outside
    functions or in a function that no test runs, they are all tests that run a line of the module.
    """
    name, function = str(module_path(module).relative_to(ROOT)), _function_lines(source, place.first)
    usual = tests_of(module, place.mutant.function)
    ways = [(usual, function)]
    if function is not None:
        ways += [(TESTS_OF_BOUNDS, function)] if usual == TESTS["sonnx.operators"] else []
        ways += [(usual, None)]
    for folders, lines in ways:
        seen = traced(folders)
        running = {test: own for test, entry in seen.items() if (own := set(entry["lines"].get(name, ())))}
        if lines is not None:
            running = {test: own for test, own in running.items() if own & lines}
        if running:
            changed = set(range(place.first, place.last + 1))
            order = sorted(running, key=lambda test: (not running[test] & changed, seen[test]["seconds"], test))
            tests = _within_limit(order, seen)
            return Job(module, place, tests, sum(seen[test]["seconds"] for test in tests), lines is None)
    return Job(module, place, (), 0.0, at_import=True)


def _within_limit(tests: Sequence[str], seen: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The first tests that take MAX_TEST_SECONDS together, at least one."""
    chosen: list[str] = []
    total = 0.0
    for test in tests:
        total += seen[test]["seconds"]
        if chosen and total > MAX_TEST_SECONDS:
            break
        chosen.append(test)
    return chosen


def _function_lines(source: str, line: int) -> set[int] | None:
    """The lines of the innermost function around a line."""
    bodies = [
        set(range(node.body[0].lineno, (node.end_lineno or 0) + 1))
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef)
    ]
    return min((body for body in bodies if line in body), key=len, default=None)


def imported_anew(job: Job) -> str:
    """Whether the tests detect a mutant in a process that imports its module from the changed text."""
    if not job.tests:
        return SURVIVED

    def run() -> int:
        sys.meta_path.insert(0, Mutated(job.module, job.place.text))
        return run_tests(sorted({test.partition("::")[0] for test in job.tests}), Selection(job.tests))

    status = in_child(run, 20 + 3 * job.seconds)
    return ENDED if status is None else SURVIVED if status == 0 else DETECTED


@dataclass
class ModuleResult:
    """The result for one module: how many mutants there are, how many were tried, and the survivors with reasons."""

    name: str
    digest: str
    mutants: int
    tried: int
    survivors: dict[Mutant, str] = field(default_factory=dict)


def mutation_test(module: str, sample: int, seed: int, end: float, before: ModuleResult | None = None) -> ModuleResult:
    """Try the mutants of a module, or a sample of them, until the time is over.

    Declarations of a module whose functions no test runs are left out: they are tested where they are used.

    Args:
        module: its name.
        sample: how many, 0 for all.
        seed: of the sample.
        end: the monotonic time after which no mutant is begun.
        before: an earlier result; only its survivors without a reason are tried again.
    """
    source = module_path(module).read_text("utf-8")
    if before is None:
        known = [place for place in places(source) if place.mutant.function or reaching(module, place, source).tests]
        chosen = random.Random(f"{seed} {module}").sample(known, min(sample or len(known), len(known)))  # noqa: S311
        result = ModuleResult(module, digest(source), len(known), len(chosen))
    else:
        chosen = [place for place in places(source) if before.survivors.get(place.mutant) == ""]
        result = replace(before, survivors={mutant: why for mutant, why in before.survivors.items() if why})
    jobs = [reaching(module, place, source) for place in chosen]
    target = ROOT / "build" / "mutants" / "outcomes"
    files = sorted({test.partition("::")[0] for job in jobs for test in job.tests})
    in_child(lambda: 0 * run_tests(files, Trials(jobs, target, end)), 3600)
    outcomes = target.read_text().split()
    result.tried -= len(chosen) - len(outcomes)
    for job, outcome in zip(jobs, outcomes, strict=False):
        if outcome == SURVIVED or (outcome == NOT_TRIED and imported_anew(job) == SURVIVED):
            result.survivors[job.place.mutant] = ""
            print(f"{module}:{job.place.first}: {job.place.mutant.old}  ->  {job.place.mutant.new}", flush=True)
    print(f"{module}: {result.tried - len(result.survivors)} of {result.tried} mutants detected", flush=True)
    return result


# ------------------------------------------------------------------ the record


@dataclass
class Record:
    """The last results, and the reasons by their name."""

    reasons: dict[str, str]
    modules: dict[str, ModuleResult]

    def add(self, result: ModuleResult) -> None:
        """Replace the result of a module; a survivor that is known keeps its reason."""
        before = self.modules.get(result.name)
        known = before.survivors if before else {}
        result.survivors = {mutant: known.get(mutant, "") for mutant in result.survivors}
        self.modules[result.name] = result

    @property
    def tried(self) -> int:
        """All mutants that were tried."""
        return sum(result.tried for result in self.modules.values())

    @property
    def unexplained(self) -> list[tuple[str, Mutant]]:
        """The survivors without a reason."""
        return [(name, mutant) for name, x in self.modules.items() for mutant, why in x.survivors.items() if not why]


def read_record() -> Record:
    """The recorded results."""
    data = tomllib.loads(RECORD.read_text("utf-8")) if RECORD.exists() else {"reasons": {}, "module": []}
    modules = {}
    for row in data["module"]:
        survivors = {Mutant(*each[:4]): each[4] for each in row["survivors"]}
        modules[row["name"]] = ModuleResult(row["name"], row["digest"], row["mutants"], row["tried"], survivors)
    return Record(data["reasons"], modules)


def write_record(record: Record) -> None:
    """Replace the recorded results."""

    def text(value: object) -> str:
        return json.dumps(value, ensure_ascii=False)

    lines = [
        "# Mutants of modules that no test detects: function, line, old text, new text, name of the reason.",
        "# `python -m tools.code_mutants --write MODULE` replaces the entry of a module and keeps the reasons.",
        "",
        "[reasons]",
        *(f"{name} = {text(reason)}" for name, reason in sorted(record.reasons.items())),
    ]
    for _, result in sorted(record.modules.items()):
        lines += ["", "[[module]]", f"name = {text(result.name)}", f"digest = {text(result.digest)}"]
        lines += [f"mutants = {result.mutants}", f"tried = {result.tried}", "survivors = ["]
        lines += [f"  [{', '.join(map(text, (*mutant, why)))}]," for mutant, why in sorted(result.survivors.items())]
        lines.append("]")
    RECORD.write_text("\n".join(lines) + "\n", "utf-8")


def main(arguments: Sequence[str]) -> int:
    """Try mutants of modules; 1 if a survivor has no reason."""
    parser = argparse.ArgumentParser(prog="python -m tools.code_mutants", description="Mutation test of modules.")
    parser.add_argument("modules", nargs="*", metavar="MODULE", help="all recorded modules that have changed if none")
    parser.add_argument("--sample", type=int, default=40, help="mutants of a module, 0 for all (default 40)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no mutant after this time")
    parser.add_argument("--again", action="store_true", help="try only recorded survivors without a reason")
    parser.add_argument("--write", action="store_true", help=f"record the results in {RECORD.name}")
    options = parser.parse_args(arguments)
    record, end = read_record(), time.monotonic() + options.seconds
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    for name in ("numpy", "onnx", "hypothesis", "gmpy2", "ml_dtypes", "pytest"):  # what all children load
        importlib.import_module(name)
    changed = [x.name for x in record.modules.values() if x.digest != digest(module_path(x.name).read_text("utf-8"))]
    for module in options.modules or (list(record.modules) if options.again else changed):
        before = record.modules.get(module) if options.again and module not in changed else None
        if before is not None and all(before.survivors.values()):
            continue
        sample = before.tried if before is not None else options.sample
        record.add(mutation_test(module, sample, options.seed, end, before))
        if options.write:
            write_record(record)
    for name, mutant in record.unexplained:
        print(f"no test detects, no reason recorded: {name}, {mutant.function}: {mutant.old}  ->  {mutant.new}")
    print(f"{record.tried} mutants recorded, {len(record.unexplained)} undetected without a reason")
    return int(bool(record.unexplained))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
