"""The answers of a run in the file of `--resume`, each with the SHA-256 of what it is about."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sonnx.checker.report import NoVerdict
from sonnx.supervise.identity import tool_identity, value_hash
from sonnx.supervise.journal import Journal
from sonnx.workers.tasks import Answer, Work, WorkerTask

SUBJECT = "subject"
"""The key of an answer that is the SHA-256 of what the child process has read; an answer without it is not kept."""


class KeptAnswers:
    """The final answers to tasks, by the names of the tasks and what these are about.

    Args:
        path: the file.
        work: what is done.
        options: the options that all tasks share, as JSON.
        subject_of: the SHA-256 of what a task is about now; None if it cannot be read.
        understood: whether an answer from the file has a result; a damaged one is ignored, and its task is done again.

    Raises:
        BadInput: the file is not such a journal, or is of other work, options, rules or versions.
        OSError: it cannot be read or written.
    """

    def __init__(
        self,
        path: Path,
        work: Work,
        options: Mapping[str, Any],
        subject_of: Callable[[WorkerTask], str | None],
        understood: Callable[[Answer], bool] = lambda answer: "word" in answer,
    ) -> None:
        identity = {"set of options": value_hash(options), **tool_identity(work.packages)}
        self.journal = Journal(path, work.module, identity)
        self.subject_of, self.understood = subject_of, understood

    def answers(self, tasks: Sequence[WorkerTask]) -> dict[str, Answer]:
        """The kept answers to tasks whose subject has not changed."""
        answers = {}
        for task in tasks:
            kept = self._usable(self.journal.values.get(task.name))
            if kept is not None and kept[SUBJECT] == self.subject_of(task):
                answers[task.name] = kept
        return answers

    def keep(self, task: WorkerTask, answer: Answer) -> None:
        """Keep an answer, unless it depends on limits, defects, or files that its subject does not cover."""
        if answer.get(SUBJECT) and _is_final(answer):
            self.journal.update({task.name: answer})

    def _usable(self, kept: Any) -> Answer | None:
        """An answer from the file, None if it is damaged or not final."""
        if not isinstance(kept, dict) or not isinstance(kept.get(SUBJECT), str) or not _is_final(kept):
            return None
        is_understood = isinstance(kept.get("sentence"), str) if "why" in kept else self.understood(kept)
        return kept if is_understood else None


def _is_final(answer: Answer) -> bool:
    if answer.get("other_files"):  # the subject is the file of the model alone
        return False
    return "misuse" not in answer and answer.get("why", NoVerdict.UNREADABLE) == NoVerdict.UNREADABLE
