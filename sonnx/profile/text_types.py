"""The types of texts and numbers in data files, with the limits that their JSON Schemas state.

The reader checks types and keys.  Limits of restrictions/ are checked by `sonnx.checker.profile_validation` and the
tests, those of project files where they are read.  `msgspec.Meta` would check them while reading, but a process
that has used its `pattern` crashes in one of three runs when it ends (msgspec 0.22.0 with CPython 3.11; issue 717 of
msgspec).
"""

from __future__ import annotations

from typing import Annotated, NamedTuple


class Limit(NamedTuple):
    """A limit of a text, a number, a list or a day; the names are those of `msgspec.Meta`."""

    pattern: str | None = None
    ge: int | None = None
    min_length: int | None = None
    day: str | None = None
    """The pattern of a day that is written as text."""


Sentence = Annotated[str, Limit(min_length=2, pattern=r"^\S(.*\S)?$")]
"""A sentence or a part of one, without space at its ends."""
Sha256 = Annotated[str, Limit(pattern="^[0-9a-f]{64}$")]
Line = Annotated[str, Limit(pattern=r"^\s*\S(.*\S)?\s*$")]
"""Text of a project, not empty; `toml_files.one_line` strips it and demands one printable line."""
ExpressionText = Annotated[str, Limit(pattern=r"^\S(.*\S)?$")]
"""An expression of the rule language."""
Version = Annotated[int, Limit(ge=1)]
"""A version of an operator or of an operator set."""
VersionKey = Annotated[str, Limit(pattern="^[1-9][0-9]*$")]
"""A version as the key of a table."""
TextName = Annotated[str, Limit(pattern="^(onnx|[0-9]{4}-[0-9]{2})$")]
"""The name of a text in editions.toml."""
Label = Annotated[str, Limit(pattern="^[A-Za-z0-9_]+([.-][A-Za-z0-9_]+)*$")]
"""A label as a text prints it."""
RuleName = Annotated[str, Limit(pattern="^[A-Za-z0-9_]+(-[A-Za-z0-9_]+)*$")]
"""A slug, or the part of it after the operator."""
ErratumId = Annotated[str, Limit(pattern="^[a-z][a-z0-9]*(-[a-z0-9]+)*$")]
ErrataIds = tuple[ErratumId, ...]
TheoremId = Annotated[str, Limit(pattern=r"^[a-z]+\.[A-Za-z0-9]+(-[A-Za-z0-9]+)*$")]
OperatorName = Annotated[str, Limit(pattern="^[A-Z][A-Za-z0-9]*$")]
Element = Annotated[str, Limit(pattern="^[a-z][a-z0-9]*$")]
"""An element type of ONNX in lower case, or a family of editions.toml."""
Number = Annotated[int, Limit(ge=0)]
Text = Annotated[str, Limit(min_length=1)]
Slug = Annotated[str, Limit(pattern=r"^([A-Z][A-Za-z0-9]*\.|tailoring\.|deviation\.)?[A-Za-z0-9_]+(-[A-Za-z0-9_]+)*$")]
"""The name of a rule."""
EditionName = Annotated[str, Limit(pattern="^[0-9]{4}-[0-9]{2}$")]
Neutral = Annotated[str, Limit(pattern="^(-?0|[a-z][A-Za-z0-9_]*)?$")]
"""A number that changes nothing where it is added, or the name of a number."""
Letter = Annotated[str, Limit(pattern="^[A-Za-z][A-Za-z0-9_]*$")]
"""The name of an input, output, parameter or type variable."""
