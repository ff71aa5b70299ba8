"""What the package's metadata says of where the project lives; the build is told it: ``PROJECT_URL=https://… make build``.

On a package index a link of the README has no folder to start from, so it leads to the project's address there.
Without an address the metadata has no URLs, and the README is as it lies here.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

ADDRESS = "PROJECT_URL"
# The files of the newest commit, as the hosts of repositories show them.
FILES, PICTURES = "blob/HEAD", "raw/HEAD"
# A link or picture whose address is a path: no other host, and no heading of the same page.
_LINK = re.compile(
    r"(?P<mark>!?)\[(?P<text>(?:[^\[\]]|\[[^\]]*\])*)\]\((?!https?:|#)(?P<path>[^)\s]+)\)"
)


class ProjectAddress(MetadataHookInterface):
    """Give the metadata its readme and its URLs."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add them to *metadata*."""
        readme = Path(self.root, "README.md").read_text("utf-8")
        address = os.environ.get(ADDRESS, "").rstrip("/")
        if address:
            readme = with_absolute_links(readme, address)
            metadata["urls"] = {
                "Repository": address,
                "Issues": f"{address}/issues",
                "Documentation": f"{address}/{FILES}/docs/README.md",
                "Changelog": f"{address}/{FILES}/CHANGELOG.md",
            }
        metadata["readme"] = {"content-type": "text/markdown", "text": readme}


def with_absolute_links(text: str, address: str) -> str:
    """Return Markdown whose links to files, and pictures, lead to those of the project at *address*."""

    def absolute(link: re.Match[str]) -> str:
        folder = PICTURES if link["mark"] else FILES
        return f"{link['mark']}[{link['text']}]({address}/{folder}/{link['path']})"

    return _LINK.sub(absolute, text)
