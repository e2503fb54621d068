"""What holds of every message, and bytes that are not a model, for the tests of invariants."""

from __future__ import annotations

import re
import unicodedata

import onnx
import onnx.parser

INDEPENDENT = """
<ir_version: 10, opset_import: ["" : 13]>
many (float[2] a, float[3] b, float[0] c, float[1] d) => (float[2] p, float[3] q, float[3] r, float[0] s, int64[1] t) {
  p = Max(a)
  q = Max(b)
  r = Max(a, b)
  s = Max(c, d)
  t = ArgMax <axis = 0, keepdims = 2, select_last_index = 0> (a)
}
"""
"""A model whose nodes do not use each other's outputs, as text."""

GOOD = onnx.parser.parse_model(INDEPENDENT).SerializeToString()


def acting(text: str) -> set[str]:
    """The control, format, surrogate and separator characters of a text, which act on a terminal."""
    return {sign for sign in set(text) if unicodedata.category(sign) in ("Cc", "Cf", "Cs", "Zl", "Zp")}


def harmless(text: str) -> bool:
    """Whether a text prints as it is."""
    return not acting(text)


def one_sentence(text: str) -> bool:
    """Whether a message is one harmless sentence without a trace of Python."""
    return bool(text) and harmless(text) and len(text) < 400 and not re.search(r"Traceback|\.py", text)


def field(number: int, content: bytes) -> bytes:
    """A length-delimited protobuf field."""
    size, length = bytearray(), len(content)
    while length > 127:
        size.append(length & 127 | 128)
        length >>= 7
    return bytes([number << 3 | 2, *size, length]) + content


def nested(levels: int) -> bytes:
    """If in If in If …, written by hand, because protobuf refuses to write what it does not read."""
    graph = field(2, b"g")
    for _ in range(levels):
        attribute = field(1, b"then_branch") + field(6, graph) + b"\xa0\x01\x05"
        graph = field(1, field(4, b"If") + field(5, attribute)) + field(2, b"g")
    return b"\x08\x0a" + field(7, graph)


BAD = {
    "empty": b"",
    "no protobuf": b"\xff" * 40,
    "a truncated model": GOOD[:-7],
    "a model without its last byte": GOOD[:-1],
    "text": b"hello, world\n",
    "JSON": b'{"graph": {}}',
    "HTML": b"<!DOCTYPE html><html></html>",
    "a ZIP archive": b"PK\x03\x04" + b"\0" * 40,
    "gzip": b"\x1f\x8b\x08\0" + b"\0" * 40,
    "a pickle": b"\x80\x02}q\0.",
    "a NumPy array": b"\x93NUMPY\x01\0",
    "a Git LFS pointer": b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
    "a tensor": onnx.helper.make_tensor("w", 1, [2], [1.0, 2.0]).SerializeToString(),
    "a graph": onnx.parser.parse_graph("g (float[2] a) => (float[2] y) { y = Max(a) }").SerializeToString(),
    "no graph": onnx.ModelProto(ir_version=10).SerializeToString(),
    "nested too deep": nested(60),
    "zeros": b"\0" * 100,
    "a group that never ends": b"\x0b" * 300,
    "an overlong number": b"\x08" + b"\xff" * 12,
}
"""Bytes that are not a model, by what they are."""
