"""The commands that README, the documents and the help texts print run as printed; `make commands` runs all of them.

Here run short ones of a few pages, by the modules of this checkout; other tests are about what they say.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tests.support.cases import DEEP
from tests.support.paths import ROOT
from tests.support.printed_commands import TABLE, Printed, complaint, performed, printed, set_up

PAGES = printed()
COMMANDS = [command for commands in PAGES.values() for command in commands]
LONG = re.compile(r"sonnx (theorems|qualify|suite|export|audit|compare|verify|bound|fix|equivalent|diff|run|prove)\b")
"""Commands that take more than two seconds beside other tests."""
SHORT = (
    "README.md",
    "docs/reports.md",
    "docs/profile-format.md",
    "docs/verdicts.md",
    "sonnx check --help",
)
"""Pages of which the short commands are run here: the first two, in a deep run all."""


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the program as a wheel installs it."""
    folder = tmp_path_factory.mktemp("programs")
    for name, start in (("sonnx", " -m sonnx"), ("python", "")):
        (folder / name).write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}"{start} "$@"\n')
        (folder / name).chmod(0o755)
    return folder


def test_the_table_names_what_is_printed() -> None:
    lines = {command.line for command in COMMANDS}
    assert TABLE["done"].keys() <= PAGES.keys()
    assert TABLE["before"].keys() <= lines
    assert [start for start in TABLE["long"] if not any(f"{line}$".startswith(start) for line in lines)] == []
    assert [start for start in TABLE["elsewhere"] if not any(f"{line}$".startswith(start) for line in lines)] == []
    words = [*lines, *TABLE["capitals"].values(), str(TABLE["before"]), str(TABLE["done"])]
    assert [name for name in TABLE["files"] if not any(Path(name).parts[0] in text for text in words)] == []


def test_every_group_of_pages_prints_commands() -> None:
    assert {"README.md", "docs/tasks.md", "docs/tutorial.md", "docs/verdicts.md", "sonnx check --help"} <= PAGES.keys()
    assert len(COMMANDS) > 150
    assert (
        Printed("docs/verdicts.md", "sonnx check models/ 'more/**/*.onnx' --jobs 4 --resume answers.jsonl") in COMMANDS
    )


@pytest.mark.parametrize("page", SHORT if DEEP else SHORT[:2])
def test_short_commands_run_as_printed(page: str, programs: Path, tmp_path: Path) -> None:
    set_up(page, tmp_path, programs)
    short = [command for command in PAGES[page] if not command.reason and not LONG.match(command.line)]
    assert short
    for command in short:
        assert not complaint(performed(command, tmp_path, programs)), command.line


def test_what_is_refused_is_a_complaint(programs: Path, tmp_path: Path) -> None:
    done = performed(Printed("a page", "sonnx check absent.onnx"), tmp_path, programs)
    assert complaint(done).startswith("exit code 2: sonnx: 'absent.onnx' cannot be read")


def test_reading_readme_aloud_takes_a_minute() -> None:
    """At 200 words a minute; commands, pictures and addresses are not read."""
    text = (ROOT / "README.md").read_text("utf-8")
    for left_out in (r"^```.*?^```$", r"!\[.*?\]\(.*?\)", r"\]\(.*?\)", r"`[^`]+`"):
        text = re.sub(left_out, " ", text, flags=re.DOTALL | re.MULTILINE)
    assert len(re.findall(r"[A-Za-z][\w-]*", text)) <= 220
