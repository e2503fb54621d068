"""The structure classes of suites of all editions and versions, without their data sets.

    python -m benchmarks.suite_classes [--edition NAME...] [--operator NAME...] [--json FILE]

For each version of an operator in an edition: its classes by answer of the solver, and its calls.  Versions that the
JSON file has are not decided again, and versions whose rules give the solver the same text are decided once.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sonnx.base.files import sha256
from sonnx.profile.catalogue import editions, operators
from sonnx.prover.signature_family import SignatureFamily, signatures
from sonnx.suite.structures import problem, structures

ANSWERS = ("satisfiable", "unsatisfiable", "unknown")


def families(editions: list[str], names: list[str]) -> Iterator[SignatureFamily]:
    """Every admitted version of every operator in each edition, the newest edition and small operators first."""
    for described in operators():
        for signature, edition in signatures(described):
            if (not editions or edition in editions) and (not names or described.name in names):
                yield SignatureFamily(described, signature, edition, ((signature.version, edition),))


def decided(family: SignatureFamily) -> dict[str, int]:
    """The classes of one version by answer, and its calls."""
    made = structures(family)
    answers = Counter(class_.answer for class_ in made.classes)
    calls = {"conforming": len(made.positive), "breaking": len(made.negative), "rules without": len(made.unbroken)}
    return {**{name: answers[name] for name in ANSWERS}, **calls}


def table(found: Mapping[str, Mapping[str, Any]], wanted: list[str], total: Mapping[str, int]) -> str:
    """A row for each edition."""
    rows = [
        "| edition | versions of operators | decided | classes | satisfiable | unsatisfiable | unknown |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for edition in wanted:
        of_it = [each for name, each in found.items() if name.endswith(f" {edition}")]
        numbers = [sum(each[name] for each in of_it) for name in ANSWERS]
        row = (edition, total[edition], len(of_it), sum(numbers), *numbers)
        rows.append("| " + " | ".join(map(str, row)) + " |")
    return "\n".join([*rows, ""])


def main() -> None:
    """Decide the classes, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--edition", action="append", default=[])
    parser.add_argument("--operator", action="append", default=[])
    parser.add_argument("--json", type=Path, default=None)
    options = parser.parse_args()
    found: dict[str, dict[str, Any]] = {}
    if options.json and options.json.exists():
        found = json.loads(options.json.read_text("utf-8"))
    listed = [*families(options.edition, options.operator)]
    for family in listed:
        name = f"{family.signature.operator}-{family.signature.version} {family.edition}"
        if name not in found:
            asked = sha256(problem(family).encode())
            equal = next((entry for entry in found.values() if entry["problem"] == asked), None)
            found[name] = equal or {**decided(family), "problem": asked}
            print(name, found[name], file=sys.stderr, flush=True)
            if options.json:
                options.json.write_text(json.dumps(found, indent=1), "utf-8")
    total = Counter(family.edition for family in listed)
    print(table(found, [name for name in editions().editions if total[name]], total))


if __name__ == "__main__":
    main()
