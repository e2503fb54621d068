"""Whatever is changed in a pack, its manifest, its signature, a suite or a certificate is noticed and named."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from sonnx.cli.main import run
from sonnx.evidence import pack_verification
from sonnx.evidence.pack_verification import verification
from sonnx.evidence.signature import SIGNATURE, signature_fault
from tests.support import companions
from tests.support.cases import examples
from tests.support.paths import ROOT

CHANGES = examples(9, 400)
"""Changed bytes of a kind of file."""


@pytest.fixture(scope="module")
def signed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model, its signed pack and the file of signers."""
    folder = tmp_path_factory.mktemp("signed")
    (folder / "m.onnx").write_bytes((ROOT / "examples" / "conforming.onnx").read_bytes())
    call = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "a key of the tests", "-f", str(folder / "key")]
    subprocess.run(call, check=True)
    (folder / "signers").write_text(f"name {(folder / 'key.pub').read_text()}")
    assert run(["audit", str(folder / "m.onnx"), "--output", str(folder / "pack"), "--sign", str(folder / "key")]) == 0
    return folder


@pytest.fixture
def pack(signed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the pack; what a fresh run writes is that of the first one, so that a verification takes no time."""
    fresh = {
        path.relative_to(signed / "pack").as_posix(): path.read_bytes()
        for path in (signed / "pack").rglob("*")
        if path.is_file() and path.name not in (SIGNATURE, "run.json")
    }
    monkeypatch.setattr(pack_verification, "rebuilt", lambda *_: fresh)
    shutil.copytree(signed / "pack", tmp_path / "pack")
    return tmp_path / "pack"


def faults(signed: Path, pack: Path) -> list[str]:
    """What the verification says of a pack, with its signature."""
    fault = signature_fault(pack, "manifest.json", signed / "signers")
    return [*verification(pack, signed / "m.onnx").content, *([fault] if fault else [])]


def test_the_pack_itself_is_verified(signed: Path, pack: Path) -> None:
    assert not faults(signed, pack)


OTHERS: Mapping[str, tuple[Callable[[Path], object], str]] = {
    "an empty folder": (os.mkdir, "is an empty folder"),
    "a pipe": (os.mkfifo, "is a pipe"),
    "a link to a file": (lambda path: path.symlink_to("/etc/passwd"), "is a link"),
    "a link to a folder": (lambda path: path.symlink_to("/etc"), "is a link"),
    "a link to nothing": (lambda path: path.symlink_to("nothing"), "is a link"),
    "a socket": (lambda path: bind(path), "is a socket"),
    "a file": (lambda path: path.write_bytes(b""), "is not listed in the manifest"),
    "deep folders": (lambda path: (path / "/".join("abcdefghijk")).mkdir(parents=True), "is nested too deeply"),
}


def bind(path: Path) -> None:
    """A socket at a path, which may be longer than the address of a socket."""
    before = Path.cwd()
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as opened:
            opened.bind(path.name)
    finally:
        os.chdir(before)


@pytest.mark.parametrize("title", OTHERS)
@pytest.mark.parametrize("place", [".", "theorems"])
def test_a_pack_has_exactly_the_declared_files(title: str, place: str, signed: Path, pack: Path) -> None:
    make, said = OTHERS[title]
    make(pack / place / "z")
    assert any(said in fault for fault in faults(signed, pack))


@pytest.mark.parametrize("name", ["report.json", "audit.json", "manifest.json", SIGNATURE, "run.json"])
def test_a_file_that_became_a_link_to_an_equal_file_is_named(name: str, signed: Path, pack: Path) -> None:
    (pack / name).rename(pack.parent / "elsewhere")
    (pack / name).symlink_to(pack.parent / "elsewhere")
    try:
        said = faults(signed, pack)
    except ValueError as refused:
        said = [str(refused)]
    assert any("is a link" in fault for fault in said)


def test_a_folder_that_became_a_link_is_named(signed: Path, pack: Path) -> None:
    (pack / "theorems").rename(pack.parent / "elsewhere")
    (pack / "theorems").symlink_to(pack.parent / "elsewhere")
    assert any("'theorems' is a link" in fault for fault in faults(signed, pack))


@pytest.mark.parametrize("name", ["manifest.json", SIGNATURE, "audit.json", "report.json", "statement.html"])
def test_each_changed_byte_of_a_signed_pack_is_noticed(name: str, signed: Path, pack: Path) -> None:
    valid = (pack / name).read_bytes()
    for number in range(-3, CHANGES):
        content = companions.with_changed_byte(valid, number)
        if content == valid:
            continue
        (pack / name).write_bytes(content)
        try:
            said = faults(signed, pack)
        except ValueError as refused:  # the manifest or the signature is none any more
            said = [str(refused)]
        assert said, f"change {number} of {name}"


TRAILING = (b"\n", b" ", b"\0", b"x", b"-----BEGIN SSH SIGNATURE-----\n", b"\nmore text\n")


@pytest.mark.parametrize("more", TRAILING)
@pytest.mark.parametrize("behind", [True, False])
def test_other_text_in_the_file_of_a_signature_is_named(more: bytes, behind: bool, signed: Path, pack: Path) -> None:
    valid = (pack / SIGNATURE).read_bytes()
    (pack / SIGNATURE).write_bytes(valid + more if behind else more + valid)
    assert faults(signed, pack) == [f"{SIGNATURE} is not as OpenSSH writes it: it has other text than one signature"]


def test_other_line_breaks_of_a_signature_are_named(signed: Path, pack: Path) -> None:
    """OpenSSH itself accepts them."""
    valid = (pack / SIGNATURE).read_bytes()
    begin, *lines, end = valid.decode().splitlines()
    joined = "".join(lines)
    for wide in (1, 64, len(joined)):
        rows = [joined[start : start + wide] for start in range(0, len(joined), wide)]
        (pack / SIGNATURE).write_text("\n".join([begin, *rows, end, ""]))
        assert faults(signed, pack)


OUTSIDE = ("/etc/passwd", "../m.onnx", "a/../../m.onnx", "configuration/\0")


@pytest.mark.parametrize("path", OUTSIDE)
@pytest.mark.parametrize("option", ["tailoring", "deviations", "properties", "suites", "since", "proofs"])
def test_a_pack_names_no_file_outside_itself(option: str, path: str, signed: Path, tmp_path: Path) -> None:
    shutil.copytree(signed / "pack", tmp_path / "pack")
    document = json.loads((tmp_path / "pack" / "audit.json").read_text())
    document["options"][option] = [path] if option in ("properties", "suites") else path
    document["options"]["date"] = "2026-01-01" if option == "deviations" else None
    (tmp_path / "pack" / "audit.json").write_text(json.dumps(document))
    said = verification(tmp_path / "pack", signed / "m.onnx").content
    assert any("is not a file of the pack" in sentence for sentence in said)
