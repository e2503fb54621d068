"""Inputs and expected outputs of a model from files."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from pathlib import Path

from sonnx.base.errors import BadInput
from sonnx.base.escaping import quote
from sonnx.executor.model_inputs import required_inputs
from sonnx.executor.tensor_files import as_declared, read_file
from sonnx.model.ir import Model, ValueInfo
from sonnx.model.limits import Limits
from sonnx.numerics.formats import Array


def inputs_from_files(
    model: Model, files: Collection[str], test_data: str | os.PathLike[str] | None = None
) -> dict[str, Array]:
    """The inputs in files and in a test_data_set folder.

    Args:
        model: the model, whose declared types the arrays get.
        files: each `NAME=FILE` for one input, or `FILE.npz` for every input it names.
        test_data: a folder with input_0.pb, input_1.pb, ...

    Raises:
        BadInput: a file cannot be used, an input is given twice, or the folder has no inputs.
    """
    declared = {value.name: value.type.element for value in model.graph.inputs}
    inputs = dict(_test_data(Path(test_data), "input", required_inputs(model))) if test_data else {}
    for file in files:
        for name, values in _arrays(file, model.limits).items():
            if name in inputs:
                raise BadInput(f"the input {quote(name)} is given twice")
            inputs[name] = as_declared(values, declared.get(name))
    if test_data and not inputs and required_inputs(model):
        raise BadInput(f"the folder {quote(str(test_data))} has no input_*.pb")
    return inputs


def _arrays(text: str, limits: Limits) -> Mapping[str, Array]:
    """The arrays of `NAME=FILE` or `FILE.npz`."""
    name, equals, file = text.partition("=")
    if not equals:
        if text.lower().endswith(".npz"):
            return read_file(Path(text), limits)
        raise BadInput(f"--input takes NAME=FILE or FILE.npz, not {quote(text)}")
    arrays = read_file(Path(file), limits)
    if name in arrays:
        return {name: arrays[name]}
    if len(arrays) != 1:
        raise BadInput(f"{quote(file)} has no array {quote(name)}; it has {', '.join(map(quote, arrays)) or 'none'}")
    return {name: next(iter(arrays.values()))}


def outputs_from_files(model: Model, folder: str | os.PathLike[str]) -> dict[str, Array]:
    """The outputs in a test_data_set folder.

    Raises:
        BadInput: the folder has no outputs, or one of them cannot be used.
    """
    outputs = _test_data(Path(folder), "output", model.graph.outputs)
    if not outputs:
        raise BadInput(f"the folder {quote(str(folder))} has no output_*.pb")
    return outputs


def _test_data(folder: Path, kind: str, values: tuple[ValueInfo, ...]) -> dict[str, Array]:
    """The tensors of a test_data_set folder by name; one without a known name belongs to the value of its number."""
    if not folder.is_dir():
        raise BadInput(f"the folder {quote(str(folder))} does not exist")
    known = {value.name for value in values}
    tensors: dict[str, Array] = {}
    for path in folder.glob(f"{kind}_*.pb"):
        number = re.fullmatch(rf"{kind}_([0-9]{{1,9}})", path.stem)
        [(name, array)] = read_file(path).items()
        if name not in known:
            if number is None or int(number[1]) >= len(values):
                raise BadInput(f"{quote(str(path))} does not belong to any of the {len(values)} {kind}s of the model")
            name = values[int(number[1])].name
        if name in tensors:
            raise BadInput(f"the folder {quote(str(folder))} gives the {kind} {quote(name)} twice")
        tensors[name] = array
    return tensors
