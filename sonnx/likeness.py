"""Names what a file is when it is no model, from its first bytes."""

from __future__ import annotations

MARKS = (
    (0, b"version https://git-lfs", "is a Git LFS pointer, not the model itself: run git lfs pull"),
    (0, b"PK\x03\x04", "is a ZIP archive (a PyTorch or Keras file may be one), not an ONNX model"),
    (0, b"\x1f\x8b", "is compressed with gzip, not an ONNX model"),
    (0, b"BZh", "is compressed with bzip2, not an ONNX model"),
    (0, b"\xfd7zXZ\0", "is compressed with xz, not an ONNX model"),
    (0, b"\x28\xb5\x2f\xfd", "is compressed with Zstandard, not an ONNX model"),
    (0, b"\x89HDF\r\n\x1a\n", "is an HDF5 file (Keras), not an ONNX model"),
    (0, b"\x93NUMPY", "is a NumPy array, not an ONNX model"),
    (0, b"\x80\x02", "is a Python pickle, not an ONNX model"),
    (0, b"\x7fELF", "is a program (ELF), not an ONNX model"),
    (4, b"ORTM", "is in the ORT format, not ONNX: check the model it was made from"),
    (4, b"TFL3", "is a TensorFlow Lite model, not ONNX"),
)

_TEXT = {"<": "is HTML or XML, not an ONNX model", "{": "is JSON text, not an ONNX model in binary protobuf"}


def likeness(source: memoryview) -> str:
    """What the bytes look like, as the end of a sentence; empty where they look like nothing known."""
    first = bytes(source[:64])
    for offset, mark, words in MARKS:
        if first[offset:].startswith(mark):
            return words
    text = first.decode("latin-1")
    if not all(" " <= sign <= "~" or sign in "\t\n\r" for sign in text):
        return ""
    return _TEXT.get(text.lstrip()[:1], "is text, not an ONNX model in binary protobuf")
