"""Models that the onnx package ships with inputs and outputs, most of them computed by PyTorch: in tolerance.

They are of operator sets 6 to 12, with convolutions and pooling over one, two and three axes, and with the broadcasting
of before operator set 7.  `packaged_values.toml` lists each that is refused, with the cause.
"""

import tomllib
from pathlib import Path

import numpy
import onnx
import pytest
from onnx import numpy_helper

import sonnx
from tests.support.cases import each_case

SUITES = Path(onnx.__file__).parent / "backend" / "test" / "data"
REFUSED = tomllib.loads((Path(__file__).parent.parent / "data" / "packaged_values.toml").read_text("utf-8"))["refused"]

FOLDERS = sorted(
    path.parent
    for suite in ("pytorch-converted", "pytorch-operator", "simple")
    for path in (SUITES / suite).glob("*/model.onnx")
)


def tensors(folder, kind):
    """The tensors of a data set, in their order."""
    count = len(list(folder.glob(f"{kind}_*.pb")))
    return [numpy_helper.to_array(onnx.load_tensor(folder / f"{kind}_{number}.pb")) for number in range(count)]


@each_case("folder", FOLDERS, ids=lambda folder: folder.name)
def test_model(folder):
    model = onnx.load(folder / "model.onnx")
    constant = {each.name for each in model.graph.initializer}
    names = [value.name for value in model.graph.input if value.name not in constant]
    sets = sorted(folder.glob("test_data_set_*"))
    assert sets
    for data in sets:
        given = dict(zip(names, tensors(data, "input"), strict=True))
        if folder.name in REFUSED:
            with pytest.raises(sonnx.Stop, match=REFUSED[folder.name].partition(":")[0]):
                sonnx.run(str(folder / "model.onnx"), given, unchecked=True)
            continue
        found = sonnx.run(str(folder / "model.onnx"), given, unchecked=True)
        for ours, theirs in zip(found.values(), tensors(data, "output"), strict=True):
            assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
            numpy.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-7)


def test_every_listed_model_exists():
    assert not REFUSED.keys() - {folder.name for folder in FOLDERS}
    assert len(FOLDERS) > 130
