"""Pages of ONNX's documentation, beside its operator schemas, on which values rest: technical_pages.toml."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from sonnx.profile.catalogue import read_data
from sonnx.profile.profile_data import of_profile
from sonnx.profile.text_types import Limit, Sha256
from sonnx.profile.text_types import Text as NonEmpty


class TechnicalPage(Struct, frozen=True, forbid_unknown_fields=True):
    """A page, in the state that was read."""

    file: NonEmpty
    """Its path in the repository onnx/onnx."""
    commit: NonEmpty
    """The commit that has this state."""
    sha256: Sha256
    """The SHA-256 of the page."""
    modules: Annotated[tuple[NonEmpty, ...], Limit(min_length=1)]
    """The modules of the tool that follow it."""
    sentences: Annotated[tuple[NonEmpty, ...], Limit(min_length=1)]
    """The sentences and rows of tables that they follow, as the page prints them."""


class TechnicalPagesFile(Struct, frozen=True, forbid_unknown_fields=True):
    """Pages of ONNX's documentation: technical_pages.toml."""

    page: tuple[TechnicalPage, ...]
    """The pages."""


@of_profile
def technical_pages() -> tuple[TechnicalPage, ...]:
    """The pages, in the order of the file."""
    return read_data("technical_pages.toml", TechnicalPagesFile).page
