"""The budget of the commands about one model: a sentence, code 3, and what was done is kept."""

from __future__ import annotations

import ctypes
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic

import onnx.parser
import pytest
import z3

from sonnx.base import budget
from sonnx.base.budget import CommandLimits, OutOfTime, is_lack_of_memory, milliseconds_left, time_limit
from sonnx.base.errors import Unfinished
from sonnx.cli.main import run
from sonnx.prover import call_proof, model_walk, symbols
from sonnx.prover.model_walk import prove_model
from sonnx.prover.weakest_condition import weakest_condition
from tests.fuzz.commands import commands
from tests.support import families
from tests.support.cases import crossed, spread
from tests.support.invariants import field, one_sentence

LARGE = """
<ir_version: 10, opset_import: ["" : 13]> g (float[3000, 3000] x) => (float[3000, 3000] y) { y = MatMul(x, x) }
"""
SYMBOLIC = """
<ir_version: 10, opset_import: ["" : 13]> g (float[N] a, float[M] b) => (float[N] y) { y = Max(a, b) }
"""
COMMANDS = {
    "run": ("run", "--random"),
    "fix": ("rewritten", "--output", "new.onnx"),
    "compare": ("compared", "--runtime", "reference", "--output", "report.txt"),
    "bound": ("bounded", "--box", "x=[-1,1]", "--output", "report.txt"),
    "audit": ("audited", "--output", "pack"),
    "equivalent": ("compared", "m.onnx", "--output", "report.txt"),
    "diff": ("compared", "m.onnx", "--output", "report.txt"),
    "verify": ("verified", "p.toml", "--output", "report.txt"),
    "rules": ("compared", "--output", "report.txt"),
}
"""The participle of what each command does, and options with which it writes."""
EDITIONS = {"rules": ("--since", "2025-11")}
"""What stands before the model."""
EACH = pytest.mark.parametrize("name", COMMANDS)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "m.onnx").write_bytes(onnx.parser.parse_model(LARGE).SerializeToString())
    (tmp_path / "symbolic.onnx").write_bytes(onnx.parser.parse_model(SYMBOLIC).SerializeToString())
    (tmp_path / "p.toml").write_text('input = ["x=[-1,1]"]\n[[require]]\noutput = 0\nabove = -1\n')
    monkeypatch.chdir(tmp_path)
    return tmp_path


def command(name: str, *options: str) -> list[str]:
    return [name, *EDITIONS.get(name, ()), "m.onnx", *COMMANDS[name][1:], *options]


def refused(arguments: Sequence[str], code: int, folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """The sentence of a command that ends with a code; it writes nothing."""
    before = sorted(folder.rglob("*"))
    assert run(arguments) == code
    said = capsys.readouterr()
    assert said.out == "" and one_sentence(said.err.strip())
    assert sorted(folder.rglob("*")) == before
    return said.err


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in EDITIONS])
def test_a_limit_of_the_file(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "has 1 nodes in all" in refused(command(name, "--limit", "nodes=0"), 2, folder, capsys)


SOON_SECONDS = 1e-3


@contextmanager
def alarm_at_once() -> Iterator[None]:
    """The time of a command is over just after its limit is set, however fast the command is."""
    with pytest.MonkeyPatch.context() as patch:
        start = signal.setitimer
        patch.setattr(signal, "setitimer", lambda timer, seconds: start(timer, min(seconds, SOON_SECONDS)))
        yield


@EACH
@pytest.mark.parametrize("options", [("--timeout", "70"), ()])
# The signal can come between the opening of a pipe and the statement that closes it: the end of the process does.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_the_time_of_a_command(
    name: str, options: Sequence[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing takes the signal for a failure of its own."""
    with alarm_at_once():
        said = refused(command(name, *options), 3, folder, capsys)
    seconds = 70 if options else CommandLimits().seconds
    assert said == f"sonnx: 'm.onnx' was not {COMMANDS[name][0]} within {seconds} seconds (--timeout)\n"


@pytest.mark.skipif(sys.platform != "linux", reason="the system limits memory on Linux")
@pytest.mark.parametrize("name", spread(COMMANDS, 4))
def test_the_memory_of_each_command(name: str, folder: Path) -> None:
    before = sorted(folder.rglob("*"))
    words = [sys.executable, "-m", "sonnx", *command(name, "--memory", "8")]
    done = subprocess.run(words, check=False, capture_output=True, text=True)
    said = f"sonnx: 'm.onnx' was not {COMMANDS[name][0]} within 8 megabytes of memory (--memory)\n"
    assert (done.returncode, done.stdout, done.stderr) == (3, "", said)
    assert sorted(folder.rglob("*")) == before


@pytest.mark.skipif(sys.platform != "linux", reason="the system limits memory on Linux")
@pytest.mark.parametrize(
    ("megabytes", "models"), crossed([1, 2, 3, 4, 5, 8, 12], [["m.onnx"], ["m.onnx", "symbolic.onnx"]], every=4)
)
def test_the_memory_of_a_check(megabytes: int, models: list[str], folder: Path) -> None:
    """However the lack of memory shows: as an error, or as a signal that ends the process."""
    words = [sys.executable, "-m", "sonnx", "check", *models, "--memory", str(megabytes)]
    done = subprocess.run(words, check=False, capture_output=True, text=True)
    unit = "megabyte" if megabytes == 1 else "megabytes"
    said = [f"sonnx: {name!r} was not checked within {megabytes} {unit} of memory (--memory)" for name in models]
    assert (done.returncode, done.stderr.splitlines()) == (3, said)


LIMITED = """
import resource, sys, threading, time
from sonnx.cli.main import run
def look():
    while not ended.is_set():
        time.sleep(5e-4)
        met.add(resource.getrlimit(resource.RLIMIT_DATA)[0])
met, ended, watch = set(), threading.Event(), threading.Thread(target=look)
look_before = resource.getrlimit(resource.RLIMIT_DATA)[0]
sys.setswitchinterval(1e-4)
watch.start()
run(sys.argv[1:])
ended.set()
watch.join()
print(*(met - {look_before}))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the system limits memory on Linux")
def test_a_command_has_a_limit_of_memory_without_an_option(folder: Path) -> None:
    words = [sys.executable, "-c", LIMITED, "rules", *EDITIONS["rules"], "symbolic.onnx"]
    done = subprocess.run(words, check=False, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == str(CommandLimits().megabytes << 20)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # as above
def test_the_time_of_several_models(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for models, named in ((["m.onnx", "symbolic.onnx", "m.onnx"], "'m.onnx' and 2 more were"), ([], "the profile was")):
        with alarm_at_once():
            said = refused(["rules", *EDITIONS["rules"], *models, "--timeout", "70"], 3, folder, capsys)
        assert said == f"sonnx: {named} not compared within 70 seconds (--timeout)\n"


@pytest.mark.parametrize("error", [ImportError("no module"), SystemError("failed")])
def test_what_may_have_another_cause(error: Exception) -> None:
    """Only where little memory is allowed, or most of it is used, is it taken for a lack of memory."""
    assert is_lack_of_memory(error, 100)
    assert not is_lack_of_memory(error, 1 << 20)
    assert is_lack_of_memory(MemoryError(), 1 << 20)
    assert is_lack_of_memory(MemoryError(), None)
    assert not is_lack_of_memory(error, None)


def test_the_time_passes() -> None:
    with pytest.raises(OutOfTime), time_limit(0.01):
        while True:
            pass
    with time_limit(0.01, interrupts=False):
        while not budget.is_over():
            pass
    assert not budget.is_over()


class Waiting:
    """Its deletion takes as long as nothing interrupts it."""

    def __del__(self) -> None:
        while True:
            pass


def test_the_time_passes_while_an_object_is_deleted(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(OutOfTime), time_limit(0.01):
        Waiting()
        while True:
            pass
    assert capsys.readouterr().err == ""


def test_the_time_passes_in_an_argument_of_a_library() -> None:
    """ctypes reports what interrupts it as an error of the argument."""
    with pytest.raises(OutOfTime), time_limit(0, interrupts=False):
        raise ctypes.ArgumentError("argument 3: OutOfTime: ")


def test_an_error_that_names_the_limit_is_itself_while_there_is_time() -> None:
    """A file or a node may have this name."""
    with pytest.raises(ValueError, match="OutOfTime"), time_limit(60):
        raise ValueError("'OutOfTime.onnx' cannot be read")


def test_the_memory_of_a_command(folder: Path) -> None:
    """The product of the matrices takes more; the limit holds for a process of its own."""
    arguments = command("run", "--memory", "150")
    done = subprocess.run([sys.executable, "-m", "sonnx", *arguments], check=False, capture_output=True, text=True)
    said = "sonnx: 'm.onnx' was not run within 150 megabytes of memory (--memory)\n"
    assert (done.returncode, done.stdout, done.stderr) == (3, "", said)


def test_a_library_that_ends_its_process_for_lack_of_memory(folder: Path) -> None:
    """Whatever the library does: the values, or the sentence."""
    for megabytes in spread((70, 90, 120, 130, 140), 2):
        arguments = command("run", "--memory", str(megabytes))
        done = subprocess.run([sys.executable, "-m", "sonnx", *arguments], check=False, capture_output=True, text=True)
        said = f"sonnx: 'm.onnx' was not run within {megabytes} megabytes of memory (--memory)\n"
        assert done.returncode == 3
        assert done.stderr.endswith(said)
        assert "the tool failed" not in done.stderr


@pytest.mark.parametrize("name", COMMANDS)
def test_what_needs_no_arrays_loads_none_of_their_libraries(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Those of the others are loaded before their memory is limited, where it is not that by default."""
    reserved = list[str]()

    @contextmanager
    def limited(megabytes: int) -> Iterator[None]:
        raise Unfinished(f"{megabytes} {len(reserved)}")
        yield

    monkeypatch.setattr("sonnx.numerics.matrix_products.reserve_memory", lambda: reserved.append(name))
    monkeypatch.setattr("sonnx.cli.budget.memory_limit", limited)
    for options, said in (((), "8192 0"), (("--memory", "300"), f"300 {int(name != 'rules')}")):
        assert refused(command(name, *options), 3, folder, capsys) == f"sonnx: {said}\n"


@pytest.mark.skipif(sys.platform != "linux", reason="the system limits addresses on Linux")
@pytest.mark.parametrize(
    ("line", "megabytes", "said"),
    [
        ("run m.onnx --random", 60, "'m.onnx' was not run within 60 megabytes of memory (which the system allows)"),
        ("run m.onnx --random", 98, "'m.onnx' was not run within 98 megabytes of memory (which the system allows)"),
        ("prove m.onnx", 60, "'m.onnx' was not proved within 60 megabytes of memory (which the system allows)"),
        ("prove m.onnx --memory 20", None, "'m.onnx' was not proved within 20 megabytes of memory (--memory)"),
        ("check many --jobs 2", 45, "the memory of this machine does not suffice"),
    ],
)
def test_what_the_system_allows_is_not_a_failure_of_the_tool(
    line: str, megabytes: int | None, said: str, folder: Path
) -> None:
    """Nor that the model does not conform, which is what the code says with which OpenBLAS ends a process."""
    Path("many").mkdir()
    for number in range(6):
        Path(f"many/{number}.onnx").write_bytes(Path("m.onnx").read_bytes())
    limited = "" if megabytes is None else f"ulimit -v {megabytes << 10}; "
    words = ["bash", "-c", f"{limited}'{sys.executable}' -m sonnx {line}"]
    done = subprocess.run(words, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout if megabytes != 45 else "") == (3, "")
    assert done.stderr.endswith(f"{said}\n")


def test_a_comparison_keeps_its_runs(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The time is over when the third run of four begins."""
    over = iter([False, False, True])
    monkeypatch.setattr(budget, "is_over", lambda: next(over))
    arguments = ["--bind", "N=2,M=2", "--runtime", "reference", "--random", "4", "--timeout", "60"]
    assert run(["compare", "symbolic.onnx", *arguments]) == 3
    said = capsys.readouterr().out
    assert "skipped: run 3: the time was over (--timeout)" in said
    assert "skipped: run 4: the time was over (--timeout)" in said
    assert "2 runs" in said


def test_a_comparison_keeps_its_class_runs(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The time is over when the fourth class run begins."""
    over = iter([False] * 4 + [True])
    monkeypatch.setattr(budget, "is_over", lambda: next(over))
    arguments = ["--bind", "N=2,M=2", "--runtime", "reference", "--random", "1", "--timeout", "60"]
    assert run(["compare", "symbolic.onnx", *arguments]) == 3
    said = capsys.readouterr().out
    assert "skipped: class inputs: the time was over (--timeout)" in said
    assert "classes     3 class runs of a value" in said


def test_a_proof_keeps_its_answers(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Conditions whose question is not asked in time are open, with the reason."""
    asked = iter([False])  # whether the assumptions can hold
    monkeypatch.setattr(symbols, "is_over", lambda: next(asked, True))
    monkeypatch.setattr(call_proof, "is_over", lambda: True)
    assert run(["prove", "symbolic.onnx", "--timeout", "60"]) == 3
    assert call_proof.NO_TIME in capsys.readouterr().out


def test_a_library_that_is_interrupted_ends_the_command() -> None:
    """A compiled function reports the exception of the interrupt as an error of its own."""
    with pytest.raises(OutOfTime), time_limit(60):
        raise SystemError from OutOfTime()


def test_no_rule_is_asked_after_the_time(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_proof, "is_over", lambda: True)
    proof = prove_model(folder / "symbolic.onnx")
    assert not proof.refuted
    assert {each.reason for each in proof.open if "." in each.rule} == {call_proof.NO_TIME}


def test_a_proof_without_time_states_no_condition() -> None:
    """Neither z3 nor values of the symbols are asked; what is not known is not stated."""
    asked = symbols.Symbols(("N", "M"), ())
    equal = asked.condition("N == M")
    assert isinstance(equal, z3.BoolRef)
    with time_limit(1e-9, interrupts=False):
        assert milliseconds_left() == 1
        assert asked.ask([equal]) == z3.unknown
        assert asked.points_where(equal) == ([], [])
        assert asked.smallest_values(equal) is None
        assert weakest_condition(equal, asked) == ""
    fresh = symbols.Symbols(("N", "M"), ())
    assert weakest_condition(equal, fresh) == "N == M"


def test_a_counterexample_that_there_is_no_time_to_confirm_is_open(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_walk, "is_over", lambda: True)
    proof = prove_model(folder / "symbolic.onnx")
    assert not proof.refuted
    assert call_proof.NO_TIME in {each.reason for each in proof.open}


def test_each_question_has_the_time_that_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    given = list[int]()
    monkeypatch.setattr(z3.Solver, "set", lambda self, name, value: given.append(value) if name == "timeout" else None)
    asked = symbols.Symbols(("N",), ())
    assert not given
    with time_limit(60, interrupts=False):
        asked.ask([])
    assert len(given) == 1
    assert 0 < given[0] <= 60_000


LONG = {
    "run": lambda: model_of_products(20),
    "compare": lambda: model_of_products(20),
    "bound": lambda: model_of_products(20),
    "fix": lambda: families.MAKERS["calls_of_long_functions"](440),
    "prove": lambda: families.MAKERS["product_of_symbols"](900),
    "audit": lambda: families.MAKERS["dense_layers"](30_000),
    "equivalent": lambda: families.MAKERS["dense_layers"](30_000),
    "diff": lambda: families.MAKERS["dense_layers"](30_000),
    "verify": lambda: families.MAKERS["dense_layers"](30_000),
}
"""Models on which a command takes more than its time."""
LIMIT, ALLOWED = 5, 6
"""Seconds of the limit, and those within which a command must have ended: a fifth of the limit, or one second, more."""


def model_of_products(number: int) -> bytes:
    """Products of large matrices, one after the other."""
    nodes = " ".join(f"v{index + 1} = MatMul(v{index}, v{index})" for index in range(number))
    head = '<ir_version: 10, opset_import: ["" : 13]> g (float[3000, 3000] v0)'
    return onnx.parser.parse_model(f"{head} => (float[3000, 3000] v{number}) {{ {nodes} }}").SerializeToString()


@pytest.mark.campaign
@pytest.mark.parametrize("name", LONG)
def test_the_time_is_kept(name: str, tmp_path: Path) -> None:
    """Beyond the start of the program, which prints a help text in it."""
    path = tmp_path / "m.onnx"
    path.write_bytes(LONG[name]())
    path.with_name("changed.onnx").write_bytes(path.read_bytes() + field(14, b"\n\x01k\x12\x01v"))
    [line] = [line for command, line in commands(str(path), 0, LIMIT, 8192) if command == name]
    taken = list[float]()
    for arguments, code in (["--help"], 0), (line, 3):
        started = monotonic()
        done = subprocess.run([sys.executable, "-m", "sonnx", name, *arguments], check=False, capture_output=True)
        taken.append(monotonic() - started)
        assert done.returncode == code, done.stderr
    sys.stdout.write(f"{name}: {taken[1] - taken[0]:.2f} s of {LIMIT}, beyond a start of {taken[0]:.2f} s\n")
    assert taken[1] - taken[0] < ALLOWED
