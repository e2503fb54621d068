"""What commands about one model share: its options, `--timeout` and `--memory`, and how they refuse."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from math import ceil
from typing import NamedTuple

from sonnx.base.budget import (
    MEGABYTE,
    CommandLimits,
    OutOfTime,
    allowed_bytes,
    is_lack_of_memory,
    memory_limit,
    time_limit,
)
from sonnx.base.errors import Unfinished
from sonnx.base.escaping import escape, plural
from sonnx.base.files import deliver
from sonnx.checker.report import NotConforming
from sonnx.cli.arguments import add_quiet_argument, amount_argument
from sonnx.cli.reports import outputs_named
from sonnx.report.check import render
from sonnx.report.check_run import CheckRun
from sonnx.report.formats import FORMATS
from sonnx.supervise.command import in_a_process
from sonnx.supervise.process import End, ProcessEnded

Command = Callable[[argparse.Namespace], int]
LIMITS = CommandLimits()
SUBJECTS = ("model", "verify", "folder", "older", "models")
"""The arguments that name what a command is about, one or several; the first that is given."""
TIMES = ("split", "search")
"""Options that are times of their own; the default limit comes on top."""


def add_budget_arguments(parser: argparse._ActionsContainer) -> None:
    """Add --timeout, --memory and --quiet."""
    add_memory_argument(parser)
    parser.add_argument(
        "--timeout", type=amount_argument("seconds"), metavar="SECONDS", help=f"time limit (default {LIMITS.seconds})"
    )
    add_quiet_argument(parser)


def _not_conforming(stop: NotConforming, verb: str, parsed: argparse.Namespace) -> int:
    """Print the report on a model that does not conform, and how to go on; the exit code.

    It has the formats of the command and goes where its report would go; for arrays it is a text.
    """
    outputs = outputs_named(parsed.format, getattr(parsed, "output", None))
    for form, file in outputs:
        is_report = form in FORMATS
        text = render(form if is_report else "text", CheckRun([stop.report], code=stop.exit_code))
        deliver(text, file if is_report else None)
    print(f"sonnx: {escape(str(stop))}; --unchecked {verb} it anyway", file=sys.stderr)
    return stop.exit_code


def add_memory_argument(parser: argparse._ActionsContainer) -> None:
    """Add --memory."""
    parser.add_argument(
        "--memory", type=amount_argument("megabytes"), metavar="MB", help=f"memory limit (default {LIMITS.megabytes})"
    )


def within_budget(
    done: str, unchecked: str = "", *, interrupts: bool = True, arrays: bool = True
) -> Callable[[Command], Command]:
    """A command that ends with `Unfinished` where its budget does not suffice; `done` is the participle of its work.

    Where the model does not conform, it prints the report of the check, and that --unchecked does the work anyway;
    `unchecked` is the verb.

    Work is interrupted when its time is over, but that of solvers, which asks for the time itself.  Work on arrays
    loads its libraries before it limits the memory: they may end the process where they cannot have theirs.  The
    program itself does the work in a process of its own, because a library may end its process, and a long call of one
    is not interrupted; a caller of the command line keeps its process.
    """

    def limited(work: Command) -> Command:
        def command(options: argparse.Namespace) -> int:
            try:
                return work(options)
            except NotConforming as stop:
                return _not_conforming(stop, unchecked, options)

        @wraps(work)
        def run(options: argparse.Namespace) -> int:
            spent = _Budget.of(options, done, interrupts=interrupts, arrays=arrays)
            if not options.own_process or not hasattr(os, "fork"):
                with spent.kept():
                    return command(options)
            try:
                return in_a_process(lambda: spent.run(command, options), spent.seconds, spent.megabytes)
            except ProcessEnded as ended:
                raise spent.reason(ended) from None

        return run

    return limited


class _Budget(NamedTuple):
    """The limits of one command, and the sentences that say that they do not suffice."""

    subject: str
    """What the command is about, and the verb."""
    done: str
    seconds: int
    megabytes: int
    interrupts: bool
    arrays: bool
    source: str
    """Which option, or what else, has set the memory."""

    @classmethod
    def of(cls, options: argparse.Namespace, done: str, *, interrupts: bool, arrays: bool) -> _Budget:
        given: object = next((named for name in SUBJECTS if (named := getattr(options, name, None))), [])
        more = ceil(max(getattr(options, name, None) or 0 for name in TIMES))
        subject = _named(given if isinstance(given, list) else [given])
        seconds, megabytes = options.timeout or LIMITS.seconds + more, options.memory or LIMITS.megabytes
        system = allowed_bytes()
        if system is not None and system < megabytes * MEGABYTE:
            megabytes = max(1, system // MEGABYTE)
            return cls(subject, done, seconds, megabytes, interrupts, False, "which the system allows")
        return cls(subject, done, seconds, megabytes, interrupts, arrays, "--memory")

    def run(self, command: Command, options: argparse.Namespace) -> int:
        """The command in its own process."""
        with self.kept():
            return command(options)

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Keep the body within the limits; one that is not interrupted asks `sonnx.base.budget.is_over`.

        Raises:
            Unfinished: they do not suffice.
        """
        try:
            with time_limit(self.seconds, interrupts=self.interrupts):
                if self.megabytes != LIMITS.megabytes:
                    _load_libraries(self.arrays)
                with memory_limit(self.megabytes):
                    yield
        except OutOfTime:
            raise self.late() from None
        except Exception as error:
            if not is_lack_of_memory(error, self.megabytes):
                raise
            raise self.without_memory() from None

    def reason(self, ended: ProcessEnded) -> Exception:
        """Why the process of the command has ended before the command did."""
        match ended.end:
            case End.TIMED_OUT:
                return self.late()
            case End.OUT_OF_MEMORY:
                return self.without_memory()
            case _:
                return RuntimeError(f"its process {ended}")

    def late(self) -> Unfinished:
        return Unfinished(f"{self._begun} {plural(self.seconds, 'second')} (--timeout)")

    def without_memory(self) -> Unfinished:
        return Unfinished(f"{self._begun} {plural(self.megabytes, 'megabyte')} of memory ({self.source})")

    @property
    def _begun(self) -> str:
        return f"{self.subject} not {self.done} within"


def _load_libraries(arrays: bool) -> None:
    """Load what prints, or ends the process, where it has no memory while it is loaded."""
    import hashlib  # noqa: F401

    if arrays:
        from sonnx.numerics.matrix_products import reserve_memory

        reserve_memory()


def _named(subjects: Sequence[object]) -> str:
    """What a command is about, and the verb of its sentence."""
    if not subjects:
        return "the profile was"
    others = len(subjects) - 1
    return f"{str(subjects[0])!r} {f'and {others} more were' if others else 'was'}"
