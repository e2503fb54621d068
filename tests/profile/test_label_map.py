"""Every statement of the texts of 2026-08 and 2026-10 is mapped to what shows it, in both directions.

tests/data/label_map holds a file for each page: its hash, and each printed label, type list, shape, formula and error
condition with the rules, values, errata or commands that show it, or the reason why none does.  Where the environment
variable SONNX_TEXTS names a folder with the pages, they are read again and compared; elsewhere only the records are
checked.
"""

import hashlib
import os
import re
import tomllib
from pathlib import Path

import pytest

from sonnx.cli import main
from sonnx.evidence.verification import requirements
from sonnx.operators.registry import find_operator
from sonnx.profile import catalogue
from sonnx.profile.definitions import at, expand
from sonnx.profile.index import all_labels, rules_by_slug
from sonnx.profile.signature import signature
from tests.support.cases import each_case
from tests.support.text_statements import element_types, statements

FILES = sorted((Path(__file__).parent.parent / "data" / "label_map").glob("*.toml"))
PAGES = [tomllib.loads(path.read_text("utf-8")) for path in FILES]
TEXTS = {page["text"] for page in PAGES}
SHOWS = ("rules", "values", "errata", "commands")
LABEL = re.compile(r"(C\d|R\d|R[Xx]|GR\d|T\d|E_|REQ|RECO)")
"""A printed label; the other statements are named by their kind and a number."""

each_page = each_case("page", PAGES, ids=[path.stem for path in FILES])


def named(page, statement):
    """The labels under which the catalogue may know a statement: `X.C1`, or `float.X.C1` in its section."""
    if "tag" in statement:
        return {statement["tag"]} if isinstance(statement["tag"], str) else set(statement["tag"])
    label = re.sub(r" \(\d+\)$", "", statement["label"])
    if not re.match(r"C\d", label):
        return {label}
    section, _, part = statement["at"].rpartition(" / ")
    return {f"{part}.{label}", f"{section}.{part}.{label}"}


def known(page, statement):
    """The rules, "" for the definition, that the catalogue has under the labels of a statement."""
    operator, names = page.get("operator", ""), named(page, statement)
    return {
        label.rule
        for label in all_labels()
        if label.tag.text == page["text"] and label.tag.label in names
        if not operator or operator in (label.rule.partition(".")[0], label.subject.partition(".")[0])
    }


def labelled(page):
    """The statements that have a printed label, or the one the catalogue gives them."""
    return [each for each in page["statements"] if "tag" in each or LABEL.match(each["label"])]


@each_page
def test_every_statement_is_mapped(page):
    assert set(page) <= {"page", "text", "revision", "operator", "sha256", "statements"}
    places = [(each["at"], each["label"]) for each in page["statements"]]
    assert len(places) == len(set(places))
    for each in page["statements"]:
        assert set(each) <= {"at", "label", "quote", "tag", "none", *SHOWS}, each
        assert any(each.get(kind) for kind in SHOWS) is not bool(each.get("none")), each


def test_what_is_named_exists():
    rules, errata = set(rules_by_slug()), set(catalogue.errata())
    operators = {each.name for each in catalogue.operators()}
    commands = {each.id for each in requirements(main.parser())}
    for each in (each for page in PAGES for each in page["statements"]):
        assert set(each.get("rules", ())) <= rules, each
        assert set(each.get("errata", ())) <= errata, each
        assert set(each.get("values", ())) <= operators, each
        assert set(each.get("commands", ())) <= commands, each
        assert all(map(find_operator, each.get("values", ()))), each


@each_page
def test_every_label_leads_to_its_rules(page):
    """`sonnx explain` knows each label that a rule or a value stands for, and with it each of the rules."""
    for each in labelled(page):
        wanted = set(each.get("rules", ())) | ({""} if each.get("values") else set())
        assert wanted <= known(page, each), each


@each_case("text", sorted(TEXTS))
def test_every_label_of_the_catalogue_is_printed(text):
    """No rule has a label that its text does not print for it."""
    mapped = {
        (name, rule, page.get("operator", ""))
        for page in PAGES
        if page["text"] == text
        for each in labelled(page)
        for name in named(page, each)
        for rule in known(page, each)
        if not each.get("rules") or rule in each["rules"] or rule in ("", "inputs-connected", "no-default-values")
    }
    missing = [
        label
        for label in all_labels()
        if label.tag.text == text
        if not any(
            name == label.tag.label
            and rule == label.rule
            and (not operator or operator in (*label.rule.split("."), *label.subject.split(".")))
            for name, rule, operator in mapped
        )
    ]
    assert missing == []


CITED = re.compile(r"SONNX (\w+) of (2026-\d\d)((?:(?!SONNX|ONNX).)*)")
PLACE = re.compile(r"\b(?:(\w+) (C\d)|(R\d+)|([A-Za-z_]+_00\d0))\b")


@each_case("rule", [each for each in rules_by_slug().values() if CITED.search(each.source)], ids=lambda each: each.slug)
def test_sources_cite_labels_of_the_page(rule):
    """A label that the source of a rule cites stands on the page it names."""
    for operator, text, places in CITED.findall(rule.source):
        pages = [page for page in PAGES if page.get("operator") == operator]
        for text_, part in re.findall(r"(?:of (2026-\d\d))?((?:(?!of 2026).)*)", f"of {text}{places}"):
            text = text_ or text
            printed = [each for page in pages if page["text"] == text for each in page["statements"]]
            for subject, constraint, restriction, ending in PLACE.findall(part):
                assert any(
                    each["label"] == restriction
                    or (ending and each["label"].endswith(ending))
                    or (constraint and each["label"] == constraint and subject in each["at"].split(" / ")[-1])
                    or each.get("tag") == f"{subject}.{constraint}"
                    for each in printed
                ), (rule.slug, subject, constraint, restriction, ending)


# ------------------------------------------------------------------ element types


def printed_types(operator, text):
    """The element types the page of a text lists, None where it lists none: a page over the reals."""
    listed = [
        name
        for page in PAGES
        if (page.get("operator"), page["text"]) == (operator, text)
        for each in page["statements"]
        if each["label"].startswith("types")
        for name in element_types(each["quote"])
    ]
    return frozenset(listed) or None


WITHOUT_LIST = {("Neg", "2026-08")}
"""Pages whose types stand in a sentence, not in the contents (erratum neg-types-beyond-onnx)."""
TAKEN = [
    (edition, operator, text)
    for edition in catalogue.editions().editions.values()
    for operator, text in edition.operators.items()
    if text in TEXTS and (operator, text) not in WITHOUT_LIST
]


@each_case(("edition", "operator", "text"), TAKEN, ids=[f"{o} [{e.name}]" for e, o, _ in TAKEN])
def test_types_are_those_of_the_page(edition, operator, text):
    """An operator accepts the types its page lists, a page without a list those the profile of that text has."""
    described, editions = catalogue.operator(operator), catalogue.editions()
    general = frozenset(editions.editions[text].element_types)
    printed = printed_types(operator, text) or general
    for version in described.versions:
        made = signature(operator, version, edition.name)
        rules = {rule.slug: rule for rule in made.rules}
        variables = {formal.name: formal.type for formal in made.formals}
        for rule, (tensor, *_) in made.typed.items():
            onnx = set(expand(at(described.types[variables[tensor]], version), editions.families))
            allowed = set(re.findall(r"'(\w+)'", rules[f"{operator}.{rule}"].require.text))
            wanted = onnx & printed or onnx  # a type variable of its own, like the axes of Unsqueeze
            exempt = EXEMPT.get((operator, text), frozenset())
            assert allowed - exempt == wanted - exempt, (version, rule)


EXEMPT = {
    ("Abs", "2026-08"): frozenset({"bfloat16"}),
    ("ArgMax", "2026-08"): frozenset({"bfloat16"}),
}
"""Types on which the contents of a page contradict its sections (erratum abs-bfloat16-in-contents) or another page that
counts in an edition (argmax-types-of-two-texts)."""


# ------------------------------------------------------------------ against the pages


if "SONNX_TEXTS" in os.environ:

    @each_page
    def test_page_is_the_recorded_one(page):
        path = Path(os.environ["SONNX_TEXTS"]) / page["page"]
        if not page["sha256"] and not path.is_file():
            pytest.skip("the page was read through a copy that gives no bytes")
        content = path.read_bytes()
        found = [(each.place, each.label, each.quote) for each in statements(content.decode("utf-8"))]
        recorded = [(each["at"], each["label"], each["quote"]) for each in page["statements"]]
        if page["sha256"]:
            assert hashlib.sha256(content).hexdigest() == page["sha256"]
            assert found == recorded
        else:  # quotations taken by hand
            assert [each[:2] for each in found] == [each[:2] for each in recorded]
