"""Arguments of a command from a structure of options."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from sonnx.cli.options import add_options, keywords_of
from tests.support.some_options import SomeOptions


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="some")
    add_options(made, SomeOptions)
    return made


@pytest.mark.parametrize(
    ("texts", "options"),
    [
        ([], SomeOptions()),
        (["--seed", "3"], SomeOptions(seed=3)),
        (["--files", "a", "--files", "b"], SomeOptions(files=(Path("a"), Path("b")))),
        (["--fast"], SomeOptions(fast=True)),
    ],
    ids=str,
)
def test_options_are_those_that_are_written(texts: list[str], options: SomeOptions) -> None:
    assert SomeOptions(**keywords_of(SomeOptions, parser().parse_args(texts))) == options


def test_a_command_may_leave_an_option_out() -> None:
    made = argparse.ArgumentParser()
    add_options(made, SomeOptions, without=["fast"])
    parsed = made.parse_args([])
    assert not hasattr(parsed, "fast")
    assert "fast" not in keywords_of(SomeOptions, parsed)


def test_the_help_text_has_each_option(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parser().parse_args(["--help"])
    shown = capsys.readouterr().out
    assert "--seed S" in shown
    assert "--files FILE" in shown
    assert "computed, not written" in shown


def test_a_value_that_is_refused_is_named_with_its_option(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parser().parse_args(["--seed", "x"])
    assert "--seed" in capsys.readouterr().err
