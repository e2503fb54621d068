"""The errata are well-formed, ordered by text, and every erratum that a rule names exists."""

import json
import os
import re
import tomllib
from itertools import chain
from pathlib import Path

import jsonschema

from sonnx.proofs import registry
from tests.support.cases import each_case

RESTRICTIONS = Path(__file__).parent.parent.parent / "restrictions"
ERRATA = tomllib.loads((RESTRICTIONS / "errata.toml").read_text("utf-8"))
TEXTS = [text["name"] for text in tomllib.loads((RESTRICTIONS / "editions.toml").read_text("utf-8"))["text"]]


def named(data):
    """Every id that stands in an `errata` list anywhere in `data`."""
    if isinstance(data, dict):
        yield from data.get("errata", [])
        yield from chain.from_iterable(data.get("type_errata", {}).values())
        for part in data.values():
            yield from named(part)
    elif isinstance(data, list):
        for part in data:
            yield from named(part)


def test_follows_the_schema():
    schema = json.loads((RESTRICTIONS / "schema" / "errata.json").read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(ERRATA)


def test_ids_are_unique():
    ids = [erratum["id"] for erratum in ERRATA["erratum"]]
    assert len(ids) == len(set(ids))


def test_ordered_by_the_earliest_text():
    ranks = [[TEXTS.index(name) for name in erratum["document"]] for erratum in ERRATA["erratum"]]
    assert all(rank == sorted(rank) for rank in ranks)
    assert [rank[0] for rank in ranks] == sorted(rank[0] for rank in ranks)


def test_errata_and_theorems_name_each_other():
    by_erratum = {}
    for theorem in registry.theorems():
        if theorem.erratum:
            by_erratum.setdefault(theorem.erratum, []).append(theorem.id)
    named_theorems = {each["id"]: each["theorems"] for each in ERRATA["erratum"] if "theorems" in each}
    assert named_theorems == {erratum: sorted(found) for erratum, found in by_erratum.items()}
    assert not [each["id"] for each in ERRATA["erratum"] if "theorems" in each and "unproved" in each]


def test_every_named_erratum_exists():
    ids = {erratum["id"] for erratum in ERRATA["erratum"]}
    for path in RESTRICTIONS.rglob("*.toml"):
        missing = set(named(tomllib.loads(path.read_text("utf-8")))) - ids
        assert not missing, f"{path.name} names {sorted(missing)}"


# ------------------------------------------------------------------ quotations

RECORDED = tomllib.loads((Path(__file__).parent.parent / "data" / "errata_quotations.toml").read_text("utf-8"))
QUOTED = re.compile(r"\"([^\"]+)\"|(?<!\w)'([^']{3,})'(?!\w)")


def quotations():
    """What errata print in quotation marks."""
    for erratum in ERRATA["erratum"]:
        text = " ".join(" ".join(erratum[key] for key in ("place", "defect", "counterexample", "reading")).split())
        yield from (double or single for double, single in QUOTED.findall(text))


def plain(page):
    """A page without its marks: links, emphasis, tags and line breaks."""
    text = re.sub(r"<[^>]*>", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", page))
    return " ".join(re.sub(r"[*`$\\{}]", "", text).split()).lower()


def test_every_quotation_is_recorded():
    recorded = [quote for group in RECORDED.values() for quotes in group.values() for quote in quotes]
    assert sorted(set(quotations())) == sorted(recorded)


FOLDERS = {"pages": "SONNX_TEXTS", "seeds": "SONNX_SEEDS"}
"""The environment variables that name the folders of the documents."""


@each_case(
    ("folder", "page"),
    [(each, page) for each, name in FOLDERS.items() if name in os.environ for page in RECORDED[each]],
)
def test_quotations_stand_on_their_pages(folder, page):
    path = Path(os.environ[FOLDERS[folder]])
    path = path / "safety-related-profile" / page if folder == "pages" else path / page
    content = plain(path.read_text("utf-8"))
    assert [quote for quote in RECORDED[folder][page] if plain(quote) not in content] == []
