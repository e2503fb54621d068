"""Models from text, by the parsers of the onnx package: for cases and test procedures; a check does not use it."""

from __future__ import annotations

import onnx
import onnx.parser
from google.protobuf import text_format


def from_text(text: str) -> bytes:
    """The encoded model of a source in the ONNX text form."""
    data: bytes = onnx.parser.parse_model(text).SerializeToString()
    return data


def from_textproto(text: str) -> bytes:
    """The encoded model of a ModelProto in the text form of protobuf."""
    data: bytes = text_format.Parse(text, onnx.ModelProto()).SerializeToString()
    return data
