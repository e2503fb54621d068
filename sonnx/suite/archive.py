"""The files of a suite: one archive per operator, whose folders have the format of ONNX's backend tests.

    suite.json                          what the suite is about, and the SHA-256 of every archive
    Max.zip: max-13-2026-11-0001/model.onnx, case.json
             max-13-2026-11-0001/test_data_set_0/input_0.pb, output_0.pb, lower_0.pb, upper_0.pb

`lower` and `upper` (double, of the shape of the output) are the ends between which an element may be; NaN where there
is no bound.  Outputs that are exact have none.  Equal suites are equal files.
"""

from __future__ import annotations

import io
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal, TypeAlias, get_args, get_type_hints

from msgspec import Struct, json

from sonnx.base.decoding import decoding
from sonnx.base.errors import BadInput
from sonnx.base.escaping import escape, quote
from sonnx.base.files import regular_bytes, sha256, whole_bytes
from sonnx.base.reported import HIDDEN, SecondResult, json_text, reported
from sonnx.checker.conditions import Conditions
from sonnx.executor.tensor_files import FIXED_TIME
from sonnx.model.ir import Tensor
from sonnx.model.reader import read_tensor
from sonnx.model.writer import write_tensor
from sonnx.numerics.constant_data import decode
from sonnx.numerics.formats import NAMES, TEXT, Array
from sonnx.numerics.packing import packed

MAX_ARCHIVE = 1 << 30
"""Bytes of an archive, and of what is unpacked of one case."""
FORMAT = get_args(get_type_hints(SecondResult)["format"])[0]
"""Of suite.json; suites of format 1 do not say which sizes their calls have."""
MAX_NAMED = 5
"""Differences between a folder and suite.json that are named."""
Decides: TypeAlias = Literal["exact", "derived", "may overflow", "no bound"]
EXACT: Decides = "exact"
DERIVED: Decides = "derived"
OVERFLOWS: Decides = "may overflow"
UNBOUNDED: Decides = "no bound"


class DataSet(Struct, frozen=True):
    """Inputs and expected outputs of a case."""

    value_class: str
    """The value class of its inputs."""
    detail: str
    """Which input, and where."""
    outputs: tuple[Decides, ...]
    """What decides about each output: equal elements, or ends; nothing about some elements where an intermediate result
    may overflow, or where there is no bound."""


class Case(Struct, frozen=True):
    """A model, what it tests, and its data."""

    id: str
    """Its folder in the archive."""
    operator: str
    """The operator."""
    version: int
    """The version of the operator."""
    edition: str
    """The edition of the profile."""
    call: str
    """The node in one line."""
    classes: tuple[str, ...]
    """The structure classes that occur in it."""
    rules: tuple[str, ...]
    """The rules whose comparisons these classes split, and the rule that it breaks."""
    labels: tuple[str, ...]
    """The labels that the texts give these rules and the value of the operator."""
    errata: tuple[str, ...]
    """The errata that decide about them."""
    constants: tuple[str, ...]
    """The inputs that are initializers."""
    broken: str
    """The rule that it breaks; empty for a conforming call."""
    invalid: bool
    """It breaks a condition of ONNX, not of the profile alone."""
    sets: tuple[DataSet, ...]
    """Its data, in the order of the folders test_data_set_0, test_data_set_1, ..."""
    digests: dict[str, str]
    """The SHA-256 of every other file of the case."""


class Excluded(Struct, frozen=True):
    """Data that were left out, with the reason."""

    case: str
    """The call."""
    reason: str
    """Why it has no value, or no case."""
    number: int
    """How many data sets."""


class ClassAnswer(Struct, frozen=True):
    """A structure class, and whether a conforming call of it exists within the bounds."""

    name: str
    """What is the case in it."""
    rule: str
    """The rule whose comparison it splits; empty for none."""
    answer: Literal["satisfiable", "unsatisfiable", "unknown"]
    """The answer of the solver."""


class CoveredPairs(Struct, frozen=True):
    """The pairs of satisfiable structure classes."""

    covered: int
    """Those that occur together in a case."""
    unsatisfiable: int
    """Those that no conforming call within the bounds has together."""
    unknown: tuple[tuple[str, str], ...]
    """Those that the solver did not decide; no case was made for them."""
    not_asked: int = 0
    """How many further ones it was not asked about, because its steps for all pairs together were used up."""


class Part(Struct, frozen=True):
    """One version of an operator in one edition."""

    operator: str
    """The operator."""
    version: int
    """Its version."""
    edition: str
    """The edition of the profile."""
    classes: tuple[ClassAnswer, ...]
    """Its structure classes."""
    sizes: dict[str, tuple[int, ...]]
    """The extents of calls with large extents, by input and axis of the node."""
    unbroken: dict[str, str]
    """The rules that no case breaks, each with the reason."""
    labels: dict[str, tuple[str, ...]]
    """Every label of the texts about it, with the ids of the cases that test it."""
    excluded: tuple[Excluded, ...]
    """What was left out."""
    positive: int
    """Conforming cases."""
    negative: int
    """Cases that break a rule."""
    sets: int
    """Data sets."""
    without_bound: int
    """Outputs of data sets without a bound for an element."""
    pairs: CoveredPairs | None = None
    """Pairs of classes; null where only every class is covered."""


class Suite(SecondResult, frozen=True, kw_only=True):
    """What a suite is about."""

    hypotheses: str
    """The hypotheses of its bounds."""
    bounds: str
    """The bounds within which its classes were decided."""
    parts: tuple[Part, ...]
    """The versions of operators, in order."""
    archives: dict[str, str]
    """The SHA-256 of each archive by its name."""
    unfinished: tuple[str, ...] = ()
    """The operators that are still to be made: the suite is being made, or was interrupted."""
    folder: Annotated[str, HIDDEN] = ""
    """Where it stands."""

    @property
    def edition(self) -> str:
        """The edition whose texts its cases test."""
        return ", ".join(dict.fromkeys(part.edition for part in self.parts))

    @property
    @reported
    def conditions(self) -> Conditions:
        """What the suite is about."""
        return Conditions(edition=self.edition, hypotheses=self.hypotheses)


class StoredCase(Struct, frozen=True):
    """A case with its files."""

    case: Case
    files: Mapping[str, bytes]

    @property
    def model(self) -> bytes:
        """The model file."""
        return self.files["model.onnx"]

    def arrays(self, number: int, kind: str) -> dict[int, Array]:
        """The input, output, lower or upper arrays of a data set, by their numbers."""
        start = f"test_data_set_{number}/{kind}_"
        named = [(name, content) for name, content in self.files.items() if name.startswith(start)]
        return {
            int(name.removeprefix(start).removesuffix(".pb")): decode(read_tensor(memoryview(content)), None)
            for name, content in named
        }

    def inputs(self, number: int) -> dict[str, Array]:
        """The inputs of a data set by name."""
        return {name: decode(tensor, None) for name, tensor in self.input_tensors(number).items()}

    def input_tensors(self, number: int) -> dict[str, Tensor]:
        """The inputs of a data set by name, as they are stored."""
        start = f"test_data_set_{number}/input_"
        tensors = [read_tensor(memoryview(file)) for name, file in self.files.items() if name.startswith(start)]
        return {tensor.name: tensor for tensor in tensors}


def tensor_file(name: str, array: Array) -> bytes:
    """An array as a TensorProto."""
    values = [element.encode() for element in array.ravel()] if array.dtype == TEXT else packed(array)
    return write_tensor(name, NAMES[array.dtype], array.shape, values)


def archive_of(cases: Iterable[StoredCase]) -> bytes:
    """The bytes of a zip archive with these cases."""
    bytes_io = io.BytesIO()
    with zipfile.ZipFile(bytes_io, "w", zipfile.ZIP_DEFLATED) as archive:
        for stored in cases:
            for name, content in {**stored.files, "case.json": json_text(stored.case).encode()}.items():
                entry = zipfile.ZipInfo(f"{stored.case.id}/{name}", FIXED_TIME)
                entry.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(entry, content)
    return bytes_io.getvalue()


def read_suite(folder: Path) -> Suite:
    """The description of a suite.

    Raises:
        BadInput: it is not there, or is of another form or format.
    """
    path = folder / "suite.json"
    if not path.exists():
        reason = ", but a file" if folder.is_file() else ": it has no suite.json"
        raise BadInput(f"{quote(str(folder))} is not the folder of a suite{reason}")
    with decoding(path, "the description of a suite"):
        data = json.decode(whole_bytes(path, MAX_ARCHIVE))
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            written = data.get("format") if isinstance(data, dict) else None
            stated = f"has format {written}" if isinstance(written, int) else "states no format"
            raise BadInput(
                f"{quote(str(path))} {stated}, and this version of sonnx reads format {FORMAT}; make the suite again"
            )
        return json.decode(json.encode({**data, "folder": str(folder)}), type=Suite)


def read_cases(suite: Suite, operator: str) -> Iterator[StoredCase | str]:
    """The cases of an operator; a sentence in place of each that is incomplete or changed."""
    path = Path(suite.folder) / f"{operator}.zip"
    try:
        with decoding(path.name, "an archive of cases"):
            data = regular_bytes(path, MAX_ARCHIVE)
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                if sum(entry.file_size for entry in archive.infolist()) > MAX_ARCHIVE:
                    yield f"{path.name} has files of more than {MAX_ARCHIVE} bytes in all"
                    return
                names: dict[str, list[str]] = {}
                for name in archive.namelist():
                    names.setdefault(name.partition("/")[0], []).append(name)
                for folder, files in names.items():
                    yield _checked(folder, {name.partition("/")[2]: archive.read(name) for name in files})
    except BadInput as reason:
        yield str(reason) if path.exists() else f"{path.name} is missing"
        return
    if sha256(data) != suite.archives.get(path.name):
        yield f"{path.name} is not the archive that suite.json describes"


def require_whole(suite: Suite, operators: Sequence[str]) -> None:
    """Compare what the folder has with what suite.json declares: the archives, and the cases of some operators.

    Raises:
        BadInput: an archive is missing, extra or changed, or has other cases or data sets than are declared; each is
            named.
    """
    known = suite.archives.keys() | {f"{name}.zip" for name in suite.unfinished}  # one may just have been written
    extra = sorted({path.name for path in Path(suite.folder).glob("*.zip")} - known)
    missing = [name for name in suite.archives if not (Path(suite.folder) / name).exists()]
    wrong = [f"{name} is missing" for name in missing] + [f"{name} is not declared in suite.json" for name in extra]
    for operator in operators:
        if f"{operator}.zip" not in missing:
            wrong += _other_than_declared(suite, operator)
    if wrong:
        more = f", and {len(wrong) - MAX_NAMED} more" if len(wrong) > MAX_NAMED else ""
        listed = "; ".join(map(escape, wrong[:MAX_NAMED]))
        raise BadInput(f"{quote(suite.folder)} is not the suite that its suite.json declares: {listed}{more}")


def _other_than_declared(suite: Suite, operator: str) -> Iterator[str]:
    """The differences between the archive of an operator and what suite.json declares, as sentences."""
    counted: Counter[tuple[int, str, str]] = Counter()
    for stored in read_cases(suite, operator):
        if isinstance(stored, str):
            yield stored
        else:
            case = stored.case
            counted[case.version, case.edition, "cases that break a rule" if case.broken else "conforming cases"] += 1
            counted[case.version, case.edition, "data sets"] += len(case.sets)
    declared: Counter[tuple[int, str, str]] = Counter()
    for part in suite.parts:
        if part.operator == operator:
            numbers = (part.negative, part.positive, part.sets)
            for what, number in zip(("cases that break a rule", "conforming cases", "data sets"), numbers, strict=True):
                declared[part.version, part.edition, what] += number
    for key in [*dict.fromkeys([*declared, *counted])]:
        if declared[key] != counted[key]:
            version, edition, what = key
            name = f"{operator}-{version} of {edition}"
            yield f"{name} has {counted[key]} {what}, suite.json declares {declared[key]}"


def _checked(folder: str, files: dict[str, bytes]) -> StoredCase | str:
    if "case.json" not in files:
        return f"{folder}: case.json is missing"
    try:
        with decoding(f"{folder}/case.json", "the description of a case"):
            case = json.decode(files.pop("case.json"), type=Case)
    except BadInput as reason:
        return str(reason)
    if case.id != folder or files.keys() != case.digests.keys():
        return f"{folder}: the files are not those that case.json lists"
    wrong = [name for name, content in files.items() if sha256(content) != case.digests[name]]
    return f"{folder}: {wrong[0]} was changed" if wrong else StoredCase(case, files)
