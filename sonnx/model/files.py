"""The model files that paths, folders and patterns name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sonnx.base.errors import UsageError

SUFFIX = ".onnx"
MAGIC = frozenset("*?[")
"""The characters that make an argument a pattern."""


def models_of(arguments: Sequence[str]) -> list[str]:
    """The models that paths, folders and patterns name, each once; of a folder all .onnx files at any depth.

    Raises:
        UsageError: a folder or a pattern has no model.
    """
    named = (name for argument in arguments for name in _named(argument))
    return list(dict.fromkeys(named))


def is_one(argument: str) -> bool:
    """Whether an argument names a file, present or not, rather than a folder or a pattern."""
    path = Path(argument)
    try:
        return argument == "-" or path.is_file() or not (path.is_dir() or MAGIC.intersection(argument))
    except ValueError:  # not a possible file name
        return True


def _named(argument: str) -> list[str]:
    if is_one(argument):
        return [argument]
    folder = Path(argument)
    if folder.is_dir():
        names = sorted(str(path) for path in folder.rglob(f"*{SUFFIX}") if not path.is_dir())
        lacking = f"the folder {argument!r} has no {SUFFIX} file"
    else:
        import glob  # most arguments name files

        names = sorted(name for name in glob.glob(argument, recursive=True) if not Path(name).is_dir())  # noqa: PTH207
        lacking = f"no file matches {argument!r}"
    if not names:
        raise UsageError(lacking)
    return names
