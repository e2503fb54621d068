"""Compare what Coq prints of the main theorems' assumptions with proofs/coq/assumptions.toml.

`python -m tests.support.assumptions FILE`, FILE as `coqc assumptions.v` prints it: 0 where they are allowed, else 1.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

from tests.support.paths import ROOT

FOLDER = ROOT / "proofs" / "coq"
CLOSED, OPEN = "Closed under the global context", "Axioms:"


def allowed() -> dict[str, frozenset[str]]:
    """The axioms that each theorem may rest on."""
    files = tomllib.loads((FOLDER / "assumptions.toml").read_text("utf-8")).values()
    return {name: frozenset(file["axioms"]) for file in files for name in file["theorems"]}


def asked() -> list[str]:
    """The theorems whose assumptions assumptions.v prints, in order."""
    return re.findall(r"^Print Assumptions (\w+)\.$", (FOLDER / "assumptions.v").read_text("utf-8"), re.MULTILINE)


def printed(output: str) -> list[frozenset[str]]:
    """The axioms that Coq prints for each theorem, in order.

    Raises:
        ValueError: a line that is no answer.
    """
    answers: list[set[str]] = []
    for line in output.splitlines():
        if line in (CLOSED, OPEN):
            answers.append(set())
        elif name := re.match(r"([A-Za-z_][\w.']*)(?: :|$)", line):
            answers[-1].add(name[1])
        elif not line.startswith("  "):
            raise ValueError(f"not an answer of Print Assumptions: {line!r}")
    return [frozenset(answer) for answer in answers]


def faults(output: str) -> list[str]:
    """What Coq prints that is not allowed, in sentences."""
    may, names, answers = allowed(), asked(), printed(output)
    if len(names) != len(answers):
        return [f"{len(names)} theorems are asked about, {len(answers)} are answered"]
    return [
        f"{name} assumes {axiom}"
        for name, axioms in zip(names, answers, strict=True)
        for axiom in sorted(axioms - may.get(name, frozenset()))
    ]


def main() -> int:
    """Compare; 0 or 1."""
    output = Path(sys.argv[1]).read_text("utf-8")
    wrong = faults(output)
    for name, axioms in zip(asked(), printed(output), strict=False):
        print(f"{name}: {', '.join(sorted(axioms)) or 'no axiom'}")
    print(*wrong, sep="\n", end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
