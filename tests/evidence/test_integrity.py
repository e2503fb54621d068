"""Whatever is changed in a pack, its manifest, its signature, a suite or a certificate is noticed and named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sonnx.evidence.pack_verification import verification
from sonnx.evidence.signature import SIGNATURE
from tests.support import companions
from tests.support.cases import crossed, examples
from tests.support.manipulations import OTHERS, SignedPack, manipulations

CHANGES = examples(4, 400)
"""Changed bytes of a kind of file."""


@pytest.fixture(scope="module")
def signed(tmp_path_factory: pytest.TempPathFactory) -> SignedPack:
    return SignedPack.in_folder(tmp_path_factory.mktemp("signed"))


@pytest.fixture(scope="module", autouse=True)
def shared_companions(shared_folder: Path) -> None:
    companions.share(shared_folder)


@pytest.fixture
def pack(signed: SignedPack, tmp_path: Path) -> Path:
    """A copy of the pack."""
    signed.lay_out(tmp_path / "pack")
    return tmp_path / "pack"


def test_the_pack_itself_is_verified(signed: SignedPack, pack: Path) -> None:
    assert not signed.faults(pack)


@pytest.mark.parametrize(("title", "place"), crossed(OTHERS, [".", "theorems"], every=2))
def test_a_pack_has_exactly_the_declared_files(title: str, place: str, signed: SignedPack, pack: Path) -> None:
    make, said = OTHERS[title]
    make(pack / place / "z")
    assert any(said in fault for fault in signed.faults(pack))


@pytest.mark.parametrize("name", ["report.json", "audit.json", "manifest.json", SIGNATURE, "run.json"])
def test_a_file_that_became_a_link_to_an_equal_file_is_named(name: str, signed: SignedPack, pack: Path) -> None:
    (pack / name).rename(pack.parent / "elsewhere")
    (pack / name).symlink_to(pack.parent / "elsewhere")
    assert any("is a link" in fault for fault in signed.faults(pack))


def test_a_folder_that_became_a_link_is_named(signed: SignedPack, pack: Path) -> None:
    (pack / "theorems").rename(pack.parent / "elsewhere")
    (pack / "theorems").symlink_to(pack.parent / "elsewhere")
    assert any("'theorems' is a link" in fault for fault in signed.faults(pack))


@pytest.mark.parametrize("name", ["manifest.json", SIGNATURE, "audit.json", "report.json", "statement.html"])
def test_each_changed_byte_of_a_signed_pack_is_noticed(name: str, signed: SignedPack, pack: Path) -> None:
    valid = (pack / name).read_bytes()
    for number in range(-3, CHANGES):
        content = companions.with_changed_byte(valid, number)
        if content == valid:
            continue
        (pack / name).write_bytes(content)
        assert signed.faults(pack), f"change {number} of {name}"


TRAILING = (b"\n", b" ", b"\0", b"x", b"-----BEGIN SSH SIGNATURE-----\n", b"\nmore text\n")


@pytest.mark.parametrize(("more", "behind"), crossed(TRAILING, [True, False], every=2))
def test_other_text_in_the_file_of_a_signature_is_named(
    more: bytes, behind: bool, signed: SignedPack, pack: Path
) -> None:
    valid = (pack / SIGNATURE).read_bytes()
    (pack / SIGNATURE).write_bytes(valid + more if behind else more + valid)
    assert signed.faults(pack) == [f"{SIGNATURE} is not as OpenSSH writes it: it has other text than one signature"]


def test_other_line_breaks_of_a_signature_are_named(signed: SignedPack, pack: Path) -> None:
    """OpenSSH itself accepts them."""
    valid = (pack / SIGNATURE).read_bytes()
    begin, *lines, end = valid.decode().splitlines()
    joined = "".join(lines)
    for wide in (1, 64, len(joined)):
        rows = [joined[start : start + wide] for start in range(0, len(joined), wide)]
        (pack / SIGNATURE).write_text("\n".join([begin, *rows, end, ""]))
        assert signed.faults(pack)


OUTSIDE = ("/etc/passwd", "../m.onnx", "a/../../m.onnx", "configuration/\0")


@pytest.mark.parametrize(
    ("option", "path"),
    crossed(["tailoring", "deviations", "properties", "suites", "since", "proofs"], OUTSIDE, every=4),
)
def test_a_pack_names_no_file_outside_itself(option: str, path: str, signed: SignedPack, pack: Path) -> None:
    document = json.loads((pack / "audit.json").read_text())
    document["options"][option] = [path] if option in ("properties", "suites") else path
    document["options"]["date"] = "2026-01-01" if option == "deviations" else None
    (pack / "audit.json").write_text(json.dumps(document))
    said = verification(pack, signed.model).content
    assert any("is not a file of the pack" in sentence for sentence in said)


def test_every_manipulation_is_noticed() -> None:
    """Of packs, suites and certificates; a thousand of them in `make manipulation-campaign`."""
    number = examples(16, 400)
    tried = [*manipulations(number, 0)]
    assert [(sort, what) for sort, what, noticed in tried if not noticed] == []
    assert len(tried) == number
