"""The budget of a command about one model: `--timeout` and `--memory`, and what is said where they do not suffice."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps

from sonnx.base.budget import OutOfTime, memory_limit, time_limit
from sonnx.base.errors import Unfinished
from sonnx.base.escaping import plural
from sonnx.cli.arguments import amount

Command = Callable[[argparse.Namespace], int]


def add_budget_arguments(parser: argparse._ActionsContainer) -> None:
    """Add --timeout and --memory."""
    add_memory_argument(parser)
    parser.add_argument("--timeout", type=amount("seconds"), default=None, metavar="SECONDS", help="time limit")


def add_memory_argument(parser: argparse._ActionsContainer) -> None:
    """Add --memory."""
    parser.add_argument("--memory", type=amount("megabytes"), default=None, metavar="MB", help="memory limit")


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
