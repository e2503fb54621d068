"""Names in a model that are not UTF-8, or hold what acts: a documented exit code, and nothing acts in any format.

Protobuf does not require that the texts of a model are UTF-8, and other readers take their bytes as they are.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import onnx.parser
import pytest

from sonnx.cli.main import run
from tests.support.cases import DEEP, crossed
from tests.support.invariants import acting

pytestmark = pytest.mark.usefixtures("runtimes_in_this_process")
"""What is said of a runtime is tested here, not what one may do to its process."""
WIDTH = 24
"""Bytes of each name."""
PLACES = {
    "a node": "Node", "a graph": "Graph", "an input": "Input", "an output": "Output", "a constant": "Constant",
    "an intermediate value": "Between", "an operator": "Operator", "a domain": "domain", "a dimension": "Dimension",
    "an attribute": "attribute", "a producer": "Producer", "a text": "Documentation",
}  # fmt: skip
OF_ANOTHER_DOMAIN = ("an operator", "a domain", "an attribute")
ACTING = "x\n::error::y"
NAMES = {
    "UTF-16": ACTING.encode("utf-16-le"),
    "UTF-16 of the other order, with its mark": "\ufeff\n::error::".encode("utf-16-be"),
    "UTF-16 of half a pair": "\n::error\ud800\udc00\udfff".encode("utf-16-le", "surrogatepass"),
    "Latin-1": "\n::error::\xe9\x9b31m\x85".encode("latin-1"),
    "a byte of zero": b"\0\n::error::",
    "UTF-8 that is cut": "\n::error::\N{SNOWMAN}".encode()[:-1],
}
LINES = (
    "check m.onnx", "fix m.onnx --output new.onnx --report new.json --input-shape INPUT=2,2",
    "run m.onnx --unchecked --random --output values --input-shape INPUT=2,2", "prove m.onnx",
    "bound m.onnx --unchecked --box INPUT=[-1,1] --input-shape INPUT=2,2", "equivalent m.onnx fine.onnx",
    "diff m.onnx fine.onnx", "rules --since 2025-11 m.onnx",
    "compare m.onnx --unchecked --runtime reference --random 1 --class-runs 2 --input-shape INPUT=2,2",
)  # fmt: skip
FORMATS = ("text", "json", "sarif", "junit", "github", "markdown", "html")
OF_CHECK = ("concise", "deviations")


def filled(name: str) -> str:
    return name.ljust(WIDTH, "_")


def text(place: str) -> str:
    """A model with a name of the same number of bytes in each place; only some need an operator of another domain."""
    named = {word: filled(word) for word in PLACES.values()}
    body = (
        '<ir_version: 8, opset_import: ["": 14, "{domain}": 1], producer_name: "{Producer}",'
        ' doc_string: "{Documentation}">'
        " {Graph} (float[{Dimension},2] {Input}) => (float[{Dimension},2] {Output})"
        " <float[2] {Constant} = {{1, 2}}> {{"
        " [{Node}] {Between} = Add ({Input}, {Constant}) {Output} = Relu ({Between})"
        + (" more = {domain}.{Operator} <{attribute} = 1> ({Input})" if place in OF_ANOTHER_DOMAIN else "")
        + " }}"
    )
    return body.format(**named)


def model(place: str = "", name: bytes = b"") -> bytes:
    """The model; in one place it has another name."""
    data: bytes = onnx.parser.parse_model(text(place)).SerializeToString()
    if not place:
        return data
    before = filled(PLACES[place]).encode()
    assert before in data
    return data.replace(before, name.ljust(WIDTH, b"\0" if b"\0" in name else b"_")[:WIDTH])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("fine.onnx").write_bytes(model())
    return tmp_path


def lines(number: int) -> Iterator[list[str]]:
    """Each line in a format that changes from model to model, and a check in every format.

    In a run that is not deep one model is tried with the first line and a third of the others and of the formats.
    """
    for place, line in enumerate(LINES):
        if not DEEP and place and (number + place) % 3:
            continue
        arguments = line.replace("INPUT", filled("Input")).split()
        yield [*arguments, "--format", FORMATS[(number + place) % len(FORMATS)]]
    formats = (*FORMATS, *OF_CHECK)
    yield from (["check", "m.onnx", "--format", each] for each in (formats if DEEP else formats[number % 3 :: 3]))


def test_the_model_without_such_a_name_is_read(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("m.onnx").write_bytes(model())
    for arguments in lines(0):
        with contextlib.suppress(SystemExit):
            assert run(arguments) in (0, 1, 3), arguments
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize(("place", "name"), crossed(PLACES, NAMES, every=6))
def test_a_name_acts_nowhere(place: str, name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("m.onnx").write_bytes(model(place, NAMES[name]))
    for arguments in lines(len(place) + len(name)):
        try:
            code = run(arguments)
        except SystemExit as stop:
            code = int(stop.code or 0)
        said = capsys.readouterr()
        assert code in (0, 1, 2, 3), (arguments, said.err)
        assert "Traceback" not in said.err, arguments
        assert acting(said.out + said.err) <= {"\n"}, arguments
        lines_said = said.err.splitlines() + ([] if "github" in arguments else said.out.splitlines())
        assert not [line for line in lines_said if line.lstrip().startswith("::")], arguments
        for path in folder.rglob("*.json"):
            path.read_bytes().decode("ascii")
