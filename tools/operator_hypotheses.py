"""Write docs/operator-hypotheses.md: what shows the hypotheses of the soundness theorem, operator by operator.

`python -m tools.operator_hypotheses --write`; without it, ends with 1 where the page is old.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from sonnx.profile import catalogue
from sonnx.proofs import registry
from sonnx.prover import record
from sonnx.prover.theorem import Theorem

PAGE = Path(__file__).parent.parent / "docs" / "operator-hypotheses.md"
TEST = "tests/executor/test_progress_and_preservation.py"
HEAD = """\
# Progress and preservation, operator by operator

The [soundness theorem](specification.md#soundness) has two hypotheses about the operators that run a model: a call
that meets its rules gives an output (*progress*), and the output has the type and shape that the walk computed
(*preservation*). This page, which `python -m tools.operator_hypotheses --write` generates, says for each operator
that the edition {edition} specifies what shows them of the exact executor, the command `run`.

Two things are shown apart. *The walk computes a shape*: for every call that meets the rules the shape relies on, the
shape expression has a value without a negative extent. A theorem says it, for any size or within bounds; the record
has its result. *The executor gives it*: `{test}` runs the calls of the conforming cases, in a model that declares
neither type nor shape of the outputs, and compares what comes out with what the walk computed; it names the operator
in each test. No theorem is about the executor's code, so that every row rests on this test for progress, for the
element type, and for the shape of the array. Of an output whose shape depends on values at run time, the type alone
is compared.

| operator | versions | the walk computes a shape | the executor gives it |
|---|---|---|---|
"""


def page() -> str:
    """The page as it must be."""
    return HEAD.format(edition=catalogue.editions().default, test=TEST) + "".join(f"{row}\n" for row in _rows())


def _rows() -> Iterator[str]:
    edition, entries = catalogue.edition_named(), record.read(record.usual_path())
    theorems = [
        theorem
        for theorem in registry.theorems()
        if re.fullmatch(r"derived\..+\.shape-total", theorem.id) and edition.name in theorem.statement
    ]
    for operator in sorted(name for name in edition.operators if catalogue.operator(name)):
        own = [theorem for theorem in theorems if re.match(rf"derived\.{operator}-\d", theorem.id)]
        for theorem in own:
            versions = re.search(r"\(version ([\d, ]+) in ", theorem.statement)
            proved = entries.get(theorem.id, {}).get("status") == "proved"
            shown = f"theorem `{theorem.id}`, {_scope(theorem)}" if proved else f"`{theorem.id}`: not proved; test"
            yield f"| {operator} | {versions[1] if versions else 'all'} | {shown} | test |"
        if not own:
            yield f"| {operator} | all | no shape expression; test | test |"


def _scope(theorem: Theorem) -> str:
    return f"for {theorem.bounds}" if theorem.bounds else "for any size"


def main() -> int:
    """Write or compare; 0, or 1 where the page is old."""
    if "--write" in sys.argv[1:]:
        PAGE.write_text(page(), "utf-8")
        return 0
    return int(not PAGE.exists() or PAGE.read_text("utf-8") != page())


if __name__ == "__main__":
    sys.exit(main())
