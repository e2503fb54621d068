"""What is asked of a model, and the answer: from a file to a report, deviations apart."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sonnx.checker.tailoring import Tailoring
from sonnx.base.errors import UsageError
from sonnx.base.files import sha256
from sonnx.checker.checker import judge_model
from sonnx.checker.report import Report
from sonnx.checker.selection import select
from sonnx.model.ir import Model
from sonnx.model.limits import DEFAULT, Allowed
from sonnx.model.reader import contents, read
from sonnx.model.symbols import bind
from sonnx.profile import catalogue


@dataclass(frozen=True, slots=True)
class CheckRequest:
    """What is asked of each model of a run; `sonnx.check` says what each part means."""

    edition: str | None = None
    bind: Mapping[str, int] = field(default_factory=dict)
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    strict_versions: bool = False
    tailoring: Tailoring | None = None
    limits: Allowed = field(default_factory=lambda: DEFAULT)

    def checked(self) -> CheckRequest:
        """The same with the edition it means.

        Raises:
            Misuse: an unknown edition, another one than that of the tailoring, a negative dimension, or a choice of
                rules where a tailoring is judged as a whole.
        """
        known = catalogue.editions()
        tailored = self.tailoring.edition if self.tailoring else known.default
        edition = self.edition or tailored
        if edition not in known.editions:
            raise UsageError(f"there is no edition {edition!r}; there are {', '.join(known.editions)}")
        if self.tailoring and edition != tailored:
            raise UsageError(f"{self.tailoring.file} tailors the edition {tailored}, not {edition}")
        negative = [symbol for symbol, number in self.bind.items() if number < 0]
        if negative:
            raise UsageError(f"a dimension is not negative: {', '.join(negative)}")
        if self.tailoring and (self.select or self.ignore):
            raise UsageError("a tailored edition is judged as a whole: leave out the choice of rules")
        return replace(self, edition=edition)


def open_model(source: str | os.PathLike[str] | bytes, hashed: bool, limits: Allowed = DEFAULT) -> tuple[Model, str]:
    """The model, and the SHA-256 of the very bytes it was read from, "" where nobody wants it.

    Raises:
        Unreadable: the source is no readable ONNX model.
    """
    if isinstance(source, bytes):
        return read(source, limits=limits), sha256(source) if hashed else ""
    if not hashed:
        return read(source, limits=limits), ""
    name = repr(os.fspath(source))
    data = contents(source, name)
    return read(data, name, limits), sha256(data)


def check_model(model: Model, digest: str, asked: CheckRequest, name: str, drawn: bool = False) -> Report:
    """The report on a model, which it calls by `name`; with the outline of its graph, if it is to be drawn.

    Raises:
        Misuse: as `Asked.checked`; a symbol that the model has not, or a rule that does not exist.
    """
    asked = asked.checked()
    if asked.bind:
        model = bind(model, asked.bind)
    report = judge_model(
        model, name, asked.edition or "", strict_versions=asked.strict_versions, tailoring=asked.tailoring
    )
    report = replace(
        report, bound=tuple(sorted(asked.bind.items())), sha256=digest, tailoring=asked.tailoring,
        strict_versions=asked.strict_versions,
    )  # fmt: skip
    if drawn:
        from sonnx.checker.graph_outline import outline  # most runs draw nothing

        report = replace(report, outline=outline(model))
    return select(report, asked.select, asked.ignore) if asked.select or asked.ignore else report
