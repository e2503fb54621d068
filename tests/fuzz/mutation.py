"""Models and rule texts changed at random, guided by bytes: the same bytes give the same change.

The bytes come from hypothesis, from a coverage-guided fuzzer, or from the data file of failures that were found.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from functools import cache
from typing import Any, TypeVar

import onnx
from google.protobuf.message import EncodeError

from sonnx.evidence.verification import model_bytes
from sonnx.language.domain import Expression
from sonnx.profile import catalogue
from sonnx.profile.cases import all_cases
from sonnx.profile.index import rules_by_slug
from tests.support.model_texts import HOSTILE

T = TypeVar("T")
Message = Any

NUMBERS = (0, 1, -1, 2, 3, 4, 7, 13, 16, 18, 64, 127, 128, 255, 256, 1000, 2**31 - 1, 2**31, -(2**31), 2**32, 2**40,
           2**53 + 1, 2**62, 2**63 - 1, -(2**63))  # fmt: skip
REALS = (0.0, -0.0, 1.0, -1.5, 1e-45, 3e38, float("inf"), float("-inf"), float("nan"))
TEXTS = ("", "x", "a", "y", HOSTILE, "N", "é", "\x00", "a\nb", "ai.onnx", "com.x", "../../etc/passwd", "NOTSET",
         "axis", "axes", "shape", "then_branch", "offset", "length", "location", "9" * 40, "-1")  # fmt: skip
DEEPEST = 12


class Draw:
    """Choices made by bytes, one after the other; when they are used up each choice is the first one."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def number(self, below: int) -> int:
        """A number from 0 on."""
        if below <= 1:
            return 0
        size = (below - 1).bit_length() + 7 >> 3
        taken = self.data[self.at : self.at + size]
        self.at += size
        return int.from_bytes(taken, "little") % below

    def one(self, among: Sequence[T]) -> T:
        return among[self.number(len(among))]

    def more(self) -> bool:
        return self.at < len(self.data)


@cache
def bases() -> tuple[bytes, ...]:
    """The models of the cases, the smallest of each file first."""
    return tuple(sorted({model_bytes(case) for case in all_cases()}, key=lambda data: (len(data), data)))


def model(data: bytes) -> bytes:
    """A model of the cases with some changes to its messages, then perhaps to its bytes."""
    draw = Draw(data)
    message = onnx.ModelProto.FromString(draw.one(bases()))
    changes = 1 + draw.number(4)
    while changes and draw.more():
        _change(draw, message)
        changes -= 1
    try:
        written = bytearray(message.SerializePartialToString())
    except EncodeError:
        return b""
    if draw.number(4) == 3:
        damage(draw, written)
    return bytes(written)


def _change(draw: Draw, message: Message) -> None:
    """One change somewhere below the message, at a place found by walking down."""
    for _ in range(DEEPEST):
        inner = [(field, value) for field, value in message.ListFields() if field.message_type is not None]
        if not inner or draw.number(6) == 5:
            break
        field, value = draw.one(inner)
        message = draw.one(value) if _repeated(value) else value
    fields = message.DESCRIPTOR.fields
    present = [field for field, _ in message.ListFields()]
    field = draw.one(present) if present and draw.number(3) else draw.one(fields)
    value = getattr(message, field.name)
    if _repeated(value):
        _change_list(draw, field, value)
    elif field.message_type is not None:
        (message.ClearField(field.name) if draw.number(2) else value.SetInParent())
    else:
        _set(draw, message, field)


def _repeated(value: Any) -> bool:
    return hasattr(value, "append") and not isinstance(value, str | bytes)


def _change_list(draw: Draw, field: Any, values: Any) -> None:
    at = draw.number(len(values)) if values else 0
    match draw.number(6):
        case 0 if values:
            del values[at]
        case 1 if values:
            values.extend([values[at]] * (1 + draw.number(3)))
        case 2 if values and field.message_type is None:
            values[at] = _scalar(draw, field)
        case 3 if len(values) > 1:
            other = draw.number(len(values))
            _swap(values, at, other, field.message_type is not None)
        case 4 if field.message_type is not None:
            donor = onnx.ModelProto.FromString(draw.one(bases()))
            values.extend(_all_of(donor, field.message_type.full_name)[:3])
        case _ if field.message_type is not None:
            values.add()
        case _:
            values.append(_scalar(draw, field))


def _swap(values: Any, left: int, right: int, messages: bool) -> None:
    if not messages:
        values[left], values[right] = values[right], values[left]
        return
    kept = type(values[left])()
    kept.CopyFrom(values[left])
    values[left].CopyFrom(values[right])
    values[right].CopyFrom(kept)


def _all_of(message: Message, kind: str) -> list[Message]:
    """Every message of a kind inside another one."""
    found, waiting = [], [message]
    while waiting:
        one = waiting.pop()
        if one.DESCRIPTOR.full_name == kind:
            found.append(one)
        for field, value in one.ListFields():
            if field.message_type is not None:
                waiting.extend(value if _repeated(value) else [value])
    return found


def _set(draw: Draw, message: Message, field: Any) -> None:
    if draw.number(5) == 4:
        message.ClearField(field.name)
    else:
        setattr(message, field.name, _scalar(draw, field))


def _scalar(draw: Draw, field: Any) -> Any:
    match field.cpp_type:
        case field.CPPTYPE_STRING if field.type == field.TYPE_BYTES:
            return draw.one((b"", b"\0" * 4, b"\xff" * 8, b"\0" * 600, struct.pack("<q", draw.one(NUMBERS))))
        case field.CPPTYPE_STRING:
            return draw.one((*TEXTS, *operators()))
        case field.CPPTYPE_DOUBLE | field.CPPTYPE_FLOAT:
            return draw.one(REALS)
        case field.CPPTYPE_ENUM:
            return draw.one(tuple(value.number for value in field.enum_type.values))
        case field.CPPTYPE_INT32:
            return draw.one([number for number in NUMBERS if -(2**31) <= number < 2**31])
        case field.CPPTYPE_UINT64:
            return draw.one([number for number in (*NUMBERS, 2**64 - 1) if number >= 0])
        case _:
            return draw.one((*NUMBERS, draw.number(30)))


@cache
def operators() -> tuple[str, ...]:
    return tuple(sorted(each.name for each in catalogue.operators()))


def damage(draw: Draw, written: bytearray) -> None:
    """Changes to the bytes: a bit, a byte, a piece taken out, put in, or repeated."""
    for _ in range(1 + draw.number(3)):
        if not written:
            return
        at = draw.number(len(written))
        match draw.number(6):
            case 0:
                written[at] ^= 1 << draw.number(8)
            case 1:
                written[at] = draw.number(256)
            case 2:
                del written[at : at + 1 + draw.number(8)]
            case 3:
                written[at:at] = bytes(draw.number(256) for _ in range(1 + draw.number(8)))
            case 4:
                del written[at:]
            case _:
                written[at:at] = written[draw.number(len(written)) : at] * 2


# ------------------------------------------------------------------ rule texts

_PLAIN = """0 1 -1 2**9 1.5 'a' True None x s a x.shape x.rank x.type x.values written(a) len(s) sum(s) product(s)
max(s) min([]) range(2,9) range(10**9) s[0] s[-1] s[1:] s[::2] distinct(s) lambda:1 __import__('os') x.__class__ (yield)
f'{x}' reduce(join,s,1) join(1,2) broadcast(s,s) *s"""
_LOOPS = ("[x for x in s]", "all(i > 0 for i in s)", "any(i == j for i in s for j in s)", "s if a else x",
          "[i for i in range(99999) for j in range(99999)]")  # fmt: skip
PIECES = (*_PLAIN.split(), *_LOOPS)
_SIGNS = "+ - * // % ** / @ == != < <= > >= in is and or << | , := ."
SIGNS = (*_SIGNS.split(), "not in", "if a else")


@cache
def rules() -> tuple[str, ...]:
    """The texts of all rules."""
    texts = (
        text for rule in rules_by_slug().values() for text in (rule.require, rule.onnx, rule.when) if text is not None
    )
    return tuple(sorted({_renamed(text) for text in texts}, key=lambda text: (len(text), text)))


def _renamed(text: Expression) -> str:
    """The text on the names the facts of the fuzzer have: what has fields is x, what is counted or looped over is s."""
    known = text.text
    for name in sorted((name for name in text.names if "(" not in name), key=len, reverse=True):
        field = re.search(rf"\b{name}\.", known)
        many = re.search(rf"(in|len|sum|product|distinct)\W?\(?{name}\b|\b{name}\[", known)
        known = re.sub(rf"\b{name}\b", "x" if field else "s" if many else "a", known)
    return known


def rule_text(data: bytes) -> str:
    """A text that resembles a rule."""
    draw = Draw(data)
    text = draw.one((*rules(), *PIECES))
    for _ in range(draw.number(5)):
        match draw.number(7):
            case 0:
                text = f"{text} {draw.one(SIGNS)} {draw.one(PIECES)}"
            case 1:
                text = f"({text}) {draw.one(SIGNS)} ({draw.one(rules())})"
            case 2:
                text = f"{draw.one(('not', '-', 'all', 'len', 'any', 'product', ''))} ({text})"
            case 3:
                at = draw.number(len(text) + 1)
                text = text[:at] + draw.one(("(", ")", "[", "]", "'", "\\", "\0", "é", " ", "\n", ":", "#")) + text[at:]
            case 4:
                at = draw.number(len(text) + 1)
                text = text[:at] + text[at + 1 + draw.number(4) :]
            case 5:
                text = text.replace(draw.one(PIECES), draw.one(PIECES))
            case _:
                text = "(" * draw.number(300) + text
    return text
