"""The questions of theorems as SMT-LIB files: whoever asks the questions of a theorem writes them, too."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct

from sonnx.base.files import make_folder, staged
from sonnx.prover.queries import Question, commented, questions_of
from sonnx.prover.solvers import hypotheses_text
from sonnx.prover.theorem import Theorem

INDEX = "index.txt"


class QuestionFiles(Struct, frozen=True):
    """A folder for questions; `lines` are those of its index for each theorem that is written."""

    folder: Path
    lines: dict[str, str] = {}

    def keep(self, asked: Sequence[Question]) -> None:
        """Write the questions of a theorem, and the question whether the hypotheses of each can hold.

        An obligation that is computed is listed with the reason, and has no file.

        Raises:
            OSError: the folder cannot be written.
        """
        if asked:
            self.lines[asked[0].theorem.id] = "".join([
                self._written(f"{question.theorem.id}.{number}", question) for number, question in enumerate(asked, 1)
            ])  # fmt: skip

    def offer(self, asked: Sequence[Question]) -> None:
        """As `keep`; what cannot be written is left to `complete`, which ends the command where it cannot either."""
        with suppress(OSError):
            self.keep(asked)

    def complete(self, theorems: Sequence[Theorem], progress: Callable[[str], None]) -> None:
        """Write the questions of theorems that nobody has written, saying so to `progress`, and the index of all.

        Raises:
            OSError: the folder cannot be written.
        """
        for done, theorem in enumerate(theorems):
            if theorem.id not in self.lines:
                progress(f"questions of {done} of {len(theorems)} theorems: {theorem.id}")
                self.keep(tuple(questions_of(theorem, "z3", theorem.obligations)))
        index = "".join([self.lines.get(theorem.id, "") for theorem in theorems])
        (self.folder / INDEX).write_text(index, "utf-8")

    def _written(self, name: str, question: Question) -> str:
        """The line of a question in the index, after it is written."""
        if question.obligation.computed:
            return f"{name}\tcomputed: {question.obligation.computed}\t{question.name}\n"
        (self.folder / f"{name}.smt2").write_text(commented(question), "utf-8")
        if question.obligation.hypotheses:
            (self.folder / f"{name}.hypotheses.smt2").write_text(hypotheses_text(question.text), "utf-8")
        return f"{name}.smt2\t{question.theorem.expected}\t{question.name}\n"


class _Incomplete(Exception):
    """The run was interrupted before all questions were written."""


@contextmanager
def question_files(folder: Path | None) -> Iterator[QuestionFiles | None]:
    """The files of a folder, which gets all of them where `complete` succeeds, or none; None for no folder.

    Raises:
        OSError: the folder cannot be written.
    """
    if folder is None:
        yield None
        return
    make_folder(folder.absolute().parent)
    with suppress(_Incomplete), staged(folder, beside_others=True) as part:
        yield QuestionFiles(part)
        if not (part / INDEX).exists():
            raise _Incomplete
