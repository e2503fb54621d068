"""Reports of `sonnx suite run` in an evidence pack: what an implementation of the model's operators gave."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from sonnx.base.errors import UsageError
from sonnx.base.escaping import quote
from sonnx.base.files import sha256, whole_bytes

FOLDER = "suites"
LIMIT = (
    "A suite report is about the cases of the suite on the implementation that it names, as its vendor ran it. It says "
    "nothing about other inputs, shapes or implementations, and the pack does not run the suite again."
)


def suite_reports(paths: Sequence[Path], used: Collection[str]) -> tuple[tuple[dict[str, Any], ...], dict[str, bytes]]:
    """What the pack says of each report, and their files.

    Args:
        paths: JSON reports of `sonnx suite run` or `sonnx suite judge`.
        used: the operators of the model.

    Raises:
        UsageError: a file is missing or is not such a report of this version, or two have one name.
    """
    twice = [name for name, number in Counter(path.name for path in paths).items() if number > 1]
    if twice:
        raise UsageError(f"two suite reports have the name {quote(twice[0])}")
    files = {f"{FOLDER}/{path.name}": _content(path) for path in paths}
    return tuple(_about(name.partition("/")[2], content, used) for name, content in files.items()), files


def _content(path: Path) -> bytes:
    try:
        return whole_bytes(path)
    except OSError as reason:
        raise UsageError(f"{quote(str(path))} cannot be read: {reason.strerror}") from None


def _about(name: str, content: bytes, used: Collection[str]) -> dict[str, Any]:
    from sonnx.report.document import Standing
    from sonnx.suite.result import Counts, read_run  # most packs have no report, and it loads numpy

    run = read_run(name, content)
    counted = [run.operators[each] for each in sorted(used) if each in run.operators]
    return {
        "file": name,
        "sha256": sha256(content),
        "implementation": run.implementation,
        "hypotheses": run.hypotheses,
        "exit": run.exit_code,
        "data_sets": {key: sum(getattr(each, key) for each in counted) for key in Counts.__struct_fields__},
        "deviations": sum(each.standing is Standing.BAD and each.operator in used for each in run.deviations),
        "not_tested": sorted(each for each in used if each not in run.operators),
    }
