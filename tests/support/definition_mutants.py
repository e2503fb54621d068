"""Change the definitions of the check in Coq: a proof must break, or what the program says of a model of the tests.

`python -m tests.support.definition_mutants FOLDER [FILE ...]`, FOLDER as `make verified` leaves it; changes of these
files of proofs/coq only, without names of all.  Ends with 1 where a change of tests/data/definition_mutants.toml is not
detected, and does not say why it changes no verdict.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

from sonnx.profile import catalogue
from tests.support.paths import DATA, ROOT
from tests.support.verified_check import AT_ONCE, digest, models, of_program, rewritten, small, write_weights

RANDOM = 200
"""Random models beside those of the tests."""
REWRITTEN = 400
"""Models in other forms of the wire format."""
MUTANTS = DATA / "definition_mutants.toml"


def makefile_list(name: str) -> list[str]:
    """A list of words of the Makefile."""
    found = re.search(rf"^{name} := (.*)$", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    if found is None:
        raise ValueError(f"the Makefile has no {name}")
    return found[1].split()


def said_of_cases(program: Path, folder: Path) -> list[str]:
    """What the program says of each model, in the default edition and in one that has a rule withdrawn since."""
    paths, editions = sorted(folder.glob("*.onnx")), catalogue.editions()
    newest = editions.editions[editions.default].general
    withdrawn = next(rule for rule in catalogue.graph_rules() if not editions.in_force(rule, newest))
    older = next(each.name for each in editions.editions.values() if editions.in_force(withdrawn, each.general))
    return [
        digest(answer)
        for edition in (editions.default, older)
        for start in range(0, len(paths), AT_ONCE)
        for answer in of_program(program, paths[start : start + AT_ONCE], edition)
    ]


def detected(mutant: dict[str, Any], built: Path, cases: Path, expected: list[str]) -> str:
    """How a change is detected: "proof" or "comparison"; "" if it is not.

    Raises:
        ValueError: the text to change does not stand in the file, or several times.
    """
    files, modules, compiler = makefile_list("CHECK_IN_COQ"), makefile_list("OF_CHECK"), makefile_list("OCAML")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "mutant"
        shutil.copytree(built, folder)
        path = folder / f"{mutant['file']}.v"
        text = path.read_text("utf-8")
        if text.count(mutant["old"]) != 1:
            raise ValueError(f"{mutant['file']}.v has {text.count(mutant['old'])} times {mutant['old']!r}")
        path.write_text(text.replace(mutant["old"], mutant["new"]), "utf-8")
        for name in [*files[files.index(mutant["file"]) :], "extraction"]:
            done = subprocess.run(
                ["coqc", "-Q", ".", "Sonnx", f"{name}.v"], cwd=folder, capture_output=True, check=False
            )
            if done.returncode:
                return "proof"
        (folder / "evaluator.mli").unlink(missing_ok=True)
        command = [*compiler, *[f"{module}.ml" for module in modules], "-o", "mutant"]
        subprocess.run(command, cwd=folder, capture_output=True, check=True)
        try:
            said = said_of_cases(folder / "mutant", cases)
        except RuntimeError:  # it ended early
            return "comparison"
        return "comparison" if said != expected else ""


def main() -> int:
    """Try every change; 0 or 1."""
    built, files = Path(sys.argv[1]), sys.argv[2:]
    mutants = tomllib.loads(MUTANTS.read_text("utf-8"))["mutant"]
    mutants = [mutant for mutant in mutants if not files or mutant["file"] in files]
    results: list[str] = []
    with tempfile.TemporaryDirectory() as temporary:
        cases = Path(temporary)
        write_weights(cases)
        contents = list(dict.fromkeys(models(RANDOM)))
        for index, data in enumerate([*contents, *rewritten(small(contents), REWRITTEN)]):
            (cases / f"{index}.onnx").write_bytes(data)
        expected = said_of_cases(built / "sonnx-verified", cases)
        for mutant in mutants:
            results.append(detected(mutant, built, cases, expected) or ("equivalent" if "equivalent" in mutant else ""))
            print(results[-1] or "NOT DETECTED", mutant["file"], repr(mutant["new"])[:100], flush=True)
    by_proof, by_comparison, alike, by_none = map(results.count, ("proof", "comparison", "equivalent", ""))
    print(
        f"{len(results)} changes: {by_proof} break a proof, {by_comparison} change an answer, {alike} change no "
        f"verdict for a reason that stands beside them, {by_none} are not detected"
    )
    return 1 if "" in results else 0


if __name__ == "__main__":
    sys.exit(main())
