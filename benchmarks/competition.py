"""Instances of the competition of verifiers, as it has them: how many `sonnx verify` decides.

    python -m benchmarks.competition FOLDER [--instances 3] [--seconds 60]

FOLDER has a folder for each family, with a file `*instances.csv` of lines `model,property,seconds`, such as the folder
`benchmarks` of github.com/stanleybak/vnncomp2021.  Of each family so many instances are taken, spread over its list;
those whose files are absent are left out.  The models are outside the profile, so that they are not checked; errors of
implementations count.
"""

from __future__ import annotations

import argparse
import csv
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

MORE_SECONDS = 60
"""What the reading of a model and the bounds of the whole box may take beside the search."""


def instances(family: Path, number: int) -> list[tuple[Path, Path]]:
    """Models and properties of a family, spread over its list."""
    listed = [
        (family / line[0].strip(), family / line[1].strip())
        for path in sorted(family.glob("*instances.csv"))
        for line in csv.reader(path.read_text("utf-8").splitlines())
        if len(line) >= 2
    ]
    there = [(model, stated) for model, stated in listed if model.is_file() and stated.is_file()]
    step = max(1, len(there) // number) if number else 1
    return there[::step][:number]


def answer(model: Path, stated: Path, seconds: float) -> str:
    """The answer as the competition has it, or the last line that the command printed."""
    with tempfile.TemporaryDirectory() as name:
        results = Path(name) / "results"
        words = [
            "verify",
            str(model),
            str(stated),
            "--unchecked",
            "--round-inputs",
            "--quiet",
            "--search",
            f"{seconds:g}",
        ]
        words += ["--timeout", f"{seconds + MORE_SECONDS:.0f}", "--results", str(results)]
        done = subprocess.run([sys.executable, "-m", "sonnx", *words], check=False, capture_output=True, text=True)
        if results.is_file():
            return results.read_text("utf-8").split()[0]
        return f"none: {(done.stderr.strip() or done.stdout.strip()).splitlines()[-1][:150]}"


def rows(folder: Path, number: int, seconds: float) -> Iterator[tuple[str, str, str, float]]:
    """Family, model and property, answer, and seconds by the clock."""
    for family in sorted(path for path in folder.iterdir() if path.is_dir()):
        for model, stated in instances(family, number):
            begun = perf_counter()
            said = answer(model, stated, seconds)
            yield family.name, f"{model.stem} {stated.stem}", said, perf_counter() - begun


def main() -> None:
    """Print a table of the instances, and the answers of each kind."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--instances", type=int, default=3, help="of each family (default 3)")
    parser.add_argument("--seconds", type=float, default=60.0, help="of each search (default 60)")
    options = parser.parse_args()
    print("| family | instance | answer | s |\n|---|---|---|---|")
    counted: Counter[str] = Counter()
    for family, instance, said, taken in rows(options.folder, options.instances, options.seconds):
        counted[said.partition(":")[0]] += 1
        print(f"| {family} | {instance} | {said} | {taken:.0f} |", flush=True)
    print("; ".join(f"{number} {said}" for said, number in sorted(counted.items())))


if __name__ == "__main__":
    main()
