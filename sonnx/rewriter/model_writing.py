"""How a rewritten model is written, and what the writer cannot keep."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from sonnx.base.errors import NotExecutable, UsageError
from sonnx.base.escaping import quote
from sonnx.checker.report import Report
from sonnx.model.from_protobuf import SharedAttributes
from sonnx.model.ir import Model
from sonnx.model.limits import Limits
from sonnx.model.reader import read
from sonnx.model.scopes import is_same, stored_tensors
from sonnx.model.values_file import ValuesFile, with_file_size, with_values_inside, with_values_outside
from sonnx.model.wire_format import Message
from sonnx.model.writer import Unwritable, write
from sonnx.numerics.constant_data import with_external_data
from sonnx.rewriter.bound_sizes import evaluated_alike
from sonnx.rewriter.walk import NO_SOURCES


def with_values(model: Model, folder: Path | None) -> Model:
    """The model with the values that are in other files, which are mapped.

    Raises:
        UsageError: they cannot be read, or are values of a graph inside a node or of a function.
    """
    try:
        model = with_external_data(model, folder)
    except NotExecutable as reason:
        raise UsageError(f"the model has values in other files that cannot be read: {reason}") from None
    for tensor in stored_tensors(model):
        if tensor.external is not None:
            raise UsageError(
                f"the values of {quote(tensor.name)} are in another file ({quote(tensor.external.location)}), and "
                "they are not constants of the main graph; store them in the model first"
            )
    return model


class ModelWriting(Struct, frozen=True):
    """How models are written: as one file, or with their large constants in another one of this name beside it."""

    values_file: str | None
    attributes: SharedAttributes
    """Those of all models that are read, so that calls which stay the same are known."""
    original: Message
    """What the original says of itself, which is kept."""

    def file_of(self, model: Model, sources: Mapping[str, int] = NO_SOURCES) -> tuple[bytes, ValuesFile | None]:
        """The bytes of a model, and the other file."""
        if self.values_file is None:
            return self._bytes_of(model, sources), None
        outside, values = with_values_outside(model, self.values_file)
        return self._bytes_of(outside, sources), values

    def again(self, model: Model) -> Model:
        """The model as it is read from what is written, with its values."""
        data, values = self.file_of(model)
        example = read(data, limits=model.limits, attributes=self.attributes)
        return example if values is None else with_values_inside(example, values)

    def as_checked(self, data: bytes, values: ValuesFile | None, limits: Limits) -> Model:
        """The model as a check of what is written reads it."""
        model = read(data, limits=limits, attributes=self.attributes)
        return model if values is None else with_file_size(model, values)

    def _bytes_of(self, model: Model, sources: Mapping[str, int]) -> bytes:
        try:
            return write(model, self.original, sources)
        except Unwritable as reason:
            raise UsageError(f"the model cannot be written back unchanged: {reason}") from None
        except ValueError as reason:  # protobuf: more than two gigabytes
            raise UsageError(f"the model cannot be written as one file: {reason}") from None


def require_kept_by_writing(model: Model, report: Report, strict: bool, written: ModelWriting) -> None:
    """Writing alone must change no finding: what the writer drops must not look fixed.

    Raises:
        UsageError: the first rule whose finding would change.
    """
    if is_same(model, written.again(model)):
        return
    data, values = written.file_of(model)
    checked = written.as_checked(data, values, model.limits)
    again = evaluated_alike(checked, report, strict)
    missing = set(report.findings) - set(again.findings)
    lost = next((finding for finding in report.findings if finding in missing), None)
    if lost is not None:
        raise UsageError(
            f"the model cannot be written back unchanged: {lost.rule} fails at {lost.where.place} ({lost.actual}); "
            "correct this by hand first"
        )
