"""Models from their text, by the parser of the onnx package: for cases and procedures, never for a check."""

from __future__ import annotations

import onnx
import onnx.parser
from google.protobuf import text_format

from sonnx.cases import Case


def from_text(text: str) -> bytes:
    """The encoded model of a text in the ONNX text form."""
    data: bytes = onnx.parser.parse_model(text).SerializeToString()
    return data


def model_bytes(case: Case) -> bytes:
    """The encoded model of a case."""
    if case.language == "onnx":
        return from_text(case.text) + case.append
    data: bytes = text_format.Parse(case.text, onnx.ModelProto()).SerializeToString()
    return data + case.append
