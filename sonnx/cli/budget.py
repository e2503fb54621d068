"""What commands about one model share: its options, `--timeout` and `--memory`, and how they refuse."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path

from sonnx.base.budget import OutOfTime, memory_limit, time_limit
from sonnx.base.errors import Unfinished
from sonnx.base.escaping import escape, plural
from sonnx.base.files import deliver
from sonnx.checker.report import NotConforming
from sonnx.cli.arguments import add_limit_argument, add_size_arguments, amount
from sonnx.report.formats import CheckRun, render

Command = Callable[[argparse.Namespace], int]


def add_budget_arguments(parser: argparse._ActionsContainer) -> None:
    """Add --timeout and --memory."""
    add_memory_argument(parser)
    parser.add_argument("--timeout", type=amount("seconds"), metavar="SECONDS", help="time limit")


def add_value_arguments(parser: argparse.ArgumentParser, verb: str) -> None:
    """Add what the commands about the values of one model share; `verb` is their work."""
    parser.add_argument("--edition", help="the edition the model must conform to")
    parser.add_argument("--unchecked", action="store_true", help=f"{verb} a model that does not conform")
    add_size_arguments(parser)
    add_limit_argument(parser)
    add_budget_arguments(parser)


def not_conforming(stop: NotConforming, verb: str, form: str = "text", output: Path | None = None) -> int:
    """Print the report on a model that does not conform, and how to go on; the exit code."""
    deliver(render(form, CheckRun([stop.report], code=stop.exit_code)), output)
    print(f"sonnx: {escape(str(stop))}; --unchecked {verb} it anyway", file=sys.stderr)
    return stop.exit_code


def add_memory_argument(parser: argparse._ActionsContainer) -> None:
    """Add --memory."""
    parser.add_argument("--memory", type=amount("megabytes"), metavar="MB", help="memory limit")


def within_budget(done: str) -> Callable[[Command], Command]:
    """A command that ends with `Unfinished` where its budget does not suffice; `done` is the participle of its work."""

    def limited(command: Command) -> Command:
        @wraps(command)
        def run(options: argparse.Namespace) -> int:
            with budget(options, done):
                return command(options)

        return run

    return limited


@contextmanager
def budget(options: argparse.Namespace, done: str, *, interrupts: bool = True) -> Iterator[None]:
    """Keep the body within --timeout and --memory; one that is not interrupted asks `sonnx.base.budget.is_over`.

    Raises:
        Unfinished: they do not suffice.
    """
    begun = f"{str(options.model or options.verify)!r} was not {done} within"
    try:
        with time_limit(options.timeout, interrupts=interrupts), memory_limit(options.memory):
            yield
    except OutOfTime:
        raise Unfinished(f"{begun} {plural(options.timeout, 'second')} (--timeout)") from None
    except MemoryError:
        if options.memory is None:
            raise
        raise Unfinished(f"{begun} {plural(options.memory, 'megabyte')} of memory (--memory)") from None
