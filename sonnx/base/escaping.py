"""Text from a model in messages: quoted, and without characters that could act on a terminal or a page."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from sonnx.base.printable import is_shown_as_it_is

MAX_LISTED = 100
"""Texts that a message lists."""

MAX_MESSAGE = 2000
"""Characters of what a finding says."""


def escape(text: str) -> str:
    r"""The text with each backslash and each unprintable character written as an escape: `\n`, `\x1b`, `\u202e`.

    A `Model` holds bytes that are not UTF-8 as lone surrogates; such a byte is written as `\xff`.  A text that begins
    as a command of a CI system, `::` or `##`, has its first sign escaped: it may stand at the beginning of a line.
    """
    if not (is_shown_as_it_is(text) and "\\" not in text):
        text = "".join(map(_escaped, text))
    return _no_command(text)


COMMANDS = ("::", "##")
"""How lines begin that GitHub Actions and Azure Pipelines take for commands."""


def _no_command(text: str) -> str:
    if text[:1] not in ":# " or not text.lstrip(" ").startswith(COMMANDS):
        return text
    begin = text.lstrip(" ")
    return f"{text[: len(text) - len(begin)]}\\x{ord(begin[0]):02x}{begin[1:]}"


def escape_once(text: str) -> str:
    """The text escaped, unless it is printable: names in it may have been escaped before."""
    return _no_command(text) if is_shown_as_it_is(text) else escape(text)


def _escaped(character: str) -> str:
    if character == "\\":
        return r"\\"
    if is_shown_as_it_is(character):
        return character
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    return character.encode("unicode_escape").decode("ascii")


def quote(text: str, longest: int = 120) -> str:
    """A name of the model, escaped, in single quotes, and shortened in the middle to `longest` characters."""
    return "'" + escape(shortened(text, longest)).replace("'", r"\'") + "'"


def shortened(text: str, longest: int = MAX_MESSAGE) -> str:
    """The text, without its middle where it is longer than `longest` characters."""
    return text if len(text) <= longest else f"{text[: longest // 2]}…{text[-longest // 2 :]}"


LONGEST_WORD = 120
"""Characters of a word of a sentence of the command line."""


def short_sentence(text: str) -> str:
    """A sentence of the command line, escaped, with each long word and itself shortened in the middle.

    It may quote a name or a number from a file, of any length.
    """
    words = (shortened(word, LONGEST_WORD) for word in shortened(text).split(" "))
    return escape(" ".join(words))


def listed(texts: Sequence[str], most: int = MAX_LISTED, between: str = ", ") -> str:
    """Texts in a row; of more than `most` the first, and how many there are."""
    more = f"{between}… ({len(texts)} in all)" if len(texts) > most else ""
    return between.join(texts[:most]) + more


def number_text(value: float | Fraction) -> str:
    """A number in decimal digits, or its length in bits: a product of extents can be longer than Python prints."""
    if isinstance(value, float):
        return str(value)
    length = max(value.numerator.bit_length(), value.denominator.bit_length())
    return str(value) if length <= 256 else f"a number of {length} bits"


def plural(number: int, one: str, many: str = "") -> str:
    """A number with its noun: `1 node`, `2 nodes`."""
    return f"{number} {one if number == 1 else many or one + 's'}"
