"""Wrong versions of the prover, each of which a test of the prover must detect.

python -m tools.prover_mutants [--module NAME]

tests/data/prover_mutants.toml has the changes.  Each is made in a copy of the package, on which the named tests run
until one fails.  Exit code 1 if a change survives without a reason, or a reason is not needed.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
MUTANTS = ROOT / "tests" / "data" / "prover_mutants.toml"
COPIED = ("sonnx", "proofs", "restrictions")
"""The folders of the package; all others are linked."""
PROCESSOR_SECONDS, SECONDS = 300, 3000
"""Of the tests of one mutant, which a test that does not end detects; other work lengthens the second only."""


class ProverMutant(NamedTuple):
    """A text that occurs once in a module of the prover, what replaces it, and the tests that must detect it."""

    module: str
    old: str
    new: str
    tests: tuple[str, ...]
    """Files of tests/prover without their prefix, or of another folder of tests; some with the name of one test."""
    survives: str = ""

    @property
    def file(self) -> str:
        """The file of the module, from the root."""
        return f"{self.module}.py" if "/" in self.module else f"sonnx/prover/{self.module}.py"

    @property
    def changed(self) -> str:
        """The text of the module with the change.

        Raises:
            ValueError: the text does not occur exactly once.
        """
        text = (ROOT / self.file).read_text("utf-8")
        if text.count(self.old) != 1:
            raise ValueError(f"{self.file} contains {self.old!r} {text.count(self.old)} times")
        return text.replace(self.old, self.new)


def path_of(name: str) -> str:
    """The file of a test, and the test, from the root."""
    return f"tests/{name}" if "/" in name else f"tests/prover/test_{name}"


def prover_mutants() -> tuple[ProverMutant, ...]:
    """All changes of the data file."""
    listed = tomllib.loads(MUTANTS.read_text("utf-8"))["mutant"]
    return tuple(ProverMutant(**{**entry, "tests": tuple(entry["tests"])}) for entry in listed)


def survivors(mutants: Sequence[ProverMutant]) -> Iterator[ProverMutant]:
    """The changes that no named test detects; the package is copied once."""
    with tempfile.TemporaryDirectory() as name:
        copy = Path(name)
        ignored = shutil.ignore_patterns("__pycache__", *COPIED[1:])
        for folder in COPIED:
            shutil.copytree(ROOT / folder, copy / folder, ignore=ignored)
        for folder in COPIED[1:]:
            (copy / "sonnx" / folder).symlink_to(copy / folder)
        for other in ROOT.iterdir():
            if other.name not in COPIED and not other.name.startswith("."):
                (copy / other.name).symlink_to(other)
        if _fails(sorted({name for mutant in mutants for name in mutant.tests}), copy):
            raise SystemExit("the tests fail without any change")
        for number, mutant in enumerate(mutants, 1):
            target = copy / mutant.file
            original = target.read_text("utf-8")
            target.write_text(mutant.changed, "utf-8")
            detected = _fails(mutant.tests, copy)
            target.write_text(original, "utf-8")
            sys.stdout.write(f"{number}/{len(mutants)} {'detected' if detected else 'SURVIVES'}  {_line(mutant)}\n")
            sys.stdout.flush()
            if not detected:
                yield mutant


def _fails(tests: Sequence[str], copy: Path) -> bool:
    files = [path_of(name) for name in tests]
    options = ["-x", "-q", "-p", "no:randomly", "-p", "no:xdist", "--rootdir", str(copy)]
    limited = ["sh", "-c", f'ulimit -t {PROCESSOR_SECONDS}; exec "$@"', "sh"]
    command = [*limited, sys.executable, "-B", "-m", "pytest", *options, *files]
    try:
        ended = subprocess.run(  # noqa: S603  this Python
            command, cwd=copy, capture_output=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return True
    return ended.returncode != 0


def _line(mutant: ProverMutant) -> str:
    return f"{mutant.module}: {' '.join(mutant.old.split())} -> {' '.join(mutant.new.split()) or 'nothing'}"


def main(arguments: Sequence[str]) -> int:
    """Try the changes and count them."""
    parser = argparse.ArgumentParser(prog="python -m tools.prover_mutants", description=__doc__)
    parser.add_argument("--module", action="append", default=[], help="only the changes of this module")
    wanted = parser.parse_args(arguments).module
    chosen = [each for each in prover_mutants() if not wanted or each.module in wanted]
    surviving = list(survivors(chosen))
    unexplained = [each for each in surviving if not each.survives]
    unneeded = [each for each in chosen if each.survives and each not in surviving]
    for prover_mutant in unneeded:
        sys.stdout.write(f"detected, though a reason is given: {_line(prover_mutant)}\n")
    sys.stdout.write(
        f"{len(chosen)} changes: {len(chosen) - len(surviving)} detected, {len(surviving)} survive, "
        f"{len(surviving) - len(unexplained)} of them for a written reason\n"
    )
    return 1 if unexplained or unneeded else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
