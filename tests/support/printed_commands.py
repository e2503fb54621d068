"""The commands that README, the documents and the help texts print, and running them as they are printed.

`python -m tests.support.printed_commands FOLDER` installs the wheel in a fresh environment in FOLDER and runs all of
them there, with `--quick` those that take less than some minutes; `make commands` calls it.

In tests/data/printed_commands.toml stand the files that the commands name, what replaces words in capitals, and the
commands that cannot run everywhere, each with the reason.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
import venv
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx

from sonnx.cli import help_texts
from tests.support.paths import DATA, ROOT
from tools.pages.site import written_by_hand

TABLE: Mapping[str, Any] = tomllib.loads((DATA / "printed_commands.toml").read_text("utf-8"))
FENCE = re.compile(
    r"^```(?P<language>\w*)\n(?P<body>.*?)^```$|`(?P<inline>sonnx [^`]+)`|^    (?P<indented>sonnx [^\n]+)$",
    re.MULTILINE | re.DOTALL,
)
SHELL = ("sh", "console", "")
"""The languages of blocks that hold commands; those without a language also hold what is printed."""
PROGRAMS = ("$ sonnx ", "sonnx ", "python ", "cc ", "cp ", "mkdir ", "sed ", "./")
"""How a command begins in a block that also holds what is printed."""
RUN = (0, 1, 3)
"""The exit codes of a command that was understood and carried out."""
TIME_LIMIT = 900
ABSENT = "absent"
EXTRAS = "[runtime,solvers,draw]"


class Printed(NamedTuple):
    """A command where it is printed."""

    page: str
    line: str

    @property
    def is_long(self) -> bool:
        """Whether it takes minutes."""
        return f"{self.line}$".startswith(tuple(TABLE["long"]))

    @property
    def reason(self) -> str:
        """Why it cannot run everywhere; "" where it can."""
        return next((str(why) for start, why in TABLE["elsewhere"].items() if self.line.startswith(start)), "")


def printed() -> dict[str, list[Printed]]:
    """The commands by page, in the order in which they stand; one in running text only where no earlier page has it."""
    pages: dict[str, list[Printed]] = {}
    seen: set[str] = set()
    for page, text in {**_ordered(written_by_hand()), **_help()}.items():
        commands = dict.fromkeys(Printed(page, line) for line, once in _lines(text) if not (once and line in seen))
        seen |= {command.line for command in commands}
        if commands:
            pages[page] = [*commands]
    return pages


def _ordered(pages: Mapping[str, str]) -> dict[str, str]:
    """README first."""
    return {page: pages[page] for page in sorted(pages, key=lambda page: (page != "README.md", page))}


def _help() -> dict[str, str]:
    """The examples of the help texts, each as a block."""
    return {
        f"sonnx {name} --help": "".join(f"```sh\n{line}\n```\n" for line in text["examples"])
        for name, text in help_texts.texts().items()
        if isinstance(text, dict) and text.get("examples")
    }


def _lines(text: str) -> Iterator[tuple[str, bool]]:
    """The command lines of a page, and whether each stands in running text."""
    for found in FENCE.finditer(re.sub(r"^````.*?^````$", "", text, flags=re.MULTILINE | re.DOTALL)):
        if found["inline"]:
            yield " ".join(found["inline"].split()), True
        elif found["indented"]:
            yield found["indented"], False
        elif found["language"] in SHELL:
            yield from ((line, False) for line in _of_block(found["language"], found["body"]))


def _of_block(language: str, body: str) -> Iterator[str]:
    if re.search(r"<<|^(for|while) .*[^;]$|^(for|while) (?!.*done$)", body, re.MULTILINE):
        yield body.rstrip()  # a script
        return
    for line in body.replace("\\\n", " ").splitlines():
        if language == "sh" and line.strip():
            yield line.strip()
        elif line.startswith(PROGRAMS):
            yield line.removeprefix("$ ")


def filled(line: str) -> str:
    """The line with a name for each word in capitals."""
    for word, name in TABLE["capitals"].items():
        line = re.sub(rf"(?<![\w.-]){re.escape(word)}(?![\w.-])", name, line)
    return line


def prepare(folder: Path) -> None:
    """The files that the commands name, and the folders of the checkout to which they refer."""
    for name in ("examples", "tests/models"):
        shutil.copytree(ROOT / name, folder / name)
    checker = Path("sonnx/properties/certificate_checker.py")
    (folder / checker).parent.mkdir(parents=True)
    shutil.copy(ROOT / checker, folder / checker)
    shutil.copy(ROOT / checker, folder)
    for name, source in TABLE["files"].items():
        _write(folder / name, source)


def set_up(page: str, folder: Path, programs: Path) -> None:
    """What a reader of a page has done before."""
    prepare(folder)
    for line in TABLE["done"].get(page, ()):
        done = performed(Printed(page, line), folder, programs)
        assert not complaint(done), f"{line}: {done.stderr}"


def _write(path: Path, source: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(source, dict):
        np.save(path, np.full(source["shape"], source["value"], np.float32))
    elif source.startswith("<"):
        model = onnx.parser.parse_model(source)
        onnx.save(model, path)
    elif "\n" in source:
        path.write_text(source, "utf-8")
        path.chmod(0o755 if source.startswith("#!") else 0o644)
    else:
        shutil.copy(ROOT / source, path)


def performed(command: Printed, folder: Path, programs: Path) -> subprocess.CompletedProcess[str]:
    """The command as a shell runs it in a folder, with the programs of another one first."""
    replaced = TABLE["before"].get(command.line, {})
    for name, source in replaced.items():
        _put(folder / name, source)
    path = os.pathsep.join([str(programs), str(folder / "bin"), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-c", filled(command.line)],
        cwd=folder, env={**os.environ, "PATH": path, "HOME": str(folder)}, capture_output=True, text=True, check=False,
        timeout=TIME_LIMIT, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    for name in replaced.keys() & TABLE["files"].keys():
        _put(folder / name, name)
    return done


def _put(path: Path, source: str) -> None:
    """A file of the table in the place of another one; nothing for the word absent."""
    if source != ABSENT:
        _write(path, TABLE["files"][source])
    elif path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def complaint(done: subprocess.CompletedProcess[str]) -> str:
    """What is wrong with a command that ran; "" where nothing is."""
    if done.returncode not in RUN:
        return f"exit code {done.returncode}: {done.stderr[-300:]}"
    return done.stderr[-300:] if "Traceback" in done.stderr else ""


def main() -> int:
    """Build the wheel, install it in a fresh environment, run every command; 0 if all ran."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--quick", action="store_true", help="leave out what takes minutes")
    options = parser.parse_args()
    folder: Path = options.folder.absolute()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)], cwd=ROOT, check=True)
    [wheel] = folder.glob("*.whl")
    venv.create(folder / "environment", with_pip=True)
    programs = folder / "environment" / "bin"
    install = [
        str(programs / "pip"),
        "install",
        "--quiet",
        "--disable-pip-version-check",
        f"{wheel}{EXTRAS}",
    ]
    subprocess.run(install, check=True)
    wrong = number = 0
    for page, commands in printed().items():
        workplace = folder / "work" / re.sub(r"\W+", "-", page)
        workplace.mkdir(parents=True)
        set_up(page, workplace, programs)
        for command in (each for each in commands if not each.reason and not (options.quick and each.is_long)):
            start = time.monotonic()
            why = complaint(performed(command, workplace, programs))
            wrong, number = wrong + bool(why), number + 1
            print(f"{time.monotonic() - start:6.1f} s  {page}: {command.line}{f'  {why}' if why else ''}", flush=True)
    print(f"{number} commands, {wrong} of them did not run")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
