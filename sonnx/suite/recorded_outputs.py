"""Outputs that an implementation gave elsewhere: a folder for each data set, or the files of the harness in C."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from sonnx.base.errors import BadInput
from sonnx.base.escaping import quote
from sonnx.executor.runtimes import Failure
from sonnx.numerics.formats import Array
from sonnx.suite.archive import StoredCase, Suite
from sonnx.suite.c_harness import OUTPUTS, HarnessOutputs, read_outputs
from sonnx.suite.program import Answer, outputs_in

NONE = "there are no outputs of it"


class RecordedOutputs:
    """The outputs in a folder: CASE/test_data_set_N/output_K.pb, or OPERATOR.outputs.

    Args:
        folder: the folder.
        suite: the suite whose cases were run.

    Raises:
        BadInput: a file of the harness is damaged, or of another suite.
        OSError: one cannot be read.
    """

    def __init__(self, folder: Path, suite: Suite) -> None:
        self.folder, self.has_outputs = folder, False
        self.by_operator = {path.stem: _of_suite(path, suite) for path in sorted(folder.glob(f"*{OUTPUTS}"))}
        named = dict.fromkeys(outputs.implementation for outputs in self.by_operator.values())
        self.title = ", ".join([*filter(None, named), f"outputs in {folder}"])

    def load(self, stored: StoredCase) -> Answer:
        """The outputs of a case as a function.

        Raises:
            Failure: there are none.
        """
        of_harness = self.by_operator.get(stored.case.operator)
        if of_harness is not None:
            self.has_outputs = True
            return lambda _, number: _given(of_harness, stored.case.id, number)
        folder = self.folder / stored.case.id
        if not folder.is_dir():
            raise Failure(NONE)
        self.has_outputs = True

        def answer(inputs: Mapping[str, Array], number: int) -> dict[int, Array]:
            if not (folder / f"test_data_set_{number}").is_dir():
                raise Failure(NONE)
            return outputs_in(folder / f"test_data_set_{number}")

        return answer

    def identity(self) -> Mapping[str, str]:
        """Nothing of outputs made elsewhere is kept."""
        return {}

    def restart(self) -> bool:
        """Outputs that are recorded do not change."""
        return False


def _of_suite(path: Path, suite: Suite) -> HarnessOutputs:
    outputs = read_outputs(path)
    if outputs.archive != suite.archives.get(f"{path.stem}.zip"):
        raise BadInput(f"{quote(str(path))} has outputs of another suite; run the harness on the cases of this one")
    return outputs


def _given(outputs: HarnessOutputs, case: str, number: int) -> dict[int, Array]:
    found = outputs.answers.get((case, number))
    if found is None:
        raise Failure(NONE if outputs.is_whole else "the harness did not come to it; continue with --continue")
    if isinstance(found, Failure):
        raise found
    return found
