"""What other programs call: pure functions, no printing, no state."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import PurePath

from sonnx import catalogue
from sonnx.binding import bind as bind_symbols
from sonnx.checking import judge_model
from sonnx.limits import DEFAULT, Allowed
from sonnx.misuse import Misuse
from sonnx.parse import read
from sonnx.selecting import select as select_rules
from sonnx.verdict import Report


def check(
    source: str | os.PathLike[str] | bytes,
    edition: str | None = None,
    *,
    bind: Mapping[str, int] | None = None,
    select: Collection[str] = (),
    ignore: Collection[str] = (),
    strict_versions: bool = False,
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
        limits: how many of everything a model may have, see `sonnx.limits`.
        name: what the report calls the model; by default the base name of the file.

    Raises:
        Unreadable: the source is no readable ONNX model.
        Misuse: an unknown edition, rule, tag or symbol.
    """
    editions = catalogue.editions()
    chosen = edition or editions.default
    if chosen not in editions.editions:
        raise Misuse(f"there is no edition {chosen!r}; there are {', '.join(editions.editions)}")
    negative = [symbol for symbol, number in (bind or {}).items() if number < 0]
    if negative:
        raise Misuse(f"a dimension is not negative: {', '.join(negative)}")
    model = read(source, limits=limits)
    if bind:
        model = bind_symbols(model, bind)
    called = name or ("model" if isinstance(source, bytes) else PurePath(source).name)
    report = judge_model(model, called, chosen, strict_versions=strict_versions)
    report = replace(report, bound=tuple(sorted((bind or {}).items())))
    return select_rules(report, select, ignore) if select or ignore else report
