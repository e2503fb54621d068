"""Results in notebooks."""

from __future__ import annotations


class ShownInNotebooks:
    """A result that a notebook shows as its page, in a frame that keeps the styles of both apart."""

    __slots__ = ()

    def to_format(self, name: str) -> str:
        """The result in a format, html among them."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        from html import escape as entities  # only notebooks need it

        page = entities(self.to_format("html"))
        return f'<iframe srcdoc="{page}" sandbox style="width: 100%; height: 32em; border: 0"></iframe>'
