"""Text from a model on its way to a reader: quoted, and without a character that could act on a terminal or a page."""

from __future__ import annotations

from fractions import Fraction


def escape(text: str) -> str:
    r"""The text with every character that does not print as itself written as an escape: `\n`, `\x1b`, `\u202e`.

    Bytes that are no UTF-8 stand as lone surrogates in a `Model`; they are written as the byte they were.
    """
    if text.isprintable() and "\\" not in text:
        return text
    return "".join(map(_escaped, text))


def printable(text: str) -> str:
    """A text that may hold foreign names, or may hold them escaped already."""
    return text if text.isprintable() else escape(text)


def _escaped(character: str) -> str:
    if character == "\\":
        return r"\\"
    if character.isprintable():
        return character
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    return character.encode("unicode_escape").decode("ascii")


def quote(text: str, longest: int = 120) -> str:
    """A name of the model in single quotes, shortened in the middle where it is very long."""
    shown = text if len(text) <= longest else f"{text[: longest // 2]}…{text[-longest // 2 :]}"
    return "'" + escape(shown).replace("'", r"\'") + "'"


def number(value: float | Fraction) -> str:
    """A number in decimal digits, or how long it is: a product of extents can exceed what Python prints."""
    if isinstance(value, float):
        return str(value)
    length = max(value.numerator.bit_length(), value.denominator.bit_length())
    return str(value) if length <= 256 else f"a number of {length} bits"


def plural(number: int, one: str, many: str = "") -> str:
    """A number with its noun."""
    return f"{number} {one if number == 1 else many or one + 's'}"
