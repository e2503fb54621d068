"""Signatures of evidence packs: OpenSSH signatures (`ssh-keygen -Y`) of the manifest, made and verified offline.

The manifest has the SHA-256 of every file, so a signature of it covers the pack.  OpenSSH holds the keys; this tool
never reads a private key itself.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from base64 import b64decode, b64encode
from pathlib import Path

from sonnx.base.errors import UsageError
from sonnx.base.escaping import escape, quote
from sonnx.base.files import whole_bytes

NAMESPACE = "sonnx-evidence"
"""Separates these signatures from those of other uses of a key."""
SIGNATURE = "manifest.json.sig"
PROGRAM = "ssh-keygen"
MAX_BYTES = 1 << 20
"""Of a signature."""
COLUMNS = 70
"""Of a line of base64 that OpenSSH writes."""
SECONDS = 120
"""Time for one call; a passphrase or a touch of a hardware key may be asked for."""


def require_key(key: Path) -> None:
    """Refuse a key before the work on a pack begins.

    Raises:
        UsageError: OpenSSH is not installed, or the key cannot be read as one.
    """
    _program()
    if not key.is_file():
        raise UsageError(f"the key {quote(str(key))} does not exist")
    public = key if key.suffix == ".pub" else key.with_name(f"{key.name}.pub")
    shown = _call(["-l", "-f", str(public if public.is_file() else key)])
    if shown.returncode:
        raise UsageError(f"{quote(str(key))} is not a key that OpenSSH reads: {_reason(shown)}")


def sign(content: bytes, key: Path) -> bytes:
    """The signature of a manifest by an OpenSSH key.

    Raises:
        UsageError: OpenSSH refuses.
    """
    process = _call(["-Y", "sign", "-n", NAMESPACE, "-f", str(key)], content)
    if process.returncode or not process.stdout.startswith(b"-----BEGIN SSH SIGNATURE-----"):
        raise UsageError(f"{quote(str(key))} does not sign: {_reason(process)}")
    return process.stdout


def signature_fault(folder: Path, manifest: str, signers: Path) -> str:
    """What is wrong with the signature of a pack, "" if one of the signers made it for this manifest.

    Args:
        folder: the pack.
        manifest: the name of its manifest.
        signers: a file of allowed signers in the format of OpenSSH (ssh-keygen(1), ALLOWED SIGNERS).

    Raises:
        UsageError: OpenSSH is not installed, or the file of signers cannot be read.
    """
    _program()
    if not signers.is_file():
        raise UsageError(f"the file of signers {quote(str(signers))} does not exist")
    signature = folder / SIGNATURE
    if not signature.is_file():
        return f"the pack has no signature: {SIGNATURE} is missing"
    if not _is_as_written(whole_bytes(signature, MAX_BYTES)):
        return f"{SIGNATURE} is not as OpenSSH writes it: it has other text than one signature"
    process = _call(["-Y", "find-principals", "-s", str(signature), "-f", str(signers)])
    names = process.stdout.decode("utf-8", "replace").split()
    if process.returncode or not names:
        return f"{SIGNATURE} is of no key in {escape(signers.name)}, or is not a signature"
    question = ["-Y", "verify", "-f", str(signers), "-I", names[0], "-n", NAMESPACE, "-s", str(signature)]
    verified = _call(question, (folder / manifest).read_bytes())
    return "" if verified.returncode == 0 else f"{SIGNATURE} does not fit {manifest}: {_reason(verified)}"


def _is_as_written(text: bytes) -> bool:
    """Whether a file is one signature in the layout of OpenSSH and nothing else.

    OpenSSH itself accepts any text behind the signature, other line breaks, and base64 that other bytes decode to.
    """
    layout = re.fullmatch(rb"-----BEGIN SSH SIGNATURE-----\n([A-Za-z0-9+/=\n]+)\n-----END SSH SIGNATURE-----\n", text)
    if layout is None:
        return False
    try:
        written = b64encode(b64decode(layout[1].replace(b"\n", b""), validate=True))
    except ValueError:
        return False
    return layout[1] == b"\n".join(written[start : start + COLUMNS] for start in range(0, len(written), COLUMNS))


def _program() -> str:
    name = shutil.which(PROGRAM)
    if name is None:
        raise UsageError(f"signatures need {PROGRAM} of OpenSSH, which is not installed")
    return name


def _call(arguments: list[str], content: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(  # noqa: S603  (a list of arguments, no shell)
            [_program(), *arguments], input=content, capture_output=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise UsageError(f"{PROGRAM} gave no answer in {SECONDS} seconds") from None


def _reason(call: subprocess.CompletedProcess[bytes]) -> str:
    lines = (call.stderr or call.stdout).decode("utf-8", "replace").strip().splitlines()
    return escape(lines[-1]) if lines else f"{PROGRAM} ended with {call.returncode}"
