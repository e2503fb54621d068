"""The page of the known defects of the texts, by operator, from the errata."""

from __future__ import annotations

from collections.abc import Iterator

from sonnx.profile import catalogue
from sonnx.profile.definitions import Erratum
from sonnx.report.explain import errata_of_operator
from tools.pages.rule_entries import GENERATED, cell, table

GENERAL = "no single operator"


def page() -> str:
    """A table of operators with their errata, then each erratum."""
    errata, owners = catalogue.errata(), _owners()
    general = [name for name in errata if name not in owners]
    by_operator: dict[str, list[str]] = {}
    for name, operators in owners.items():
        for operator in operators:
            by_operator.setdefault(operator, []).append(name)
    lines = [
        GENERATED, "", "# Known defects of the texts", "",
        f"{len(errata)} errata say where a source document is ambiguous, incomplete or wrong, and how it is read here. "
        "`sonnx explain DequantizeLinear` lists those of an operator, a finding names those of its rule.", "",
        *table("operator", "errata"),
    ]  # fmt: skip
    for operator, names in (*sorted(by_operator.items()), (GENERAL, general)):
        shown = f"[{operator}](operators/{operator.lower()}.md)" if operator != GENERAL else operator
        lines.append(f"| {shown} | {', '.join(f'[{name}](#{name})' for name in names)} |")
    for erratum in errata.values():
        lines += ["", *_entry(erratum)]
    return "\n".join(lines) + "\n"


def _owners() -> dict[str, list[str]]:
    """The operators that each erratum is about."""
    owners: dict[str, list[str]] = {}
    for operator in catalogue.operators():
        for name in errata_of_operator(operator):
            owners.setdefault(name, []).append(operator.name)
    return owners


def _entry(erratum: Erratum) -> Iterator[str]:
    yield f"## {erratum.id}"
    yield ""
    yield f"In {', '.join(erratum.document)}: {cell(erratum.place)}."
    yield ""
    for term, text in (
        ("Defect", erratum.defect), ("Example", erratum.counterexample), ("Here", erratum.reading),
        ("Shown by", ", ".join(erratum.theorems)),
    ):  # fmt: skip
        if text:
            yield f"* {term}: {cell(text)}"
