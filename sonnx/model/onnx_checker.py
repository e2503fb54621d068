"""What the checker of the onnx package says of a model: a second opinion where no rule here knows an operator."""

from __future__ import annotations

from os import PathLike, fspath


def refusal(source: bytes | str | PathLike[str]) -> str:
    """Why the checker refuses a model with its full check, as one line; "" where it does not."""
    from onnx import checker  # loads numpy and the module that protobuf generates; only what is odd needs it

    try:
        checker.check_model(source if isinstance(source, bytes) else fspath(source), full_check=True)
    except Exception as reason:  # noqa: BLE001  it raises several sorts, and what protobuf raises
        return " ".join(str(reason).split()) or type(reason).__name__
    return ""
