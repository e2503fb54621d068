"""The boundary of the files beside a model: whatever a decoder raises is bad input, and names the file.

Behind it stands a typed structure.  The decoders are those of JSON, TOML, zip, numpy and protobuf, and what reads their
values: their lists of errors are longer than their documentation, so none is kept here.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sonnx.base.errors import BadInput, Stop, UsageError
from sonnx.base.escaping import quote, shortened

LONGEST_REASON = 300
"""Characters of the error of a decoder that a message repeats."""


@contextmanager
def decoding(file: str | Path, kind: str) -> Iterator[None]:
    """Decode a file in the body.

    Args:
        file: its name in messages.
        kind: what it ought to be, behind "is not": "a report of sonnx suite run".

    Raises:
        BadInput: the body raised any error but a lack of memory; an error that is a sentence for the user stays.
    """
    try:
        yield
    except (Stop, UsageError, MemoryError, ImportError):  # a module that cannot be loaded is not a fault of the file
        raise
    except Exception as error:  # noqa: BLE001  see above
        shown = quote(str(file))
        if isinstance(error, OSError) and error.strerror:
            raise BadInput(f"{shown} cannot be read: {error.strerror}") from None
        raise BadInput(f"{shown} is not {kind}: {_reason(error)}") from None


def _reason(error: Exception) -> str:
    """An error of a decoder in words."""
    text = shortened(" ".join(str(error).split()), LONGEST_REASON)
    match error:
        case KeyError():
            return f"it lacks {text}"
        case RecursionError():
            return "it is nested too deeply"
        case UnicodeDecodeError():
            return f"byte {error.start} is not UTF-8"
        case LookupError() | TypeError() | AttributeError():
            return f"{type(error).__name__}: {text}"
    return text or type(error).__name__
