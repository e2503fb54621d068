"""`sonnx pages`: the generated pages of the documentation."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

from sonnx.base.files import write_whole
from sonnx.profile import catalogue

HELP = "write the pages of operators and of traceability"


def pages() -> Mapping[str, str]:
    """Every generated page by its path below docs/."""
    # Solvers, cases and pages load when the pages are made, not with the command line.
    from sonnx.evidence import pages_operator, pages_trace
    from sonnx.evidence.traceability import of_operator, traces
    from sonnx.proofs.registry import theorems

    proved = theorems()
    traced = traces(proved)
    whole: dict[str, list[str]] = {}
    for theorem in proved:
        if of_operator(theorem) and theorem.id.count(".") == 2:
            whole.setdefault(of_operator(theorem), []).append(theorem.id)
    made = {"traceability.md": pages_trace.page(traced, proved), "operators/index.md": pages_trace.index()}
    for each in catalogue.operators():
        made[f"operators/{each.name.lower()}.md"] = pages_operator.page(each, traced, whole.get(each.name, ()))
    return made


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("--output", type=Path, required=True, metavar="DIR", help="the folder the pages are written to")
    parser.set_defaults(command=_write)


def _write(options: argparse.Namespace) -> int:
    made = pages()
    (options.output / "operators").mkdir(parents=True, exist_ok=True)
    for path, text in made.items():
        write_whole(options.output / path, text)
    return 0
