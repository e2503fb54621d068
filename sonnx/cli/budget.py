"""What commands about one model share: its options, `--timeout` and `--memory`, and how they refuse."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path

from sonnx.base.budget import OutOfTime, is_lack_of_memory, memory_limit, time_limit
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


def within_budget(done: str, *, arrays: bool = True) -> Callable[[Command], Command]:
    """A command that ends with `Unfinished` where its budget does not suffice; `done` is the participle of its work.

    Work on arrays is interrupted when its time is over; work of solvers asks for the time itself.
    """

    def limited(command: Command) -> Command:
        @wraps(command)
        def run(options: argparse.Namespace) -> int:
            if options.memory is not None and options.own_process and hasattr(os, "fork"):
                return _in_a_process(command, options, done, arrays)
            with budget(options, done, interrupts=arrays):
                return command(options)

        return run

    return limited


def _in_a_process(command: Command, options: argparse.Namespace, done: str, arrays: bool) -> int:
    """The command in a process of its own, because a library without memory may end its process, as OpenBLAS does.

    Raises:
        Unfinished: the process ended before the command did.
    """
    ending, mark = os.pipe()
    child = os.fork()
    if not child:  # it goes on to the end of the program
        if arrays:
            from sonnx.numerics.matrix_products import reserve_memory

            reserve_memory()
        try:
            with budget(options, done, interrupts=arrays):
                return command(options)
        finally:
            os.write(mark, b".")
    os.close(mark)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        with os.fdopen(ending, "rb") as pipe:
            ended = pipe.read()
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    except BaseException:  # an interrupt of this process alone
        os.kill(child, signal.SIGKILL)
        raise
    if not ended:
        raise Unfinished(_lacks_memory(options, done))
    return code


def _lacks_memory(options: argparse.Namespace, done: str) -> str:
    return f"{_begun(options, done)} {plural(options.memory, 'megabyte')} of memory (--memory)"


def _begun(options: argparse.Namespace, done: str) -> str:
    return f"{str(options.model or options.verify)!r} was not {done} within"


@contextmanager
def budget(options: argparse.Namespace, done: str, *, interrupts: bool = True) -> Iterator[None]:
    """Keep the body within --timeout and --memory; one that is not interrupted asks `sonnx.base.budget.is_over`.

    Raises:
        Unfinished: they do not suffice.
    """
    try:
        with time_limit(options.timeout, interrupts=interrupts), memory_limit(options.memory):
            yield
    except OutOfTime:
        raise Unfinished(f"{_begun(options, done)} {plural(options.timeout, 'second')} (--timeout)") from None
    except Exception as error:
        if options.memory is None or not is_lack_of_memory(error):
            raise
        raise Unfinished(_lacks_memory(options, done)) from None
