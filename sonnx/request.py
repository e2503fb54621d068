"""How the models of a run are judged, and one of them judged that way."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sonnx.api import check
from sonnx.files import sha256
from sonnx.limits import DEFAULT
from sonnx.verdict import Report


@dataclass(frozen=True, slots=True)
class Request:
    """The arguments of `sonnx.check`, and whether the hash of the file is wanted."""

    edition: str | None = None
    bind: tuple[tuple[str, int], ...] = ()
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    strict_versions: bool = False
    limits: tuple[tuple[str, int], ...] = tuple(DEFAULT.items())
    hashed: bool = False


def judge_request(request: Request, source: str | bytes, name: str) -> tuple[Report, str]:
    """The report on a model, and the hash of its file, "" where it is not wanted.

    Raises:
        Unreadable: the source is no readable ONNX model.
        Misuse: the request cannot be met.
    """
    report = check(
        source,
        request.edition,
        bind=dict(request.bind),
        select=request.select,
        ignore=request.ignore,
        strict_versions=request.strict_versions,
        limits=dict(request.limits),
        name=name,
    )
    return report, sha256(source if isinstance(source, bytes) else Path(source)) if request.hashed else ""
