"""Known deviations of an implementation: a file of records in which a project accepts what a run of a suite found.

The words are those of the deviations of models (docs/deviations.md).  A record names each finding with the number and
digest of its data sets, so that it accepts only a run that deviates in exactly these.  A record that is not exact is
itself a deviation.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Annotated, Literal

from msgspec import Struct, structs

from sonnx.base.escaping import escape
from sonnx.checker.deviation_records import FIRST_DAY, Day, require_digest, require_distinct
from sonnx.profile.text_types import Limit, Line, Sha256
from sonnx.profile.toml_files import CatalogueError, basic_string, one_line, read_project_file

WITHOUT_BOUND = "without bound"
"""The word for data sets whose outputs have no bound, where a record accepts them."""
SENTENCES = ("id", "implementation", "reason", "risk", "approver")
HEAD = """\
# Deviations to be filled in: reason, risk, approver, and the last day in `expires`. Delete what you do not accept.
# docs/suite.md says what each key means.
"""


class RuntimeFinding(Struct, frozen=True, forbid_unknown_fields=True):
    """Deviations of one kind in one operator and element type."""

    operator: Line
    """The operator."""
    kind: Line
    """What differs, as the report says it: NaN, refused; "without bound" for data sets of which nothing is demanded."""
    number: int
    """How many deviations."""
    element: Line | Literal[""] = ""
    """The element type of the first input."""
    data_sets: Sha256 | Literal[""] = ""
    """The digest of the data sets, as the JSON report states it."""

    @property
    def place(self) -> tuple[str, str, str]:
        """What the finding is about."""
        return self.operator, self.element, self.kind

    @property
    def title(self) -> str:
        """What the finding is about, in words."""
        return " ".join(filter(None, self.place))


class RuntimeDeviation(Struct, frozen=True, forbid_unknown_fields=True):
    """One record of deviations of an implementation."""

    id: Line
    """The name of the record, once in the file."""
    suite: Sha256
    """The SHA-256 of suite.json, as the report states it."""
    implementation: Line
    """The name and version of the implementation, as the report states it."""
    findings: Annotated[tuple[RuntimeFinding, ...], Limit(min_length=1)]
    """Each finding that the record is about, once."""
    reason: Line
    """Why it is accepted."""
    risk: Line
    """What can happen because of it."""
    approver: Line
    """Who accepted it."""
    expires: Day
    """The last day on which the record is valid; in TOML a day without quotes."""


class RuntimeDeviationsFile(Struct, frozen=True, forbid_unknown_fields=True):
    """Known deviations of an implementation from a suite, docs/suite.md."""

    deviation: Annotated[tuple[RuntimeDeviation, ...], Limit(min_length=1)]
    """The records."""


class KnownDeviations(Struct, frozen=True):
    """A file of records."""

    file: str
    sha256: str
    records: tuple[RuntimeDeviation, ...]


def read_known(path: str | os.PathLike[str]) -> KnownDeviations:
    """The records in a file.

    Raises:
        UsageError: it cannot be read, or does not have the format of docs/suite.md.
    """
    return read_project_file(path, RuntimeDeviationsFile, _known)


def _known(written: RuntimeDeviationsFile, file: str, sha256: str) -> KnownDeviations:
    return KnownDeviations(file, sha256, require_distinct(tuple(map(_checked, written.deviation))))


def _checked(written: RuntimeDeviation) -> RuntimeDeviation:
    place = f"deviation {written.id!r}"
    lines = {key: one_line(getattr(written, key), f"{place}.{key}") for key in SENTENCES}
    require_digest(written.suite, f"{place}.suite")
    if not written.findings:
        raise CatalogueError(f"{place}.findings is empty: name each finding that it accepts")
    return structs.replace(written, **lines)


def template(findings: Iterable[RuntimeFinding], suite: str, implementation: str) -> str:
    """A file of records to be filled in, one for each operator; a file with an empty reason is refused.

    Args:
        findings: what the records accept.
        suite: the SHA-256 of suite.json.
        implementation: the name of what was run.
    """
    blocks = []
    by_operator: dict[str, list[RuntimeFinding]] = {}
    for finding in findings:
        by_operator.setdefault(finding.operator, []).append(finding)
    for number, of_operator in enumerate(by_operator.values(), 1):
        listed = [
            f"  {{ operator = {_quoted(each.operator)}, element = {_quoted(each.element)}, "
            f"kind = {_quoted(each.kind)}, number = {each.number}, data_sets = {_quoted(each.data_sets)} }},"
            for each in of_operator
        ]
        blocks.append("\n".join([
            "[[deviation]]", f'id             = "D{number}"', f"suite          = {_quoted(suite)}",
            f"implementation = {_quoted(implementation)}", 'reason         = ""', 'risk           = ""',
            'approver       = ""', f"expires        = {FIRST_DAY}", "findings = [", *listed, "]",
        ]))  # fmt: skip
    return HEAD + "".join(f"\n{block}\n" for block in blocks)


def _quoted(text: str) -> str:
    return basic_string(escape(text))
