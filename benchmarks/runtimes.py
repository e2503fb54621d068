"""How far onnxruntime is from the exact values, on real networks: python -m benchmarks.runtimes --models DIR --write.

Every node on equal inputs, summed up by operator, and the outputs of the whole models.  The nine networks of the onnx
package are always compared; --models names a folder with more.  --write puts the tables into docs/measurements.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from functools import reduce
from operator import add
from pathlib import Path

import onnx

import sonnx
from benchmarks.measurements import write
from sonnx.executor.comparison import CLASS_NODE, EQUAL, OUTPUT, Comparison, Row
from sonnx.report.comparison import cells_of

HEAD = """How far {runtime} is from the exact values. The inputs of each model are generated from seed 0: one
set of ordinary numbers of [-1, 1), and for the models of DIR a second one of small multiples of one half; then each
node runs alone on class inputs, as many as the default budget allows.

"""


def models(more: Path | None) -> Iterator[tuple[Path, int]]:
    """The files with the number of runs."""
    for path in sorted(more.glob("*.onnx")) if more else ():
        yield path, 2
    for path in sorted((Path(onnx.__file__).parent / "backend/test/data/light").glob("*.onnx")):
        yield path, 1


def by_operator(rows: list[Row]) -> Iterator[tuple[str, ...]]:
    """One line for each operator: its nodes, and the distances of all their elements."""
    names = dict.fromkeys(row.operator for row in rows)
    for name in sorted(names):
        of_it = [row for row in rows if row.operator == name]
        found = [row.distance for row in of_it if row.distance is not None]
        failed = sum(bool(row.failures) for row in of_it)
        note = f"; {failed} not compared" if failed else ""
        yield (name, f"{len(of_it)}{note}", *cells_of(reduce(add, found) if found else None))


def by_class(rows: list[Row]) -> Iterator[tuple[str, ...]]:
    """One line for each operator: its nodes, their runs on class inputs, and the kinds in which they differ."""
    names = dict.fromkeys(row.operator for row in rows)
    for name in sorted(names):
        of_it = [row for row in rows if row.operator == name]
        counted = [row.classes for row in of_it if row.classes is not None]
        wrong = [each for found in counted for each in found.unexplained]
        explained = [deviation for found in counted for deviation in found.deviations if deviation.explained]
        faults = sum(bool(row.faults) for row in of_it)
        yield (
            name, str(len(of_it)), str(sum(found.runs for found in counted)), str(faults),
            ", ".join(sorted({each.kind for each in wrong})), ", ".join(sorted({each.kind for each in explained})),
            next((each.name for each in sorted(wrong, key=lambda each: each.packed)), ""),
        )  # fmt: skip


def table(heads: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> str:
    lines = [f"| {' | '.join(heads)} |", f"|---|{'---:|' * (len(heads) - 2)}---|"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)]) + "\n"


def outputs(found: list[Comparison]) -> Iterator[tuple[str, ...]]:
    for each in found:
        for row in (row for row in each.rows if row.way == OUTPUT):
            first = each.first_diverging
            yield (each.model.removesuffix(".onnx"), *cells_of(row.distance), first.operator if first else "none")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=Path, default=None, metavar="DIR", help="a folder with more models")
    parser.add_argument("--write", action="store_true", help="write the tables to docs/measurements")
    options = parser.parse_args()
    found: list[Comparison] = []
    for path, runs in models(options.models):
        found.append(sonnx.compare(path, runs=runs, unchecked=True, every_node=True))
        print(path.name, found[-1].runs, "runs", flush=True)
    nodes = [row for each in found for row in each.rows if row.way == EQUAL]
    figures = ("elements", "identical", "ulp, largest", "mean", "absolute, largest", "special values")
    page = HEAD.format(runtime=found[0].runtime)
    page += "### Outputs of whole models\n\n"
    page += table(("model", *figures, "first operator that differs on equal inputs"), outputs(found))
    page += "\n### Nodes on equal inputs, by operator\n\n"
    page += table(("operator", "nodes", *figures), by_operator(nodes))
    page += "\n### Nodes on class inputs, by operator\n\n"
    page += "A kind is explained where an erratum decides or an intermediate result may overflow.\n\n"
    alone = [row for each in found for row in each.rows if row.way == CLASS_NODE]
    heads = ("operator", "nodes", "comparisons", "faults", "differs in", "explained", "a class where it differs")
    page += table(heads, by_class(alone))
    print(page)
    if options.write:
        write("runtimes", page)


if __name__ == "__main__":
    main()
