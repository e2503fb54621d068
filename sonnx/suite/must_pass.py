"""Must-pass lists: the ids of cases that an implementation has to pass, one on each line."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct, json

from sonnx.base.decoding import decoding
from sonnx.base.errors import BadInput
from sonnx.base.escaping import plural, quote
from sonnx.base.files import sha256, whole_bytes
from sonnx.suite.archive import Suite

MAX_LIST = 1 << 24
"""Bytes of a list that is read."""
MAX_NAMED = 3
"""Ids that a message names."""


class MustPassList(Struct, frozen=True):
    """The cases that an implementation has to pass."""

    sha256: str
    ids: frozenset[str]
    operators: frozenset[str]


def must_pass_name(suite: Suite) -> str:
    """The name of the file with the list of a suite."""
    return f"must-pass-{suite.edition}.txt"


def must_pass_text(suite: Suite) -> str:
    """The list of an edition: every conforming case of the suite; a vendor may leave cases out of a copy."""
    head = (
        f"# The cases of edition {suite.edition} that an implementation of the whole edition passes.\n"
        "# sonnx suite run --must-pass FILE runs these only; delete lines of what you do not claim.\n"
    )
    operators = (name.removesuffix(".zip") for name in suite.archives)
    return head + "".join(f"{name}\n" for operator in operators for name in case_ids(suite, operator, conforming=True))


def read_must_pass(path: Path, suite: Suite, operators: Sequence[str]) -> MustPassList:
    """The cases that a list names.

    Raises:
        BadInput: the file cannot be read, lists nothing, or names a case that these operators of the suite do not have.
    """
    with decoding(path, "a must-pass list"):
        content = whole_bytes(path, MAX_LIST)
        lines = [line.partition("#")[0].strip() for line in content.decode("utf-8").splitlines()]
    ids = dict.fromkeys(filter(None, lines))
    if not ids:
        raise BadInput(f"{quote(str(path))} lists no case")
    known = {name: operator for operator in operators for name in case_ids(suite, operator)}
    missing = [name for name in ids if name not in known]
    if missing:
        shown = ", ".join(map(quote, missing[:MAX_NAMED]))
        more = f" and {plural(len(missing) - MAX_NAMED, 'other case')}" if len(missing) > MAX_NAMED else ""
        raise BadInput(f"{quote(str(path))} lists {shown}{more}, which the operators that are run do not have")
    return MustPassList(sha256(content), frozenset(ids), frozenset(known[name] for name in ids))


def case_ids(suite: Suite, operator: str, *, conforming: bool = False) -> Iterator[str]:
    """The ids of the cases of an operator, in their order; with `conforming` those with data sets only.

    Raises:
        BadInput: the archive is missing or damaged.
    """
    path = Path(suite.folder) / f"{operator}.zip"
    with decoding(path, "an archive of cases"), zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            folder, _, file = name.partition("/")
            if file == "case.json" and not (conforming and json.decode(archive.read(name))["broken"]):
                yield folder
