"""Threads of BLAS: one in sonnx and its children, unless the user says otherwise; other programs get the user's."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping

import pytest

from sonnx.base.threads import THREADS, default_to_one_thread, environment_of_programs
from tests.support.cases import each_case

OTHERS: Mapping[str, str] = {"PATH": "/bin", "LANG": "C"}


@each_case("name", THREADS)
def test_a_number_of_the_user_stays(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", {**OTHERS, name: "7"})
    default_to_one_thread()
    assert environment_of_programs() == os.environ == {**OTHERS, name: "7"}


def test_without_a_number_there_is_one_thread_for_sonnx_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", dict(OTHERS))
    default_to_one_thread()
    assert {os.environ[name] for name in THREADS} == {"1"}
    assert environment_of_programs() == OTHERS
    default_to_one_thread()  # in a child, which has the variables of its parent
    assert environment_of_programs() == OTHERS


def test_the_program_has_one_thread() -> None:
    """It sets the variables before anything loads numpy."""
    code = "import os, sys, sonnx.__main__ as main; sys.argv[1:] = ['explain', 'no-dead-node']; main.main()"
    command = [sys.executable, "-c", f"{code}; print(*map(os.environ.get, {THREADS!r}))"]
    outer = {name: text for name, text in os.environ.items() if name not in THREADS}
    done = subprocess.run(command, env=outer, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "1 1 1 1"
