"""A result of `prove` as one HTML page: the answer first, then what is open or wrong, then every case.

No network, no script; in print every part is opened.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from sonnx.base.escaping import plural
from sonnx.base.resources import tool_version
from sonnx.report.html import OPENED
from sonnx.report.markup import Markup, code, document, element, folding, join, plain, table, terms
from sonnx.report.result import Case, Declared, Part, Result, Standing, worst
from sonnx.report.text import place

LIMITS = "It is evidence for an assessment, not a certificate."
COLOURS = {Standing.BAD: "fail", Standing.OPEN: "open", Standing.NOTE: "open", Standing.SKIPPED: "soft"}
LONG = 40
"""With more cases the tables are folded on a screen."""


def result(found: Result) -> str:
    """The whole page, ending in a line feed."""
    return document(f"sonnx: {found.about}", list(_page(found)))


def _page(found: Result) -> Iterator[Markup]:
    yield element("h1", f"sonnx {tool_version()}: {found.title}")
    yield element(
        "div",
        element("h2", plain(found.about)),
        element("p", plain(found.headline), class_="answer"),
        element("p", found.numbers, class_="soft"),
        class_=f"banner {_colour(found.standing)}",
    )
    yield _tiles(found)
    yield element("h3", "What does not hold, or is open")
    groups = [_group(found.declared[cases[0].rule], cases) for _, cases in found.findings]
    yield from groups or [element("p", "Nothing: every case passes.", class_="soft")]
    yield element("h3", "All cases")
    yield from (_part(part, start=len(found.cases) <= LONG) for part in found.parts)
    if found.notes:
        yield element("h3", "Notes")
        yield element("ul", *(element("li", plain(note)) for note in found.notes))
    if found.facts:
        yield element("h3", "Identity")
        yield terms([(term, code(plain(said))) for term, said in found.facts])
    yield element("p", f"Exit code of the run: {found.code}. {LIMITS}", class_="soft")


def _colour(standing: Standing) -> str:
    return COLOURS.get(standing, "pass")


def _tiles(found: Result) -> Markup:
    numbers = Counter(case.standing for case in found.cases)
    tiles = [
        (numbers[Standing.GOOD], f"of {plural(len(found.cases), 'case')} pass"),
        (numbers[Standing.BAD], "do not hold"),
        (numbers[Standing.OPEN], "are open"),
    ]
    made = (element("div", element("b", str(big)), element("span", small), class_="tile") for big, small in tiles)
    return element("div", *made, class_="tiles")


def _group(declared: Declared, cases: Sequence[Case]) -> Markup:
    """Cases of one rule and one answer."""
    first = cases[0]
    statement = element("div", declared.statement, class_="soft")
    summary = join((_badge(first), element("b", first.rule), plural(len(cases), "place"), statement), " ")
    remedy = (("because", declared.because), ("remedy", declared.remedy)) if first.standing is Standing.BAD else ()
    told = terms((*remedy, ("source", declared.source)))
    rows = ((_place(case), join((code(plain(case.message)), _details(case)), "")) for case in cases)
    listed = table(("place", "what was found"), rows, class_="said")
    return folding(summary, told, listed, class_="rule", start=len(cases) <= OPENED)


def _badge(case: Case) -> Markup:
    return element("span", case.verdict, class_=f"badge {_colour(case.standing)}")


def _place(case: Case) -> Markup:
    return plain(place(case.where)) if case.where else code(plain(case.name))


def _details(case: Case) -> Markup:
    return terms([(term, code(plain(said))) for term, said in case.details])


def _part(part: Part, start: bool) -> Markup:
    numbers = Counter(case.verdict for case in part.cases)
    said = ", ".join(f"{number} {verdict}" for verdict, number in numbers.items())
    summary = join((element("b", plain(part.name)), element("span", said, class_=_colour(worst(part.cases)))), " ")
    rows = ((code(plain(case.name)), _badge(case), _said(case)) for case in part.cases)
    listed = table(("case", "answer", "what it says"), rows, class_="cases")
    told = element("p", plain(part.note), class_="soft") if part.note else Markup("")
    return folding(summary, told, listed, start=start)


def _said(case: Case) -> Markup:
    """The message, and of what is good what else is known; the rest stands above with all that is known of it."""
    if case.standing is not Standing.GOOD or not case.details:
        return plain(case.message)
    more = "; ".join(f"{term}: {said}" for term, said in case.details)
    return join((plain(case.message), element("div", plain(more), class_="soft")), "")
