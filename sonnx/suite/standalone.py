"""Run the cases of a suite in an environment of your own, without sonnx: needs onnx, numpy and onnxruntime.

    python outputs.py SUITE OUTPUTS

writes OUTPUTS/CASE/test_data_set_N/output_K.pb, which `sonnx suite judge SUITE OUTPUTS` judges.  For another runtime
replace `load`.  Where the runtime ends the process, the same command goes on behind the data set that did it, whose
folder stays empty.
"""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import onnx
from onnx import numpy_helper


def load(model: bytes) -> Callable[[dict[str, Any]], list[Any]]:
    """The outputs of a model as a function of its inputs by name; it raises any exception where it cannot run."""
    # Replace the function for another runtime.
    session = import_module("onnxruntime").InferenceSession(model, providers=["CPUExecutionProvider"])
    return lambda inputs: list(session.run(None, inputs))


def main() -> None:
    """Run every case of every archive; what cannot run is named and left out."""
    if len(sys.argv) != 3:
        sys.exit("usage: python outputs.py SUITE OUTPUTS")
    suite, outputs = map(Path, sys.argv[1:])
    if not (suite / "suite.json").is_file():
        sys.exit(f"{suite} is not the folder of a suite: it has no suite.json")
    for path in sorted(suite.glob("*.zip")):
        with zipfile.ZipFile(path) as archive:
            models = [name for name in archive.namelist() if name.endswith("/model.onnx")]
            for name in models:
                run(archive, name.partition("/")[0], outputs)


def run(archive: zipfile.ZipFile, case: str, outputs: Path) -> None:
    """Run the data sets of one case."""
    folders = sorted({name.split("/")[1] for name in archive.namelist() if name.startswith(f"{case}/test_data_set_")})
    answer = None
    for folder in folders:
        target = outputs / case / folder
        if target.exists():
            continue  # an earlier run has its outputs, or was ended by it
        prefix = f"{case}/{folder}/input_"
        tensors = [
            onnx.TensorProto.FromString(archive.read(name)) for name in archive.namelist() if name.startswith(prefix)
        ]
        target.mkdir(parents=True)
        try:
            answer = answer or load(archive.read(f"{case}/model.onnx"))
            inputs = {tensor.name: numpy_helper.to_array(tensor) for tensor in tensors}
            written = [numpy_helper.from_array(value).SerializeToString() for value in answer(inputs)]
        except Exception as error:  # noqa: BLE001  (a runtime may raise anything)
            print(f"{case}/{folder}: {type(error).__name__}: {error}".splitlines()[0], file=sys.stderr)  # noqa: T201
            target.rmdir()
            continue
        for number, data in enumerate(written):
            (target / f"output_{number}.pb").write_bytes(data)


if __name__ == "__main__":
    main()
