"""The file that keeps the parts of a bisection, so that it goes on where it ended: an .npz of float64 arrays."""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sonnx.base.errors import BadInput
from sonnx.base.escaping import quote
from sonnx.base.files import whole_bytes, write_whole
from sonnx.bounds.box import Box, Interval
from sonnx.bounds.result import Decision, Tensor
from sonnx.numerics.constant_data import decode

if TYPE_CHECKING:
    from sonnx.bounds.split import Part, Work

OUTPUT = ("low", "high", "introduced", "error")
"""The arrays of the output of a part."""


def key_of(work: Work, box: Box) -> str:
    """What a file must agree with, as a hash: the model with its constants, the box, the hypotheses and the goal."""
    source = work.source if isinstance(work.source, bytes) else whole_bytes(Path(work.source))
    made = hashlib.sha256(source + repr((work.sizes, work.edition, work.hypotheses, work.goal)).encode())
    for tensor in work.model.graph.initializers:
        if tensor.external is not None:
            made.update(decode(tensor, work.folder).tobytes())
    for name, interval in sorted(box.items()):
        made.update(name.encode() + interval.low.tobytes() + interval.high.tobytes())
    return made.hexdigest()


def write(path: Path, key: str, parts: Sequence[Part]) -> None:
    """Write the parts; the file has the old content or the new one.

    Raises:
        OSError: the file cannot be written.
    """
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
    arrays["what"] = np.array([[each.what for each in part.decisions] for part in parts])
    arrays["decisions"] = np.array(
        [[(each.low, each.high, each.error, each.same) for each in part.decisions] for part in parts]
    ).reshape(len(parts), -1, 4)
    stream = io.BytesIO()
    np.savez(stream, allow_pickle=False, **arrays)
    write_whole(path, stream.getvalue())


def read(path: Path, key: str) -> list[Part]:
    """The parts of a file.

    Raises:
        BadInput: it is of another bisection, or cannot be read.
    """
    from sonnx.bounds.split import Part

    try:
        with np.load(io.BytesIO(whole_bytes(path)), allow_pickle=False) as file:
            arrays: dict[str, Any] = {name: file[name] for name in file.files}
        if str(arrays["key"]) != key:
            raise BadInput(f"{quote(str(path))} keeps the parts of another model, box, goal or hypotheses")
        node, element = map(str, arrays["texts"])
        boxes = [name.removeprefix("box.low.") for name in arrays if name.startswith("box.low.")]
        made = []
        for index, volume in enumerate(arrays["volume"].tolist()):
            box = {
                name: Interval(arrays[f"box.low.{name}"][index], arrays[f"box.high.{name}"][index]) for name in boxes
            }
            parts = {name: arrays[f"output.{name}"][index] for name in OUTPUT}
            unbounded = str(arrays["unbounded"][index])
            output = Tensor(str(arrays["name"]), node, element, **parts, is_output=True, unbounded=unbounded)
            rows = zip(arrays["what"][index].tolist(), arrays["decisions"][index].tolist(), strict=True)
            decisions = tuple(Decision(what, low, high, error, bool(same)) for what, (low, high, error, same) in rows)
            weights = {name: arrays[f"weight.{name}"][index] for name in boxes}
            made.append(Part(box, volume, output, decisions, weights))
    except (OSError, ValueError, KeyError, zipfile.BadZipFile, EOFError) as reason:
        raise BadInput(f"{quote(str(path))} is not a file of parts: {_reason(reason)}") from None
    return made


def _reason(error: Exception) -> str:
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error)
