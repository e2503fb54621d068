"""A comparison from files: the model and inputs read, the report written, the exit code."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from sonnx.asked import opened
from sonnx.binding import bind, bindings
from sonnx.comparison.comparing import Broken, Comparison, Source, compare_source, recorded, source_of
from sonnx.comparison.probing import KINDS, probe
from sonnx.comparison.runtimes import Runtime, runtime
from sonnx.files import deliver
from sonnx.misuse import Misuse
from sonnx.model import Model
from sonnx.progress import Line
from sonnx.quoting import escape
from sonnx.report import comparison as report
from sonnx.report.formats import HASHED, render, render_result
from sonnx.run_files import expected_outputs, given_inputs
from sonnx.running import asked
from sonnx.semantics.formats import Array
from sonnx.stops import NotConforming

BROKEN = 1
RUNS = 4


def compare(options: argparse.Namespace) -> int:
    """Run the command; 0, 1 for a model without values or a broken bound, 2 for bad input.

    Of a model that does not conform the report of the check stands in the place of the comparison.
    """
    numbers = bindings(options.bind)
    model, digest = opened(options.model, options.format in HASHED)
    source = source_of(bind(model, numbers) if numbers else model, options.model, changed=bool(numbers))
    runs, said = _runs(source.model, options)
    try:
        with Line() as progress:
            found = compare_source(
                source, _runtime(source, options), runs, edition=options.edition, unchecked=options.unchecked,
                every_node=options.every_node, inputs=said, progress=progress,
            )  # fmt: skip
    except NotConforming as stop:
        checked = replace(stop.report, name=options.model, sha256=digest)
        deliver(render(options.format, [checked], {}, stop.exit_code), options.output)
        print(f"sonnx: {escape(str(stop))}; --unchecked compares it all the same", file=sys.stderr)
        return stop.exit_code
    found = replace(found, sha256=digest)
    broken = [*_unusable(found), *found.broken(options.max_ulp, options.no_special_mismatch)]
    code = BROKEN if broken else 0
    deliver(_document(options, found, broken, code), options.output)
    return code


def _document(options: argparse.Namespace, found: Comparison, broken: Sequence[Broken], code: int) -> str:
    if options.format in report.FORMATS:
        return report.render(options.format, found, [each.sentence for each in broken])
    from sonnx.report.comparison_result import of_comparison  # most comparisons are read as text

    return render_result(options.format, of_comparison(found, broken, code, options.model))


def _unusable(found: Comparison) -> list[Broken]:
    """A comparison that compared nothing is no success."""
    if found.runs and any(row.distance is not None for row in found.rows):
        return []
    reasons = [*found.skipped, *(failure for row in found.rows for failure in row.failures)]
    return [Broken(f"nothing was compared: {reasons[0] if reasons else 'the model has no values'}")]


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
