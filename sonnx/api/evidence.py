"""`audit` and `verify`: a model in, an evidence pack out, and back; `qualify`: the kit on the tool itself."""

from __future__ import annotations

import os
from argparse import ArgumentParser
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from sonnx.base.options import keyword_arguments
from sonnx.evidence.options import AuditOptions
from sonnx.evidence.pack import MANIFEST, EvidencePack, pack
from sonnx.evidence.pack_verification import PackVerification, verification
from sonnx.evidence.signature import signature_fault
from sonnx.model.sources import Source, path_or_bytes

if TYPE_CHECKING:
    from sonnx.evidence import qualification_kit
    from sonnx.evidence.verification import CommandLine


@keyword_arguments(AuditOptions)
def audit(source: Source, options: AuditOptions) -> EvidencePack:
    """Check a model and collect the evidence: reports, traceability, theorems, identities (docs/audit.md).

    Equal arguments and files give equal files; `EvidencePack.write` writes them to a folder.

    Raises:
        UsageError: options that cannot be met, or files of the project that are malformed or change while they are
            read.
    """
    file = path_or_bytes(source)
    return pack(file if isinstance(file, bytes) else Path(file), options)


def verify(
    pack: str | os.PathLike[str],
    model: str | os.PathLike[str] | None = None,
    signers: str | os.PathLike[str] | None = None,
    derived_from: str | os.PathLike[str] | None = None,
) -> PackVerification:
    """Regenerate an evidence pack and compare its content, and the environment: a sentence for each difference.

    Args:
        pack: the folder of the pack.
        model: the model file; the one that the pack names if None.
        signers: a file of allowed signers in the format of OpenSSH: one of them must have signed the manifest.
        derived_from: the model file that the model was made from; the one that the pack names if None.

    Raises:
        UsageError: the folder is not an evidence pack, the model is not known, or signatures cannot be verified here.
    """
    files = (None if file is None else Path(file) for file in (model, derived_from))
    verified = verification(Path(pack), *files)
    fault = "" if signers is None else signature_fault(Path(pack), MANIFEST, Path(signers))
    return replace(verified, content=(*verified.content, fault)) if fault else verified


def qualify(folder: Path, run: CommandLine, parser: ArgumentParser) -> qualification_kit.Kit:
    """Verify the tool in this environment by its command line, and write the qualification kit to a new folder.

    Raises:
        UsageError: the folder exists.
    """
    from sonnx.evidence import qualification_kit  # a pack needs none of it

    qualification_kit.require_new(folder)
    kit = qualification_kit.make(run, parser)
    qualification_kit.write(folder, kit)
    return kit
