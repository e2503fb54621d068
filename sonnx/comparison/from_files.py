"""A comparison from files: the model and inputs read, the report written, the exit code."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path

from sonnx.binding import bind, bindings
from sonnx.comparison.comparing import Comparison, Source, compare_source, recorded, source_of
from sonnx.comparison.probing import KINDS, probe
from sonnx.comparison.runtimes import Runtime, runtime
from sonnx.files import write_whole
from sonnx.misuse import Misuse
from sonnx.model import Model
from sonnx.parse import read
from sonnx.progress import Line
from sonnx.quoting import escape
from sonnx.report import comparison as report
from sonnx.report import text as text_report
from sonnx.run_files import expected_outputs, given_inputs
from sonnx.running import asked
from sonnx.semantics.formats import Array
from sonnx.stops import NotConforming

BROKEN = 1
RUNS = 4


def compare(options: argparse.Namespace) -> int:
    """Run the command; 0, 1 for a model without values or a broken bound, 2 for bad input."""
    try:
        return _compare(options)
    except NotConforming as stop:
        sys.stdout.write(text_report.one(stop.report))
        print(f"sonnx: {escape(str(stop))}; --unchecked compares it all the same", file=sys.stderr)
        return stop.exit_code


def _compare(options: argparse.Namespace) -> int:
    numbers = bindings(options.bind)
    model = read(options.model)
    source = source_of(bind(model, numbers) if numbers else model, options.model, changed=bool(numbers))
    runs, said = _runs(source.model, options)
    with Line() as progress:
        found = compare_source(
            source, _runtime(source, options), runs, edition=options.edition, unchecked=options.unchecked,
            every_node=options.every_node, inputs=said, progress=progress,
        )  # fmt: skip
    broken = [*_unusable(found), *found.broken(options.max_ulp, options.no_special_mismatch)]
    text = report.render(options.format, found, broken)
    if options.output is None:
        sys.stdout.write(text)
    else:
        write_whole(options.output, text)
    return BROKEN if broken else 0


def _unusable(found: Comparison) -> list[str]:
    """A comparison that compared nothing is no success."""
    if found.runs and any(row.distance is not None for row in found.rows):
        return []
    reasons = [*found.skipped, *(failure for row in found.rows for failure in row.failures)]
    return [f"nothing was compared: {reasons[0] if reasons else 'the model has no values'}"]


def _runs(model: Model, options: argparse.Namespace) -> tuple[list[Mapping[str, Array]], str]:
    given = given_inputs(model, options.input, options.test_data)
    if given and options.random is not None:
        raise Misuse("--random generates inputs; it does not go with --input or --test-data")
    wanted = asked(model)
    if given or not wanted:
        return [given], "from files" if given else "none asked for"
    if options.outputs is not None:
        raise Misuse("--outputs needs the inputs they were computed from: --input or --test-data")
    number = options.random or RUNS
    kinds = ", ".join(KINDS[: min(number, len(KINDS))])
    return [
        probe(wanted, options.seed, each) for each in range(number)
    ], f"generated from seed {options.seed} ({kinds})"


def _runtime(source: Source, options: argparse.Namespace) -> Runtime:
    if options.outputs is None:
        return runtime(options.runtime)
    if options.every_node:
        raise Misuse("--every-node runs single nodes; it does not go with --outputs")
    title = f"outputs in {Path(options.outputs).name or options.outputs}"
    return recorded(expected_outputs(source.model, options.outputs), title)
