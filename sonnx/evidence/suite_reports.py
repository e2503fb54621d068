"""Reports of `sonnx suite run` in an evidence pack: what an implementation of the model's operators gave."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from sonnx.base.errors import UsageError
from sonnx.base.escaping import quote
from sonnx.base.files import sha256, whole_bytes

FOLDER = "suites"
LIMIT = (
    "A suite report is about the cases of the suite on the implementation that it names, as its vendor ran it. It says "
    "nothing about other inputs, shapes or implementations, and the pack does not run the suite again."
)


class TestedImplementation(Struct, frozen=True):
    """What a suite gave on an implementation."""

    file: str
    """The base name of the report."""
    sha256: str
    """Its SHA-256."""
    edition: str
    """The edition whose texts the suite tests."""
    suite_sha256: str
    """The SHA-256 of the suite."""
    implementation: str
    """What the report calls the implementation."""
    hypotheses: str
    """What the bounds of the suite assume."""
    exit: int
    """The exit code of the run."""
    data_sets: Mapping[str, int]
    """The data sets of the operators of the model, by what came of them."""
    deviations: int
    """Kinds of deviations of these operators."""
    not_tested: tuple[str, ...]
    """Operators of the model that the run does not have."""


def suite_reports(
    paths: Sequence[Path], used: Collection[str], edition: str
) -> tuple[tuple[TestedImplementation, ...], dict[str, bytes]]:
    """What the pack says of each report, and their files.

    Args:
        paths: JSON reports of `sonnx suite run` or `sonnx suite judge`.
        used: the operators of the model.
        edition: the edition of the pack.

    Raises:
        UsageError: a file is missing or is not such a report of this version, or is about a suite of another edition,
            or two have one name.
    """
    twice = [name for name, number in Counter(path.name for path in paths).items() if number > 1]
    if twice:
        raise UsageError(f"two suite reports have the name {quote(twice[0])}")
    files = {f"{FOLDER}/{path.name}": _content(path) for path in paths}
    return tuple(_about(name.partition("/")[2], content, used, edition) for name, content in files.items()), files


def _content(path: Path) -> bytes:
    try:
        return whole_bytes(path)
    except OSError as reason:
        raise UsageError(f"{quote(str(path))} cannot be read: {reason.strerror}") from None


def _about(name: str, content: bytes, used: Collection[str], edition: str) -> TestedImplementation:
    from sonnx.report.document import Standing
    from sonnx.suite.result import Counts, read_run  # most packs have no report, and it loads numpy

    run = read_run(name, content)
    if run.edition != edition:
        raise UsageError(
            f"{quote(name)} is about a suite of edition {run.edition}; the pack is about edition {edition}"
        )
    counted = [run.operators[text] for text in sorted(used) if text in run.operators]
    return TestedImplementation(
        name,
        sha256(content),
        run.edition,
        run.suite_sha256,
        run.implementation,
        run.hypotheses,
        run.exit_code,
        {key: sum(getattr(counts, key) for counts in counted) for key in Counts.__struct_fields__},
        sum(kind.standing is Standing.BAD and kind.operator in used for kind in run.deviations),
        tuple(sorted(operator for operator in used if operator not in run.operators)),
    )
