"""The ten commonest mistakes: one sentence, and the next command, which is one of the program's."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from sonnx.cli.main import parser, run
from sonnx.cli.next_commands import NEXT, next_command
from sonnx.prover import solvers
from tests.support.paths import ROOT

MISTAKES = {
    "a wrong file": ("check text.onnx", "try 'sonnx check --help'"),
    "a file that is missing": ("check missing.onnx", "try 'sonnx check .'"),
    "a folder for one model": ("run folder --random", "try 'sonnx run folder/m.onnx', or 'sonnx check folder'"),
    "a folder without models": ("check empty", "try 'sonnx check FILE'"),
    "no models matched": ("check nothing*.onnx", "try 'sonnx check .'"),
    "an unknown symbol": ("check symbolic.onnx --bind Q=1", "try 'sonnx check symbolic.onnx --bind M=1,N=1'"),
    "a misspelt rule": ("check m.onnx --select Max.broadcastble", "did you mean 'Max.broadcastable'?"),
    "an old spelling": ("diff-edition 2025-10 2025-11", "is now 'sonnx rules --since BEFORE --edition AFTER'"),
    "two models that are no pair": ("equivalent m.onnx classifier.onnx", "try 'sonnx diff m.onnx classifier.onnx'"),
    "inputs that are missing": ("run m.onnx", "try 'sonnx run m.onnx --random'"),
    "a box that is missing": ("bound m.onnx", "try 'sonnx bound m.onnx --box "),
    "a size that is missing": ("compare classifier.onnx", "try 'sonnx compare classifier.onnx --bind batch=1'"),
    "a folder that cannot be written": ("check m.onnx --output none/x.txt", "try 'mkdir -p none'"),
    "a missing extra": ("theorems --select order.total --solver cvc5", "pip install 'sonnx[solvers]'"),
    "a misspelt command": ("chek m.onnx", "did you mean 'check'?"),
    "a misspelt option": ("check m.onnx --fromat json", "did you mean '--format'?"),
}  # fmt: skip


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("folder", "empty"):
        Path(name).mkdir()
    Path("text.onnx").write_text("hello")
    for source, target in (
        ("conforming", "m"), ("conforming", "folder/m"), ("symbolic", "symbolic"), ("classifier", "classifier"),
    ):  # fmt: skip
        Path(f"{target}.onnx").write_bytes((ROOT / "examples" / f"{source}.onnx").read_bytes())


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_names_the_next_command(
    mistake: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    line, following = MISTAKES[mistake]
    monkeypatch.setattr(solvers, "installed", lambda name: name != "cvc5")
    try:
        code = run(shlex.split(line))
    except SystemExit as ended:
        code = ended.code
    said = capsys.readouterr()
    assert said.err.count("\n") == 1
    assert following in said.err
    assert code == (0 if mistake == "an old spelling" else 2)


def test_a_folder_without_permission_names_the_next_command() -> None:
    """The superuser, who runs some tests, may write everywhere."""
    said = next_command("/usr/x.html: Permission denied", ["check", "m.onnx", "--output", "/usr/x.html"])
    assert said == "; try 'sonnx check m.onnx --output FOLDER/x.html'"


def test_an_old_python_names_the_next_command() -> None:
    """As the first module sees it: a program ends with a sentence, an import is refused."""
    oldest = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["requires-python"].removeprefix(
        ">="
    )
    first = str(ROOT / "sonnx" / "__init__.py")
    program = (
        "import sys; sys.version_info = (3, 10, 13, 'final', 0); sys.argv = %r; "
        f"exec(open({first!r}).read(), dict(__file__={first!r}))"
    )
    for argv, code in ((["-m"], 2), (["program.py"], 1)):
        command = [sys.executable, "-c", program % (argv,)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        sentence = f"sonnx needs Python {oldest} or newer, and this is 3.10; try 'python{oldest} -m pip install .'"
        assert (done.returncode, done.stderr.strip().splitlines()[-1].removeprefix("ImportError: ")) == (code, sentence)


def test_the_commands_that_are_named_can_be_given(capsys: pytest.CaptureFixture[str]) -> None:
    tried = 0
    for line, _ in MISTAKES.values():
        try:
            run(shlex.split(line))
        except SystemExit:
            continue
        for command in re.findall(r"(?:try|or) 'sonnx ([^']*)'", capsys.readouterr().err):
            words = shlex.split(command)
            if "--help" not in words:
                assert callable(parser(words[0]).parse_args(words).command)
                tried += 1
    assert tried >= 9


def test_patterns_are_of_sentences_that_are_still_said() -> None:
    """Each is met by one of the mistakes, but for what only the system says."""
    source = "\n".join(path.read_text("utf-8") for path in (ROOT / "sonnx").rglob("*.py"))
    for pattern, _ in NEXT:
        words = re.findall(r"[a-z][a-z ]{6,}[a-z]", re.sub(r"\(\?P<\w+>|\\.|\[[^\]]*\]", "|", pattern))
        assert all(
            word.strip() in source or "irectory" in word or "denied" in word or "file system" in word for word in words
        ), pattern
