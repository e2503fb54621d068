"""Metadata that depends on who builds: the addresses of the project are those of the repository that releases it."""

from __future__ import annotations

import os
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

REPOSITORY = "SONNX_REPOSITORY"
"""The environment variable with the address of the repository, which the release workflow sets."""
SITE = "SONNX_SITE"
"""The environment variable with the address at which the site that `make docs` builds is published, if it is."""
PROFILE = "https://github.com/onnx/working-groups"


class AddressesHook(MetadataHookInterface):
    """States the addresses: of the profile always, of the project where the repository is known."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the field `urls`."""
        repository = os.environ.get(REPOSITORY, "").rstrip("/")
        metadata["urls"] = {"Profile": PROFILE}
        if repository:
            metadata["urls"] |= {
                "Source": repository,
                "Documentation": f"{repository}/tree/HEAD/docs",
                "Changelog": f"{repository}/blob/HEAD/CHANGELOG.md",
                "Issues": f"{repository}/issues",
            }
        site = os.environ.get(SITE, "").rstrip("/")
        metadata["urls"] |= {"Rules": site} if site else {}
