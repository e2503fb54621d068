"""Cases of `fix`: a model, the model that it becomes, and the rewrites that are made (rewrite_cases.toml)."""

from __future__ import annotations

import contextlib
import io
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from msgspec import Struct, convert

from sonnx.evidence.canonical_form import canonical
from sonnx.evidence.data_files import entries
from sonnx.model.reader import read
from sonnx.model.text_form import from_text, from_textproto

OPTIONS = ("bind", "select", "strict_versions", "fold_batch_normalization", "within_bound", "approximate")
"""The fields of a case that are options of `fix`."""
BEFORE, AFTER, RECORD = "before.onnx", "after.onnx", "record.json"


class RewriteCase(Struct, frozen=True, forbid_unknown_fields=True):
    """A case; rewrite_cases.toml describes the fields."""

    title: str
    rewrites: tuple[str, ...]
    after: str
    before: str = ""
    textproto: str = ""
    remaining: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    function: str = "identical"
    oracle: str = "onnx"
    bind: dict[str, int] = {}
    select: tuple[str, ...] = ()
    strict_versions: bool = False
    fold_batch_normalization: bool = False
    within_bound: bool = False
    approximate: bool = False

    def model_bytes(self) -> bytes:
        """The encoded model before."""
        return from_text(self.before) if self.before else from_textproto(self.textproto)

    def options(self) -> dict[str, Any]:
        """The options of `fix` by their names."""
        return {name: getattr(self, name) for name in OPTIONS}

    def command_line(self) -> list[str]:
        """The arguments of the command."""
        flags = [f"--{name.replace('_', '-')}" for name in OPTIONS[2:] if getattr(self, name)]
        pairs = ["--bind", ",".join(f"{name}={size}" for name, size in self.bind.items())] if self.bind else []
        chosen = ["--select", ",".join(self.select)] if self.select else []
        return ["fix", BEFORE, "--output", AFTER, "--report", RECORD, "--samples", "1", *pairs, *chosen, *flags]


@cache
def rewrite_cases() -> tuple[RewriteCase, ...]:
    """All cases, in the order of the file."""
    return convert(entries("rewrite_cases.toml", "case"), tuple[RewriteCase, ...])


def wrong_rewrite(case: RewriteCase, run: Callable[[Sequence[str]], int]) -> str:
    """How the result of the command `fix` differs from that of the case, "" if it does not."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            Path(BEFORE).write_bytes(case.model_bytes())
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                run(case.command_line())
            return "; ".join(_differences(case)) if Path(RECORD).is_file() else "no record is written"
        finally:
            os.chdir(before)


def _differences(case: RewriteCase) -> Iterator[str]:
    record = json.loads(Path(RECORD).read_bytes())
    rewrites = tuple(dict.fromkeys(entry["kind"] for entry in record["rewrites"]))
    if rewrites != case.rewrites:
        yield f"makes the rewrites {', '.join(rewrites)}, not {', '.join(case.rewrites)}"
    left = {entry["rule"] for entry in record["rewritten"]["findings"] if entry["verdict"] == "fail"}
    if left != {*case.remaining}:
        yield f"leaves {', '.join(sorted(left)) or 'nothing'}, not {', '.join(sorted(case.remaining)) or 'nothing'}"
    if record["validation"]["for_all_inputs"] != case.function:
        yield f"answers {record['validation']['for_all_inputs']!r} for all inputs, not {case.function!r}"
    if record["validation"]["differences"]:
        yield "values differ"
    actual, wanted = _parts(Path(AFTER).read_bytes() if Path(AFTER).is_file() else b""), _parts(from_text(case.after))
    for part in case.only or wanted:
        if actual[part] != wanted[part]:
            yield f"writes other {part}"


def _parts(data: bytes) -> Mapping[str, Any]:
    """What a model says, by parts, without the names of nodes and of constants in attributes."""
    model = json.loads(canonical(read(data, "the model")))
    graph = model["graph"]
    return {
        "format": [model["ir_version"], model["imports"], graph["name"]],
        **{name: graph[name] for name in ("inputs", "outputs", "value_info", "initializers", "sparse_initializers")},
        "nodes": [_plain(node) for node in graph["nodes"]],
        "functions": [entry["name"] for entry in model["functions"]],
    }


def _plain(entry: Any) -> Any:
    """A part of a canonical form without the names of nodes, and of tensors that are values of attributes."""
    if isinstance(entry, list):
        return [_plain(each) for each in entry]
    if not isinstance(entry, dict):
        return entry
    nameless = "operator" in entry or "values" in entry
    return {name: _plain(value) for name, value in entry.items() if not (nameless and name == "name")}
