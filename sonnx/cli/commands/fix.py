"""`sonnx fix`: parses the arguments, rewrites the model, and writes and prints what came of it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from sonnx.base.errors import UsageError
from sonnx.base.escaping import escape
from sonnx.base.files import VALUES, deliver, fixed_path, require_empty, require_free, write_folder, write_whole
from sonnx.base.progress import Progress
from sonnx.checker.report import STANDARD_INPUT
from sonnx.cli.budget import add_budget_arguments, within_budget
from sonnx.cli.options import add_options, keywords_of
from sonnx.cli.reports import add_format_argument, has_format, outputs_named
from sonnx.rewriter.options import FixOptions

if TYPE_CHECKING:
    from sonnx.rewriter.fix_report import FixResult


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    add = parser.add_argument
    add("model", metavar="MODEL", help="a model file, which is never changed; - is standard input")
    target = parser.add_mutually_exclusive_group()
    target.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="write the rewritten model to FILE (default MODEL.fixed.onnx)"
    )
    target.add_argument("--dry-run", action="store_true", help="write nothing, only print what would be done")
    target.add_argument(
        "--cut", type=Path, metavar="DIR",
        help="write the rewritten model in parts to a new folder: those that conform, and those outside the profile",
    )  # fmt: skip
    add_options(parser, FixOptions)
    add("--report", type=Path, metavar="FILE", help="write the record of all rewrites to FILE, as JSON")
    add("--force", action="store_true", help="overwrite existing files")
    add("--all", action="store_true", help="print every place that was rewritten, not only the first of each rewrite")
    add_format_argument(parser)
    add_budget_arguments(parser)
    parser.set_defaults(command=fix_command)


@within_budget("rewritten")
def fix_command(options: argparse.Namespace) -> int:
    """Run the command; the exit code is that of `check` for the new file."""
    from sonnx.rewriter.cutting import cut
    from sonnx.rewriter.fix import fix

    piped = options.model == "-"
    if piped and options.output is None and options.cut is None and not options.dry_run:
        raise UsageError("a model from standard input needs --output, which names the file of the rewritten model")
    unwritten = options.dry_run or options.cut is not None
    output = None if unwritten else options.output or fixed_path(Path(options.model))
    if options.cut is not None:
        require_empty(options.cut, "part of an older model")
    report = None if options.dry_run else options.report
    require_free(Path(options.model), [path for path in (output, report) if path is not None], options.force)
    outputs = outputs_named(options.format, None, *([] if piped else [options.model]))
    with Progress(f"rewriting {options.model}", quiet=options.quiet):
        source = sys.stdin.buffer.read() if piped else options.model
        called = STANDARD_INPUT if piped else options.model
        name = "" if output is None else f"{output.name}{VALUES}"
        result = fix(source, **keywords_of(FixOptions, options), name=called, values_file=name)
    recorded, values = report is not None or has_format(outputs, {"json"}), result.values
    record = result.to_json(None if output is None else str(output)) if recorded else ""
    if output is not None:
        if values is not None:
            require_free(Path(options.model), [output.parent / values.name], options.force)
        result.write(output)
    if report is not None:
        write_whole(report, record)
    if options.cut is not None:
        parts = cut(result, strict=options.strict_versions)
        write_folder(options.cut, parts.files)
        said = f"{parts.to_text()}wrote {escape(str(options.cut))}\n"
    else:
        said = _written(output, result)
    for form, file in outputs:
        if form == "text":
            deliver(result.to_text(every_place=options.all) + said, file)
        else:
            deliver(record if form == "json" else result.to_format(form), file)
    return result.after.exit_code()


def _written(output: Path | None, result: FixResult) -> str:
    """What was written, in one line."""
    if output is None:
        return "nothing is written (--dry-run)\n"
    done = f"wrote {escape(str(output))} ({len(result.model_bytes())} bytes)"
    if result.values is not None:
        done += f", and its values in {escape(result.values.name)} beside it ({result.values.size} bytes)"
    return f"{done}\n"
