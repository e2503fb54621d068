"""Manipulations of packs, suites and certificates, each of which must be noticed.

    python -m tests.support.manipulations [--number 1000] [--seed 0]

A pack is signed, or its manifest is made to fit the changed files, as a forger without the key would do it.  The hash
that a suite states of an archive is made to fit, too, where cases are removed, added or changed.  A certificate that is
accepted although it was changed claims the same, shown again from its parts.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import random
import shutil
import socket
import subprocess
import sys
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import chdir
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple
from unittest.mock import patch

from sonnx.base.files import sha256
from sonnx.cli.main import run
from sonnx.evidence import pack_verification
from sonnx.evidence.pack_verification import verification
from sonnx.evidence.signature import SIGNATURE, signature_fault
from tests.support import certificate_mutants, companions
from tests.support.paths import ROOT

MANIFEST = "manifest.json"
OF_ONE_RUN = ("run.json", SIGNATURE)
"""Files of a pack that differ between equal runs."""


class SignedPack(NamedTuple):
    """A signed pack of a model, and what is known without it."""

    model: Path
    signers: Path
    files: Mapping[str, bytes]

    @classmethod
    def in_folder(cls, folder: Path) -> SignedPack:
        """Make it; takes a second."""
        model, key, pack = folder / "m.onnx", folder / "key", folder / "pack"
        model.write_bytes((ROOT / "examples" / "conforming.onnx").read_bytes())
        call = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "a key of the tests", "-f", str(key)]
        subprocess.run(call, check=True)
        (folder / "signers").write_text(f"name {(folder / 'key.pub').read_text()}")
        if run(["audit", str(model), "--output", str(pack), "--sign", str(key)]) != 0:
            raise RuntimeError("the pack was not made")
        files = {path.relative_to(pack).as_posix(): path.read_bytes() for path in pack.rglob("*") if path.is_file()}
        return cls(model, folder / "signers", files)

    def faults(self, pack: Path, *, signed: bool = True) -> list[str]:
        """What the verification says of a copy of the pack, and of its signature.

        What a fresh run writes is that of the first one, so that a verification takes no time.
        """
        fresh = {name: content for name, content in self.files.items() if name not in OF_ONE_RUN}
        with patch.object(pack_verification, "rebuilt", lambda *_: fresh):
            fault = signature_fault(pack, MANIFEST, self.signers) if signed else ""
            try:
                said = [*verification(pack, self.model).content]
            except ValueError as refused:  # the manifest is none any more
                said = [str(refused)]
        return [*said, *([fault] if fault else [])]

    def lay_out(self, pack: Path) -> None:
        """Write a copy of the pack."""
        for name, content in self.files.items():
            (pack / name).parent.mkdir(parents=True, exist_ok=True)
            (pack / name).write_bytes(content)


def bind(path: Path) -> None:
    """A socket at a path, which may be longer than the address of a socket."""
    with chdir(path.parent), socket.socket(socket.AF_UNIX) as opened:
        opened.bind(path.name)


OTHERS: Mapping[str, tuple[Callable[[Path], object], str]] = {
    "an empty folder": (os.mkdir, "is an empty folder"),
    "a pipe": (os.mkfifo, "is a pipe"),
    "a link to a file": (lambda path: path.symlink_to("/etc/passwd"), "is a link"),
    "a link to a folder": (lambda path: path.symlink_to("/etc"), "is a link"),
    "a link to nothing": (lambda path: path.symlink_to("nothing"), "is a link"),
    "a socket": (bind, "is a socket"),
    "a file": (lambda path: path.write_bytes(b""), "is not listed in the manifest"),
    "deep folders": (lambda path: (path / "/".join("abcdefghijk")).mkdir(parents=True), "is nested too deeply"),
}
"""What may stand beside the files of a pack, and what is said of it."""


# ------------------------------------------------------------------ packs


def _changed_byte(pack: Path, path: Path, draw: random.Random) -> None:
    valid = path.read_bytes()
    changed = valid
    while changed == valid:
        changed = companions.with_changed_byte(valid, draw.randrange(1 << 30)) if valid else b"x"
    path.write_bytes(changed)


def _removed(pack: Path, path: Path, draw: random.Random) -> None:
    path.unlink()


def _moved(pack: Path, path: Path, draw: random.Random) -> None:
    path.rename(path.with_name(f"{path.name}x"))


def _linked(pack: Path, path: Path, draw: random.Random) -> None:
    path.rename(pack.parent / "elsewhere")
    path.symlink_to(pack.parent / "elsewhere")


def _exchanged(pack: Path, path: Path, draw: random.Random) -> None:
    others = [each for each in pack.rglob("*") if each.is_file() and each.read_bytes() != path.read_bytes()]
    other = draw.choice(sorted(others))
    first, second = path.read_bytes(), other.read_bytes()
    path.write_bytes(second)
    other.write_bytes(first)


def _another(pack: Path, path: Path, draw: random.Random) -> None:
    make, _ = OTHERS[draw.choice(sorted(OTHERS))]
    make(path.parent / f"z{draw.randrange(1000)}")


OF_A_PACK = (_changed_byte, _changed_byte, _changed_byte, _removed, _moved, _linked, _exchanged, _another)


def pack_manipulation(signed: SignedPack, pack: Path, number: int) -> tuple[str, bool]:
    """Manipulate a copy of a pack; what was done, and whether it was noticed."""
    draw = random.Random(f"pack {number}")
    signed.lay_out(pack)
    forged = number % 3 == 0
    names = sorted(set(signed.files) - ({MANIFEST, *OF_ONE_RUN} if forged else set()))
    name, manipulate = draw.choice(names), draw.choice(OF_A_PACK)
    manipulate(pack, pack / name, draw)
    what = f"{manipulate.__name__[1:]} {name}"
    if forged:
        _fit_manifest(signed, pack)
        return f"{what}, with a manifest that fits", bool(signed.faults(pack, signed=number % 2 == 0))
    return what, bool(signed.faults(pack))


def _fit_manifest(signed: SignedPack, pack: Path) -> None:
    """Let the manifest list the files that the pack has."""
    manifest = json.loads(signed.files[MANIFEST])
    manifest["files"] = {
        path.relative_to(pack).as_posix(): sha256(path.read_bytes())
        for path in sorted(pack.rglob("*"))
        if path.is_file() and path.name not in (MANIFEST, SIGNATURE)
    }
    (pack / MANIFEST).write_text(json.dumps(manifest))


# ------------------------------------------------------------------ suites


def _members(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _archive(members: Mapping[str, bytes]) -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return written.getvalue()


def suite_manipulation(number: int) -> tuple[str, bool]:
    """Manipulate the suite of the current folder; what was done, and whether `suite report` notices it."""
    draw = random.Random(f"suite {number}")
    (place, archive), (list_place, listed) = (
        companions.content_of(kind) for kind in ("archive of a suite", "suite")
    )  # fmt: skip
    stated, content, what = json.loads(listed), archive, ""
    members = _members(archive)
    match number % 4:
        case 0:
            content, what = companions.with_changed_byte(archive, number), "a byte of an archive"
        case 1:
            name = draw.choice(sorted(members))
            case = name.partition("/")[0]
            members = {each: data for each, data in members.items() if not each.startswith(f"{case}/")}
            content, what = _archive(members), f"the case {case} is left out"
        case 2:
            name = draw.choice(sorted(members))
            del members[name]
            content, what = _archive(members), f"the file {name} is left out"
        case 3:
            key = draw.choice(("positive", "negative", "sets", "version", "operator", "edition"))
            value = stated["parts"][0].get(key, "")
            stated["parts"][0][key] = (
                value + draw.choice((-1, 1, 7)) if isinstance(value, int) else f"{value}{draw.choice('0x')}"
            )
            what = f"{key} of suite.json"
    if number % 4 in (1, 2):
        stated = json.loads(listed.replace(sha256(archive).encode(), sha256(content).encode()))
    if (content, stated) == (archive, json.loads(listed)):
        return "nothing", True
    Path(place).write_bytes(content)
    Path(list_place).write_text(json.dumps(stated))
    code, _, said = companions.quietly(["suite", "report", "suite"])
    Path(place).write_bytes(archive)
    Path(list_place).write_bytes(listed)
    return what, code == 2 and companions.is_a_sentence(said)


# ------------------------------------------------------------------ certificates


def certificate_manipulations(number: int, seed: int) -> Iterator[tuple[str, bool]]:
    """So many changes of the certificate of an example, and whether each was noticed."""
    files = companions.files()
    model, text = files["controller.onnx"], files["controller.vnnlib"].decode()
    every = certificate_mutants.changed_certificates(files["controller.json"].decode(), 2 * number, seed)
    for changed in islice(every, number):
        said = certificate_mutants.outcome(model, text, changed)
        yield f"certificate: {said}", said != "WRONG"


def manipulations(number: int, seed: int) -> Iterator[tuple[str, str, bool]]:
    """So many manipulations: of what, what was done, and whether it was noticed."""
    with TemporaryDirectory() as place, chdir(place):
        companions.lay_out(Path())
        Path("signed").mkdir()
        signed = SignedPack.in_folder(Path(place) / "signed")
        for each in range(number // 2):
            yield "packs", *pack_manipulation(signed, Path(place) / "copy", seed * 100_000 + each)
            shutil.rmtree("copy")
            Path("elsewhere").unlink(missing_ok=True)
        for each in range(number // 4):
            yield "suites", *suite_manipulation(seed * 100_000 + each)
        for what, noticed in certificate_manipulations(number - number // 2 - number // 4, seed):
            yield "certificates", what, noticed


def main() -> None:
    """Run the campaign."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--number", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    counted, missed = Counter[str](), 0
    for sort, what, noticed in manipulations(options.number, options.seed):
        counted[sort] += 1
        if not noticed:
            missed += 1
            print(f"{sort}: {what} is not noticed", flush=True)
    print("; ".join(f"{sort}: {count}" for sort, count in counted.items()), f"; not noticed: {missed}", sep="")
    sys.exit(missed > 0)


if __name__ == "__main__":
    main()
