"""Runtimes whose packages `pip install 'sonnx[suite]'` installs; each is loaded when it is asked for.

The process of `runtime_process.py` limits what they do, and reports an exception as a refusal.
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any, cast

import numpy as np

from sonnx.executor.model_inputs import required_inputs
from sonnx.executor.runtimes import BFLOAT16, Failure, Loaded, reworded
from sonnx.model.ir import ValueInfo
from sonnx.model.reader import read
from sonnx.numerics.formats import ELEMENTS, Array

Compute = Callable[[Sequence[Array]], Sequence[Array]]
"""The outputs of a model from its inputs, both in the order of the graph."""


NOT_THERE = cast(ModuleType, None)
"""For Python, a module that cannot be imported."""


class _FromFile:
    """A runtime that loads a model file, and knows inputs and outputs by their places."""

    def load(self, model: bytes | Path, folder: Path | None) -> Loaded:
        """See `Runtime.load`."""
        data = model if isinstance(model, bytes) else model.read_bytes()
        parsed = read(data)
        inputs, outputs = required_inputs(parsed), parsed.graph.outputs
        with TemporaryDirectory() as place:
            path = Path(place, "model.onnx")
            path.write_bytes(data)
            compute = reworded(lambda: self.compiled(path, inputs, outputs))

        def run(values_by_name: Mapping[str, Array]) -> dict[str, Array]:
            arrays = [
                np.ascontiguousarray(values_by_name[operand.name]).reshape(values_by_name[operand.name].shape)
                for operand in inputs
            ]
            values = compute(arrays)
            return {output.name: value for output, value in zip(outputs, values, strict=True)}

        return lambda values_by_name: reworded(lambda: run(values_by_name))

    def compiled(self, path: Path, inputs: Sequence[ValueInfo], outputs: Sequence[ValueInfo]) -> Compute:
        """The model of a file as a function."""
        raise NotImplementedError


class OpenVino(_FromFile):
    """openvino on the processor, one thread, in the mode that keeps the precision of the model."""

    def __init__(self) -> None:
        sys.modules["openvino_telemetry"] = NOT_THERE  # it would report the use of openvino over the network
        self._package = import_module("openvino")
        self.title = f"openvino {version('openvino')}, CPU, 1 thread, mode ACCURACY"

    def compiled(self, path: Path, inputs: Sequence[ValueInfo], outputs: Sequence[ValueInfo]) -> Compute:
        """See `_FromFile.compiled`."""
        core = self._package.Core()
        options = {"INFERENCE_NUM_THREADS": 1, "EXECUTION_MODE_HINT": "ACCURACY"}
        model = core.compile_model(core.read_model(str(path)), "CPU", options)
        # Where an output is an input as it stands, the port has the name of the output only; its node has that of the
        # input.
        places = {
            name: place
            for place, port in enumerate(model.inputs)
            for name in (*port.get_names(), port.get_node().get_friendly_name())
        }
        order = [places.get(operand.name) for operand in inputs]

        def compute(arrays: Sequence[Array]) -> list[Array]:
            request = model.create_infer_request()
            for place, array in zip(order, arrays, strict=True):
                if place is not None:  # a constant shape may make an input unnecessary
                    request.set_input_tensor(place, self._tensor(array))
            request.infer()
            return [self._array(request.get_output_tensor(place)) for place in range(len(outputs))]

        return compute

    def _tensor(self, array: Array) -> Any:
        if array.dtype != BFLOAT16:
            return self._package.Tensor(array)
        tensor = self._package.Tensor(self._package.Type.bf16, self._package.Shape(array.shape))
        tensor.data.view(np.uint16)[...] = array.view(np.uint16)
        return tensor

    def _array(self, tensor: Any) -> Array:
        values: Array = np.array(tensor.str_data if tensor.element_type == self._package.Type.string else tensor.data)
        return values.view(BFLOAT16) if tensor.element_type == self._package.Type.bf16 else values


class Tract(_FromFile):
    """tract, its optimized model."""

    def __init__(self) -> None:
        self._package = import_module("tract")
        self.title = f"tract {version('tract')}"

    def compiled(self, path: Path, inputs: Sequence[ValueInfo], outputs: Sequence[ValueInfo]) -> Compute:
        """See `_FromFile.compiled`."""
        model = self._package.onnx().load(str(path)).into_model().into_runnable()
        return lambda arrays: [output.to_numpy() for output in model.run([*arrays])]


class Iree(_FromFile):
    """iree, compiled for the processor."""

    def __init__(self) -> None:
        self._compiler, self._runtime = import_module("iree.compiler"), import_module("iree.runtime")
        self.title = f"iree {version('iree-base-compiler')}, llvm-cpu"

    def compiled(self, path: Path, inputs: Sequence[ValueInfo], outputs: Sequence[ValueInfo]) -> Compute:
        """See `_FromFile.compiled`."""
        tools = import_module("iree.compiler.tools")
        module = path.with_suffix(".mlir")
        command = [sys.executable, "-m", "iree.compiler.tools.import_onnx", str(path), "-o", str(module)]
        process = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  (no text of a model)
        if process.returncode:
            raise Failure((process.stderr.strip().splitlines() or ["iree-import-onnx failed"])[-1])
        code = tools.compile_file(
            str(module), input_type="onnx", target_backends=["llvm-cpu"],
            extra_args=["--iree-llvmcpu-target-cpu=host", "--iree-input-demote-f64-to-f32=false"],
        )  # fmt: skip
        loaded = self._runtime.load_vm_flatbuffer(code, driver="local-sync")
        function = next(getattr(loaded, name) for name in loaded.vm_module.function_names if "$" not in name)

        def compute(arrays: Sequence[Array]) -> list[Array]:
            results = function(*arrays)
            values = results if isinstance(results, tuple | list) else [results]
            return [np.array(value.to_host()) for value in values]

        return compute


class EmxC(_FromFile):
    """The C code of emx-onnx-cgen, compiled by cc -O1 -ffp-contract=off."""

    def __init__(self) -> None:
        import_module("emx_onnx_cgen")
        self.title = f"emx-onnx-cgen {version('emx-onnx-cgen')}, cc -O1 -ffp-contract=off"

    def compiled(self, path: Path, inputs: Sequence[ValueInfo], outputs: Sequence[ValueInfo]) -> Compute:
        """See `_FromFile.compiled`."""
        source, library = path.with_suffix(".c"), path.with_suffix(".so")
        for command in (
            [sys.executable, "-m", "emx_onnx_cgen", "compile", "--model-name", "model", str(path), str(source)],
            ["cc", "-O1", "-ffp-contract=off", "-w", "-shared", "-fPIC", "-o", str(library), str(source), "-lm"],
        ):
            process = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
            if process.returncode:
                raise Failure(((process.stderr + process.stdout).strip().splitlines() or ["no code"])[-1])
        function = ctypes.CDLL(str(library)).model
        function.restype = None
        shapes = [
            ([int(str(extent)) for extent in output.type.shape or ()], output.type.element or "") for output in outputs
        ]

        def compute(arrays: Sequence[Array]) -> list[Array]:
            values = [np.zeros(shape, ELEMENTS[element]) for shape, element in shapes]
            function(*(array.ctypes.data_as(ctypes.c_void_p) for array in (*arrays, *values)))
            return values

        return compute
