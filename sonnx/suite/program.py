"""A program as an implementation: it is started for each data set, with limits, and ends with the command."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from sonnx.base.errors import BadInput, UsageError
from sonnx.base.escaping import plural, quote
from sonnx.base.files import sha256
from sonnx.executor.runtimes import Failure, Fault
from sonnx.executor.tensor_files import read_file
from sonnx.numerics.formats import Array
from sonnx.suite.archive import StoredCase, tensor_file
from sonnx.suite.options import RunOptions
from sonnx.supervise.identity import value_hash
from sonnx.supervise.process import ProcessEnded, start_program

Answer = Callable[[Mapping[str, Array], int], dict[int, Array]]
"""The outputs of a data set by their numbers, from its inputs and its number."""
SEPARATORS = re.compile(r"[\s=:;,|&<>()'\"]+")
"""What separates the paths in a word of a command, which may be a script of a shell."""
MAX_MESSAGE = 1 << 16
"""Bytes at the end of what a program prints that are read."""
MAX_OUTPUT = 1 << 26
"""Bytes of an output file that are read; the outputs of a suite have a few thousand."""


class Program:
    """A program of `--command`.

    Raises:
        UsageError: it has no place for the model or the outputs, or an open quotation.
    """

    def __init__(self, options: RunOptions) -> None:
        try:
            self.words, self.options = shlex.split(options.program or ""), options
        except ValueError as error:
            raise UsageError(f"--command cannot be split into words: {str(error).lower()}") from None
        missing = [name for name in ("{model}", "{outputs}") if not any(name in word for word in self.words)]
        if missing:
            raise UsageError(f"--command lacks {' and '.join(missing)}")
        self.title = options.program or ""

    def load(self, stored: StoredCase) -> Answer:
        """The outputs of a case as a function."""

        def answer(inputs: Mapping[str, Array], number: int) -> dict[int, Array]:
            with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as text:
                folder = Path(text)
                places = {"{model}": folder / "model.onnx", "{inputs}": folder / "in", "{outputs}": folder / "out"}
                places["{model}"].write_bytes(stored.model)
                places["{inputs}"].mkdir()
                places["{outputs}"].mkdir()
                for place, (name, array) in enumerate(inputs.items()):
                    (folder / "in" / f"input_{place}.pb").write_bytes(tensor_file(name, array))
                self._execute([_filled(word, places) for word in self.words])
                return outputs_in(folder / "out")

        return answer

    def identity(self) -> Mapping[str, str]:
        """The command, and the content of the files that it names; those that a program loads itself are not known.

        Raises:
            OSError: a file cannot be read.
        """
        files = {str(path): sha256(path) for path in _named_files(self.words)}
        return {"command": value_hash(self.words), "program": value_hash(files)}

    def restart(self) -> bool:
        """Every data set has a process of its own."""
        return True

    def _execute(self, words: Sequence[str]) -> None:
        """Run the program once; it and what it has started are ended with it.

        Raises:
            Failure: it refuses.
            Fault: it took too long, or a signal ended it.
            UsageError: it cannot be started.
        """
        with tempfile.TemporaryFile() as printed:
            try:
                process = start_program(words, self.options.memory, printed)
            except OSError as error:
                raise UsageError(f"the program {quote(words[0])} cannot be started: {error.strerror}") from None
            try:
                code = process.wait(self.options.timeout)
            except ProcessEnded:
                raise Fault(f"it did not end within {plural(self.options.timeout, 'second')}") from None
            finally:
                process.end()
            if code < 0:
                raise Fault(f"it ended with signal {-code} ({signal.strsignal(-code)})")
            if code:
                said = _last_line(printed.fileno())
                raise Failure(f"exit code {code}: {said}" if said else f"exit code {code}, nothing on standard error")


def _named_files(words: Sequence[str]) -> Iterator[Path]:
    """The files that a command names: the program, words that are paths, and paths in words such as `--lib=PATH`."""
    program = shutil.which(words[0]) if words else None
    texts = [text for word in words for text in (word, *SEPARATORS.split(word))]
    for path in map(Path, [program or "", *texts]):
        try:
            if path.is_file():
                yield path
        except ValueError:  # a NUL character
            continue


def _last_line(printed: int) -> str:
    size = os.fstat(printed).st_size
    os.lseek(printed, max(0, size - MAX_MESSAGE), os.SEEK_SET)
    lines = os.read(printed, MAX_MESSAGE).decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else ""


def _filled(word: str, places: Mapping[str, Path]) -> str:
    for name, path in places.items():
        word = word.replace(name, str(path))
    return word


def outputs_in(folder: Path) -> dict[int, Array]:
    """The arrays in output_0.pb, output_1.pb, ...

    Raises:
        Fault: one is not a tensor, or is too large.
        BadInput: the system does not let one be read.
    """
    outputs = {}
    for path in sorted(folder.glob("output_*.pb")):
        number = path.stem.removeprefix("output_")
        if not (number.isascii() and number.isdigit()) or not path.is_file():
            raise Fault(f"it wrote {quote(path.name)}, which is not a file of an output")
        if path.stat().st_size > MAX_OUTPUT:
            raise Fault(f"it wrote {quote(path.name)} with more than {MAX_OUTPUT} bytes")
        try:
            [outputs[int(number)]] = read_file(path).values()
        except (BadInput, ValueError) as error:
            if isinstance(error.__context__, OSError):  # of the system, not of the implementation
                raise
            reason = str(error).replace(quote(str(path)), "it")
            raise Fault(f"it wrote a malformed file: {quote(path.name)}: {reason}") from None
    return outputs
