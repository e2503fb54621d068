"""`sonnx run`: its arguments; numpy and the rest are loaded when a model is run."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from sonnx.base.errors import BadInput, UsageError
from sonnx.base.escaping import escape, quote
from sonnx.base.progress import Line
from sonnx.checker.report import NotConforming, Verdict
from sonnx.cli.check_options import amount
from sonnx.executor.distance import first_difference
from sonnx.executor.executor import Watch, required_inputs, run_model
from sonnx.executor.tensor_files import as_declared, read_file, write_folder
from sonnx.model import limits
from sonnx.model.ir import Model, Value
from sonnx.model.limits import limits_of
from sonnx.model.reader import read
from sonnx.numerics.formats import NAMES, Array
from sonnx.report import text as text_report
from sonnx.report.formats import render
from sonnx.report.run import Summary, as_json, as_text

MOST = 1024
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
"""Where the libraries behind numpy read their number of threads."""

HELP = "compute the exact values of a model"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    add = parser.add_argument
    add("model", metavar="MODEL", help="a model file")
    add("--input", action="append", default=[], metavar="NAME=FILE",
        help="an input from a .npy, .npz or .pb file; FILE.npz alone gives every input it names")  # fmt: skip
    add("--test-data", type=Path, default=None, metavar="DIR",
        help="a folder with input_*.pb and output_*.pb: compare with its outputs")  # fmt: skip
    add("--output", type=Path, default=None, metavar="DIR", help="write the values to files in this folder")
    add("--format", choices=("npz", "pb"), default="npz", help="outputs.npz, or output_0.pb, output_1.pb, …")
    add("--report", choices=("text", "json"), default="text", help="the format of what is printed")
    add("--all-values", action="store_true", help="the outputs of every node, not only those of the graph")
    add("--bits", action="store_true", help="compare every bit of NaNs, too")
    add("--edition", default=None, help="the edition the model must conform to")
    add("--unchecked", action="store_true", help="run a model that does not conform")
    add("--jobs", type=amount("threads", largest=MOST), default=None, metavar="N",
        help="threads of matrix products (default: what numpy chooses); no value depends on it")  # fmt: skip
    limits.add_argument(parser)
    parser.set_defaults(command=run_command)


def _threads(number: int) -> None:
    """Libraries read how many threads they may have when they are loaded, so numpy must not be there yet.

    Raises:
        Misuse: it is.
    """
    if "numpy" in sys.modules:
        raise UsageError("--jobs is for the command line: in this process numpy has its threads already")
    for name in THREADS:
        os.environ[name] = str(number)


def run_command(options: argparse.Namespace) -> int:
    """Run the command.

    Raises:
        Unreadable: the model or a file cannot be read.
        Misuse: an unknown edition, or --jobs where numpy is loaded already.
    """
    if options.jobs is not None:
        _threads(options.jobs)

    return run_file(options)


# ------------------------------------------------------------------
# A run from files to files: inputs read, values written or compared with expected ones, and what is printed of it.


DIFFERENT = 1
QUIET = 1.0
"""Seconds before progress is shown."""

SHOWN = 64
"""Elements of an output that are printed."""


def run_file(options: argparse.Namespace) -> int:
    """Run the command; 0, 1 for a model or values that have no meaning or differ, 2 for bad input."""
    try:
        return _run(options)
    except NotConforming as stop:
        as_data = options.report == "json"
        sys.stdout.write(render("json", [stop.report], {}, stop.exit_code) if as_data else text_report.one(stop.report))
        print(f"sonnx: {escape(str(stop))}; --unchecked runs it all the same", file=sys.stderr)
        return stop.exit_code


def _run(options: argparse.Namespace) -> int:
    model = read(options.model, limits=limits_of(options.limit))
    inputs = given_inputs(model, options.input, options.test_data)
    expected = expected_outputs(model, options.test_data) if options.test_data else {}
    with Line(QUIET) as line:
        outcome = run_model(
            model,
            inputs,
            options.model,
            options.edition,
            unchecked=options.unchecked,
            all_values=options.all_values,
            watch=_watch(line) if line.seen else None,
        )
    values, report = outcome.values, outcome.report
    summary = Summary(
        Path(options.model).name,
        report.edition if report else None,
        report is not None and report.verdict is Verdict.ASSUMED,
        outcome.exact_path_counts.by_operator,
        outcome.outside_profile,
    )
    if options.output is not None:
        summary.written += [str(options.output / file) for file in write_folder(options.output, values, options.format)]
    for name, wanted in expected.items():
        summary.compared.append((name, wanted.size, first_difference(values[name], wanted, bits=options.bits)))
    if options.report == "json" or (not expected and options.output is None):
        summary.outputs += [(name, NAMES[each.dtype], list(each.shape), _shown(each)) for name, each in values.items()]
    sys.stdout.write(as_json(summary) if options.report == "json" else as_text(summary))
    return DIFFERENT if any(difference is not None for *_, difference in summary.compared) else 0


def _watch(line: Line) -> Watch:
    return lambda done, of, node: line(f"node {done + 1} of {of}: {node.operator}")


def _shown(values: Array) -> str:
    """The elements, where they are few."""
    if values.size > SHOWN:
        return ""
    with np.errstate(all="ignore"):
        return np.array2string(values, separator=", ", prefix="  ")


# ------------------------------------------------------------------ inputs


def given_inputs(model: Model, texts: Sequence[str], test_data: Path | None) -> dict[str, Array]:
    """The inputs from --input texts and from a test_data_set folder.

    Raises:
        BadInput: a text or a file is not what it should be, or gives an input twice; the folder has none.
    """
    declared = {value.name: value.type.element for value in model.graph.inputs}
    found = dict(_test_data(test_data, "input", required_inputs(model))) if test_data else {}
    for text in texts:
        for name, values in _one(text).items():
            if name in found:
                raise BadInput(f"the input {quote(name)} is given twice")
            found[name] = as_declared(values, declared.get(name))
    if test_data and not found and required_inputs(model):
        raise BadInput(f"the folder {quote(str(test_data))} has no input_*.pb")
    return found


def _one(text: str) -> dict[str, Array]:
    """The arrays one --input gives."""
    name, equals, file = text.partition("=")
    if not equals:
        if text.lower().endswith(".npz"):
            return read_file(Path(text))
        raise BadInput(f"--input takes NAME=FILE or FILE.npz, not {quote(text)}")
    arrays = read_file(Path(file))
    if name in arrays:
        return {name: arrays[name]}
    if len(arrays) != 1:
        raise BadInput(f"{quote(file)} has no array {quote(name)}; it has {', '.join(map(quote, arrays)) or 'none'}")
    return {name: next(iter(arrays.values()))}


def expected_outputs(model: Model, folder: Path) -> dict[str, Array]:
    """The outputs in a test_data_set folder.

    Raises:
        BadInput: there are none, or one is not what it should be.
    """
    found = _test_data(folder, "output", model.graph.outputs)
    if not found:
        raise BadInput(f"the folder {quote(str(folder))} has no output_*.pb")
    return found


def _test_data(folder: Path, kind: str, values: tuple[Value, ...]) -> dict[str, Array]:
    """The tensors of a test_data_set folder; a tensor without a known name is that of its number."""
    if not folder.is_dir():
        raise BadInput(f"there is no folder {quote(str(folder))}")
    known = {value.name: value.type.element for value in values}
    found: dict[str, Array] = {}
    for path in folder.glob(f"{kind}_*.pb"):
        number = re.fullmatch(rf"{kind}_([0-9]{{1,9}})", path.stem)
        [(name, array)] = read_file(path).items()
        if name not in known:
            if number is None or int(number[1]) >= len(values):
                raise BadInput(f"{quote(str(path))} is none of the {len(values)} {kind}s of the model")
            name = values[int(number[1])].name
        if name in found:
            raise BadInput(f"the folder {quote(str(folder))} gives the {kind} {quote(name)} twice")
        found[name] = array
    return found
