"""Making a suite: at any moment its folder is a suite of the operators that are whole, so that a run can be continued.

While operators are made, `suite.json` names those that are not, and a journal keeps what the folder has.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct, ValidationError, convert, to_builtins

from sonnx.base.errors import Unfinished, UsageError
from sonnx.base.escaping import quote
from sonnx.base.files import make_folder, make_new_folder, require_empty, sha256, write_whole
from sonnx.base.reported import json_text
from sonnx.base.suggestions import did_you_mean
from sonnx.numerics.enclosures.hypotheses import hypotheses_named
from sonnx.profile.catalogue import edition_named, operators
from sonnx.profile.definitions import OperatorDefinition
from sonnx.prover.signature_family import signatures
from sonnx.suite.archive import Part, StoredCase, Suite, read_cases
from sonnx.suite.c_harness import CASES, FOLDER, cases_file, harness_sources
from sonnx.suite.cases import OperatorSuite, operator_suite
from sonnx.suite.must_pass import must_pass_name, must_pass_text
from sonnx.suite.networks import NETWORKS, network_suite
from sonnx.suite.options import MakeOptions
from sonnx.suite.structures import BOUNDS
from sonnx.supervise.identity import tool_identity, value_hash
from sonnx.supervise.journal import Journal

JOURNAL = "making.jsonl"
"""The file in the folder of a suite that keeps which operators are whole; it is gone when all are."""
KIND = "suite make"

Keep: TypeAlias = Callable[[str, OperatorSuite], None]
"""Called with the name of each operator and its part."""
MakeOperators: TypeAlias = Callable[[Sequence[OperatorDefinition], MakeOptions, Keep], None]
"""What makes the part of each operator, in any order."""


def make_operators(chosen: Sequence[OperatorDefinition], options: MakeOptions, keep: Keep) -> None:
    """Make the part of each operator in this process, one after the other."""
    for described in chosen:
        keep(described.name, operator_suite(described, options))


def make_suite(folder: Path, options: MakeOptions, make: MakeOperators = make_operators) -> Suite:
    """Make a suite in a folder that does not exist or is empty, or continue one that an interrupted run left.

    Raises:
        UsageError: an unknown operator, edition or hypotheses, or a folder that cannot be used.
        BadInput: the journal in the folder is of another run.
        Unfinished: a child process ended without an answer.
        OSError: the folder cannot be written.
    """
    chosen = chosen_operators(options)
    hypotheses_named(options.hypotheses)
    continues = options.resume and (folder / JOURNAL).is_file()
    if not continues:
        _require_empty(folder, options)
    with _removed_if_empty(folder):
        suite = _SuiteFolder(folder, options, chosen)
        try:
            make([described for described in chosen if described.name not in suite.whole], options, suite.keep)
        except Unfinished as reason:
            whole = f"; the folder has {len(suite.whole)} of {len(chosen)} operators, and --resume makes the others"
            raise Unfinished(f"{reason}{whole if suite.whole else ''}") from None
        if NETWORKS in suite.names and NETWORKS not in suite.whole:
            suite.keep(NETWORKS, network_suite(options))
        return suite.finished()


def _require_empty(folder: Path, options: MakeOptions) -> None:
    if options.resume and (folder / "suite.json").is_file():
        raise UsageError(f"{quote(str(folder))} has no {JOURNAL}: no run that was interrupted made it")
    if (folder / JOURNAL).is_file():
        raise UsageError(f"{quote(str(folder))} has a suite that is not finished: --resume completes it")
    require_empty(folder, "older suite")


@contextmanager
def _removed_if_empty(folder: Path) -> Iterator[None]:
    """After an error, remove a folder in which no operator is whole."""
    existed = folder.is_dir()
    try:
        yield
    except BaseException:
        if not (folder / "suite.json").exists():
            for path in [*folder.iterdir()] if folder.is_dir() else []:
                shutil.rmtree(path) if path.is_dir() else path.unlink()
            if not existed and folder.is_dir():
                folder.rmdir()
        raise


class _Whole(Struct, frozen=True):
    """An operator that is made: its versions, and the SHA-256 of its archive."""

    parts: tuple[Part, ...]
    archive: str


class _SuiteFolder:
    """The folder of a suite that is being made."""

    def __init__(self, folder: Path, options: MakeOptions, chosen: Sequence[OperatorDefinition]) -> None:
        self.folder, self.options = folder, options
        self.names = [*(described.name for described in chosen), *([NETWORKS] if options.models else [])]
        if not folder.is_dir():
            make_new_folder(folder)
        of_suite = {"operators": self.names, "options": _that_change_it(options)}
        self.journal = Journal(folder / JOURNAL, KIND, {
            "set of operators or options": value_hash(of_suite), **tool_identity(("numpy", "z3-solver")),
        })  # fmt: skip
        self.whole: dict[str, _Whole] = {}
        for name, data in self.journal.values.items():
            with suppress(ValidationError, OSError):  # damaged, or gone: it is made again
                kept = convert(data, _Whole)
                if kept.archive == sha256(folder / f"{name}.zip"):
                    self.whole[name] = kept

    def keep(self, name: str, made: OperatorSuite) -> None:
        """Write the files of an operator, and say in suite.json that it is there.

        Raises:
            OSError: the folder cannot be written.
        """
        write_whole(self.folder / f"{name}.zip", made.archive)
        self.whole[name] = whole = _Whole(made.parts, sha256(made.archive))
        self.journal.update({name: to_builtins(whole)})
        write_whole(self.folder / "suite.json", json_text(self.suite()))

    def suite(self) -> Suite:
        """What the folder has."""
        whole = {name: self.whole[name] for name in self.names if name in self.whole}
        return Suite(
            hypotheses=hypotheses_named(self.options.hypotheses).name, bounds=BOUNDS,
            parts=tuple(part for each in whole.values() for part in each.parts),
            archives={f"{name}.zip": each.archive for name, each in whole.items()},
            unfinished=tuple(name for name in self.names if name not in whole), folder=str(self.folder),
        )  # fmt: skip

    def finished(self) -> Suite:
        """The suite, once the files are there that are not about one operator.

        Raises:
            OSError: the folder cannot be written.
        """
        suite = self.suite()
        write_whole(self.folder / "outputs.py", Path(__file__).with_name("standalone.py").read_bytes())
        write_whole(self.folder / must_pass_name(suite), must_pass_text(suite))
        if self.options.harness is not None:
            self._write_harness(suite)
        write_whole(self.folder / "suite.json", json_text(suite))
        self.journal.path.unlink()
        return suite

    def _write_harness(self, suite: Suite) -> None:
        make_folder(self.folder / FOLDER)
        for path, content in harness_sources().items():
            write_whole(self.folder / path, content)
        for name in self.names:
            stored_cases = (each for each in read_cases(suite, name) if isinstance(each, StoredCase))
            content = cases_file(name, self.whole[name].archive, stored_cases)
            write_whole(self.folder / FOLDER / f"{name}{CASES}", content)


def _that_change_it(options: MakeOptions) -> dict[str, object]:
    """The options that the content of a suite depends on."""
    free = {name for name, _ in MakeOptions.kept_answers()}
    return {name: value for name, value in options.as_json().items() if name not in free}


def chosen_operators(options: MakeOptions) -> Sequence[OperatorDefinition]:
    """The operators that a suite is about.

    Raises:
        UsageError: an unknown operator or edition.
    """
    edition = edition_named(options.edition).name
    known = {
        operator.name: operator for operator in operators() if any(name == edition for _, name in signatures(operator))
    }
    for name in options.operator:
        if name not in known:
            raise UsageError(f"edition {edition} has no operator {name!r}{did_you_mean(name, known)}")
    return [known[name] for name in dict.fromkeys(options.operator or known)]
