"""The parts of a box, and their bytes: an .npz of float64 arrays, which `--resume` keeps and processes exchange."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sonnx.base.errors import BadInput
from sonnx.base.escaping import quote
from sonnx.base.files import unusable_because, whole_bytes, write_whole
from sonnx.bounds.box import Box, Interval
from sonnx.bounds.result import DecisionBounds, TensorBounds
from sonnx.numerics.formats import Array

OUTPUT = ("low", "high", "introduced", "error")
"""The arrays of the output of a part."""


@dataclass(frozen=True, eq=False)
class SubBox:
    """A part of the box with what is known of the first output there."""

    box: Box
    volume: float
    output: TensorBounds
    decisions: tuple[DecisionBounds, ...]
    sensitivity: Mapping[str, Array]


def write(path: Path, key: str, parts: Sequence[SubBox]) -> None:
    """Write the parts; the file has the old content or the new one.

    Raises:
        OSError: the file cannot be written.
    """
    write_whole(path, encoded(key, parts))


def read(path: Path, key: str) -> list[SubBox]:
    """The parts of a file.

    Raises:
        BadInput: it is of another bisection, or cannot be read.
    """
    try:
        found_key, parts = decoded(whole_bytes(path))
    except (OSError, ValueError, KeyError, zipfile.BadZipFile, EOFError) as reason:
        raise BadInput(f"{quote(str(path))} is not a file of parts ({unusable_because(reason)})") from None
    if found_key != key:
        raise BadInput(f"{quote(str(path))} keeps the parts of another model, box, goal, hypotheses or version")
    return parts


def encoded(key: str, parts: Sequence[SubBox]) -> bytes:
    """The bytes of at least one part, with what they must agree with."""
    first = parts[0]
    arrays: dict[str, Any] = {"key": np.array(key), "name": np.array(first.output.name)}
    arrays["volume"] = np.array([part.volume for part in parts])
    arrays["unbounded"] = np.array([part.output.unbounded for part in parts])
    arrays["texts"] = np.array([first.output.node, first.output.element])
    for name in OUTPUT:
        shape = next((part.output.low.shape for part in parts if not part.output.unbounded), ())
        arrays[f"output.{name}"] = np.stack([
            np.zeros(shape) if part.output.unbounded else getattr(part.output, name) for part in parts
        ])  # fmt: skip
    for name in first.box:
        arrays[f"box.low.{name}"] = np.stack([part.box[name].low for part in parts])
        arrays[f"box.high.{name}"] = np.stack([part.box[name].high for part in parts])
        zero = np.zeros(first.box[name].low.shape)
        arrays[f"weight.{name}"] = np.stack(
            [np.reshape(part.sensitivity.get(name, zero), zero.shape) for part in parts]
        )
    arrays["what"] = np.array([[decision.what for decision in part.decisions] for part in parts])
    arrays["decisions"] = np.array(
        [
            [(decision.low, decision.high, decision.error, decision.same) for decision in part.decisions]
            for part in parts
        ]
    ).reshape(len(parts), -1, 4)
    stream = io.BytesIO()
    np.savez(stream, allow_pickle=False, **arrays)
    return stream.getvalue()


def decoded(data: bytes) -> tuple[str, list[SubBox]]:
    """What bytes must agree with, and the parts in them.

    Raises:
        ValueError, KeyError, zipfile.BadZipFile, EOFError: they are not of parts.
    """
    with np.load(io.BytesIO(data), allow_pickle=False) as file:
        arrays: dict[str, Any] = {name: file[name] for name in file.files}
    node, element = map(str, arrays["texts"])
    boxes = [name.removeprefix("box.low.") for name in arrays if name.startswith("box.low.")]
    parts = []
    for index, volume in enumerate(arrays["volume"].tolist()):
        box = {name: Interval(arrays[f"box.low.{name}"][index], arrays[f"box.high.{name}"][index]) for name in boxes}
        ends = {name: arrays[f"output.{name}"][index] for name in OUTPUT}
        unbounded = str(arrays["unbounded"][index])
        output = TensorBounds(str(arrays["name"]), node, element, **ends, is_output=True, unbounded=unbounded)
        rows = zip(arrays["what"][index].tolist(), arrays["decisions"][index].tolist(), strict=True)
        decisions = tuple(DecisionBounds(what, low, high, error, bool(same)) for what, (low, high, error, same) in rows)
        weights = {name: arrays[f"weight.{name}"][index] for name in boxes}
        parts.append(SubBox(box, volume, output, decisions, weights))
    return str(arrays["key"]), parts
