"""`sonnx fix`: parses the arguments, rewrites the model, and writes and prints what came of it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sonnx.base.errors import UsageError
from sonnx.base.escaping import escape
from sonnx.base.files import VALUES, fixed_path, require_free, write_whole
from sonnx.base.progress import clock
from sonnx.checker.report import STANDARD_INPUT
from sonnx.cli.budget import add_budget_arguments, within_budget
from sonnx.cli.options import add_options, keywords_of
from sonnx.report.formats import RESULT_FORMATS
from sonnx.rewriter.options import FixOptions

HELP = "rewrite a model into the profile without changing a value"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    add = parser.add_argument
    add("model", metavar="MODEL", help="a model file, which is never changed; - is standard input")
    target = parser.add_mutually_exclusive_group()
    target.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="write the rewritten model to FILE (default MODEL.fixed.onnx)"
    )
    target.add_argument("--dry-run", action="store_true", help="write nothing, only print what would be done")
    add_options(parser, FixOptions)
    add("--report", type=Path, metavar="FILE", help="write the record of all rewrites to FILE, as JSON")
    add("--force", action="store_true", help="overwrite existing files")
    add("--all", action="store_true", help="print every place that was rewritten, not only the first of each rewrite")
    add("-f", "--format", choices=RESULT_FORMATS, default="text", help="the format of what is printed")
    add_budget_arguments(parser)
    parser.set_defaults(command=fix_command)


@within_budget("rewritten")
def fix_command(options: argparse.Namespace) -> int:
    """Run the command; the exit code is that of `check` for the new file."""
    from sonnx.rewriter.fix import fix

    piped = options.model == "-"
    if options.output is None and not options.dry_run:
        if piped:
            raise UsageError("a model from standard input needs --output, which names the file of the rewritten model")
        options.output = fixed_path(Path(options.model))
    targets = [path for path in (options.output, options.report) if path is not None and not options.dry_run]
    require_free(Path(options.model), targets, options.force)
    with clock(f"rewriting {options.model}"):
        source = sys.stdin.buffer.read() if piped else options.model
        called = STANDARD_INPUT if piped else options.model
        name = "" if options.output is None else f"{options.output.name}{VALUES}"
        result = fix(source, **keywords_of(FixOptions, options), name=called, values_file=name)
    if result.values is not None and not options.dry_run:
        require_free(Path(options.model), [options.output.parent / result.values.name], options.force)
    data, output = result.model_bytes(), None if options.dry_run else str(options.output)
    if output is not None:
        result.write(options.output)
        if options.report is not None:
            write_whole(options.report, result.to_json(output))
    if options.format == "json":
        sys.stdout.write(result.to_json(output))
    elif options.format != "text":
        sys.stdout.write(result.to_format(options.format))
    else:
        sys.stdout.write(result.to_text(every_place=options.all))
        done = "nothing is written (--dry-run)" if output is None else f"wrote {escape(output)} ({len(data)} bytes)"
        if output is not None and result.values is not None:
            done += f", and its values in {escape(result.values.name)} beside it ({result.values.size} bytes)"
        sys.stdout.write(f"{done}\n")
    return result.after.exit_code()
