"""Options of an analysis: keyword arguments, documentation and JSON of one structure."""

from __future__ import annotations

from contextvars import ContextVar
from pathlib import Path

import msgspec
import pytest

from sonnx.base.options import Options, documentation, keyword_arguments
from tests.support.some_options import SomeOptions


def test_what_a_function_sets_in_its_context_ends_with_it_where_it_is_interrupted() -> None:
    setting = ContextVar("setting", default=0)

    @keyword_arguments(SomeOptions)
    def interrupted(subject: int, options: SomeOptions) -> None:
        setting.set(subject)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted(3)
    assert setting.get() == 0


def test_a_function_takes_the_options_as_keyword_arguments() -> None:
    @keyword_arguments(SomeOptions)
    def count(subject: str, options: SomeOptions) -> tuple[str, SomeOptions]:
        """Count."""
        return subject, options

    assert count("x") == ("x", SomeOptions())
    assert count("x", seed=3, files=(Path("a"),)) == ("x", SomeOptions(seed=3, files=(Path("a"),)))
    with pytest.raises(TypeError, match="sead"):
        count("x", sead=3)  # type: ignore[call-arg]
    assert count.__doc__ == f"Count.\n\n{documentation(SomeOptions)}"


def test_each_option_is_documented_once() -> None:
    lines = documentation(SomeOptions).splitlines()
    assert lines == ["Options:", "    seed: the seed", "    files: files to read", "    fast: not slow"]


def test_json_has_the_options_that_are_not_the_defaults() -> None:
    assert SomeOptions().as_json() == {}
    given = SomeOptions(seed=0, files=(Path("a/b"),), fast=True, own=2)
    assert given.as_json() == {"seed": 0, "files": ["a/b"], "fast": True}
    assert SomeOptions.from_json(given.as_json()) == SomeOptions(seed=0, files=(Path("a/b"),), fast=True)


@pytest.mark.parametrize("data", [{"sead": 1}, {"seed": "x"}, {"files": "a"}])
def test_json_of_other_options_is_refused(data: dict[str, object]) -> None:
    with pytest.raises(msgspec.ValidationError):
        SomeOptions.from_json(data)


def test_an_option_of_the_library_alone_has_no_argument() -> None:
    assert [option.name for option, _ in SomeOptions.arguments()] == ["seed", "files", "fast"]
    assert isinstance(SomeOptions(), Options)
