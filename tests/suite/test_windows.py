"""Calls with many data sets read elements of the input, not padding."""

from __future__ import annotations

from typing import Any

import pytest

from sonnx.prover.witness import CallInstance
from sonnx.suite.sizes import unpadded_calls
from tests.support.conforming_models import conforming_models


def some_unpadded(operator: str) -> list[CallInstance]:
    with conforming_models(operator) as (family, models):
        padded = [({**values, "pads.0": 3}, call) for values, call in models]
        return [each.call for each in unpadded_calls(family, padded)]


@pytest.mark.parametrize("operator", ["Conv", "MaxPool"])
def test_every_window_lies_within_the_input(operator: str) -> None:
    calls = some_unpadded(operator)
    assert calls
    for call in calls:
        numbers: dict[str, Any] = {attribute.name: attribute.value for attribute in call.attributes}
        read, given = call.outputs[0], call.inputs[0]
        assert read is not None
        assert given is not None
        assert isinstance(read.shape, tuple)
        assert isinstance(given.shape, tuple)
        for places, extent, kernel, stride, dilation in zip(
            read.shape[2:], given.shape[2:], numbers["kernel_shape"], numbers["strides"], numbers["dilations"],
            strict=True,
        ):  # fmt: skip
            assert (int(str(places)) - 1) * stride + (kernel - 1) * dilation < int(str(extent))
        assert not any(numbers["pads"])
