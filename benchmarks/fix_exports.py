"""What `sonnx fix` makes of the models of `benchmarks.real_models`: python -m benchmarks.fix_exports FOLDER [--write].

Each model is rewritten with as few options as it needs, at the sizes that its check proposes.  The result is rewritten
again, which must change nothing, and compared with the original for all inputs; the forecast of a check is compared
with what is left.  `--write` puts the table into docs/measurements.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from benchmarks.fix import left
from benchmarks.measurements import write
from sonnx import check, fix
from sonnx.base.errors import Stop, UsageError
from sonnx.base.files import sha256
from sonnx.equivalence.result import Answer
from sonnx.report.fix_forecast import Forecast, ForecastRequest
from sonnx.report.fix_record import Grade
from sonnx.rewriter.fix import FixResult
from sonnx.rewriter.forecast import forecast_of

HEAD = """| model | nodes | after | grade | for all inputs | announced | twice | left |
|---|---|---|---|---|---|---|---|
"""
OPTIONS: tuple[dict[str, bool], ...] = ({}, {"within_bound": True}, {"approximate": True})
MOST_COMPARED = 400
"""Nodes of the largest result that is compared for all inputs and by a run."""


class Outcome(NamedTuple):
    """What becomes of one model."""

    name: str
    nodes: int
    after: int
    grade: Grade | None
    """None where it does not conform."""
    confirmed: str
    announced: bool
    """Whether the forecast has the numbers of findings that are left."""
    again: bool
    """Whether a second rewriting gives the same bytes."""
    left: str
    seconds: float

    @property
    def causes(self) -> set[str]:
        """What is left, without its numbers."""
        return {cause.strip(" 0123456789") for cause in self.left.split(",")}

    def __str__(self) -> str:
        words = self.grade or "does not conform", self.confirmed, _yes(self.announced), _yes(self.again), self.left
        return f"| {self.name} | {self.nodes} | {self.after} | {' | '.join(words)} |\n"


def _yes(holds: bool) -> str:
    return "yes" if holds else "no"


def outcome(path: Path) -> Outcome:
    """The model at the sizes that its check proposes, with as few options as it needs."""
    start, before = time.perf_counter(), check(path)
    found = forecast_of(ForecastRequest(str(path), before.edition, False, {}, {}))
    forecast = found.forecast
    if forecast is None:
        return refused(path, before.coverage.nodes, found)
    try:
        results = [fix(path, samples=0, input_shapes=forecast.shapes, **option) for option in OPTIONS[:2]]
        if results[1].after.exit_code():
            results.append(fix(path, samples=0, input_shapes=forecast.shapes, approximate=True))
        chosen = next((index for index, each in enumerate(results) if not each.after.exit_code()), len(results) - 1)
        result = results[chosen]
        numbers = [len(each.after.roots) for each in results[:2]]
        announced = [sum(forecast.left.values()), sum(forecast.left_within_bound.values())] == numbers
        again = fix(result.model_bytes(), samples=0, **OPTIONS[chosen]).model_bytes() == result.model_bytes()
        confirmed = "not compared: large"
        if result.after.coverage.nodes <= MOST_COMPARED:
            compared = fix(path, samples=1, input_shapes=forecast.shapes, **OPTIONS[chosen])
            confirmed = str(compared.validation.for_all_inputs)
    except (Stop, UsageError) as reason:
        return refused(path, before.coverage.nodes, Forecast(reason=str(reason)))
    grade = None if result.after.exit_code() else GRADES[chosen]
    return Outcome(
        path.stem, before.coverage.nodes, result.after.coverage.nodes, grade, confirmed, announced, again,
        causes(result), time.perf_counter() - start,
    )  # fmt: skip


GRADES = (Grade.SAME_BITS, Grade.SAME_IDEAL_VALUE, Grade.APPROXIMATED)


def refused(path: Path, nodes: int, forecast: Forecast) -> Outcome:
    """A model that `fix` refuses."""
    sentence = f"refused: {forecast.reason[:120]}".replace("|", "\\|")
    return Outcome(path.stem, nodes, 0, None, "", True, True, sentence, 0.0)


def causes(result: FixResult) -> str:
    """The operators that are left, else the rules."""
    names = Counter(each.where.operator for each in result.after.roots if each.rule == "operator-in-profile")
    return ", ".join(f"{name} {number}" for name, number in names.most_common()) or left(result)


def summary(found: Sequence[Outcome]) -> str:
    """How many conform, by grade; how many are confirmed and announced; what keeps the others outside."""
    grades, number = Counter(each.grade for each in found), len(found)
    conform = [each for each in found if each.grade]
    compared = [each for each in conform if not each.confirmed.startswith("not compared")]
    confirmed = sum(each.confirmed in (Answer.IDENTICAL, Answer.ROUNDING) for each in compared)
    shares = ", ".join(f"{each} {grades[each]} ({100 * grades[each] // number} %)" for each in GRADES)
    outside = Counter(name for each in found if not each.grade for name in each.causes)
    return (
        f"\nOf {number} models {len(conform)} conform ({100 * len(conform) // number} %): {shares}. Of {len(compared)} "
        f"that were compared for all inputs and on a run, {confirmed} are confirmed, and none differs. A check "
        f"announces what is left of {sum(each.announced for each in found)}, and a second rewriting changes nothing "
        f"of {sum(each.again for each in found)}.\n\nWhat keeps models outside: "
        f"{'; '.join(f'{name} ({count})' for name, count in outside.most_common()) or 'nothing'}.\n"
    )


def recorded(record: Path | None) -> dict[str, Outcome]:
    """The outcomes of a record, by the SHA-256 of the model."""
    lines = record.read_bytes().splitlines() if record and record.is_file() else []
    return dict(msgspec.json.decode(line, type=tuple[str, Outcome]) for line in lines)


def main() -> None:
    """Print the table row by row."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--record", type=Path, help="outcomes, a line each; of models that it has they are taken")
    options = parser.parse_args()
    known = recorded(options.record)
    found: list[Outcome] = []
    for path in sorted(options.folder.glob("*.onnx"), key=lambda path: path.stat().st_size):
        digest = sha256(path)
        found.append(known.get(digest) or outcome(path))
        print(f"{found[-1].seconds:6.1f} s {found[-1]}", end="", flush=True)
        if options.record and digest not in known:
            with options.record.open("ab") as file:
                file.write(msgspec.json.encode((digest, found[-1])) + b"\n")
    print(summary(found))
    if options.write:
        write("fix-real", HEAD + "".join(map(str, found)) + summary(found))


if __name__ == "__main__":
    main()
