"""The ten properties of ACAS Xu on networks of a folder: answers, parts, time, and the certificates.

    python -m benchmarks.properties FOLDER [--seconds 116] [--checked-parts 200] [--published RESULTS.csv]

The properties are those of Katz et al., "Reluplex" (2017), in physical units; the networks, `ACASXU_run2a_A_B_*.onnx`,
scale them.  A property is verified on the networks it is about; properties 1 to 4 on all: 186 with the 45 networks of
VNN-COMP 2021.  Published results are a file of that competition, one for each tool, of lines such as

    acasxu,.../ACASXU_run2a_1_1_batch_2000.onnx,.../prop_1.vnnlib,0.007,holds,1.41
"""

from __future__ import annotations

import argparse
import csv
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from math import pi
from pathlib import Path
from statistics import median
from typing import NamedTuple

import sonnx
from sonnx.base.escaping import plural
from sonnx.properties import certificate_checker

MEANS, RANGES = (19791.091, 0.0, 0.0, 650.0, 600.0), (60261.0, 2 * pi, 2 * pi, 1100.0, 1200.0)
OUTPUT_MEAN, OUTPUT_RANGE = 7.5188840201005975, 373.94992
Intervals = tuple[tuple[float, float], ...]
FAR: Intervals = ((55947.691, 60760.0), (-pi, pi), (-pi, pi), (1145.0, 1200.0), (0.0, 60.0))
PROPERTIES: dict[int, tuple[list[Intervals], str, str]] = {
    1: ([FAR], ".*", "(assert (>= Y_0 {limit}))"),
    2: ([FAR], ".*", "largest 0"),
    3: ([((1500.0, 1800.0), (-0.06, 0.06), (3.1, pi), (980.0, 1200.0), (960.0, 1200.0))], ".*", "least 0"),
    4: ([((1500.0, 1800.0), (-0.06, 0.06), (0.0, 0.0), (1000.0, 1200.0), (700.0, 800.0))], ".*", "least 0"),
    5: ([((250.0, 400.0), (0.2, 0.4), (-pi, -pi + 0.005), (100.0, 400.0), (0.0, 400.0))], "1_1", "not least 4"),
    6: ([((12000.0, 62000.0), ends, (-pi, -pi + 0.005), (100.0, 1200.0), (0.0, 1200.0))
         for ends in ((0.7, pi), (-pi, -0.7))], "1_1", "not least 0"),
    7: ([((0.0, 60760.0), (-pi, pi), (-pi, pi), (100.0, 1200.0), (0.0, 1200.0))], "1_9", "least 3 or 4"),
    8: ([((0.0, 60760.0), (-pi, -0.75 * pi), (-0.1, 0.1), (600.0, 1200.0), (600.0, 1200.0))], "2_9",
        "not least 0 or 1"),
    9: ([((2000.0, 7000.0), (-0.4, -0.14), (-pi, -pi + 0.01), (100.0, 150.0), (0.0, 150.0))], "3_3", "not least 3"),
    10: ([((36000.0, 60760.0), (0.7, pi), (-pi, -pi + 0.01), (900.0, 1200.0), (600.0, 1200.0))], "4_5", "not least 0"),
}  # fmt: skip
"""Boxes of distance, two angles and two speeds; the networks; and the outputs that must not occur."""


def vnnlib(number: int) -> str:
    """A property as VNN-LIB, scaled as the networks are."""
    boxes, _, unsafe = PROPERTIES[number]
    lines = [f"(declare-const {name}_{index} Real)" for name in "XY" for index in range(5)]
    cases = []
    for box in boxes:
        ends = [((low - m) / r, (high - m) / r) for (low, high), m, r in zip(box, MEANS, RANGES, strict=True)]
        cases.append(" ".join(f"(>= X_{i} {low:.9f}) (<= X_{i} {high:.9f})" for i, (low, high) in enumerate(ends)))
    lines.append(f"(assert (or {' '.join(f'(and {case})' for case in cases)}))")
    return "\n".join([*lines, outputs(unsafe)]) + "\n"


def outputs(unsafe: str) -> str:
    """The assertion that an output is the least or the largest, or that none of some is the least."""
    if unsafe.startswith("(assert"):
        return unsafe.format(limit=(1500 - OUTPUT_MEAN) / OUTPUT_RANGE)
    places = [int(each) for each in re.findall(r"\d", unsafe)]
    others = [index for index in range(5) if index not in places]
    if unsafe.startswith("not"):  # another one is at most each of these
        return (
            f"(assert (or {' '.join('(and ' + ' '.join(f'(<= Y_{j} Y_{i})' for i in places) + ')' for j in others)}))"
        )
    sign = ">=" if unsafe.startswith("largest") else "<="
    sets = ["(and " + " ".join(f"({sign} Y_{i} Y_{j})" for j in range(5) if j != i) + ")" for i in places]
    return f"(assert (or {' '.join(sets)}))"


def network_of(name: str) -> str:
    """The numbers of a network, such as 1_1."""
    return "_".join(re.findall(r"\d+", name.partition("ACASXU_run2a_")[2])[:2])


def published_answers(path: Path) -> dict[tuple[str, int], str]:
    """What a tool answered in VNN-COMP 2021, by network and property."""
    words = {"holds": "holds", "unsat": "holds", "violated": "violated", "sat": "violated"}
    answers = {}
    for fields in csv.reader(path.read_text("utf-8").splitlines()):
        if fields and fields[0] == "acasxu" and fields[4].lower() in words:
            number = int(re.findall(r"prop_(\d+)", fields[2])[0])
            answers[network_of(fields[1]), number] = words[fields[4].lower()]
    return answers


class Row(NamedTuple):
    """A property of a network: its answer, and what it took."""

    network: str
    number: int
    answer: str
    parts: int
    seconds: float
    shown: float
    margin: float | None
    leaves: int
    """Parts of its certificate."""
    checked: float | None
    """The seconds in which the checker accepted it."""

    def text(self) -> str:
        """The row of the table."""
        share = "" if self.answer == "violated" else f"{100 * self.shown:.2f} %"
        margin = "" if self.margin is None else f"{self.margin:.2g}"
        certificate = plural(self.leaves, "part") if self.leaves else ""
        accepted = "" if self.checked is None else f", accepted in {self.checked:.0f} s"
        found = f"{self.answer} | {self.parts} | {self.seconds:.1f} | {share} | {margin}"
        return f"| {self.network} | {self.number} | {found} | {certificate}{accepted} |"


def verified(model: Path, number: int, folder: Path, seconds: float, most: int) -> Row:
    """Verify a property on a network, and check its certificate if that has at most some parts."""
    path = folder / f"property_{number}.vnnlib"
    path.write_text(vnnlib(number), "utf-8")
    started = time.monotonic()
    found = sonnx.verify_property(model, path, unchecked=True, search=seconds)
    took = time.monotonic() - started
    answer = str(found.answer)
    margins = [task.margin for task in found.tasks if task.margin is not None] if answer == "holds" else []
    leaves = found.certificate.count('"slopes"') if found.certificate is not None else 0
    checked = None
    if found.certificate is not None and leaves <= most:
        started = time.monotonic()
        certificate_checker.check(model.read_bytes(), path.read_bytes(), found.certificate.encode())
        checked = time.monotonic() - started
    parts, shown = sum(task.parts for task in found.tasks), min(task.shown for task in found.tasks)
    return Row(
        network_of(model.name), number, answer, parts, took, shown, min(margins, default=None), leaves, checked
    )  # fmt: skip


def summary(rows: Sequence[Row], known: Mapping[tuple[str, int], str]) -> str:
    """A table by property, and what contradicts published answers."""
    lines = [
        "| property | networks | holds | violated | open | s: median, most | parts: median, most | checked |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for number in sorted({row.number for row in rows}):
        some = [row for row in rows if row.number == number]
        counts = [sum(each.answer == answer for each in some) for answer in ("holds", "violated")]
        seconds, parts = ([getattr(each, name) for each in some] for name in ("seconds", "parts"))
        checked = sum(each.checked is not None for each in some)
        lines.append(
            f"| {number} | {len(some)} | {counts[0]} | {counts[1]} | {len(some) - sum(counts)} | "
            f"{median(seconds):.1f}, {max(seconds):.1f} | {median(parts):.0f}, {max(parts)} | {checked} |"
        )
    answers = Counter(row.answer for row in rows)
    lines += ["", f"{len(rows)} properties: {', '.join(f'{n} {answer}' for answer, n in answers.most_common())}"]
    against = [
        f"{row.network} property {row.number}" for row in rows
        if row.answer in ("holds", "violated") and known.get((row.network, row.number), row.answer) != row.answer
    ]  # fmt: skip
    if known:
        lines.append(f"against {len(known)} published answers: {', '.join(against) or 'none'} contradict")
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.properties", description="The properties of ACAS Xu.")
    parser.add_argument("folder", type=Path, help="of networks ACASXU_run2a_A_B_*.onnx")
    parser.add_argument("--seconds", type=float, default=116.0, help="of each search (default 116)")
    parser.add_argument("--checked-parts", type=int, default=200, help="of certificates that are checked (default 200)")
    parser.add_argument("--published", type=Path, help="answers of a tool in VNN-COMP 2021, as CSV")
    options = parser.parse_args(arguments)
    known = published_answers(options.published) if options.published else {}
    rows = []
    print("| network | property | answer | parts | s | share shown | least margin | certificate |")
    print("|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for model in sorted(options.folder.glob("ACASXU_run2a_*.onnx")):
            for number, (_, networks, _) in PROPERTIES.items():
                if re.fullmatch(networks, network_of(model.name)):
                    rows.append(verified(model, number, Path(folder), options.seconds, options.checked_parts))
                    print(rows[-1].text(), flush=True)
    print(f"\n{summary(rows, known)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
