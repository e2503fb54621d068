"""What `sonnx fix` does: rewrites a model into another file and says what it did."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sonnx.binding import bindings
from sonnx.files import sha256, write_whole
from sonnx.fix.fixing import fix
from sonnx.fix.record_json import render as as_json
from sonnx.fix.text import SHOWN
from sonnx.fix.text import render as as_text
from sonnx.misuse import Misuse
from sonnx.quoting import escape, quote


def run(options: argparse.Namespace) -> int:
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
            raise Misuse(f"{shown} is a folder")
        if target.exists() and source.exists() and target.samefile(source):
            raise Misuse(f"{shown} is the original, which is never changed; name another file")
        if target.exists() and not force:
            raise Misuse(f"{shown} exists; --force writes over it")
        if not target.parent.is_dir():
            raise Misuse(f"there is no folder {quote(str(target.parent))}")
    if len(targets) > len({path.resolve() for path in targets}):
        raise Misuse("--output and --report name one file")
