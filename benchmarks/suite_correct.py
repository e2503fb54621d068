"""How often a suite calls a correct implementation wrong.

    python -m benchmarks.suite_correct SUITE [--operator NAME] [--json FILE] [--write]

SUITE is a folder made by `sonnx suite make`.  The implementations are those of `benchmarks/correct_kernels.py`.
Operators that the JSON file has are not measured again.  Of a function of one tensor that leaves the hypotheses it is
known how far: data sets whose elements are all within one unit in the last place, or 2^-126, of the exact value and are
called wrong all the same are counted apart.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from benchmarks.correct_kernels import BY_OTHER_READINGS, NUMPY, OUTSIDE, WIDE, WITHIN, outputs_of
from benchmarks.measurements import write
from benchmarks.wrong_kernels import Call, suite_calls
from sonnx.numerics.formats import Array
from sonnx.suite.archive import StoredCase, Suite, read_suite
from sonnx.suite.expected import Ends
from sonnx.suite.judge import JudgedDifference, differences
from sonnx.suite.runs import explanation

SHOWN = 3
"""Deviations of an implementation and operator that are printed."""


def deviations(outputs: Sequence[Array], stored: StoredCase, number: int, call: Call) -> list[JudgedDifference]:
    """The deviations of a data set that no erratum explains."""
    lower, upper = (stored.arrays(number, side) for side in ("lower", "upper"))
    return [
        difference
        for place, exact in enumerate(call.exact)
        for difference in differences(
            place, outputs[place], exact, Ends(lower[place], upper[place]) if place in lower else None
        )
        if explanation(stored, number, difference, call.given, outputs[place]) is None
    ]


def within_hypotheses(operator: str, x: Array, given: Array) -> bool:
    """Whether a function of x is within one unit in the last place, or 2^-126, of its value in extended precision."""
    with np.errstate(all="ignore"):
        value = NUMPY[operator](x.astype(WIDE))
        unit = np.spacing(np.abs(value.astype(x.dtype))).astype(WIDE)
        far = np.abs(given.astype(WIDE) - value) > np.maximum(unit, WIDE(2.0**-126))
    return not far.any()


def measured(suite: Suite, operator: str, shown: Callable[[str], None]) -> dict[str, dict[str, int]]:
    """For each implementation the data sets that were run, those that deviate, and those without a kernel.

    *close* are those of the deviating ones whose elements are all within the hypotheses, where that is known.
    """
    of_some = {**BY_OTHER_READINGS, **OUTSIDE}
    used = (*WITHIN, *(one for one, operators in of_some.items() if operator in operators))
    counts: dict[str, Counter[str]] = {one.name: Counter(sets=0, fails=0, close=0, left_out=0) for one in used}
    for stored, number, call in suite_calls(suite, operator):
        inputs = call.inputs
        for one in used:
            count = counts[one.name]
            try:
                outputs = outputs_of(one, call.node, inputs)
            except NotImplementedError:
                count["left_out"] += 1
                continue
            judged = deviations(outputs, stored, number, call)
            count["sets"] += 1
            count["fails"] += bool(judged)
            if judged and operator in NUMPY and inputs[0] is not None:
                count["close"] += within_hypotheses(operator, inputs[0], outputs[0])
            if judged and count["fails"] <= SHOWN:
                first = judged[0]
                shown(
                    f"{operator}: {one.name}: {stored.case.id}/{number} {stored.case.call[:100]}: {first.kind} at "
                    f"{first.at}: {first.actual}, expected {first.expected}"
                )
    return {name: dict(count) for name, count in counts.items()}


def table(found: Mapping[str, Mapping[str, Mapping[str, int]]]) -> str:
    """The figures as Markdown."""
    rows = [
        "| implementation | operators | data sets | called wrong | of them close | left out |",
        "|---|" + "---:|" * 5,
    ]
    for one in (*WITHIN, *BY_OTHER_READINGS, *OUTSIDE):
        counts = {operator: each[one.name] for operator, each in found.items() if one.name in each}
        total = Counter[str]()
        for count in counts.values():
            total.update(count)
        wrong = [f"{operator} {count['fails']}" for operator, count in counts.items() if count["fails"]]
        fails = f"{total['fails']}: {', '.join(wrong)}" if wrong else "0"
        rows.append(
            f"| {one.name} | {len(counts)} | {total['sets']} | {fails} | {total['close']} | {total['left_out']} |"
        )
    return "\n".join([*rows, ""])


def main() -> None:
    """Run the implementations, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("suite", type=Path)
    parser.add_argument("--operator", action="append", default=[])
    parser.add_argument("--json", type=Path, help="keeps the figures of each operator; those it has are not run again")
    parser.add_argument("--write", action="store_true", help="write the table to docs/measurements")
    options = parser.parse_args()
    suite = read_suite(options.suite)
    made = [part.operator for part in suite.parts]
    found = json.loads(options.json.read_text("utf-8")) if options.json and options.json.exists() else {}
    for name in dict.fromkeys(options.operator or made):
        if name not in found:
            found[name] = measured(suite, name, lambda text: print(text, file=sys.stderr, flush=True))
            print(name, found[name], file=sys.stderr, flush=True)
            if options.json:
                options.json.write_text(json.dumps(found, indent=1), "utf-8")
    found = {name: found[name] for name in made if name in found}
    print(table(found))
    if options.write:
        write("correct-kernels", table(found))


if __name__ == "__main__":
    main()
