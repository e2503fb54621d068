"""The command line as its users meet it: exit codes, what is printed where, bad input, pipes."""

from __future__ import annotations

import argparse
import io
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import onnx.parser
import pytest

from sonnx.cli import help_texts
from sonnx.cli.main import CommandParser, nested, parser, run
from sonnx.cli.old_spellings import REMOVED_IN, current_spelling
from sonnx.model.limits import LIMITS
from tests.support.cases import each_case
from tests.support.editions import NEWEST
from tests.support.model_texts import TEXTS

FINE, RUN_TIME = TEXTS["fine"], TEXTS["run_time"]
WRONG = FINE.replace("float[2] y", "float[3] y")
SYMBOL = FINE.replace("[2]", "[N]")
TWO_SYMBOLS = """<ir_version: 10, opset_import: ["" : 13]>
g (float[N] a, float[M] b) => (float[N] y) { y = Max(a, b) }"""


@pytest.fixture
def models(tmp_path: Path) -> dict[str, str]:
    texts = {"fine": FINE, "wrong": WRONG, "symbol": SYMBOL, "two_symbols": TWO_SYMBOLS, "run_time": RUN_TIME}
    for name, text in texts.items():
        (tmp_path / f"{name}.onnx").write_bytes(onnx.parser.parse_model(text).SerializeToString())
    (tmp_path / "text.onnx").write_text("hello")
    return {name: str(tmp_path / f"{name}.onnx") for name in (*texts, "text")}


@pytest.mark.parametrize(
    ("names", "options", "code"),
    [
        (["fine"], [], 0),
        (["wrong"], [], 1),
        (["text"], [], 2),
        (["two_symbols"], ["--edition", "2025-10"], 3),
        (["run_time"], [], 3),
        (["run_time"], ["--accept-assumptions"], 0),
        (["symbol"], [], 1),
        (["symbol"], ["--bind", "N=4"], 0),
        (["symbol"], ["--bind", "M=4"], 2),
        (["symbol"], ["--bind", "N=-1"], 2),
        (["symbol"], ["--bind", "N=1,N=2"], 2),
        (["fine"], ["--select", "Max"], 3),
        (["fine"], ["--ignore", "GR1"], 3),
        (["wrong"], ["--select", "no-sparse-tensor"], 3),
        (["fine"], ["--select", "nonsense"], 2),
        (["fine"], ["--edition", "1999-01"], 2),
        (["fine"], ["--strict-versions"], 0),
        (["fine", "wrong"], ["--jobs", "0"], 1),
        (["fine", "run_time"], ["--jobs", "0"], 3),
        (["fine", "wrong", "run_time", "text"], [], 2),
    ],
)
def test_exit_codes(models: dict[str, str], names: list[str], options: list[str], code: int) -> None:
    paths = [models[name] for name in names]
    assert run(["check", *paths, *options]) == code
    assert run(["check", *paths, *options, "--format", "json"]) == code, "the format never changes the code"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("run MODEL --format deviations", "'deviations'"),
        ("theorems --format deviations", "'deviations'"),
        ("theorems --list --format json", "--list excludes --format and --output"),
        ("prove MODEL --list", "--list"),
        ("prove MODEL --select order", "--select"),
        ("prove MODEL --solver cvc5", "a model is proved by z3; --solver all confirms it by a second solver"),
        ("theorems --assume N>1", "--assume"),
        ("rules MODEL", "--since"),
        ("rules --bind N=1", "--bind is about models"),
        ("compare MODEL --format deviations", "'deviations'"),
        ("rules --format html", "'html'"),
        ("check MODEL --format nothing", "'nothing'"),
        ("rules --format sarif", "'sarif'"),
        ("fix MODEL --dry-run --format deviations", "'deviations'"),
        ("nothing", "'nothing'"),
        ("check MODEL --nothing \x1b", "--nothing \\x1b"),
        ("", "COMMAND"),
    ],
)
def test_misuse_is_one_sentence(
    models: dict[str, str], capsys: pytest.CaptureFixture[str], command: str, said: str
) -> None:
    arguments = [models["fine"] if word == "MODEL" else word for word in command.split(" ") if word]
    try:
        code = run(arguments)
    except SystemExit as stop:
        code = stop.code
    printed = capsys.readouterr()
    assert (code, printed.out, printed.err.count("\n")) == (2, "", 1)
    assert printed.err.startswith("sonnx: ")
    assert said in printed.err
    assert printed.err[:-1].isprintable()


def test_assumption_is_stated(models: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    run(["check", models["run_time"], "--accept-assumptions"])
    out = capsys.readouterr().out
    assert "conforms under assumptions" in out
    assert "-data.rank <= a < data.rank for a in axes" in out


def test_partial_never_conforms(models: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    run(["check", models["fine"], "--select", "Max"])
    assert "fine.onnx: the selected rules hold (edition 2026-11, only Max)" in capsys.readouterr().out
    run(["check", models["fine"], "--select", "ArgMax"])
    assert "do not apply to the model" in capsys.readouterr().out


def test_bound_symbols_stand_in_the_headline(models: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    run(["check", models["symbol"], "--bind", "N=4"])
    assert f"symbol.onnx: conforms (edition {NEWEST}, for N=4)\n" in capsys.readouterr().out


def test_json_says_what_the_library_says(
    models: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    absent = str(tmp_path / "absent.onnx")
    run(["check", models["wrong"], absent, "--format", "json"])
    document = json.loads(capsys.readouterr().out)
    (report,), (unreadable,) = document["reports"], document["unreadable"]
    assert report["verdict"] == "fail"
    assert [finding["rule"] for finding in report["findings"]] == ["Max.Y-shape"]
    assert report["findings"][0]["operands"] == {"Y": "y", "X[0]": "a"}
    assert unreadable["model"] == absent


def test_same_model_same_bytes(models: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    outputs = []
    for _ in range(2):
        run(["check", models["wrong"]])
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1]


def test_standard_input(models: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    data = io.BytesIO(Path(models["fine"]).read_bytes())
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(data))
    assert run(["check", "-"]) == 0


def test_output_is_whole_or_absent(models: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "report.txt"
    assert run(["check", models["fine"], "--output", str(target)]) == 0
    assert target.read_text().startswith(f"{models['fine']}: conforms")
    assert run(["check", models["fine"], "--output", str(tmp_path / "no" / "report.txt")]) == 2
    wrote, refused = capsys.readouterr().err.splitlines()
    assert wrote == f"wrote {target}"
    assert "No such file" in refused
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize(
    "wanted", ["Max.broadcastable", "E1", "R1@2025-10", "GR4", "ArgMax", "Conv", "zero-against-one"]
)
def test_explain(wanted: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", wanted]) == 0
    assert capsys.readouterr().out.strip()


def test_explain_lists_the_errata_of_an_operator(capsys: pytest.CaptureFixture[str]) -> None:
    run(["explain", "DequantizeLinear"])
    out = capsys.readouterr().out
    assert "dequantize-int32-only: " in out and "scale-of-one-element: " in out


def test_explain_shows_both_readings_of_r2(capsys: pytest.CaptureFixture[str]) -> None:
    """Text 2025-11 cites shapes by a restriction that says types; R2 of 2025-10 is broadcasting (DF-10, DF-26)."""
    run(["explain", "R2"])
    out = capsys.readouterr().out
    assert {"explicit-shape", "explicit-type", "Max.broadcastable"} <= {
        line.split("  ")[0] for line in out.splitlines()
    }


def test_explain_has_examples(capsys: pytest.CaptureFixture[str]) -> None:
    run(["explain", "ArgMax.axis-range"])
    out = capsys.readouterr().out
    assert "passes:" in out
    assert "fails:" in out


@pytest.mark.parametrize(
    ("wanted", "lines"),
    [
        (
            "bounds.telescoping",
            ["domain    reals", "size      any", "induction prose: over the rows", "asked     identity"],
        ),
        ("max.fold", ["formula   ∀N. reduce(max, X) ∈ X", "induction Why3: fold_max of proofs/why3/induction.mlw"]),
        (
            "order.total-bits",
            ["domain    bits of named formats", "size      all of float16, bfloat16, float32, float64"],
        ),
        ("derived.Max-13.restricts", ["size      any", "computed  Max.X-type: both texts"]),
        ("shape.Concat-elements", ["size      one to three inputs, rank at most 3", "bounded   The sum over"]),
    ],
)
def test_explain_a_theorem(wanted: str, lines: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", wanted]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"{wanted}  (theorem)")
    assert [line for line in lines if f"  {line}" not in out] == []


@pytest.mark.parametrize("wanted", ["", "nonsense", "max.nonsense", "../graph", "a\x1b[31m"])
def test_explain_nothing(wanted: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", wanted]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "\x1b" not in error


def test_rules_lists_every_operator_of_the_edition(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rules", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["operators"]["Conv"] == "specified"
    assert document["operators"]["Gemm"] == "draft"
    assert document["operators"]["Identity"] == "planned"
    assert run(["rules", "--edition", "2025-10"]) == 0
    assert "no-default-values" not in capsys.readouterr().out


def command(*arguments: str, **options: object) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([sys.executable, "-m", "sonnx", *arguments], capture_output=True, check=False, **options)


def test_a_closed_pipe_is_no_failure(models: dict[str, str]) -> None:
    line = f"'{sys.executable}' -m sonnx rules | head -1"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", line], capture_output=True, check=False)
    assert done.returncode in (0, 141)  # 0 where the pipe took all of it
    assert done.stderr == b""


def test_check_loads_no_numpy_no_solver_and_not_onnx(models: dict[str, str]) -> None:
    code = "import sys; from sonnx.cli.main import run; run(['check', sys.argv[1]]); print(sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code, models["fine"]], capture_output=True, text=True, check=True)
    loaded = set(eval(done.stdout.splitlines()[-1]))
    assert not loaded & {"numpy", "z3", "onnx", "onnx.checker", "ml_dtypes", "onnxruntime"}
    assert not loaded & {"jinja2", "markupsafe", "shtab"}
    assert "sonnx.checker.checker" in loaded, "the list is the real one"


def test_a_check_starts_with_few_modules(models: dict[str, str]) -> None:
    """The second check, which finds the tables of the profile as the first one stored them."""
    code = (
        "import sys; from sonnx.__main__ import main; sys.argv[0] = 'sonnx'; main(); print(sorted(sys.modules)); "
        "import typing_extensions, msgspec.json; print(msgspec.json.decode(b'[1]', type=list[int]))"
    )
    line = [sys.executable, "-c", code, "check", models["fine"]]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    for _ in range(2):
        done = subprocess.run(
            line, cwd=Path(models["fine"]).parent, env=environment, capture_output=True, text=True, check=True
        )
    *_, modules, decoded = done.stdout.splitlines()
    assert not set(eval(modules)) & {"typing_extensions", "json", "html", "shutil", "tomllib", "importlib.metadata"}
    assert decoded == "[1]", "a module that was left out can be imported later"


@pytest.mark.parametrize("line", [["--version"], ["--help"], ["chek"], ["bound", "--help"], ["suite", "run", "--help"]])
def test_help_loads_no_numpy_no_solver_and_not_onnx(line: list[str]) -> None:
    code = (
        "import sys\nfrom sonnx.cli.main import run\ntry: run(sys.argv[1:])\nexcept SystemExit: pass\n"
        "print({'numpy', 'z3', 'onnx', 'onnxruntime'} & sys.modules.keys())"
    )
    done = subprocess.run([sys.executable, "-c", code, *line], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "set()"


@pytest.mark.parametrize(("line", "loaded"), [("--version", []), ("--help", []), ("-h", []), ("check", ["check"])])
def test_what_lists_the_commands_loads_none(line: str, loaded: list[str]) -> None:
    code = (
        "import sys\nfrom sonnx.cli.main import run\ntry: run(sys.argv[1:])\nexcept SystemExit: pass\n"
        "print([name.rpartition('.')[2] for name in sys.modules if name.startswith('sonnx.cli.commands.')])"
    )
    done = subprocess.run([sys.executable, "-c", code, line], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == str(loaded)


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (["--verison"], "unrecognized arguments: --verison; did you mean '--version'?"),
        (["--vers"], "unrecognized arguments: --vers; did you mean '--version'?"),
        (["--edition", "2026-08", "check"], "unrecognized arguments: --edition; write options behind the command"),
        (["version"], "did you mean '--version'?"),
        (["check", "--accept-assumption", "m.onnx"], "did you mean '--accept-assumptions'?"),
        (["suite", "run", "--form", "text", "suite"], "did you mean '--format'?"),
    ],
)  # fmt: skip
def test_a_mistyped_or_shortened_word_is_refused_with_the_word_that_is_meant(
    line: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        run(line)
    assert ended.value.code == 2
    assert sentence in capsys.readouterr().err


def test_a_failure_of_the_tool_is_one_sentence(models: dict[str, str], tmp_path: Path) -> None:
    broken = "import sonnx.checker.checker as c\nimport sys\n"
    broken += "import sonnx.checker.request\ndef fail(*a, **k): raise RuntimeError('boom')\n"
    broken += "sonnx.checker.request.evaluate_model = fail\n"
    broken += f"sys.argv = ['sonnx', 'check', {models['fine']!r}]\nfrom sonnx.__main__ import main; sys.exit(main())"
    done = subprocess.run([sys.executable, "-c", broken], capture_output=True, text=True, check=False)
    assert done.returncode == 4
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr


EACH_COMMAND = each_case("command", [*nested(parser())][1:], ids=lambda command: command.prog)


@EACH_COMMAND
def test_every_help_text_has_a_description_an_example_that_parses_and_exit_codes(command: CommandParser) -> None:
    said = command.format_help()
    text = help_texts.texts()[command.prog.partition(" ")[2]]
    assert " ".join(text["description"].split()) in " ".join(said.split())
    examples, _, codes = said.partition("examples:\n")[2].partition("exit codes:")
    lines = [line.strip() for line in examples.splitlines() if line.strip()]
    assert lines == text["examples"]
    assert all(line.removeprefix('eval "$(').startswith("sonnx ") for line in lines)
    for line in (line for line in lines if line.startswith("sonnx ")):
        assert callable(parser().parse_args(shlex.split(line.partition(" > ")[0])[1:]).command)
    assert {code.split()[0] for code in codes.splitlines() if code.strip()} >= {"0"}
    assert all(action.help for action in command._actions)


SCREEN = (30, 80)
"""Lines and columns of a short help text."""


@EACH_COMMAND
def test_a_short_help_text_fits_a_screen_and_names_the_way_to_the_rest(command: CommandParser) -> None:
    options = {option for action in command._actions for option in action.option_strings}
    chosen = help_texts.texts()[command.prog.partition(" ")[2]].get("options", [])
    assert [name for name in chosen if f"--{name}" not in options] == []
    lines = help_texts.text_for(command, "", complete=False).splitlines()
    examples = [line for line in lines if line.startswith("  sonnx ")]
    assert len(lines) <= SCREEN[0]
    assert all(len(line) <= SCREEN[1] for line in lines if line not in examples)
    every = help_texts.text_for(command, "", complete=True)
    assert all(option in every for option in options - {"-h", "--help", "--help-all"})
    assert (f"{command.prog} --help-all" in lines[-1]) == (len(chosen) > 0)


def test_the_commands_stand_in_groups(capsys: pytest.CaptureFixture[str]) -> None:
    grouped = [name for group in help_texts.texts()["groups"] for name in group["commands"]]
    [commands] = [each.choices for each in parser()._actions if isinstance(each, argparse._SubParsersAction)]
    assert grouped == list(commands), "each command is in one group, and completion has their order"
    assert all(len(group["commands"]) <= 5 for group in help_texts.texts()["groups"])
    with pytest.raises(SystemExit):
        run(["--help"])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= SCREEN[0] + 2
    assert [line.split()[0] for line in lines if line.startswith("  ")] == grouped


def test_the_limits_are_a_topic_of_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run(["check", "--help", "limits"])
    out = capsys.readouterr().out
    assert all(f"  {limit.name} " in out and f" {limit.default} " in out for limit in LIMITS)


OLD = {
    "completion bash": "tool completion bash",
    "selfcheck": "tool selfcheck",
    "diff-edition 2025-10 2025-11 --bind N=3 m.onnx": "rules --since 2025-10 --edition 2025-11 --bind N=3 m.onnx",
    "diff-edition --format json A B": "rules --since A --edition B --format json",
    "prove": "theorems",
    "prove --select order --no-cache --solver all": "theorems --select order --no-cache --solver all",
    "bound m.onnx --input x=[0,1] --input=y=[0,1]": "bound m.onnx --box x=[0,1] --box=y=[0,1]",
    "run m.onnx --format pb --report json": "run m.onnx --values pb --format json",
    "run m.onnx --report=json": "run m.onnx --format=json",
}
CURRENT = (
    "prove m.onnx --solver all", "prove --solver all m.onnx", "prove --help",
    "run m.onnx --input x=a.npy --format json",
    "check m.onnx", "bound m.onnx --box x=[0,1]", "",
)  # fmt: skip


@pytest.mark.parametrize("line", [*OLD, *CURRENT])
def test_an_old_spelling_is_the_current_one_and_says_so(line: str) -> None:
    words, sentence = current_spelling(line.split())
    assert words == OLD.get(line, line).split()
    assert bool(sentence) == (line in OLD)
    assert REMOVED_IN in sentence or line in CURRENT


def test_an_old_spelling_has_one_line_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diff-edition", "2025-10", "2025-11"]) == 0
    old = capsys.readouterr()
    assert run(["rules", "--since", "2025-10", "--edition", "2025-11"]) == 0
    assert capsys.readouterr() == (old.out, "")
    assert old.err == (
        "sonnx: 'sonnx diff-edition BEFORE AFTER' is now 'sonnx rules --since BEFORE --edition AFTER'; "
        f"the old spelling will not work in version {REMOVED_IN}\n"
    )


def test_help_is_a_command_too(capsys: pytest.CaptureFixture[str]) -> None:
    for words, first in ((["help"], "usage: sonnx COMMAND"), (["help", "check"], "usage: sonnx check")):
        with pytest.raises(SystemExit) as ended:
            run(words)
        assert (ended.value.code, capsys.readouterr().out.startswith(first)) == (0, True)


@pytest.mark.parametrize(
    "options",
    [
        ("--full", "--format", "html"), ("--statistics", "--format", "concise"),
        ("--color", "always", "--format", "sarif"), ("--pages", "p", "--output", "o"),
        ("--pages", "p", "--format", "json"),
        *[("--fix", *each) for each in (("--jobs", "0"), ("--timeout", "9"), ("--memory", "99"), ("--quiet",))],
        ("--fix", "--limit", "nodes=9"), ("--fix", "--format", "json"), ("--fix", "--docs", "https://d"),
    ],
)  # fmt: skip
def test_options_without_effect_are_refused(
    options: tuple[str, ...], models: dict[str, str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    before = sorted(Path(models["fine"]).parent.iterdir())
    assert run(["check", models["fine"], *options]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert options[0] in said.err or options[1] in said.err
    assert sorted(Path(models["fine"]).parent.iterdir()) == before


def test_an_operator_of_onnx_outside_the_profile_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "Greater"]) == 0
    said = capsys.readouterr().out
    assert "near      Less with exchanged operands" in said
    assert "sonnx fix Replace Greater by Less" in said
    assert run(["explain", "GlobalMaxPol"]) == 2
    assert "GlobalMaxPool" in capsys.readouterr().err
