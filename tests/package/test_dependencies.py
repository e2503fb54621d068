"""What the package and its tests import is declared, and no version with a known fault is admitted or locked."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import Version

from tests.support.cases import each_case
from tests.support.paths import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS = {name: [Requirement(text) for text in texts] for name, texts in PROJECT["optional-dependencies"].items()}
DECLARED = [Requirement(text) for text in PROJECT["dependencies"]]
OWN = {"sonnx", "tests", "tools", "benchmarks", "proofs"}
GENERATORS = "make.py"
"""What wrote models under tests/data with the exporters of training frameworks; nothing runs it."""
WITHOUT_METADATA = {"iree": "iree-base-runtime", "openvino": "openvino", "tract": "tract", "atheris": "atheris"}
"""Packages that `make test` does not install, by what is imported; atheris is installed by `make fuzz`."""
FIRST_WITHOUT_FAULT = {"jinja2": "3.1.6", "protobuf": "6.31.1"}
"""The first versions without faults that were published: CVE-2025-27516, and CVE-2025-4565."""


STATEMENT = re.compile(
    r"^[ \t]*(?:from[ \t]+(\w[\w.]*)[ \t]+import\b|import[ \t]+(\w[\w., \t]*)(?:#.*)?$)", re.MULTILINE
)
"""A statement of import, which has a line of its own; also in the text of a program that a test starts."""


def imported(folder: str) -> Iterator[tuple[str, Path]]:
    """Each module of another package that a folder imports, with the file."""
    for path in sorted(path for path in (ROOT / folder).rglob("*.py") if path.name != GENERATORS):
        for module, modules in STATEMENT.findall(path.read_text("utf-8")):
            yield from ((name.split()[0], path) for name in (module or modules).split(","))


def distribution_of(module: str) -> str:
    """The package of the registry that has a module, "" for one of Python or of the project."""
    first = module.partition(".")[0]
    if not first or first in OWN or first in sys.stdlib_module_names:
        return ""
    found = installed().get(first, [WITHOUT_METADATA.get(first, first)])
    if first == "google":
        return "protobuf"
    return canonical(found[0])


@cache
def installed() -> Mapping[str, Sequence[str]]:
    """The packages that are installed, by the modules that they have."""
    return packages_distributions()


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


@each_case(
    ("folder", "extras"),
    [("sonnx", ("solvers", "runtime", "suite", "cluster", "draw", "vnnlib")), ("tests", tuple(EXTRAS))],
)
def test_what_is_imported_is_declared(folder: str, extras: tuple[str, ...]) -> None:
    named = [*DECLARED, *(each for extra in extras for each in EXTRAS[extra])]
    declared = {canonical(each.name) for each in named} | {"atheris"}
    missing = {
        (name, path.name)
        for module, path in imported(folder)
        if (name := distribution_of(module)) and name not in declared
    }
    assert missing == set()


def test_the_package_declares_nothing_that_it_does_not_import() -> None:
    used = {distribution_of(module) for module, _ in imported("sonnx")}
    assert {canonical(each.name) for each in DECLARED} <= used


def test_versions_with_known_faults_are_excluded() -> None:
    bounds = {canonical(each.name): each.specifier for each in DECLARED}
    for name, version in FIRST_WITHOUT_FAULT.items():
        [least] = [Version(one.version) for one in bounds[name] if one.operator == ">="]
        assert least >= Version(version)


@each_case("file", ["requirements.txt", "requirements-oldest.txt", "requirements-docs.txt", "requirements-run.txt"])
def test_locked_versions_are_admitted(file: str) -> None:
    locked = dict(re.findall(r"^([\w.-]+)==([^\s;]+)", (ROOT / file).read_text("utf-8"), re.MULTILINE))
    assert locked
    for each in DECLARED:
        version = locked.get(canonical(each.name))
        assert version is None or version in each.specifier, f"{each.name} {version}"


def test_each_locked_version_has_its_hashes() -> None:
    for file in ("requirements.txt", "requirements-run.txt"):
        entries = re.split(r"^(?=[\w.-]+==)", (ROOT / file).read_text("utf-8"), flags=re.MULTILINE)[1:]
        assert entries
        assert not [entry for entry in entries if "--hash=sha256:" not in entry]


def test_the_lock_of_the_action_is_a_part_of_the_lock() -> None:
    """The packages that a check needs, and those that build it, with the hashes of requirements.txt."""
    from tools.run_requirements import run_requirements

    assert (ROOT / "requirements-run.txt").read_text("utf-8") == run_requirements(ROOT)
    assert "--require-hashes" in (ROOT / "action.yml").read_text("utf-8")
