"""Adapters of the extra `suite`, where their packages are installed."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType

import numpy as np
import onnx.parser
import pytest

from sonnx.executor.further_runtimes import OpenVino


def test_an_output_that_is_an_input_as_it_stands_gets_the_input() -> None:
    """openvino then names the port after the output only; an input that is not given has any elements."""
    pytest.importorskip("openvino", reason="the extra suite is not installed")
    text = '<ir_version: 10, opset_import: ["" : 13]> g (double[2] x) => (double[2] y) { y = Max(x) }'
    run = OpenVino().load(onnx.parser.parse_model(text).SerializeToString(), None)
    assert run({"x": np.array([0.5, 0.25])})["y"].tolist() == [0.5, 0.25]


def test_openvino_reports_nothing_over_the_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its package would start a process that sends how it is used; without openvino_telemetry it does not."""
    monkeypatch.setitem(sys.modules, "openvino_telemetry", ModuleType("openvino_telemetry"))
    monkeypatch.setattr("sonnx.executor.further_runtimes.import_module", lambda name: ModuleType(name))
    monkeypatch.setattr("sonnx.executor.further_runtimes.version", lambda name: "1")
    OpenVino()
    with pytest.raises(ImportError):
        import_module("openvino_telemetry")
