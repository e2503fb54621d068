"""`sonnx fix`: its arguments; what rewrites models is loaded when it is asked for."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sonnx.base.errors import UsageError
from sonnx.base.escaping import escape, quote
from sonnx.base.files import sha256, write_whole
from sonnx.cli.arguments import amount
from sonnx.model.symbols import bindings
from sonnx.report.fix import SHOWN
from sonnx.report.fix import render as as_text
from sonnx.report.fix import render_json as as_json
from sonnx.rewriter.fix import SAMPLES, fix

HELP = "rewrite a model without changing a value"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    add = parser.add_argument
    add("model", metavar="MODEL", help="a model file, which is never changed")
    target = parser.add_mutually_exclusive_group(required=True)
    target.add_argument("--output", type=Path, metavar="FILE", help="where the rewritten model is written")
    target.add_argument("--dry-run", action="store_true", help="write nothing, only say what would be done")
    add("--edition", default=None, help="the edition the model is brought to")
    add("--bind", action="append", default=[], metavar="N=1,H=224", help="numbers for symbolic dimensions")
    add("--select", action="append", default=[], metavar="RULE",
        help="only rewrites for these slugs, tags or operators, comma-separated")  # fmt: skip
    add("--strict-versions", action="store_true", help="admit only the operator version a text specifies")
    add("--fold-batch-normalization", action="store_true",
        help="fold BatchNormalization into the convolution before it; this changes how values are rounded")  # fmt: skip
    add("--samples", type=amount("sets", least=0), default=SAMPLES, metavar="N",
        help=f"how many sets of inputs both models are run on (default {SAMPLES}; 0 validates nothing)")  # fmt: skip
    add("--report", type=Path, default=None, metavar="FILE", help="write the record of all rewrites as JSON")
    add("--force", action="store_true", help="write over files that exist")
    add("--all", action="store_true", help="print every rewrite, not only the first ones of a kind")
    add("--format", choices=("text", "json"), default="text")

    parser.set_defaults(command=fix_command)


def fix_command(options: argparse.Namespace) -> int:
    """Run the command.

    Raises:
        Unreadable: the model cannot be read.
        Misuse: an output that exists, an unknown name, or a model this tool cannot write.
    """
    # apart from everything else: see sonnx/fix/__init__.py

    return fix_file(options)


# ------------------------------------------------------------------
# What `sonnx fix` does: rewrites a model into another file and says what it did.


def fix_file(options: argparse.Namespace) -> int:
    """Run the command; the exit code is that of `check` for the new file.

    Raises:
        Unreadable: the model cannot be read.
        Misuse: an output that exists, an unknown name, or a model this tool cannot write.
        OSError: a file cannot be written.
    """
    source = Path(options.model)
    targets = [path for path in (options.output, options.report) if path is not None and not options.dry_run]
    _require_free(source, targets, options.force)
    switches = ["fold_batch_normalization"] if options.fold_batch_normalization else []
    select = [name for value in options.select for name in value.split(",") if name]
    fixed = fix(
        options.model, options.edition, bind=bindings(options.bind), select=select, options=switches,
        strict_versions=options.strict_versions, samples=options.samples, name=options.model,
    )  # fmt: skip
    code = fixed.after.exit_code()
    output = None if options.dry_run else str(options.output)
    record = as_json(fixed, sha256(source), code, output)
    if not options.dry_run:
        write_whole(options.output, fixed.data)
        if options.report is not None:
            write_whole(options.report, record)
    said = "nothing is written (--dry-run)" if output is None else f"wrote {escape(output)} ({len(fixed.data)} bytes)"
    number = len(fixed.rewrites) if options.all else SHOWN
    sys.stdout.write(record if options.format == "json" else as_text(fixed, said, number))
    return code


def _require_free(source: Path, targets: list[Path], force: bool) -> None:
    """The original is never written to, and nothing else without being asked.

    Raises:
        Misuse: a target is the original, exists, or is another target.
    """
    for target in targets:
        shown = quote(str(target))
        if target.is_dir():
            raise UsageError(f"{shown} is a folder")
        if target.exists() and source.exists() and target.samefile(source):
            raise UsageError(f"{shown} is the original, which is never changed; name another file")
        if target.exists() and not force:
            raise UsageError(f"{shown} exists; --force writes over it")
        if not target.parent.is_dir():
            raise UsageError(f"there is no folder {quote(str(target.parent))}")
    if len(targets) > len({path.resolve() for path in targets}):
        raise UsageError("--output and --report name one file")
