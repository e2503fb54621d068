"""The nine networks of the onnx package against the outputs that the package ships, within its tolerance."""

import numpy
import pytest

from benchmarks.networks import light
from sonnx.executor.executor import ModelRunner
from sonnx.executor.model_inputs import required_inputs
from sonnx.executor.tensor_files import read_file
from sonnx.model.reader import read

TOLERANCE = {"rtol": 1e-3, "atol": 1e-7}
"""That of onnx.backend.test."""


def rising(shape):
    """The input for which the package computed its outputs: 0, 1/n, 2/n, ... (onnx/backend/test/runner)."""
    size = numpy.prod(shape)
    return (numpy.arange(size).reshape(shape) / size).astype(numpy.float32)


@pytest.mark.campaign
@pytest.mark.parametrize("path", light(), ids=lambda path: path.stem)
def test_network(path):
    model = read(path)
    inputs = {
        value.name: rising([d if isinstance(d, int) else 1 for d in value.type.shape])
        for value in required_inputs(model)
    }
    [found] = ModelRunner(model, path, unchecked=True).run(inputs).values.values()
    [wanted] = read_file(path.with_name(f"{path.stem}_output_0.pb")).values()
    assert found.shape == wanted.shape
    assert numpy.isfinite(found).all()
    numpy.testing.assert_allclose(found, wanted, **TOLERANCE)
