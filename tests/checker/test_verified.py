"""The program extracted from the formalization says what the check says: recorded answers, and the program itself."""

from __future__ import annotations

import hashlib
import random
import shutil
import subprocess
import tomllib
from pathlib import Path

import onnx
import onnx.parser
import pytest

from sonnx.profile import catalogue
from tests.support.cases import spread
from tests.support.paths import ROOT
from tests.support.verified_check import (
    RECORD,
    case_models,
    damaged,
    digest,
    of_check,
    of_program,
    rewritten,
    write_weights,
)
from tests.support.wire_variants import variant

PROGRAM = ROOT / "build" / "verified" / "sonnx-verified"
EDITION = catalogue.editions().default
needs_program = pytest.mark.skipif(not PROGRAM.exists(), reason="`make verified` builds the program; it needs coqc")


def test_the_check_says_what_the_program_said_of_the_cases(tmp_path: Path) -> None:
    """A model whose bytes another version of protobuf writes otherwise is not compared; few are."""
    recorded = tomllib.loads(RECORD.read_text("utf-8"))
    contents = spread(list(dict.fromkeys(case_models())), 250)
    answers = {hashlib.sha256(data).hexdigest()[:16]: data for data in contents}
    known = answers.keys() & recorded.keys()
    assert len(known) > len(answers) * 0.8, "tests/data/verified.toml is old: make verified recorded-verdicts"
    path = tmp_path / "model.onnx"
    write_weights(tmp_path)
    for name in sorted(known):
        path.write_bytes(answers[name])
        found = of_check(path, EDITION)
        assert digest(found) == recorded[name], (name, found)


@needs_program
def test_the_program_on_files_that_are_no_models(tmp_path: Path) -> None:
    originals = spread(list(case_models()), 40)
    paths = []
    for index, data in enumerate(damaged(originals, 200)):
        paths.append(tmp_path / f"{index}.onnx")
        paths[-1].write_bytes(data)
    for path, answer in zip(paths, of_program(PROGRAM, paths, EDITION), strict=True):
        assert answer.code == of_check(path, EDITION).code, path


def test_the_programs_of_the_formalization_are_built_from_these_files() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    [listed] = [line.split(":=")[1].split() for line in makefile.splitlines() if line.startswith("CHECK_IN_COQ")]
    for name in listed:
        assert (ROOT / "proofs" / "coq" / f"{name}.v").exists()
    assert shutil.which("make")


@needs_program
def test_the_program_on_names_that_may_be_misspelt(tmp_path: Path) -> None:
    """The measure of difflib is defined in Coq: letters, capitals, characters beyond ASCII, bytes that are not text."""
    chance = random.Random(5)
    known = ["alpha", "beta", "transA", "transB", "dilations", "kernel_shape", "strides", "auto_pad", "group", "pads"]
    paths = []
    for index in range(60):
        model = onnx.parser.parse_model(MANY_ATTRIBUTES)
        for node in model.graph.node:
            del node.attribute[:]
            for _ in range(chance.randrange(1, 4)):
                name = list(chance.choice(known))
                for _ in range(chance.randrange(1, 5)):
                    name[chance.randrange(len(name))] = chance.choice(["", "A", "x", "é", "K", "İ", "日", "aa"])
                node.attribute.append(onnx.helper.make_attribute("".join(name) or "x", 1))
        data = model.SerializeToString()
        if index % 5 == 0:
            data = data.replace("é".encode(), b"\xe9\xff")
        paths.append(tmp_path / f"{index}.onnx")
        paths[-1].write_bytes(data)
    assert [of_check(path, EDITION) for path in paths] == of_program(PROGRAM, paths, EDITION)


MANY_ATTRIBUTES = """<ir_version: 8, opset_import: ["" : 13]>
g (float[1, 1, 4, 4] x, float[1, 1, 2, 2] w, float[4, 4] a) => (float[1, 1, 3, 3] y, float[4, 4] b)
{ y = Conv (x, w) b = Gemm (a, a) }
"""


@needs_program
@pytest.mark.parametrize(
    "group", [b"\x9b\x06\x00\x10\x9c\x06", b"\x42\x04\x0b\x00\x10\x0c", b"\x9b\x06\x10\x9c\x06", b"\x00\x10"]
)
def test_field_numbers_of_unknown_groups(group: bytes, tmp_path: Path) -> None:
    """A field with the number 0 makes a file unreadable, but not inside a group that is skipped."""
    path = tmp_path / "model.onnx"
    path.write_bytes(onnx.parser.parse_model(MANY_ATTRIBUTES).SerializeToString() + group)
    assert of_program(PROGRAM, [path], EDITION) == [of_check(path, EDITION)]


def test_other_forms_of_the_wire_format_say_the_same() -> None:
    originals, same, changed = [data for data in spread(list(case_models()), 60) if data], 0, 0
    for seed, data in enumerate(originals):
        form = variant(random.Random(seed), data)
        changed += form != data
        same += onnx.ModelProto.FromString(form) == onnx.ModelProto.FromString(data)
    assert changed > len(originals) / 2
    assert same > len(originals) * 0.8, "more than one form in five has an unknown field or a value that counts"


@needs_program
def test_the_program_on_other_forms_of_the_wire_format(tmp_path: Path) -> None:
    paths = []
    for index, data in enumerate(rewritten([data for data in spread(list(case_models()), 60) if data], 60)):
        paths.append(tmp_path / f"{index}.onnx")
        paths[-1].write_bytes(data)
    for path, answer in zip(paths, of_program(PROGRAM, paths, EDITION), strict=True):
        assert answer.code == of_check(path, EDITION).code, path


@needs_program
@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\x08", "it ends inside a field at byte 1"),
        (b"\x08" + b"\x80" * 10, "a number of more than 10 bytes ends at byte 11"),
        (b"\x3a\x05ab", "a field reaches beyond the end of its message at byte 2"),
        (b"\x00\x01", "a field has the number 0 at byte 0"),
        (b"\x80\x80\x80\x80\x10\x00", "a field has a number beyond 2^29 at byte 0"),
        (b"\x0e", "a field has the wire type 6 at byte 1"),
        (b"\x9b\x06\xa4\x06", "the end of a group does not match its start at byte 4"),
        (b"\x3a\x07\x2a\x05\x22\x03abc", "a list of numbers ends inside one at byte 9"),
        (b"\x9b\x06" * 102, "it is nested deeper than 100 levels"),
        (b"\x12\xb8\x17" + bytes(3000), "it has no graph"),
        (b"\x12\x81\x20" + bytes(4097), "it has 4097 bytes in one name, more than the 4096 allowed"),
    ],
)
def test_the_reason_why_the_program_does_not_read_a_file(data: bytes, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(data)
    done = subprocess.run([PROGRAM, path], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.endswith(f"is not a model: {reason}\n")
