"""Every line of the five source documents is mapped once, and everything that an entry names exists.

The map holds the hash and the number of lines of each document.  Where the environment variable SONNX_SEEDS names the
folder with the documents, they are compared with the files; elsewhere only the recorded data are checked.
"""

import ast
import hashlib
import os
import tomllib
from itertools import chain
from pathlib import Path

from sonnx.proofs import registry
from tests.support.cases import each_case

TESTS = Path(__file__).parent.parent
RESTRICTIONS = TESTS.parent / "restrictions"
MAP = tomllib.loads((TESTS / "data" / "seed_map.toml").read_text("utf-8"))
SEEDS = MAP["seed"]
CASES = {case["id"] for case in tomllib.loads((TESTS / "data" / "seed_examples.toml").read_text("utf-8"))["example"]}
GENERAL = {path.stem: tomllib.loads(path.read_text("utf-8")) for path in RESTRICTIONS.glob("*.toml")}
OPERATORS = {
    data["operator"]: data
    for data in (tomllib.loads(path.read_text("utf-8")) for path in (RESTRICTIONS / "operators").glob("*.toml"))
}
ERRATA = {erratum["id"]: erratum for erratum in GENERAL["errata"]["erratum"]}
SOURCES = {"onnx", "2025-10", "2025-11"}
SHOWS = ("rules", "errata", "cases", "catalogue", "values", "theorems")

each_seed = each_case("seed", SEEDS, ids=[seed["file"] for seed in SEEDS])


def numbers(lines):
    """The line numbers of "4, 7-9"."""
    for part in lines.split(","):
        first, _, last = part.strip().partition("-")
        yield from range(int(first), int(last or first) + 1)


def entries(seed):
    """The entries that make a statement."""
    return [entry for entry in seed["line"] + seed.get("silent", []) if "no_content" not in entry]


def shown(kind):
    """All names of one kind, in all documents."""
    return set(chain.from_iterable(entry.get(kind, []) for seed in SEEDS for entry in entries(seed)))


def slugs():
    """The slugs of all rules, those that follow from an operator's file included."""
    for data in (GENERAL["general"], GENERAL["graph"]):
        yield from (rule["slug"] for rule in data["rule"])
    for operator, data in OPERATORS.items():
        yield from (f"{operator}.{rule['name']}" for rule in data.get("rule", []))
        yield from (f"{operator}.{variable}-allowed" for variable in data["types"])
        yield from (f"{operator}.{value}-type" for value in chain(data.get("inputs", []), data["outputs"]))
        yield from (f"{operator}.{output}-shape" for output in data["outputs"])
        parameters = data.get("parameters", {}).items()
        yield from (f"{operator}.{name}-rank" for name, parameter in parameters if "input" in parameter)


def concerns_a_seed(erratum):
    """Whether the place is in one of the five documents; ONNX has pages on other operators too."""
    return bool(SOURCES & set(erratum["document"])) and any(seed["file"] in erratum["place"] for seed in SEEDS)


def resolved(path):
    """Whether a dotted path leads to data: a file, then keys; an item of a list is entered by its name."""
    head, *keys = path.split(".")
    data = (OPERATORS | GENERAL)[head]
    for key in keys:
        if isinstance(data, list):
            data = next((item for item in data if key in (item.get("name"), item.get("slug"), item.get("id"))), {})
        else:
            data = data.get(key, {}) if isinstance(data, dict) else {}
    return data not in ({}, [])


@each_seed
def test_every_line_is_mapped_once(seed):
    mapped = sorted(chain.from_iterable(numbers(entry["lines"]) for entry in seed["line"]))
    assert mapped == list(range(1, seed["line_count"] + 1))


@each_seed
def test_every_entry_shows_something(seed):
    fields = {"lines", "id", "short", *SHOWS}
    for entry in seed["line"]:
        if "no_content" in entry:
            assert set(entry) == {"lines", "no_content"}
            assert entry["no_content"]
    for entry in entries(seed):
        assert set(entry) <= fields
        assert entry["id"], entry
        assert entry["short"], entry
        assert any(entry.get(kind) for kind in SHOWS), entry


@each_seed
def test_every_statement_is_mapped(seed):
    expected = {f"{seed['prefix']}-{number:02}" for number in range(1, seed["statements"] + 1)}
    assert set(chain.from_iterable(entry["id"] for entry in entries(seed))) == expected


def test_every_name_exists():
    assert shown("rules") <= set(slugs())
    assert shown("errata") <= set(ERRATA)
    assert shown("cases") <= CASES
    assert [path for path in shown("catalogue") if not resolved(path)] == []


def test_theorems_exist():
    known = {theorem.id for theorem in registry.theorems()}
    assert shown("theorems") <= known


def test_values_are_tested_where_the_map_says():
    assert set(MAP["values"]) == shown("values")
    for place in MAP["values"].values():
        file, _, name = place.partition("::")
        module = ast.parse((TESTS / file).read_text("utf-8"))
        functions = {each.name for each in module.body if isinstance(each, ast.FunctionDef)}
        assert name.startswith("test_") and name in functions, place


def test_every_case_of_the_texts_is_mapped():
    assert {case for case in CASES if case.startswith("EX-")} <= shown("cases")


def test_every_erratum_of_the_documents_has_its_line():
    of_lines = {name for seed in SEEDS for entry in seed["line"] for name in entry.get("errata", [])}
    assert {name for name, erratum in ERRATA.items() if concerns_a_seed(erratum)} == of_lines


if "SONNX_SEEDS" in os.environ:

    @each_seed
    def test_document_is_the_recorded_one(seed):
        content = (Path(os.environ["SONNX_SEEDS"]) / seed["file"]).read_bytes()
        assert hashlib.sha256(content).hexdigest() == seed["sha256"]
        text = content.decode("utf-8").splitlines()
        assert len(text) == seed["line_count"]
        blank = {number for number, line in enumerate(text, 1) if not line.strip()}
        for entry in entries(seed):
            assert not blank & set(numbers(entry.get("lines", "0"))), entry
