"""The argument of an evidence pack in the Goal Structuring Notation (GSN Community Standard, version 3): data and SVG.

The fragment argues that a model conforms to an edition.  Its solutions are files of the pack; a goal without evidence
in the pack is marked as undeveloped, so that the case of a project can attach its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape as markup
from textwrap import wrap
from typing import Any, NamedTuple

from sonnx.base.escaping import escape, plural
from sonnx.equivalence.result import Answer
from sonnx.evidence.audit_document import AuditDocument

GOAL, STRATEGY, SOLUTION, CONTEXT, ASSUMPTION = "goal", "strategy", "solution", "context", "assumption"


class Element(NamedTuple):
    """An element of the argument.

    `supported_by` and `in_context_of` are identifiers of other elements; `files` are those of the pack that a solution
    refers to.  A goal is `met`, `not met`, or `open`; other elements have the state "".
    """

    id: str
    kind: str
    text: str
    state: str = ""
    supported_by: tuple[str, ...] = ()
    in_context_of: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    undeveloped: bool = False


STATES = {"pass": "met", "deviated": "met", "fail": "not met"}
"""The state of a goal by the verdict; the others leave it open."""


def argument(about: AuditDocument) -> tuple[Element, ...]:
    """The elements of the argument, the top goal first, from the document audit.json."""
    state = STATES.get(about.verdict, "open")
    rows, edition, model = about.rules, about.edition.name, about.model
    answers = sum((Counter(row.answers) for row in rows), Counter[str]())
    told = ", ".join(f"{number} {verdict}" for verdict, number in answers.items() if number) or "none"
    gaps = len(about.without.rules_without_theorem)
    claims = [
        Element("G2", GOAL, "Every rule in force holds on the model, or its failure is justified", state, ("Sn1",)),
        Element("G3", GOAL, "The rules state what the texts of the profile state", "open", ("Sn2",), ("C3",)),
        Element("G4", GOAL, "The rules are sound", "open" if gaps else "met", ("Sn3",)),
        Element("G5", GOAL, "The tool evaluates the rules as they are stated", "open", undeveloped=True),
        *_optional_goals(about),
    ]
    errata = plural(len(about.known_problems), "erratum", "errata")
    assumed = ("A1",) if about.assumptions else ()
    limits = ", ".join(about.conditions.limits()).removeprefix(f"edition {edition}").removeprefix(", ")
    top = f"The model {escape(model.file)} conforms to edition {edition} of the SONNX profile"
    top += f" ({limits})" if limits else ""
    records = [
        f"{escape(record.id)} until {record.last_day}"
        for record in (about.conditions.deviations.records if about.conditions.deviations else ())
    ]
    top += f", with the deviations {', '.join(records)}" if records else ""
    elements = [
        Element("G1", GOAL, top, _joint(claim.state for claim in claims), ("S1",), ("C1", "C2", *assumed)),
        Element("C1", CONTEXT, f"SHA-256 {model.sha256[:16]}…, and the options of the check", files=("audit.json",)),
        Element("C2", CONTEXT, "Limits of the claim", files=("index.html",)),
        Element("S1", STRATEGY, "Argument over results, rules and tool", "", tuple(claim.id for claim in claims)),
        *claims,
        Element("Sn1", SOLUTION, f"Results: {told}", files=("report.html", "report.json", "report.sarif")),
        Element("Sn2", SOLUTION, f"{plural(len(rows), 'requirement')}, sources, cases", files=("requirements.reqif",)),
        Element("C3", CONTEXT, f"{errata} of the texts, with the reading of each", files=("audit.json",)),
        Element(
            "Sn3", SOLUTION, f"{plural(len(about.theorems), 'theorem')}; {plural(gaps, 'rule')} without one",
            files=("theorems/",),
        ),
        *_optional_solutions(about),
    ]  # fmt: skip
    if assumed:
        count = plural(len(about.assumptions), "condition")
        elements.append(Element("A1", ASSUMPTION, f"{count} on values at run time hold", files=("audit.json",)))
    return tuple(elements)


def _joint(states: Iterable[str]) -> str:
    """The state of a goal that several goals support."""
    every = set(states)
    return "not met" if "not met" in every else "open" if "open" in every else "met"


DERIVED = {
    Answer.IDENTICAL: "met", Answer.ROUNDING: "met", Answer.DIFFERENT: "not met", Answer.UNDECIDED: "open",
    Answer.IDENTICAL_AT_SIZES: "met", Answer.ROUNDING_AT_SIZES: "met",
    Answer.NARROWED: "open", Answer.NARROWED_AT_SIZES: "open",
}  # fmt: skip
"""The state of the goal by the answer of the comparison."""


def _optional_goals(about: AuditDocument) -> Iterator[Element]:
    """The goals about a box of inputs and about rewrites, where the pack has them."""
    if about.box is not None:
        state = "open" if about.box.undecided or about.assumptions else "met"
        yield Element("G6", GOAL, "The assumptions hold for every input of the stated box", state, ("Sn4",))
    if about.rewrites is not None:
        yield Element("G7", GOAL, "The model computes the values of the model it was rewritten from", "open", ("Sn5",))
    if about.derived_from is not None:
        state = "open" if about.derived_from.only_for else DERIVED[Answer(about.derived_from.answer)]
        yield Element("G8", GOAL, "The model is the same function as its original", state, ("Sn6",))
    if about.properties:
        statement = "The stated properties hold in every implementation that their certificates describe"
        yield Element("G9", GOAL, statement, "met", ("Sn7",))
    if about.suite:
        complete = all(tested.exit == 0 and not tested.not_tested for tested in about.suite)
        statement = "The implementation gives the expected outputs for the cases of the suite"
        yield Element("G10", GOAL, statement, "met" if complete else "open", ("Sn8",))


def _optional_solutions(about: AuditDocument) -> Iterator[Element]:
    if about.box is not None:
        yield Element("Sn4", SOLUTION, f"{plural(len(about.box.shown), 'assumption')} shown", files=("audit.json",))
    if about.rewrites is not None:
        rewrites = about.rewrites.content.rewrites
        yield Element(
            "Sn5", SOLUTION, f"Record of {plural(len(rewrites), 'rewrite')}", files=("configuration/rewrites/",)
        )
    if about.derived_from is not None:
        name = f"Comparison with the original: {about.derived_from.answer}"
        yield Element("Sn6", SOLUTION, name, files=("audit.json",))
    if about.properties:
        name = f"{plural(len(about.properties), 'certificate')}, checked"
        yield Element("Sn7", SOLUTION, name, files=("properties/",))
    if about.suite:
        name = f"{plural(len(about.suite), 'report')} of sonnx suite run"
        yield Element("Sn8", SOLUTION, name, files=("suites/",))


def argument_data(elements: Sequence[Element]) -> dict[str, Any]:
    """The argument for programs."""
    return {"notation": "GSN 3", "elements": [element._asdict() for element in elements]}


# ------------------------------------------------------------------ drawing

WIDTH, HEIGHT, GAP, ROW = 190, 76, 22, 140
CHARACTERS = 29
"""Characters of a line in an element."""


def argument_drawing(elements: Sequence[Element]) -> str:
    """The argument as SVG; contexts and assumptions stand to the right of what they belong to."""
    by_id = {element.id: element for element in elements}
    places: dict[str, tuple[int, int]] = {}
    width = _place(by_id, elements[0], GAP, 0, places)
    height = (max(row for _, row in places.values()) + 1) * ROW
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'role="img" font-family="sans-serif" font-size="11">',
        f"<title>{markup(elements[0].text)}</title>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        *(line for element in elements for line in _links(element, places)),
        *(line for element in elements if element.id in places for line in _shape(element, *places[element.id])),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _place(
    by_id: Mapping[str, Element], element: Element, left: int, row: int, places: dict[str, tuple[int, int]]
) -> int:
    """Place an element and all below it from `left` on, and return where the space they take ends."""
    right = left
    for name in element.supported_by:
        right = _place(by_id, by_id[name], right, row + 1, places)
    beside = len(element.in_context_of)
    own = left + max(0, (right - left - WIDTH - GAP) // 2)
    places[element.id] = own, row
    for number, name in enumerate(element.in_context_of, 1):
        places[name] = own + number * (WIDTH + GAP), row
    return max(right, own + (beside + 1) * (WIDTH + GAP))


def _links(element: Element, places: Mapping[str, tuple[int, int]]) -> Iterator[str]:
    if element.id not in places:
        return
    x, y = places[element.id]
    for name in element.supported_by:
        to_x, to_y = places[name]
        yield (
            f'<path d="M{x + WIDTH // 2} {y * ROW + 10 + HEIGHT} L{to_x + WIDTH // 2} {to_y * ROW + 10}" '
            'stroke="#333333" fill="none"/>'
        )
    for name in element.in_context_of:
        to_x, _ = places[name]
        middle = y * ROW + 10 + HEIGHT // 2
        yield f'<path d="M{x + WIDTH} {middle} L{to_x} {middle}" stroke="#333333" stroke-dasharray="4 3" fill="none"/>'


FILLS = {"met": "#e6f4e6", "not met": "#fbe3e1", "open": "#fdf5dc"}


def _shape(element: Element, x: int, row: int) -> Iterator[str]:
    """The outline of the kind of element, and its text."""
    y, style = row * ROW + 10, f'fill="{FILLS.get(element.state, "#f4f6f8")}" stroke="#333333"'
    if element.kind == STRATEGY:
        corners = f"{x + 16},{y} {x + WIDTH},{y} {x + WIDTH - 16},{y + HEIGHT} {x},{y + HEIGHT}"
        yield f'<polygon points="{corners}" {style}/>'
    elif element.kind in (SOLUTION, ASSUMPTION):
        centre = f'cx="{x + WIDTH // 2}" cy="{y + HEIGHT // 2}"'
        yield f'<ellipse {centre} rx="{WIDTH // 2}" ry="{HEIGHT // 2 + 8}" {style}/>'
    else:
        round_ = 20 if element.kind == CONTEXT else 0
        yield f'<rect x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="{round_}" {style}/>'
    state = f" ({element.state})" if element.state else ""
    head = f"{element.id}{state}" + (" A" if element.kind == ASSUMPTION else "")
    lines = [head, *wrap(element.text, CHARACTERS, max_lines=4, placeholder=" …")]
    top = y + HEIGHT // 2 - 6 * (len(lines) - 1) + 3
    for number, line in enumerate(lines):
        weight = ' font-weight="bold"' if number == 0 else ""
        yield f'<text x="{x + WIDTH // 2}" y="{top + 12 * number}" text-anchor="middle"{weight}>{markup(line)}</text>'
    if element.undeveloped:
        middle, low = x + WIDTH // 2, y + HEIGHT
        corners = f"{middle},{low} {middle + 9},{low + 9} {middle},{low + 18} {middle - 9},{low + 9}"
        yield f'<polygon points="{corners}" fill="#ffffff" stroke="#333333"/>'
