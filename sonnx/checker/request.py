"""A check from a file to a report; deviations are applied to the report later."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import force_setattr

from sonnx.base.errors import UsageError
from sonnx.base.escaping import quote
from sonnx.base.files import sha256
from sonnx.checker.checked_calls import CheckedCall
from sonnx.checker.checker import evaluate_model
from sonnx.checker.conditions import MODEL, Conditions
from sonnx.checker.report import Report
from sonnx.checker.report_builder import Subject, open_inputs
from sonnx.checker.rules import ActiveRules, stated
from sonnx.model.ir import Model
from sonnx.model.limits import DEFAULT_LIMITS, Limits
from sonnx.model.reader import file_bytes, read
from sonnx.model.symbols import bind_symbols, placeholders_of, require_sizes
from sonnx.profile import catalogue

if TYPE_CHECKING:
    from sonnx.checker.graph_outline import Outline
    from sonnx.checker.tailoring import Tailoring


NOT_DRAWN = "the graph is not drawn: it has too many nodes, or too long edges between them"


class CheckRequest(Struct, frozen=True):
    """The options of a check, the same for every model of a run; `sonnx.check` documents each of them.

    A request is valid: `edition` names an edition, that of the tailoring, or the default one where None was given.

    Raises:
        UsageError: an unknown edition, another edition than that of the tailoring, a negative dimension, or a selection
            of rules together with a tailoring.
    """

    edition: str | None = None
    bind: Mapping[str, int] = {}
    input_shapes: Mapping[str, Sequence[int]] = {}
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    strict_versions: bool = False
    tailoring: Tailoring | None = None
    limits: Limits = field(default_factory=lambda: DEFAULT_LIMITS)

    def __post_init__(self) -> None:
        tailored = self.tailoring.edition if self.tailoring else None
        edition = catalogue.edition_named(tailored if self.edition is None else self.edition).name
        if self.tailoring and edition != tailored:
            raise UsageError(f"{self.tailoring.file} tailors the edition {tailored}, not {edition}")
        require_sizes(self.bind)
        if self.tailoring and (self.select or self.ignore):
            raise UsageError("a tailored edition is checked as a whole: leave out the selection of rules")
        force_setattr(self, "edition", edition)

    def conditions(self, digest: str = "") -> Conditions:
        """What a verdict holds for, before rules are selected; `digest` is that of the model file, "" if unknown."""
        return Conditions(
            edition=self.edition,
            sizes=dict(sorted(self.bind.items())),
            input_shapes={name: tuple(shape) for name, shape in sorted(self.input_shapes.items())},
            strict_versions=self.strict_versions,
            tailoring=stated(self.tailoring),
            digests={MODEL: digest} if digest else {},
        )

    def active_rules(self) -> ActiveRules:
        """The rules of the edition and of the tailoring, with nothing evaluated yet."""
        strict = self.strict_versions or (self.tailoring is not None and self.tailoring.strict_versions)
        return ActiveRules(catalogue.edition_named(self.edition), strict, self.tailoring)


def open_model(
    source: str | os.PathLike[str] | bytes, hashed: bool, limits: Limits = DEFAULT_LIMITS
) -> tuple[Model, str]:
    """The model, and the SHA-256 of the bytes it was read from, "" unless `hashed`.

    Raises:
        Unreadable: the source is not a readable ONNX model.
    """
    if isinstance(source, bytes):
        return read(source, limits=limits), sha256(source) if hashed else ""
    if not hashed:
        return read(source, limits=limits), ""
    name = repr(os.fspath(source))
    data = file_bytes(source, name)
    return read(data, name, limits, Path(source).parent), sha256(data)


def unbound(model: Model, name: str, request: CheckRequest) -> str:
    """Why the numbers of the request do not fit this one of several models, "" if they do."""
    try:
        bind_symbols(model, request.bind, request.input_shapes)
    except UsageError as error:
        return f"{name!r} was not checked: {error}"
    return ""


def check_model(
    model: Model,
    digest: str,
    request: CheckRequest,
    name: str,
    drawn: bool = False,
    calls: list[CheckedCall] | None = None,
) -> Report:
    """The report on a model with this name and hash; with the outline of its graph, if it is to be drawn.

    `calls` takes the calls of the model; see `evaluate_model`.

    Raises:
        UsageError: a symbol that the model does not have, or an unknown rule.
    """
    sized = bind_symbols(model, request.bind, request.input_shapes)
    outline, undrawn = _drawing(sized) if drawn else (None, ())
    placeholders = tuple(
        f"the name {quote(placeholder)} of dimensions is not taken for one symbol: --input-shape gives the sizes of "
        "inputs, the other dimensions of this name are unknown"
        for placeholder in placeholders_of(model, request.bind, request.input_shapes)
    )
    subject = Subject(
        name,
        request.conditions(digest),
        outline=outline,
        open_inputs=open_inputs(sized),
        notes=(*undrawn, *placeholders),
    )
    report = evaluate_model(sized, request.active_rules(), subject, calls=calls)
    if not (request.select or request.ignore):
        return report
    from sonnx.checker.selection import selected_report  # most checks evaluate every rule

    return selected_report(report, request.select, request.ignore)


def _drawing(model: Model) -> tuple[Outline | None, tuple[str, ...]]:
    """The outline of the graph, None where the graph is too large to draw, which is noted."""
    from sonnx.checker.graph_outline import is_drawable, outline  # most runs do not draw

    drawing = outline(model)
    return (drawing, ()) if is_drawable(drawing) else (None, (NOT_DRAWN,))
