"""The runtimes that can be compared: each loads a model as a function from inputs to outputs.

To add one, add a class with the members of `Runtime` to `RUNTIMES`; a runtime without a Python package is compared
through files of its outputs.  `isolation.py` runs them in a process of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from ctypes import string_at
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, Protocol, TypeVar

import numpy as np

from sonnx.base.errors import UsageError
from sonnx.model.writer import element_number
from sonnx.numerics.formats import ELEMENTS, NAMES, Array

BFLOAT16 = ELEMENTS["bfloat16"]
Result = TypeVar("Result")
Loaded = Callable[[Mapping[str, Array]], dict[str, Array]]


class Failure(Exception):
    """The runtime could not load or run a model; the message is its own first line."""


class Fault(Failure):
    """The process of the runtime ended, took too long, or gave something that is not an array."""


class Runtime(Protocol):
    """The interface of a runtime; `title` has its name, its version and how it is used."""

    title: str

    def load(self, model: bytes | Path, folder: Path | None) -> Loaded:
        """The outputs of a model, by name, as a function of its inputs.

        Args:
            model: the bytes of a model file, or its path where it may be too large to be read.
            folder: where the external data of the model are.

        Raises:
            Failure: the runtime refuses the model; the function raises it where it cannot run.
        """
        ...


class OnnxRuntime:
    """onnxruntime on the processor, one thread, its default optimizations."""

    def __init__(self) -> None:
        self._package = import_module("onnxruntime")
        self._package.set_default_logger_severity(4)
        self.title = f"onnxruntime {self._package.__version__}, CPU, 1 thread"

    def optimized(self, model: bytes | Path, folder: Path | None, level: str) -> bytes:
        """The graph that onnxruntime makes of a model at a level of `LEVELS`, as a model file.

        Raises:
            Failure: the runtime refuses the model, or writes no file.
        """
        options = self._options(model, folder)
        options.graph_optimization_level = getattr(self._package.GraphOptimizationLevel, f"ORT_ENABLE_{level.upper()}")
        with TemporaryDirectory() as place:
            options.optimized_model_filepath = str(Path(place, "optimized.onnx"))
            reworded(lambda: self._session(model, options))
            return reworded(Path(place, "optimized.onnx").read_bytes)

    def load(self, model: bytes | Path, folder: Path | None) -> Loaded:
        """See `Runtime.load`."""
        session = reworded(lambda: self._session(model, self._options(model, folder)))
        outputs = [get_output.name for get_output in session.get_outputs()]

        def run(inputs: Mapping[str, Array]) -> dict[str, Array]:
            ort_values = {name: self._value(array) for name, array in inputs.items()}
            values = session.run_with_ort_values(outputs, ort_values)
            return {name: self._array(value) for name, value in zip(outputs, values, strict=True)}

        return lambda inputs: reworded(lambda: run(inputs))

    def _options(self, model: bytes | Path, folder: Path | None) -> Any:
        options = self._package.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4
        if folder is not None and isinstance(model, bytes):
            options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(folder))
        return options

    def _session(self, model: bytes | Path, options: Any) -> Any:
        source = model if isinstance(model, bytes) else str(model)
        return self._package.InferenceSession(source, options, ["CPUExecutionProvider"])

    def _value(self, array: Array) -> Any:
        """An array as onnxruntime takes it; bfloat16, which numpy does not have, as its bits."""
        make, plain = self._package.OrtValue, np.ascontiguousarray(array).reshape(array.shape)
        if array.dtype != BFLOAT16:
            return make.ortvalue_from_numpy(plain)
        return make.ortvalue_from_numpy_with_onnx_type(plain.view(np.uint16), element_number(NAMES[BFLOAT16]))

    def _array(self, value: Any) -> Array:
        if value.element_type() == element_number(NAMES[BFLOAT16]):
            data = string_at(value.data_ptr(), value.tensor_size_in_bytes())
            return np.frombuffer(data, BFLOAT16).reshape(value.shape())
        array: Array = value.numpy()
        return array


class OnnxReference:
    """onnx.reference, the evaluator of the onnx package."""

    def __init__(self) -> None:
        self._onnx = import_module("onnx")
        self._reference = import_module("onnx.reference")
        self.title = f"onnx.reference {self._onnx.__version__}"

    def load(self, model: bytes | Path, folder: Path | None) -> Loaded:
        """See `Runtime.load`."""

        def read() -> Any:
            if isinstance(model, Path):
                return self._onnx.load(model)
            message = self._onnx.ModelProto.FromString(model)
            if folder is not None:
                self._onnx.external_data_helper.load_external_data_for_model(message, str(folder))
            return message

        evaluator = reworded(lambda: self._reference.ReferenceEvaluator(read()))

        def run(inputs: Mapping[str, Array]) -> dict[str, Array]:
            with np.errstate(all="ignore"):
                values = evaluator.run(None, dict(inputs))
            return dict(zip(evaluator.output_names, map(np.asarray, values), strict=True))

        return lambda inputs: reworded(lambda: run(inputs))


FURTHER = "sonnx.executor.further_runtimes"
RUNTIMES = {
    "onnxruntime": f"{__name__}:OnnxRuntime",
    "reference": f"{__name__}:OnnxReference",
    "openvino": f"{FURTHER}:OpenVino",
    "tract": f"{FURTHER}:Tract",
    "iree": f"{FURTHER}:Iree",
    "emx-onnx-cgen": f"{FURTHER}:EmxC",
}
"""The module and class of each runtime that has a name."""


def runtime_class(name: str) -> Callable[[], Runtime]:
    """A class of runtimes by its name: one of `RUNTIMES`, or MODULE:CLASS for an adapter.

    Raises:
        UsageError: no runtime of that name.
        ImportError: there is no such module, or it has no such class.
    """
    require_known(name)
    module, _, attribute = RUNTIMES.get(name, name).partition(":")
    try:
        function: Callable[[], Runtime] = getattr(import_module(module), attribute)
    except AttributeError as error:
        raise ImportError(str(error)) from None
    return function


Optimizer = Callable[[bytes | Path, Path | None, str], bytes]
"""Makes a model file of a model, the folder of its external data, and a level."""

OptimizationLevel = Literal["basic", "extended"]
LEVELS: tuple[OptimizationLevel, ...] = ("basic", "extended")
"""Levels of an optimizer whose graphs are compared; higher ones have operators of one processor."""


def optimizer_of(runtime: object) -> Optimizer:
    """How a runtime shows its optimized graphs.

    Raises:
        Failure: it does not.
    """
    function: Optimizer | None = getattr(runtime, "optimized", None)
    if function is None:
        raise Failure("the runtime does not show its optimized graphs")
    return function


def require_known(name: str) -> None:
    """Accept the name of a runtime, installed or not.

    Raises:
        UsageError: no runtime of that name.
    """
    if ":" not in name and name not in RUNTIMES:
        known = ", ".join(RUNTIMES)
        raise UsageError(
            f"unknown runtime {name!r}; known are {known}, MODULE:CLASS; for any other compare has --outputs DIR, and "
            "suite run --command"
        )


def not_installed(name: str) -> UsageError:
    """The error for a runtime with a name whose package is not installed."""
    extra = "suite" if RUNTIMES.get(name, "").startswith(FURTHER) else "runtime"
    return UsageError(f"the runtime {name} is not installed; pip install 'sonnx[{extra}]' installs it")


def reworded(action: Callable[[], Result]) -> Result:
    """The result of an action of a runtime; any exception becomes a Failure of one line."""
    try:
        return action()
    except Failure:
        raise
    except Exception as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise Failure(" ".join(lines[0].split())) from error
