"""The work of a child that judges models: from a request to a report as data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sonnx import catalogue
from sonnx.asked import Asked, judge, opened
from sonnx.files import sha256
from sonnx.many.stored import encode
from sonnx.many.work import Answer, Task
from sonnx.misuse import Misuse
from sonnx.model import Model
from sonnx.parse import Unreadable, mapped, read
from sonnx.results import Why


def request_of(asked: Asked, tailoring: str | None, hashed: bool, drawn: bool) -> dict[str, Any]:
    """All but the model, as JSON.

    Args:
        asked: what is asked of the model.
        tailoring: the file of the tailoring, which the child reads again.
        hashed: whether the hash of what is judged is wanted.
        drawn: whether the outline of its graph is wanted.
    """
    return {
        "edition": asked.edition, "bind": dict(asked.bind), "select": asked.select, "ignore": asked.ignore,
        "strict_versions": asked.strict_versions, "limits": dict(asked.limits),
        "tailoring": [tailoring, asked.tailoring.sha256] if tailoring and asked.tailoring else None,
        "hashed": hashed, "drawn": drawn,
    }  # fmt: skip


def prepare() -> None:
    """Read the rules, so that it is no part of the first model's time."""
    catalogue.editions()


def answer(request: Mapping[str, Any], content: bytes) -> Answer:
    """The report, or why there is none.

    Besides what `request_of` says, a request has the `model`, a path, or a name where it is `inline`: the content then;
    and with `sha256` the hash that the file must have.

    Raises:
        Misuse: what is asked for cannot be met.
    """
    rest = dict(request)
    name, inline, hashed, drawn, tailoring = map(rest.pop, ("model", "inline", "hashed", "drawn", "tailoring"))
    wanted = rest.pop("sha256", None)
    asked = Asked(**rest, tailoring=_tailoring(tailoring))
    try:
        model, digest = _opened(content if inline else name, hashed, asked, wanted)
    except _Other as other:
        return {"sentence": str(other), "why": Why.STOPPED}
    except Unreadable as error:
        return {"sentence": str(error), "why": Why.UNREADABLE}
    report = judge(model, digest, asked, name, drawn)
    return {"report": encode(replace(report, tailoring=None))}  # the parent has it


def with_hashes(tasks: Iterable[Task]) -> Iterator[Task]:
    """The tasks with the hashes of their files, for children that may see other files; "" where none can be read."""
    for task in tasks:
        if task.content is None:
            request = {**task.request, "sha256": _sha256(task.name)}
            yield replace(task, request=request)
        else:
            yield task


def _sha256(path: str) -> str:
    try:
        return sha256(mapped(path, repr(path)))
    except Unreadable:
        return ""


class _Other(Exception):
    """The file is not the one that was meant."""


def _opened(source: str | bytes, hashed: bool, asked: Asked, wanted: str | None) -> tuple[Model, str]:
    if wanted is None or isinstance(source, bytes):
        return opened(source, hashed, asked.limits)
    name = repr(source)
    data = mapped(source, name)
    if sha256(data) != wanted:
        raise _Other("was not judged: where it was to be judged its file is another one, by its SHA-256")
    return read(data, name, asked.limits), wanted if hashed else ""


def _tailoring(file: Sequence[str] | None) -> Any:
    if file is None:
        return None
    from sonnx import tailoring  # most runs have none

    path, wanted = file
    read_again = tailoring.read(path)
    if read_again.sha256 != wanted:
        raise Misuse(f"{path} is another file than when the run began, or where the models are judged")
    return read_again
