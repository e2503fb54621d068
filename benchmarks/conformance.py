"""Runs of one suite on runtimes: their tables, and the figures of the suite, in docs/measurements.

    python -m benchmarks.conformance SUITE REPORTS --run NAME... [--operator NAME...]
    python -m benchmarks.conformance SUITE REPORTS --write

SUITE is a folder made by `sonnx suite make`.  With --run each named runtime runs it, and its JSON report and the
processor time of the run become files in REPORTS; another version of a runtime runs with the interpreter of another
environment.  The tables are made from all reports in REPORTS.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.measurements import write
from sonnx.report.document import Standing
from sonnx.suite.archive import Suite, read_suite
from sonnx.suite.result import Counts, SuiteRun, read_run

COMMAND = "make conformance"


def run(suite: Path, reports: Path, name: str, operators: Sequence[str]) -> None:
    """Run a suite on a runtime; its report is named like the implementation."""
    made = reports / f".{name}.json"
    words = [sys.executable, "-m", "sonnx", "suite", "run", str(suite), "--runtime", name, "--format", "json"]
    chosen = [word for operator in operators for word in ("--operator", operator)]
    kept = reports / f".{name}-{'-'.join(operators) or 'all'}.jsonl"
    before = os.times()
    subprocess.run([*words, *chosen, "--resume", str(kept), "--output", str(made)], check=False)
    after = os.times()
    seconds = sum(after[2:4]) - sum(before[2:4])
    title = json.loads(made.read_text("utf-8"))["implementation"].partition(",")[0].replace(" ", "-")
    made.rename(reports / f"{title}.json")
    kept.unlink()  # another version may come next
    (reports / f"{title}.seconds").write_text(f"{seconds:.0f}\n", "utf-8")


def read_reports(reports: Path) -> Iterator[tuple[SuiteRun, str]]:
    """Each report with the processor time of its run."""
    for path in sorted(reports.glob("[!.]*.json")):
        seconds = path.with_suffix(".seconds")
        time = f"{seconds.read_text('utf-8').strip()} s" if seconds.exists() else "not measured"
        yield read_run(path.name, path.read_bytes()), time


def bad(found: SuiteRun) -> set[tuple[str, str, str]]:
    """The kinds of deviation by operator and element type that no erratum explains."""
    return {(e.operator, e.element, e.kind) for e in found.deviations if e.standing is Standing.BAD}


def overview(found: Sequence[tuple[SuiteRun, str]], every: int) -> str:
    """A row for each runtime."""
    heads = ("runtime", "operators", "data sets", "within", "outside", "refused", "faults", "nondeterministic", "kinds",
             "time")  # fmt: skip
    rows = []
    for each, time in found:
        counts = [sum(getattr(one, name) for one in each.operators.values()) for name in Counts.__struct_fields__]
        within, outside, refused, faults, changing = counts[:5]
        sets = within + outside + refused + faults
        operators = "all" if len(each.operators) == every else len(each.operators)
        row = (each.implementation, operators, sets, within, outside, refused, faults, changing, len(bad(each)), time)
        rows.append("| " + " | ".join(map(str, row)) + " |")
    return "\n".join(["| " + " | ".join(heads) + " |", "|---|" + "---:|" * (len(heads) - 1), *rows, ""])


def by_operator(found: Sequence[tuple[SuiteRun, str]], operators: Sequence[str]) -> str:
    """For each operator and runtime the kinds of deviation, with the number of element types of each."""
    names = [each.implementation.partition(",")[0] for each, _ in found]
    rows = ["| operator | " + " | ".join(names) + " |", "|---|" + "---|" * len(names)]
    for operator in operators:
        cells = [_cell(each, operator) for each, _ in found]
        rows.append(f"| {operator} | " + " | ".join(cells) + " |")
    return "\n".join([*rows, ""])


def _cell(found: SuiteRun, operator: str) -> str:
    if operator not in found.operators:
        return "not run"
    counts, kinds = found.operators[operator], Counter(kind for name, _, kind in bad(found) if name == operator)
    ran = counts.within + counts.outside
    said = [f"{kind} {number}" for kind, number in sorted(kinds.items())]
    return ", ".join(said) or (
        "as expected" if ran and not counts.refused else "refused" if not ran else "what runs is"
    )


def section(suite: Suite, found: Sequence[tuple[SuiteRun, str]]) -> str:
    """The tables as Markdown."""
    sets, cases = sum(part.sets for part in suite.parts), sum(part.positive + part.negative for part in suite.parts)
    operators = [*dict.fromkeys(part.operator for part in suite.parts)]
    edition = suite.parts[0].edition
    return (
        f"One suite of edition {edition}, of the present version of sonnx: {len(operators)} operators, {cases} cases, "
        f"{sets} data sets. `{COMMAND}` makes the\nsuite, runs it and writes these tables from the JSON reports of the "
        f"runs.\n\n{overview(found, len(operators))}\n"
        "*Kinds* are kinds of deviation by operator and element type that no erratum explains; *time* is processor "
        "time of sonnx and\nthe runtime together.\n\n"
        "The kinds of each operator, with the number of element types in which each kind occurs; *what runs is* as "
        f"expected, and the\nrest is refused:\n\n{by_operator(found, operators)}"
    )


def figures(suite: Suite) -> str:
    """What the suite has, as a table."""
    answers = Counter(class_.answer for part in suite.parts for class_ in part.classes)
    labels = [len(ids) for part in suite.parts for ids in part.labels.values()]
    megabytes = sum((Path(suite.folder) / name).stat().st_size for name in suite.archives) / 1e6
    missing = {part.operator: part.without_bound for part in suite.parts if part.without_bound}
    listed = ", ".join(f"{name} {number}" for name, number in sorted(missing.items(), key=lambda item: -item[1]))
    rows = (
        ("operators, each in its newest version", len({part.operator for part in suite.parts})),
        ("structure classes", sum(answers.values())),
        ("of them satisfiable, unsatisfiable, unknown", ", ".join(
            str(answers[part]) for part in ("satisfiable", "unsatisfiable", "unknown"))),
        ("conforming cases", sum(part.positive for part in suite.parts)),
        ("cases that break a rule", sum(part.negative for part in suite.parts)),
        ("data sets", sum(part.sets for part in suite.parts)),
        ("data sets left out: their inputs have no exact value", sum(
            left.number for part in suite.parts for left in part.excluded)),
        ("labels of the texts, by operator; of them without a case", f"{len(labels)}; {labels.count(0)}"),
        ("outputs with elements without a bound", f"{sum(missing.values())}: {listed}"),
        ("archives", f"{megabytes:.0f} MB"),
    )  # fmt: skip
    return "\n".join(["| of the suite | |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows), ""])


def main() -> None:
    """Run what is asked, and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("suite", type=Path)
    parser.add_argument("reports", type=Path)
    parser.add_argument("--run", action="append", default=[], metavar="NAME", help="a runtime; may be repeated")
    parser.add_argument("--operator", action="append", default=[], help="only these operators")
    parser.add_argument("--write", action="store_true", help="write the tables to docs/measurements")
    options = parser.parse_args()
    options.reports.mkdir(parents=True, exist_ok=True)
    for name in options.run:
        run(options.suite, options.reports, name, options.operator)
    suite = read_suite(options.suite)
    texts = section(suite, [*read_reports(options.reports)]), figures(suite)
    print(*texts, sep="\n")
    if options.write:
        write("conformance", texts[0])
        write("suite-figures", texts[1])


if __name__ == "__main__":
    main()
