"""The files that commands read beside a model: a valid one of each format with its command line, and damaged copies.

    python -m tests.support.companions [--kind NAME] [--every]

runs the command of each kind on each damaged copy, and prints how many there were and what went wrong.
"""

from __future__ import annotations

import argparse
import io
import json
import random
import re
import shutil
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import chdir, redirect_stderr, redirect_stdout
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import onnx.parser
from onnx import numpy_helper

from sonnx.cli.main import run
from tests.support.invariants import acting
from tests.support.paths import DOCS, ROOT
from tests.support.shared_suites import made_once

MODEL = """<ir_version: 10, opset_import: ["" : 14]> g (float[2, 3] x) => (float[2, 2] y)
<float[3, 2] w = {1, 2, 3, -1, 0.5, 0.25}> { m = MatMul (x, w) y = Relu (m) }"""
WRONG = """<ir_version: 10, opset_import: ["" : 14]> g (float[2] x) => (float[2] y, float[2] z)
{ y = Relu (x) z = Elu (x) }"""
HYPOTHESES = """[target]
statement = "a target"
order = "lanes"
lanes = 8
fused = true
flush = false
accumulator = { float16 = "float" }
excludes = ["an excluded operator"]
[target.functions]
default = { ulp = 1.0, absolute = 0.0 }
"""
PROPERTY = 'input = ["x=[-1,1]"]\n[[require]]\noutput = 0\nabove = -100\n'
PROJECT = '[tool.sonnx]\nedition = "2026-11"\n[[tool.sonnx.ignore]]\nrule = "no-dead-node"\nreason = "of the project"\n'


class Companion(NamedTuple):
    """A kind of file beside a model."""

    line: str
    """The command line that reads it, in a copy of the folder."""
    file: str
    """Its place in the folder."""
    form: str
    """json, toml, text or bytes: what is damaged besides its bytes."""
    reports: Sequence[str] = ("text",)
    """The formats in which the command prints."""
    working_folder: str = "."
    """Where the command runs."""


REPORTS = ("text", "markdown", "github", "junit", "html", "json", "sarif")
COMPANIONS: Mapping[str, Companion] = {
    "tailoring": Companion("check wrong.onnx --tailoring tailoring.toml", "tailoring.toml", "toml", REPORTS),
    "deviations": Companion(
        "check wrong.onnx --deviations deviations.toml --date 2026-01-01", "deviations.toml", "toml", REPORTS
    ),
    "table of a project": Companion("check ../wrong.onnx", "project/pyproject.toml", "toml", REPORTS, "project"),
    "journal": Companion("check wrong.onnx --jobs 1 --resume journal", "journal", "text"),
    "property": Companion("verify m.onnx property.toml --search 1 --unchecked", "property.toml", "toml", REPORTS),
    "property in VNN-LIB": Companion(
        "verify controller.onnx controller.vnnlib --search 1", "controller.vnnlib", "text", REPORTS
    ),
    "certificate": Companion(
        "audit controller.onnx --output new --property controller.vnnlib", "controller.json", "json"
    ),
    "hypotheses": Companion(
        "bound m.onnx --unchecked --box x=[-1,1] --hypotheses target.toml", "target.toml", "toml", REPORTS
    ),
    "array": Companion("run m.onnx --unchecked --input x=x.npy", "x.npy", "bytes"),
    "archive of arrays": Companion("run m.onnx --unchecked --input inputs.npz", "inputs.npz", "bytes"),
    "tensor": Companion("run m.onnx --unchecked --input x=input_0.pb", "input_0.pb", "bytes"),
    "box": Companion("bound m.onnx --unchecked --box x=x.npy+-0.5", "x.npy", "bytes"),
    "suite": Companion("suite report suite", "suite/suite.json", "json", REPORTS),
    "archive of a suite": Companion("suite report suite", "suite/Constant.zip", "bytes"),
    "archive of a suite that is judged": Companion("suite judge suite outputs", "suite/Constant.zip", "bytes"),
    "suite that is judged": Companion("suite judge suite outputs", "suite/suite.json", "json"),
    "outputs of a suite": Companion("suite judge suite outputs", "outputs/FIRST", "bytes"),
    "results of a suite": Companion("suite difference run.json other.json", "run.json", "json"),
    "pack": Companion("audit --verify pack m.onnx", "pack/audit.json", "json"),
    "manifest": Companion("audit --verify pack m.onnx", "pack/manifest.json", "json"),
    "run of a pack": Companion("audit --verify pack m.onnx", "pack/run.json", "json"),
    "earlier pack": Companion("audit m.onnx --output new --since pack", "pack/audit.json", "json"),
    "rewrites": Companion("audit fixed.onnx --output new --rewrites record.json", "record.json", "json"),
    "proofs": Companion("audit m.onnx --output new --proofs proofs", "proofs/manifest.json", "json"),
}


COSTLY = ("pack", "run of a pack", "earlier pack", "proofs", "journal")
"""Of which each copy costs the making of a pack, or a process."""


def quietly(arguments: Sequence[str]) -> tuple[int, str, str]:
    """The exit code of a command line, and what it prints and says."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            code = run(arguments)
        except SystemExit as stop:
            code = int(stop.code or 0)
    return code, out.getvalue(), err.getvalue()


_SHARED = list[Path]()
"""The folder that `share` was told."""


def share(folder: Path) -> None:
    """Let the processes that share a folder make the files once: the first writes them there."""
    if not _SHARED:
        _SHARED.append(folder)


@cache
def files() -> Mapping[str, bytes]:
    """The folder in which every command works: all companions by path."""
    if not _SHARED:
        with TemporaryDirectory() as folder:
            _write_files(Path(folder))
            return _contents(Path(folder))
    return _contents(made_once(_SHARED[0] / "companions", _write_files))


def _contents(folder: Path) -> Mapping[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }


def _write_files(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    with chdir(folder):
        for name, text in (("m.onnx", MODEL), ("wrong.onnx", WRONG)):
            Path(name).write_bytes(onnx.parser.parse_model(text).SerializeToString())
        for name in ("controller.onnx", "controller.vnnlib"):
            Path(name).write_bytes((ROOT / "examples" / name).read_bytes())
        documents = {"tailoring.toml": "tailoring.md", "deviations.toml": "deviations.md"}
        for name, page in documents.items():
            Path(name).write_text(re.findall(r"```toml\n(.*?)```", (DOCS / page).read_text("utf-8"), re.DOTALL)[0])
        Path("target.toml").write_text(HYPOTHESES)
        Path("property.toml").write_text(PROPERTY)
        array = np.arange(6, dtype=np.float32).reshape(2, 3)
        np.save("x.npy", array)
        np.savez("inputs.npz", x=array)
        Path("input_0.pb").write_bytes(numpy_helper.from_array(array, "x").SerializeToString())
        for line in (
            "check wrong.onnx --jobs 1 --resume journal",
            "verify controller.onnx controller.vnnlib --certificate controller.json",
            "suite make suite --operator Constant",
            "suite run suite --runtime reference --resume finished --format json --output run.json",
            "audit m.onnx --output pack",
            "fix wrong.onnx --output fixed.onnx --report record.json",
        ):
            code, _, said = quietly(line.split())
            assert code in (0, 1, 3), f"{line}: {code} {said}"
        shutil.copy("run.json", "other.json")
        _write_outputs(Path("suite"), Path("outputs"))
        Path("proofs").mkdir()
        Path("proofs/manifest.json").write_text(json.dumps({"format": 1, "proofs": 0, "questions": []}))
        Path("project").mkdir()
        Path("project/pyproject.toml").write_text(PROJECT)


def _write_outputs(suite: Path, outputs: Path) -> None:
    """The expected outputs of a suite, as if an implementation had computed them."""
    import zipfile

    with zipfile.ZipFile(suite / "Constant.zip") as archive:
        for name in archive.namelist():
            if name.rpartition("/")[2].startswith("output_"):
                (outputs / name).parent.mkdir(parents=True, exist_ok=True)
                (outputs / name).write_bytes(archive.read(name))


def content_of(kind: str) -> tuple[str, bytes]:
    """The path of a companion, and its content."""
    place = COMPANIONS[kind].file
    if place.endswith("FIRST"):
        place = next(path for path in files() if path.startswith(place.removesuffix("FIRST")))
    return place, files()[place]


# ------------------------------------------------------------------ damage

ACTING = "\x1b[31mred\n::error::x\n##[error]x"
OTHER_VALUES: tuple[Any, ...] = (
    True, 7, -1, 2**70, 10**400, 1.5, float("inf"), float("nan"), "x", "", "\0", "9" * 5000,
    [], {}, [[]], [{}], {"x": {}}, ["x"], [7],
)  # fmt: skip


class Damaged(NamedTuple):
    """A copy of a companion."""

    what: str
    content: bytes
    acts: bool = False
    """It has a text that acts on a terminal or a CI system, and may be valid."""


def damaged(kind: str, most: int, seed: int = 0) -> Iterator[Damaged]:
    """Damaged copies of a companion: at most so many of each sort of damage."""
    _, content = content_of(kind)
    draw = random.Random(f"{kind} {seed}")
    form = COMPANIONS[kind].form
    yield from _some(draw, [*_bytes_changed(content, draw, most)], most)
    if form == "json":
        value = json.loads(content)
        yield from _changed(value, _json, draw, most)
    if form == "toml":
        value = tomllib.loads(content.decode())
        yield from _changed(value, _toml, draw, most)
    if form in ("json", "toml", "text"):
        text = content.decode()
        yield Damaged("in UTF-16", text.encode("utf-16"))
        yield Damaged("with a byte order mark", b"\xef\xbb\xbf" + content)
        yield Damaged("with a text that acts before it", f"{ACTING}\n{text}".encode(), acts=True)
        yield Damaged("with a lone surrogate", content + b"\xed\xa0\x80")
        yield Damaged("nested deeply", content + b"[" * 100_000)
        words = [*re.finditer(r"[^\s]+", text)]
        for word in _some(draw, words, most):
            for other in ("1e400", "-" + "9" * 5000, "nan", "\N{ARABIC-INDIC DIGIT ONE}", "(", ")", '"', "\0"):
                changed = f"{text[: word.start()]}{other}{text[word.end() :]}"
                yield Damaged(f"{other[:9]!a} at {word.start()}", changed.encode())
        for word in _some(draw, words, most):
            changed = f"{text[: word.start()]}{ACTING}{text[word.start() :]}"
            yield Damaged(f"a text that acts at {word.start()}", changed.encode(), acts=True)


def _some(draw: random.Random, listed: Sequence[Any], most: int) -> Sequence[Any]:
    return listed if len(listed) <= most else [listed[place] for place in sorted(draw.sample(range(len(listed)), most))]


def _bytes_changed(content: bytes, draw: random.Random, most: int) -> Iterator[Damaged]:
    ends = [*range(min(80, len(content))), *range(max(0, len(content) - 120), len(content))]
    places = {*_some(draw, ends, most), *(draw.randrange(len(content)) for _ in range(most))} if content else set()
    for place in sorted(places):
        for mask in (0x01, 0x80, 0xFF):
            changed = bytearray(content)
            changed[place] ^= mask
            yield Damaged(f"byte {place} xor {mask:#x}", bytes(changed))
        yield Damaged(f"the first {place} bytes", content[:place])
        yield Damaged(f"without byte {place}", content[:place] + content[place + 1 :])
    yield Damaged("with a zero", content + b"\0")
    yield Damaged("twice", content * 2)
    yield Damaged("zeros", bytes(len(content)))


def with_changed_byte(content: bytes, number: int) -> bytes:
    """The content with one byte changed, removed or added, or cut."""
    draw = random.Random(number)
    place = number % len(content) if number < 0 else draw.randrange(len(content))
    return [
        content[:place] + bytes([content[place] ^ draw.choice((1, 2, 32, 128, 255))]) + content[place + 1 :],
        content[:place] + content[place + 1 :],
        content[:place] + draw.choice((b"\n", b" ", b"\r", b"=", b"A", b"\0")) + content[place:],
        content[:place],
    ][draw.choice((0, 0, 0, 1, 2, 3))]


def paths_of(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The place of each value in a document; of a long list the first two elements and the last."""
    if path:
        yield path
    if isinstance(value, dict):
        for key, part in value.items():
            yield from paths_of(part, (*path, key))
    elif isinstance(value, list):
        for index in dict.fromkeys((*range(min(2, len(value))), len(value) - 1) if value else ()):
            yield from paths_of(value[index], (*path, index))


def replaced(value: Any, path: tuple[Any, ...], by: Callable[[Any], Any]) -> Any:
    """A copy of a document with another value at a place; `...` leaves the value out."""
    if not path:
        return by(value)
    first, *rest = path
    part = replaced(value[first], tuple(rest), by)
    if isinstance(value, dict):
        return {key: part if key == first else each for key, each in value.items() if key != first or part is not ...}
    return [part if index == first else each for index, each in enumerate(value) if index != first or part is not ...]


def _changed(value: Any, dump: Callable[[Any], bytes], draw: random.Random, most: int) -> Iterator[Damaged]:
    """The document with one value changed, then with one text that acts."""
    for acts, changes in ((False, _other_values(value)), (True, _texts_that_act(value))):
        for path, what, by in _some(draw, [*changes], most):
            try:
                yield Damaged(f"{path} {what}", dump(replaced(value, path, by)), acts)
            except ValueError:  # TOML has no null
                continue


Change = tuple[tuple[Any, ...], str, Callable[[Any], Any]]
"""A place in a document, what is changed, and the value there as a function of the valid one."""


def _other_values(value: Any) -> Iterator[Change]:
    for path in paths_of(value):
        for other in (..., None, *OTHER_VALUES):
            yield path, ascii(other)[:9], partial(_instead, other)
        yield path, "and another key", _with_key


def _instead(other: Any, _: Any) -> Any:
    return other


def _put_into(pattern: str, text: str) -> str:
    return pattern.replace("{}", text)


def _with_key(value: Any) -> Any:
    return {**value, "another key": 1} if isinstance(value, dict) else value


def _texts_that_act(value: Any) -> Iterator[Change]:
    for path in paths_of(value):
        part = value
        for step in path:
            part = part[step]
        if isinstance(part, str):
            for put in ("{}" + ACTING, ACTING + "{}", "\n::error::x", "::error::x"):
                yield path, "acts", partial(_put_into, put)
        if isinstance(part, dict):
            for key in (*part, ""):
                yield path, f"{key} acts", partial(_renamed, key)


def _renamed(key: str, table: Mapping[str, Any]) -> dict[str, Any]:
    return {**{name: each for name, each in table.items() if name != key}, key + ACTING: table.get(key, 1)}


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()


def _toml(value: Any) -> bytes:
    return "".join(f"{_key(key)} = {_in_toml(part)}\n" for key, part in value.items()).encode()


def _key(text: str) -> str:
    return text if re.fullmatch(r"[\w-]+", text, re.ASCII) else json.dumps(text)


def _in_toml(value: Any) -> str:
    match value:
        case dict():
            return "{" + ", ".join(f"{_key(key)} = {_in_toml(part)}" for key, part in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(_in_toml, value)) + "]"
        case bool():
            return str(value).lower()
        case int() | float():
            return str(value)
        case str():
            return json.dumps(value)
        case None:
            raise ValueError("TOML has no null")
    return str(value)  # a date


# ------------------------------------------------------------------ what must hold


def wrong_with(kind: str, copy: Damaged, report: str = "text") -> str:
    """What is wrong with how the command treats a damaged copy, "" if nothing is; in the folder of `files`."""
    place, valid = content_of(kind)
    Path(place).write_bytes(copy.content)
    try:
        code, out, err = command(kind, report)
    except Exception as error:  # noqa: BLE001  what ends the program with 4
        return f"{type(error).__name__}: {error}"
    finally:
        Path(place).write_bytes(valid)
        return_to_start()
    if code not in (0, 1, 2, 3):
        return f"it ends with {code}"
    if code == 2 and not is_a_sentence(err):
        return f"it says {err[:300]!r}"
    raw = acting(out + err) - {"\n"}
    if raw:
        return f"it prints {sorted(map(ascii, raw))}"
    own = report == "github"
    if any(line.startswith("::error::x" if own else ("::", "##[")) for line in (out + err).splitlines()):
        return "it prints a line that a CI system takes for a command"
    return ""


def command(kind: str, report: str = "text") -> tuple[int, str, str]:
    """Run the command of a kind, as `quietly`."""
    line = COMPANIONS[kind].line.split() + ([] if report == "text" else ["--format", report])
    with chdir(COMPANIONS[kind].working_folder):
        return quietly(line)


def is_a_sentence(said: str) -> bool:
    """Whether a command that is refused says one sentence, whatever the companion holds."""
    words = said.removesuffix("\n").split(" ")
    return said.startswith("sonnx: ") and "\n" not in words[-1] and max(map(len, words)) < 200 and len(said) < 2100


def return_to_start() -> None:
    """Remove what a command has written beside the companions."""
    for path in Path().iterdir():
        if path.name not in _names():
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink()


@cache
def _names() -> frozenset[str]:
    return frozenset(path.partition("/")[0] for path in files())


def lay_out(folder: Path) -> None:
    """Write all companions to a folder."""
    for path, content in files().items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)


def main() -> None:
    """Run the campaign."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kind", action="append")
    parser.add_argument("--most", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    total = failures = 0
    with TemporaryDirectory() as folder, chdir(folder):
        lay_out(Path())
        for kind in options.kind or COMPANIONS:
            reports = COMPANIONS[kind].reports
            seen, copies = set[str](), [*damaged(kind, options.most, options.seed)]
            for copy in copies:
                for report in reports if copy.acts else ("text",):
                    reason = wrong_with(kind, copy, report)
                    if reason:
                        failures += 1
                        if reason[:60] not in seen:
                            seen.add(reason[:60])
                            print(f"{kind}, {copy.what}, {report}: {reason[:300]}", flush=True)
            total += len(copies)
            print(f"{kind}: {len(copies)} damaged copies", flush=True)
    print(f"{total} damaged copies, {failures} failures")
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
