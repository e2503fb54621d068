"""What other programs call: pure functions, no printing, no state."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from datetime import date
from pathlib import PurePath

from sonnx.base.errors import UsageError
from sonnx.checker.report import Report
from sonnx.checker.request import CheckRequest, check_model, open_model
from sonnx.model.limits import DEFAULT, Allowed

NEEDS_DATE = "deviations are judged on a date: give one"
WHOLE = "a model with deviations is judged as a whole: leave out the choice of rules"


def check(
    source: str | os.PathLike[str] | bytes,
    edition: str | None = None,
    *,
    bind: Mapping[str, int] | None = None,
    select: Collection[str] = (),
    ignore: Collection[str] = (),
    strict_versions: bool = False,
    tailoring: str | os.PathLike[str] | None = None,
    deviations: str | os.PathLike[str] | None = None,
    date: date | None = None,
    hashed: bool = False,
    limits: Allowed = DEFAULT,
    name: str | None = None,
) -> Report:
    """The verdict on a model under an edition of the profile (the default one if none is named).

    Args:
        source: a path, or the bytes of a model file.
        edition: a name of restrictions/editions.toml.
        bind: numbers for symbolic dimensions; the verdict is the one for these values.
        select: judge only rules with these slugs or tags; the report is then partial.
        ignore: leave rules with these slugs or tags out; the report is then partial.
        strict_versions: admit only the version of an operator that its text specifies.
        tailoring: a file that makes the edition stricter for one project (docs/tailoring.md).
        deviations: a file of justified failures (docs/deviations.md), each of them of this model.
        date: the day on which deviations must not have expired; needed with them.
        hashed: read the whole file once, judge these bytes and state their SHA-256; always so with deviations.
        limits: how many of everything a model may have, see `sonnx.model.limits`.
        name: what the report calls the model; by default the base name of the file.

    Raises:
        Unreadable: the source is no readable ONNX model.
        Misuse: an unknown edition, rule, tag or symbol, a malformed file of the project, or arguments that exclude one
            another.
    """
    if deviations is not None and date is None:
        raise UsageError(NEEDS_DATE)
    if deviations is not None and (select or ignore):
        raise UsageError(WHOLE)
    own = None
    if tailoring is not None:
        from sonnx.checker import tailoring as tailored  # most checks have none

        own = tailored.read(tailoring)
    asked = CheckRequest(
        edition, dict(bind or {}), tuple(select), tuple(ignore), strict_versions, own, limits
    ).checked()
    model, digest = open_model(source, hashed or deviations is not None, limits)
    called = name or ("model" if isinstance(source, bytes) else PurePath(source).name)
    report = check_model(model, digest, asked, called)
    if deviations is None or date is None:
        return report
    from sonnx.checker import deviations as justified  # most checks have none

    return justified.apply((report,), justified.read(deviations), date)[0]
