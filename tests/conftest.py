"""What the tests share: models from the text of a case, and models for reports with a way to print them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import onnx
import onnx.parser
import pytest
from hypothesis import HealthCheck, settings

from sonnx.cli.main import run
from sonnx.profile import catalogue

ROOT = Path(__file__).parent.parent

settings.register_profile("same", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("same")
"""No test asserts a time, and two runs try the same; `make campaign` and `make fuzz` look further."""


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of the data that the catalogue reads instead."""
    caches = (catalogue.editions, catalogue.general_rules, catalogue.graph_rules, catalogue.errata)
    caches += (catalogue._files, catalogue.operator)
    shutil.copytree(ROOT / "restrictions", tmp_path / "restrictions")
    monkeypatch.setattr(catalogue, "folder", lambda name: tmp_path / name)
    for cache in caches:
        cache.cache_clear()
    yield tmp_path / "restrictions"
    for cache in caches:
        cache.cache_clear()


# ------------------------------------------------------------------ reports

HOSTILE = "</style><script>a(1)</script>\x1b[3m\u202e\r\n::error::x%0A\x00 | `a` ]]> --> & \"'{0} [x](http://e.org) @me"
TEXTS = {
    "fine": '<ir_version: 10, opset_import: ["" : 13]> g (float[2] a) => (float[2] y) { y = Max(a) }',
    "open": '<ir_version: 10, opset_import: ["" : 13]> g (float[2] a) => (float[2] y) { y = Relu(a) }',
    "run_time": """<ir_version: 10, opset_import: ["" : 18]> g (float[2, 3] a, int64[1] axes) => (float[2, 1] y)
{ y = ReduceMax <keepdims = 1, noop_with_empty_axes = 0> (a, axes) }""",
}


def hostile() -> bytes:
    """A model with such names everywhere; one of them is no UTF-8."""
    model = onnx.parser.parse_model(
        TEXTS["fine"].replace("Max(a)", "Max(a, b)").replace("float[2] a", "float[2] a, float[N] b")
    )
    model.graph.name = model.graph.node[0].name = model.graph.input[0].name = HOSTILE
    model.graph.node[0].input[0] = HOSTILE
    model.graph.input[1].type.tensor_type.shape.dim[0].dim_param = HOSTILE
    model.graph.node.add(op_type=HOSTILE, domain=HOSTILE, name="zzzz", output=["unused"])
    return model.SerializeToString().replace(b"zzzz", b"z\xff\xfez")


@pytest.fixture
def various(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of models in the working folder: conforming, failing, not checked, assumed, hostile, and no models.

    For the one that is not checked the catalogue has no file of Relu.
    """
    described = catalogue.operator
    monkeypatch.setattr(catalogue, "operator", lambda name: None if name == "Relu" else described(name))
    monkeypatch.chdir(tmp_path)
    for name, text in TEXTS.items():
        Path(f"{name}.onnx").write_bytes(onnx.parser.parse_model(text).SerializeToString())
    Path("exported.onnx").write_bytes((ROOT / "examples" / "as_exported.onnx").read_bytes())
    Path("names").mkdir()
    Path("names/<b> |`&'%,:.onnx").write_bytes(hostile())
    Path("no\nmodel.onnx").write_text("hello")
    return [
        "fine.onnx",
        "exported.onnx",
        "open.onnx",
        "run_time.onnx",
        "names/<b> |`&'%,:.onnx",
        "no\nmodel.onnx",
        "absent.onnx",
    ]


@pytest.fixture
def printed(capsysbinary: pytest.CaptureFixture[bytes]) -> Any:
    """What `sonnx check` prints in a format, for files and options."""

    def said(name: str, *arguments: str) -> str:
        capsysbinary.readouterr()
        run(["check", "--jobs", "0", "--format", name, *arguments])
        return capsysbinary.readouterr().out.decode("utf-8")

    return said
