"""Compare the check with the program extracted from the formalization: exit codes, and what does not hold where.

`python -m tests.support.verified_check PROGRAM [--random N] [--damaged N | --rewritten N] [--edition E] [--folder DIR]
[--record]`
ends with 0 if both say the same of every model, else with 1 and the models that differ.  The models are those of all
cases, of the examples and of the onnx package, random ones, damaged files, and models in other forms of the wire
format.  `--record` writes what the program says
of the cases to tests/data/verified.toml, with which `make test` compares the check where there is no program.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import onnx
import onnx.backend.test
import onnx.parser
from google.protobuf import text_format

import sonnx
from sonnx.base.errors import Unreadable
from sonnx.checker.extracted_check import (
    ExtractedAnswer,
    answer_of_report,
    answers_in,
    program_differences,
    with_search,
)
from sonnx.checker.report import Report
from sonnx.model.reader import read
from sonnx.profile import catalogue
from sonnx.profile.cases import all_cases
from tests.support.paths import DATA, ROOT
from tests.support.random_models import perturbed, random_model, sample_calls, with_symbols
from tests.support.wire_variants import variant

AT_ONCE = 200
"""Models of one run of the program."""
LONGEST_REWRITTEN = 30_000
"""The largest models that are rewritten, in bytes."""
UNREADABLE = 2
RECORD = ROOT / "tests" / "data" / "verified.toml"
DEFINITION_MODELS = DATA / "definition_models.toml"
HEAD = """\
# What sonnx-verified says of the models of the cases, by their hash: the exit code, and a hash of what does not hold.
# What it assumes fails where the check finds by a search that no value satisfies it.
# Written by `make recorded-verdicts`.
"""
NODE_TESTS = Path(onnx.backend.test.__file__).parent / "data"
"""The models of the onnx package."""


def of_check(path: Path, edition: str) -> ExtractedAnswer:
    """What the check says of a file; of the main graph, if there are others."""
    report = _report(path, edition)
    return ExtractedAnswer(UNREADABLE) if report is None else answer_of_report(report)


def of_program(program: Path, paths: Sequence[Path], edition: str) -> list[ExtractedAnswer]:
    """What the program says of files."""
    command = [str(program.resolve()), "--edition", edition, *map(str, paths)]
    done = subprocess.run(command, capture_output=True, check=False)
    answers = answers_in(done.stdout.decode("utf-8", "surrogateescape"))
    if len(answers) != len(paths):
        raise RuntimeError(done.stderr.decode("utf-8", "replace")[-1000:])
    return [ExtractedAnswer(code, findings) for code, findings in answers]


def _report(path: Path, edition: str) -> Report | None:
    """What the check says of a file; None if it is not readable."""
    try:
        return sonnx.check(path, edition=edition, limits={"findings": 10**6})
    except Unreadable:
        return None


def case_models() -> Iterator[bytes]:
    """The models of all cases that are one file, and those of tests/data/definition_models.toml."""
    for model in tomllib.loads(DEFINITION_MODELS.read_text("utf-8"))["model"]:
        text = model["text"].strip()
        yield (onnx.parser.parse_model if text.startswith("<") else _text_model)(text).SerializeToString()
    for case in all_cases():
        if case.beside is None:
            text_form = onnx.parser.parse_model if case.language.startswith("onnx") else _text_model
            yield text_form(case.text).SerializeToString()


def models(count: int) -> Iterator[bytes]:
    """The models of all cases, of the examples and of the onnx package, and random ones: correct, with one part
    changed, with symbolic dimensions.
    """
    yield from case_models()
    for path in (*sorted((ROOT / "examples").rglob("*.onnx")), *sorted(NODE_TESTS.rglob("*.onnx"))):
        yield path.read_bytes()
    operators = sorted(sample_calls())
    for seed in range(count):
        chance = random.Random(seed)
        model = random_model(chance, operators[seed % len(operators)], 3, specified=True)
        if seed % 3:
            perturbed(chance, model)
        if seed % 2:
            with_symbols(chance, model, 3)
        try:
            yield model.proto().SerializeToString()
        except (ValueError, TypeError):  # a changed constant that onnx cannot write
            continue


def write_weights(folder: Path) -> None:
    """Write the file of external data that models of tests/data/definition_models.toml name."""
    (folder / "weights.bin").write_bytes(bytes(16))


def _text_model(text: str) -> onnx.ModelProto:
    return text_format.Parse(text, onnx.ModelProto())


def damaged(originals: Sequence[bytes], count: int) -> Iterator[bytes]:
    """Files with bytes changed, cut out, doubled or cut off."""
    for seed in range(count):
        chance = random.Random(seed)
        data = bytearray(chance.choice(originals))
        for _ in range(chance.randrange(1, 4)):
            start = chance.randrange(max(1, len(data)))
            match chance.randrange(5):
                case 0:
                    data[start : start + 1] = bytes([chance.randrange(256)])
                case 1:
                    del data[start : start + chance.randrange(1, 8)]
                case 2:
                    data[start:start] = data[start : start + chance.randrange(1, 40)]
                case 3:
                    del data[start:]
                case _:
                    if data:
                        data[min(start, len(data) - 1)] ^= 1 << chance.randrange(8)
        yield bytes(data)


def small(contents: Iterable[bytes]) -> list[bytes]:
    """The models that are rewritten."""
    return [data for data in contents if 0 < len(data) < LONGEST_REWRITTEN]


def rewritten(originals: Sequence[bytes], count: int) -> Iterator[bytes]:
    """Models in other forms of the wire format."""
    for seed in range(count):
        chance = random.Random(seed)
        yield variant(chance, chance.choice(originals))


def compare(program: Path, contents: Iterator[bytes], edition: str, folder: Path) -> tuple[Counter[str], list[str]]:
    """How many models, findings and unreadable files there were, and a line for each model that differs."""
    counts, differing, waiting = Counter[str](), list[str](), list[Path]()
    write_weights(folder)

    def flush() -> None:
        for path, native in zip(waiting, of_program(program, waiting, edition) if waiting else [], strict=True):
            report = _report(path, edition)
            counts["models"] += 1
            counts["findings"] += 0 if report is None else len(answer_of_report(report).findings)
            counts[f"exit {UNREADABLE if report is None else report.exit_code()}"] += 1
            if report is None:
                sentences = [] if native.code == UNREADABLE else [f"the program reads it: {native.code}"]
            else:
                sentences = list(program_differences(native, report))
            if sentences:
                differing.append(f"{path.name}: {'; '.join(sentences[:4])}")
            else:
                path.unlink()
        waiting.clear()

    for index, data in enumerate(contents):
        path = folder / f"{index}.onnx"
        path.write_bytes(data)
        waiting.append(path)
        if len(waiting) == AT_ONCE:
            flush()
    flush()
    return counts, differing


def digest(answer: ExtractedAnswer) -> str:
    """What an answer says, as a short text: the exit code, and a hash of the findings."""
    text = "\n".join(" ".join(each) for each in sorted(answer.findings))
    return f"{answer.code} {hashlib.sha256(text.encode()).hexdigest()[:16]}"


def _has_functions(path: Path) -> bool:
    """The calls of functions are not walked by the program."""
    return bool(read(path).functions)


def record(program: Path, edition: str, folder: Path) -> int:
    """Write what the program says of the cases; how many there are."""
    contents = list(dict.fromkeys(case_models()))
    write_weights(folder)
    paths = [folder / f"{index}.onnx" for index in range(len(contents))]
    for path, data in zip(paths, contents, strict=True):
        path.write_bytes(data)
    answers = [
        answer
        for start in range(0, len(paths), AT_ONCE)
        for answer in of_program(program, paths[start : start + AT_ONCE], edition)
    ]
    lines = [
        f'"{hashlib.sha256(data).hexdigest()[:16]}" = "{digest(with_search(answer, of_check(path, edition)))}"\n'
        for path, data, answer in zip(paths, contents, answers, strict=True)
        if not _has_functions(path)
    ]
    RECORD.write_text(f"{HEAD}{''.join(sorted(lines))}", "utf-8")
    return len(lines)


def main() -> int:
    """Compare; 0 or 1."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", type=Path)
    parser.add_argument("--random", type=int, default=200, help="random models")
    parser.add_argument("--damaged", type=int, default=0, help="damaged files instead")
    parser.add_argument("--rewritten", type=int, default=0, help="models in other forms of the wire format instead")
    parser.add_argument("--edition", default=catalogue.editions().default)
    parser.add_argument("--folder", type=Path, help="where models that differ stay")
    parser.add_argument("--record", action="store_true", help="write what the program says of the cases")
    options = parser.parse_args()
    if options.record:
        with tempfile.TemporaryDirectory() as temporary:
            print(record(options.program, options.edition, Path(temporary)), "models are recorded")
        return 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        contents = models(options.random)
        if options.damaged:
            contents = damaged([data for data in contents if data], options.damaged)
        elif options.rewritten:
            contents = rewritten(small(contents), options.rewritten)
        counts, differing = compare(options.program, contents, options.edition, folder)
    for line in differing[:40]:
        print(line)
    print(", ".join(f"{what}: {count}" for what, count in sorted(counts.items())), f"; {len(differing)} models differ")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
