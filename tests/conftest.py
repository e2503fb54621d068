"""What the tests share: models from the text of a case."""

from __future__ import annotations

import onnx
import onnx.parser
from google.protobuf import text_format

from sonnx.cases import Case


def model_bytes(case: Case) -> bytes:
    """The encoded model of a case."""
    if case.language == "onnx":
        return onnx.parser.parse_model(case.text).SerializeToString() + case.append
    return text_format.Parse(case.text, onnx.ModelProto()).SerializeToString() + case.append
