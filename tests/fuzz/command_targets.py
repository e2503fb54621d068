"""Whole command lines on changed models and on changed files beside a model: what must hold of each.

A target returns nothing.  A command ends with 0 to 3, prints nothing that acts on a terminal, and raises nothing.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping
from contextlib import chdir, redirect_stderr, redirect_stdout
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory

import onnx.parser
from google.protobuf.message import DecodeError

from sonnx.cli.main import run
from sonnx.report.formats import RESULT_FORMATS
from tests.fuzz import damaged_calls
from tests.fuzz.commands import commands
from tests.fuzz.mutation import Draw, damage, model
from tests.support.invariants import acting
from tests.support.paths import DOCS, ROOT

PRINTED = ("fix", "bound", "equivalent", "diff", "verify")
"""Commands about a model that print results in all `RESULT_FORMATS`; those of the other targets are in targets.py."""
LIMITED = (*PRINTED, "compare", "audit")
SECONDS, MEGABYTES = 5, 2048

MODEL = """<ir_version: 10, opset_import: ["" : 14]> g (float[2, 3] x) => (float[2, 2] y)
<float[3, 2] w = {1, 2, 3, -1, 0.5, 0.25}> { m = MatMul (x, w) y = Relu (m) }"""
HYPOTHESES = b"""[target]
statement = "a target"
order = "lanes"
lanes = 8
fused = true
flush = false
accumulator = { float16 = "float" }
[target.functions]
default = { ulp = 1.0, absolute = 0.0 }
"""
PROPERTY = 'input = ["x=[-1,1]"]\n[[require]]\noutput = 0\nabove = -100\n'


def printed(arguments: list[str]) -> str:
    """What a command line prints, which must be harmless; it ends with a documented code."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            code = run(arguments)
        except SystemExit as stop:
            code = int(stop.code or 0)
    said = out.getvalue() + err.getvalue()
    found = acting(said) - {"\n"}
    assert not found, f"raw {sorted(map(ascii, found))} of {arguments}"
    assert code in (0, 1, 2, 3), f"{arguments} ended with {code}"
    return said


def on_a_model(name: str, data: bytes) -> None:
    """A command on a changed model, in one of its formats."""
    draw = Draw(data[::-1])
    form = draw.one(RESULT_FORMATS) if name in PRINTED else ""
    with TemporaryDirectory() as folder:
        path, changed = Path(folder) / "m.onnx", model(data)
        path.write_bytes(changed)
        try:
            other = damaged_calls.changed(changed, len(data))
        except (IndexError, ValueError, DecodeError):
            other = changed
        path.with_name("changed.onnx").write_bytes(other)
        listed = dict(commands(str(path), draw.number(4), SECONDS, MEGABYTES))
        printed([name, *listed[name], *(["--format", form] if form else [])])


@cache
def files_beside() -> Mapping[str, tuple[str, bytes]]:
    """A line for each kind of file that a command reads beside a model, and a valid file, {} in the line."""
    journal, report = _made()
    toml = {name: re.findall(r"```toml\n(.*?)```", (DOCS / name).read_text("utf-8"), re.DOTALL)[0].encode()
            for name in ("tailoring.md", "deviations.md")}  # fmt: skip
    return {
        "tailoring": ("check m.onnx --tailoring {}", toml["tailoring.md"]),
        "deviations": ("check m.onnx --deviations {} --date 2026-01-01", toml["deviations.md"]),
        "journal": ("check m.onnx --jobs 1 --resume {}", journal),
        "property": ("verify m.onnx {}.toml --search 1 --unchecked", PROPERTY.encode()),
        "property in VNN-LIB": ("verify controller.onnx {}.vnnlib --search 1",
                                (ROOT / "examples" / "controller.vnnlib").read_bytes()),
        "hypotheses": ("bound m.onnx --box x=[-1,1] --hypotheses {}.toml --unchecked", HYPOTHESES),
        "pack": ("audit --verify {/}", b""),
        "suite": ("suite report {/}", b""),
        "results of a suite": ("suite difference {} run.json", report),
        "the second results": ("suite difference run.json {}", report),
    }  # fmt: skip


FOLDERS: dict[str, dict[str, bytes]] = {}
"""The files of the pack and the suite, by the name of their kind."""


def _made() -> tuple[bytes, bytes]:
    """A journal and the report of a run, as the commands write them; a pack and a suite go to `FOLDERS`."""
    with TemporaryDirectory() as folder, chdir(folder):
        Path("m.onnx").write_bytes(onnx.parser.parse_model(MODEL).SerializeToString())
        printed(["check", "m.onnx", "--jobs", "1", "--resume", "journal"])
        printed(["audit", "m.onnx", "--output", "pack"])
        printed(["suite", "make", "--operator", "Relu", "suite"])
        report = printed(["suite", "run", "suite", "--runtime", "reference", "--format", "json"])
        for kind in ("pack", "suite"):
            listed = sorted(each for each in Path(kind).rglob("*") if each.is_file())
            FOLDERS[kind] = {str(each.relative_to(kind)): each.read_bytes() for each in listed}
        return Path("journal").read_bytes(), report[report.index("{") :].encode()


def beside_a_model(data: bytes) -> None:
    """A command with a damaged file beside a valid model."""
    draw = Draw(data)
    kind = draw.one(tuple(files_beside()))
    line, valid = files_beside()[kind]
    with TemporaryDirectory() as folder, chdir(folder):
        Path("m.onnx").write_bytes(onnx.parser.parse_model(MODEL).SerializeToString())
        Path("controller.onnx").write_bytes((ROOT / "examples" / "controller.onnx").read_bytes())
        Path("run.json").write_bytes(files_beside()["results of a suite"][1])
        files = {f"d/{place}": content for place, content in FOLDERS.get(kind, {}).items()}
        changed = draw.one(tuple(files)) if files else "f" + line.partition("{}")[2].partition(" ")[0]
        content = bytearray(files.get(changed, valid))
        damage(draw, content)
        for place, written in {**files, changed: bytes(content)}.items():
            Path(place).parent.mkdir(parents=True, exist_ok=True)
            Path(place).write_bytes(written)
        printed([part.replace("{}", "f").replace("{/}", "d") for part in line.split()])


TARGETS: Mapping[str, Callable[[bytes], None]] = {
    **{name: partial(on_a_model, name) for name in (*LIMITED, "rules")},
    "files beside a model": beside_a_model,
}
