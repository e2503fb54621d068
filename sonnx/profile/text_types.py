"""The types of texts and numbers in data files; each is a constraint of the reader and of the JSON Schemas."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

Sentence = Annotated[str, Meta(min_length=2, pattern=r"^\S(.*\S)?$")]
"""A sentence or a part of one, without space at its ends."""
Sha256 = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
Line = Annotated[str, Meta(pattern=r"^\s*\S(.*\S)?\s*$")]
"""Text of a project, not empty; `toml_files.sentence` strips it and demands one printable line."""
ExpressionText = Annotated[str, Meta(pattern=r"^\S(.*\S)?$")]
"""An expression of the rule language."""
Version = Annotated[int, Meta(ge=1)]
"""A version of an operator or of an operator set."""
VersionKey = Annotated[str, Meta(pattern="^[1-9][0-9]*$")]
"""A version as the key of a table."""
TextName = Annotated[str, Meta(pattern="^(onnx|[0-9]{4}-[0-9]{2})$")]
"""The name of a text in editions.toml."""
Label = Annotated[str, Meta(pattern="^[A-Za-z0-9_]+([.-][A-Za-z0-9_]+)*$")]
"""A label as a text prints it."""
RuleName = Annotated[str, Meta(pattern="^[A-Za-z0-9_]+(-[A-Za-z0-9_]+)*$")]
"""A slug, or the part of it after the operator."""
ErratumId = Annotated[str, Meta(pattern="^[a-z][a-z0-9]*(-[a-z0-9]+)*$")]
ErrataIds = tuple[ErratumId, ...]
TheoremId = Annotated[str, Meta(pattern=r"^[a-z]+\.[A-Za-z0-9]+(-[A-Za-z0-9]+)*$")]
OperatorName = Annotated[str, Meta(pattern="^[A-Z][A-Za-z0-9]*$")]
Element = Annotated[str, Meta(pattern="^[a-z][a-z0-9]*$")]
"""An element type of ONNX in lower case, or a family of editions.toml."""
Letter = Annotated[str, Meta(pattern="^[A-Za-z][A-Za-z0-9_]*$")]
"""The name of an input, output, parameter or type variable."""
