"""The conditions of a claim: all that limits an answer, in one structure that every result carries.

`Conditions.of` makes them from the options of an analysis; the analysis adds what it read and what cut it.  An option
that is not marked `KeepsAnswer` is a condition: it has a field of its own here, or stands in `settings` as a command
line has it.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import Any, Self

from msgspec import Struct
from msgspec.structs import replace

from sonnx.base.escaping import escape
from sonnx.base.options import Options
from sonnx.base.reported import reported
from sonnx.profile import catalogue
from sonnx.profile.text_types import EditionName, Number, Sha256, Text

MODEL = "model"
"""The role of the model file among the digests."""
MAX_DIGESTS = 8
"""Digests that formats for people list."""
UNCHECKED = "UNCHECKED: the model may be outside the profile"
"""The claim about a model that was not checked."""
FIELDS = frozenset({
    "assume", "bind", "box", "date", "deviations", "edition", "hypotheses", "ignore", "input_files", "input_shapes",
    "inputs", "select", "strict_versions", "tailoring", "unchecked",
})  # fmt: skip
"""The options that have fields of their own; the arrays of `inputs` are stated by their digests."""


class DeviationDay(Struct, frozen=True):
    """A record of a justified failure."""

    id: Text
    """The name of the record."""
    rule: Text
    """The rule that is deviated from."""
    last_day: Text
    """The last day on which the record is valid."""


class StatedDeviations(Struct, frozen=True):
    """The file of justified failures."""

    file: Text
    """The base name of the file."""
    sha256: Sha256
    """The hash of the file."""
    date: Text
    """The day of the check."""
    records: tuple[DeviationDay, ...]
    """The records that apply to the model."""


class StatedTailoring(Struct, frozen=True):
    """The file that makes an edition stricter."""

    name: Text
    """What the file calls itself."""
    file: Text
    """The base name of the file."""
    sha256: Sha256
    """The hash of the file."""


class Conditions(Struct, frozen=True):
    """What limits an answer: it is about these inputs, sizes, texts and files, and says nothing about others."""

    edition: EditionName | None = None
    """The edition of the profile; null where no text of the profile was applied."""
    checked: bool = True
    """Whether the model was checked, and may be called conforming."""
    sizes: dict[str, Number] = {}
    """The numbers given to symbolic dimensions."""
    input_shapes: dict[str, tuple[Number, ...]] = {}
    """The shapes given to graph inputs."""
    tried: dict[str, tuple[Number, ...]] = {}
    """The shapes of inputs that the tool chose where sizes are open; the answer holds for these only."""
    box: tuple[str, ...] = ()
    """The ranges of inputs, each NAME=BOX."""
    assume: tuple[str, ...] = ()
    """Conditions on the symbols of the model."""
    selection: str | None = None
    """Which rules were selected or ignored; null where all were checked."""
    strict_versions: bool = False
    """Whether only the operator version that a text specifies was admitted."""
    tailoring: StatedTailoring | None = None
    """The file that makes the edition stricter; null without one."""
    deviations: StatedDeviations | None = None
    """The file of justified failures; null without one."""
    hypotheses: str | None = None
    """What is assumed of implementations; null where nothing is."""
    settings: tuple[str, ...] = ()
    """The other options that can change an answer and do not have their defaults, as a command line has them."""
    budgets: tuple[str, ...] = ()
    """The budgets that ended the analysis before it was complete."""
    digests: dict[str, Sha256] = {}
    """The SHA-256 of each file and array that was read, by its role."""

    @classmethod
    def of(cls, options: Options, **analysed: Any) -> Self:
        """The conditions that options of an analysis state, and what the analysis adds: fields by their names."""
        given = {name: getattr(options, name, None) for name in FIELDS}
        box, hypotheses = given["box"] or (), given["hypotheses"]
        conditions = cls(
            edition=catalogue.edition_named(given["edition"]).name if hasattr(options, "edition") else None,
            checked=not given["unchecked"],
            sizes=dict(sorted((given["bind"] or {}).items())),
            input_shapes={name: tuple(shape) for name, shape in sorted((given["input_shapes"] or {}).items())},
            box=() if isinstance(box, Mapping) else tuple(box),
            assume=tuple(given["assume"] or ()),
            strict_versions=bool(given["strict_versions"]),
            hypotheses=getattr(hypotheses, "name", hypotheses),
            settings=settings_of(options),
        )
        return replace(conditions, **analysed)

    @property
    @reported
    def words(self) -> str:
        """The same in words, as the headline has them."""
        return ", ".join(self.limits())

    def with_digest(self, role: str, digest: str) -> Self:
        """The conditions with the SHA-256 of one more file; "" adds none."""
        return replace(self, digests={**self.digests, role: digest}) if digest else self

    @property
    def has_sizes(self) -> bool:
        """Whether the answer is about other sizes than those that the model states."""
        return bool(self.sizes or self.input_shapes or self.tried)

    def sizes_in_words(self) -> str:
        """`N=2, x=[1, 3]`, "" where the answer is about the sizes that the model states."""
        shapes = {**self.input_shapes, **self.tried}
        sizes = (*self.sizes.items(), *((name, list(shape)) for name, shape in shapes.items()))
        return ", ".join(f"{escape(name)}={size}" for name, size in sizes)

    def box_in_words(self) -> str:
        """`x in [1, 2]`, "" without a box."""
        pairs = (text.rpartition("=") for text in self.box)
        return ", ".join(f"{escape(name)} in {escape(_spaced(part))}" for name, _, part in pairs)

    def limits(self) -> Iterator[str]:
        """The phrases that limit the answer, for the parentheses behind it."""
        if self.edition:
            yield f"edition {self.edition}" if self.checked else f"not checked; operators by edition {self.edition}"
        if self.strict_versions:
            yield "specified versions only"
        if self.tailoring is not None:
            yield f"tailored by {self.tailoring.name!r}"
        if self.has_sizes:
            yield f"for {self.sizes_in_words()}{' only' if self.tried else ''}"
        if self.assume:
            yield f"under {', '.join(map(escape, self.assume))}"
        if self.box:
            yield f"with {self.box_in_words()}"
        if self.hypotheses:
            yield f"hypotheses {escape(self.hypotheses)}"
        if self.deviations is not None:
            yield f"deviations as of {self.deviations.date}"
        if self.selection:
            yield self.selection
        yield from (f"stopped by {escape(budget)}" for budget in self.budgets)

    def limited(self, claim: str) -> str:
        """A claim with the phrases that limit it behind it."""
        return f"{claim} ({self.words})" if self.words else claim

    def facts(self) -> Iterator[tuple[str, str]]:
        """What the headline has no room for, as terms with their texts: deviations, settings and digests."""
        if self.tailoring is not None:
            yield "tailoring", f"{escape(self.tailoring.file)}, SHA-256 {self.tailoring.sha256}"
        if self.deviations is not None:
            yield "deviations", f"{escape(self.deviations.file)}, SHA-256 {self.deviations.sha256}"
            for record in self.deviations.records:
                yield "deviation", f"{escape(record.id)} from {record.rule}, until {record.last_day}"
        if self.settings:
            yield "options", " ".join(self.settings)
        yield from (("SHA-256", f"{digest} ({escape(role)})") for role, digest in [*self.digests.items()][:MAX_DIGESTS])
        if len(self.digests) > MAX_DIGESTS:
            yield "SHA-256", f"of {len(self.digests) - MAX_DIGESTS} more arrays and files: --format json has them"


def settings_of(options: Options) -> tuple[str, ...]:
    """The options without a field here that can change an answer and do not have their defaults."""
    kept = FIELDS | {name for name, _ in options.kept_answers()}
    return tuple(escape(shlex.join(words)) for name, words in options.written_options() if name not in kept)


def _spaced(box: str) -> str:
    """A box with a space behind each comma, as a headline has it."""
    return ", ".join(part.strip() for part in box.split(","))
