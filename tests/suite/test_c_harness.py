"""The harness in C: every element type, in both orders of bytes, and what becomes of a kernel that crashes."""

from __future__ import annotations

import shutil
import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path
from zlib import crc32

import numpy as np
import onnx
import pytest

from sonnx.base.errors import BadInput
from sonnx.executor.runtimes import Failure, Fault
from sonnx.model.ir import WIDTH
from sonnx.numerics.formats import ELEMENTS, TEXT, Array
from sonnx.numerics.packing import packed, unpacked
from sonnx.suite.archive import EXACT, Case, DataSet, StoredCase, Suite, tensor_file
from sonnx.suite.c_harness import HarnessOutputs, cases_file, harness_sources, read_outputs
from sonnx.suite.recorded_outputs import RecordedOutputs
from tests.support.editions import NEWEST

COMPILERS = {
    "this machine": (["cc"], []),
    "big-endian": (["s390x-linux-gnu-gcc", "-static"], ["qemu-s390x"]),
    "32 bits": (["arm-linux-gnueabihf-gcc", "-static"], ["qemu-arm"]),
}
"""By name: what compiles, and what runs the program."""
WARNINGS = ["-std=c99", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
PLACE = Path(__file__).parent
SCALE, STEP = 0.5, 3
FLOATS = ("float", "double", "complex64", "complex128")


def is_here(compiler: str) -> bool:
    compiled, run = COMPILERS[compiler]
    return all(shutil.which(words[0]) for words in (compiled, run) if words)


machines = pytest.mark.parametrize(
    "compiler",
    [
        pytest.param(name, marks=pytest.mark.skipif(not is_here(name), reason=f"no compiler for {name}"))
        for name in COMPILERS
    ],
)


def inputs_of(element: str) -> Array:
    """Three lines of five elements, so that elements of fewer than 8 bits do not end with a byte."""
    kind = ELEMENTS[element]
    if kind == TEXT:
        return np.array([["", "a", "é", "four", "abcde"]] * 3, object)
    if element == "bool":
        return np.arange(15).reshape(3, 5) % 3 == 0
    if element in FLOATS:
        drawn = np.random.default_rng(1).normal(size=(3, 5))
        return (drawn + (1j * drawn[::-1] if element.startswith("complex") else 0)).astype(kind)
    bits = int(8 * WIDTH[element])
    data = np.random.default_rng(2).integers(0, 256, -(-15 * bits // 8), np.uint8)
    data[-1] &= 255 >> -(15 * bits) % 8
    return unpacked(data.tobytes(), (3, 5), kind)


def changed(element: str, given: Array) -> Array:
    """What two nodes of the probe give."""
    kind = ELEMENTS[element]
    if element == "bool" or kind == TEXT:
        return given
    if element in FLOATS:
        return (given * kind.type(SCALE) * kind.type(SCALE)).astype(kind)
    bits = int(8 * WIDTH[element])
    data = int.from_bytes(packed(given), "little")
    numbers = [(data >> bits * place) + 2 * STEP & (1 << bits) - 1 for place in range(given.size)]
    whole = sum(number << bits * place for place, number in enumerate(numbers))
    return unpacked(whole.to_bytes(-(-given.size * bits // 8), "little"), given.shape, kind)


def probe(element: str, *, crash: bool = False) -> StoredCase:
    """A model of two nodes; the shape of what is between them is not stated."""
    given = inputs_of(element)
    number = onnx.TensorProto.FromString(tensor_file("x", given)).data_type
    attributes = {
        "scale": SCALE,
        "steps": [STEP, -1],
        "names": ["first", "second"],
        "table": onnx.numpy_helper.from_array(np.array([1, 0.1])),
        **({"crash": 1} if crash else {}),
    }
    nodes = [
        onnx.helper.make_node("Probe", [source, "", "c"], [target], **attributes)
        for source, target in (("x", "h"), ("h", "y"))
    ]
    described = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        nodes, "g", [described("x", number, (3, 5))], [described("y", number, (3, 5))],
        [onnx.numpy_helper.from_array(np.array([70000], np.int32), "c")],
        value_info=[described("h", number, ("n", 5))],
    )  # fmt: skip
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 7)])
    files = {"model.onnx": model.SerializeToString(), "test_data_set_0/input_0.pb": tensor_file("x", given)}
    case = Case(
        id=f"probe-{element}{'-crash' * crash}", operator="Probe", version=7, edition=NEWEST, call="", classes=(),
        rules=(), labels=(), errata=(), constants=("c",), broken="", invalid=False,
        sets=(DataSet("ordinary", "", (EXACT,)),), digests={},
    )  # fmt: skip
    return StoredCase(case, files)


def program(compiler: str, folder: Path, *options: str) -> list[str]:
    for path, content in harness_sources().items():
        (folder / Path(path).name).write_bytes(content)
    compiled, run = COMPILERS[compiler]
    sources = [folder / "harness.c", PLACE / "probe.c"]
    subprocess.run([*compiled, *WARNINGS, *options, f"-I{folder}", "-o", folder / "probe", *sources], check=True)
    return [*run, str(folder / "probe")]


def ran(words: Sequence[str], folder: Path, cases: Sequence[StoredCase], *options: str) -> int:
    (folder / "Probe.cases").write_bytes(cases_file("Probe", "a" * 64, cases))
    return subprocess.run([*words, *options, folder, folder / "Probe.cases"], stderr=subprocess.DEVNULL).returncode


def outputs(folder: Path) -> HarnessOutputs:
    return read_outputs(folder / "Probe.outputs")


@machines
def test_every_element_type_comes_and_goes_in_the_order_of_the_machine(compiler: str, tmp_path: Path) -> None:
    elements = [*WIDTH, "string"]
    assert ran(program(compiler, tmp_path), tmp_path, [*map(probe, elements)]) == 0
    given = outputs(tmp_path)
    assert (given.implementation, given.archive, given.is_whole) == ("the probe", "a" * 64, True)
    for element in elements:
        answer = given.answers[f"probe-{element}", 0]
        if element == "float4e2m1":
            assert isinstance(answer, Failure) and str(answer) == "float4e2m1 is refused"
            continue
        assert isinstance(answer, dict), f"{element}: {answer}"
        expected = changed(element, inputs_of(element))
        assert (answer[0].dtype, answer[0].shape) == (ELEMENTS[element], (3, 5))
        assert answer[0].tolist() == expected.tolist() or answer[0].tobytes() == expected.tobytes(), element


@pytest.mark.skipif(not is_here("this machine"), reason="there is no compiler")
def test_the_harness_goes_on_behind_a_kernel_that_crashes(tmp_path: Path) -> None:
    cases = [probe("float"), probe("int32", crash=True), probe("double")]
    words = program("this machine", tmp_path)
    assert ran(words, tmp_path, cases) < 0
    first = outputs(tmp_path)
    assert not first.is_whole
    assert [*first.answers] == [("probe-float", 0), ("probe-int32-crash", 0)]
    content = (tmp_path / "Probe.outputs").read_bytes()
    for unfinished in (b"", content[:70][-20:]):  # a record of which only a part was written
        (tmp_path / "Probe.outputs").write_bytes(content + unfinished)
        assert ran(words, tmp_path, cases, "--continue") == 0
        second = outputs(tmp_path)
        assert second.is_whole
        assert isinstance(second.answers["probe-int32-crash", 0], Fault)
        assert isinstance(second.answers["probe-double", 0], dict)
    whole = (tmp_path / "Probe.outputs").read_bytes()
    assert ran(words, tmp_path, cases, "--continue") == 0
    assert (tmp_path / "Probe.outputs").read_bytes() == whole
    assert ran(words, tmp_path, cases[:1]) == 0
    assert outputs(tmp_path).answers.keys() == {("probe-float", 0)}


@pytest.mark.skipif(not is_here("this machine"), reason="there is no compiler")
def test_cases_that_cannot_be_used_end_the_program(tmp_path: Path) -> None:
    words = program("this machine", tmp_path)
    content = cases_file("Probe", "a" * 64, [probe("float")])
    for place in range(0, len(content), 7):
        changed_content = content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]
        (tmp_path / "Probe.cases").write_bytes(changed_content)
        answer = subprocess.run([*words, tmp_path, tmp_path / "Probe.cases"], capture_output=True)
        assert answer.returncode == 2, place
        assert answer.stderr, place
    small = program("this machine", tmp_path, "-DSONNX_MEMORY=800")
    assert ran(small, tmp_path, [probe("float")]) == 2


@pytest.mark.skipif(not is_here("this machine"), reason="there is no compiler")
def test_a_target_without_files_gives_its_own_functions(tmp_path: Path) -> None:
    """Cases come on standard input, and outputs go to standard output."""
    (tmp_path / "board.c").write_text(
        '#include <stdio.h>\n#include "harness.h"\n'
        "size_t sonnx_read(void *data, size_t size) { return fread(data, 1, size, stdin); }\n"
        "int sonnx_write(const void *data, size_t size) { return fwrite(data, 1, size, stdout) != size; }\n"
        "void sonnx_say(const char *sentence) { fputs(sentence, stderr); }\n"
        "int main(void) { return sonnx_run(0); }\n"
    )
    words = program("this machine", tmp_path, "-DSONNX_NO_FILES", str(tmp_path / "board.c"))
    answer = subprocess.run(words, input=cases_file("Probe", "a" * 64, [probe("int4")]), capture_output=True)
    assert answer.returncode == 0
    (tmp_path / "Probe.outputs").write_bytes(answer.stdout)
    assert outputs(tmp_path).is_whole
    assert isinstance(outputs(tmp_path).answers["probe-int4", 0], dict)


def record(*numbers: int, text: bytes = b"") -> bytes:
    content = struct.pack(f"<{len(numbers)}I", *numbers) + text
    content += bytes(-len(content) % 8)
    return struct.pack("<II", len(content), crc32(content)) + content


HEADER = record(1, 1, text=b"a\0\0\0\1\0\0\0i\0\0\0")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "it has no header"),
        (b"letter", "it has no header"),
        (HEADER + HEADER, "its first record, and no other, is a header"),
        (HEADER[:-1] + b"x", "record 0 is damaged"),
        (HEADER + record(5, 0, 0, 0, 0xFFFFFFFF), "a record ends early"),
        (HEADER + record(5, 0, 0, 0, 1, 1, 0xFFFFFFFF, 1), "a record ends early"),
        (HEADER + record(5, 0, 0, 0, 1, 1, 1, 0xFFFFFFFF, 0xFFFFFFFF, 1), "an output has a negative extent"),
        (HEADER + record(5, 0, 0, 0, 1, 1, 1, 0xFFFFFFFF, 0xFFFF, 1), "a record ends early"),
        (HEADER + record(5, 0, 0, 0, 1, 8, 1, 0xFFFFFFFF, 0xFFFF, 1), "a record ends early"),
        (HEADER + record(9, 0, 0, 0), "it has a record of kind 9"),
    ],
)
def test_a_damaged_file_of_outputs_is_bad_input(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "Probe.outputs").write_bytes(content)
    with pytest.raises(BadInput, match=said):
        outputs(tmp_path)


def test_outputs_of_another_suite_are_refused(tmp_path: Path) -> None:
    (tmp_path / "Probe.outputs").write_bytes(HEADER)
    suite = Suite(hypotheses="", bounds="", parts=(), archives={"Probe.zip": "b"})
    with pytest.raises(BadInput, match="has outputs of another suite"):
        RecordedOutputs(tmp_path, suite)
