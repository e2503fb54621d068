"""Results in notebooks."""

from __future__ import annotations


class ShownInNotebooks:
    """A result that a notebook shows as its page, in a frame that keeps the styles of both apart."""

    __slots__ = ()

    def __init_subclass__(cls, **keywords: object) -> None:
        """A structure has a `repr` of its own, with all its fields; the one line stands before it."""
        super().__init_subclass__(**keywords)
        cls.__repr__ = ShownInNotebooks.__repr__  # type: ignore[method-assign]

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.one_line()}>"

    def one_line(self) -> str:
        """What the result says, in one line."""
        raise NotImplementedError

    def to_format(self, name: str) -> str:
        """The result in a format, html among them."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        from html import escape as entities  # only notebooks need it

        page = entities(self.to_format("html"))
        return f'<iframe srcdoc="{page}" sandbox style="width: 100%; height: 32em; border: 0"></iframe>'
