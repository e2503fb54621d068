"""The public functions: a model in, a typed result out; no printing, no state.

Results have `to_text()` and `to_json()`.  `check` needs neither numpy nor a solver nor the onnx package; what needs
one of them stands in the modules beside this one.  What several functions take:

    source: the model: a path, the bytes of a file, a binary file object, an `onnx.ModelProto`, an `onnx_ir.Model`, or a
        `torch.onnx.ONNXProgram`.
    edition: a name of restrictions/editions.toml; the default edition if None.
    bind: numbers for symbolic dimensions; the result holds for these numbers.
    input_shapes: shapes of graph inputs, also where the model states no dimension or a symbol.
    strict_versions: accept only the operator version that a text specifies.
    unchecked: take a model that does not conform to the edition, too.
    hashed: read the whole file once, use these bytes and state their SHA-256.
    limits: size limits of a model, see `sonnx.model.limits`.
    name: what the result calls the model; by default the base name of the file.

Where the source is not a readable ONNX model they raise `Unreadable`, for an edition, rule or symbol that does not
exist `UsageError`, and where values are asked of a model that does not conform `NotConforming`, with its report.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from sonnx.model.limits import DEFAULT_LIMITS, Limits
from sonnx.model.sources import Source, encoded, name_of

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from sonnx.evidence.qualification_kit import Kit
    from sonnx.evidence.verification import CommandLine
    from sonnx.properties.options import VerifyOptions
    from sonnx.properties.result import PropertyResult
    from sonnx.report.explain import Explanation
    from sonnx.suite.options import MakeOptions, RunOptions
    from sonnx.suite.report import SuiteReport
    from sonnx.suite.result import SuiteRun


InputShapes: TypeAlias = Mapping[str, Sequence[int]]
"""A shape by the name of a graph input."""
Progress: TypeAlias = Callable[[str], None]
"""Called with a short text while a long computation goes on."""


def verify_property(
    source: Source,
    stated: str | os.PathLike[str] | None = None,
    options: VerifyOptions | None = None,
    *,
    bind: Mapping[str, int] | None = None,
    input_shapes: InputShapes | None = None,
    limits: Limits = DEFAULT_LIMITS,
    name: str | None = None,
    progress: Callable[[str], None] | None = None,
) -> PropertyResult:
    """Whether a property of a model holds for all inputs of its boxes, in every implementation within hypotheses.

    Arguments beside those that `sonnx.api` explains:
        stated: the file of the property, in VNN-LIB (.vnnlib) or in TOML; None with `options.robust`.
        options: `sonnx.properties.options.VerifyOptions`: hypotheses, time, robustness around a point.
        progress: told how far it is.

    Raises:
        BadInput: the property is malformed, or about other inputs or outputs.
        NotConforming: the model does not conform; it carries the report.
        NotBounded: a node has no transfer function.
    """
    from sonnx.model.reader import file_bytes, read
    from sonnx.model.symbols import bind_symbols
    from sonnx.properties.options import VerifyOptions
    from sonnx.properties.verification import verify_model

    chosen = options or VerifyOptions()
    found = encoded(source)
    folder = None if isinstance(found, bytes) else Path(found).parent
    data = found if isinstance(found, bytes) else file_bytes(found, repr(os.fspath(found)))
    model = read(data, "model" if isinstance(found, bytes) else repr(os.fspath(found)), limits, folder)
    sized = bind_symbols(model, dict(bind or {}), dict(input_shapes or {}))
    elsewhere = None
    if chosen.jobs is not None or chosen.cluster is not None:
        from sonnx.workers.properties import PartsElsewhere  # most runs need none
        from sonnx.workers.tasks import WorkPlace

        elsewhere = partial(PartsElsewhere, data, place=WorkPlace(jobs=chosen.jobs, cluster=chosen.cluster))
    return verify_model(
        sized, data, name_of(found, name), folder, None if stated is None else Path(stated), chosen, progress, elsewhere
    )


def make_suite(folder: str | os.PathLike[str], options: MakeOptions | None = None) -> SuiteReport:
    """Make a suite of test cases for implementations in a folder that does not exist or is empty (docs/suite.md).

    Args:
        folder: where the archives of the operators and suite.json are written.
        options: `sonnx.suite.options.MakeOptions`: operators, edition, hypotheses; all of the newest edition if None.

    Raises:
        UsageError: an unknown operator, edition or hypotheses.
        OSError: the folder cannot be written; nothing is left in it.
    """
    from sonnx.suite.cases import make_suite as made
    from sonnx.suite.options import MakeOptions
    from sonnx.suite.report import SuiteReport

    return SuiteReport.of(made(Path(folder), options or MakeOptions()))


def run_suite(folder: str | os.PathLike[str], options: RunOptions | None = None) -> SuiteRun:
    """Run the cases of a suite on a runtime or a program, and judge the outputs.

    Args:
        folder: the suite.
        options: `sonnx.suite.options.RunOptions`: the runtime or program, and its limits; onnxruntime if None.

    Raises:
        BadInput: the folder is not a suite.
        UsageError: an unknown runtime, a program that cannot be started, or an unknown operator.
    """
    from sonnx.suite.options import RunOptions
    from sonnx.suite.runs import run_suite as ran

    return ran(Path(folder), options or RunOptions())


def judge_suite(folder: str | os.PathLike[str], outputs: str | os.PathLike[str]) -> SuiteRun:
    """Judge outputs that were made elsewhere, by the runner that stands in the folder of the suite.

    Args:
        folder: the suite.
        outputs: a folder with CASE/test_data_set_N/output_K.pb.

    Raises:
        BadInput: one of the folders is not there, or the first is not a suite.
    """
    from sonnx.suite.runs import judge_outputs

    return judge_outputs(Path(folder), Path(outputs))


def qualify(folder: Path, run: CommandLine, parser: ArgumentParser) -> Kit:
    """Verify the tool in this environment by its command line, and write the qualification kit to a new folder.

    Raises:
        UsageError: the folder exists.
    """
    from sonnx.evidence.qualification_kit import make, require_new, write

    require_new(folder)
    kit = make(run, parser)
    write(folder, kit)
    return kit


def explain(name: str) -> Explanation:
    """Explain a rule, a tag, an operator, an erratum or a theorem.

    Args:
        name: a slug (Max.broadcastable), a tag (E1, R1@2025-10), an operator, an erratum or a theorem (max.fold).

    Raises:
        UsageError: nothing has this name.
    """
    from sonnx.report.explain import explanation

    return explanation(name)
