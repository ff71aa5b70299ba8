"""What a package index shows of a build that is told where the project lives."""

from __future__ import annotations

from pathlib import Path

import pytest
from hatchling.metadata.core import ProjectMetadata
from hatchling.plugin.manager import PluginManager

ROOT = Path(__file__).parents[1]
ADDRESS = "https://code.example.org/acme/memory-context"

# The wheel's run of the quick suite has no hatch_build.py.
pytestmark = pytest.mark.long


def _built() -> ProjectMetadata[PluginManager]:
    return ProjectMetadata(str(ROOT), PluginManager())


def test_links_and_pictures_lead_to_the_project(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a package index links and pictures of the README lead to the project's files, headings stay on the page."""
    monkeypatch.setenv("PROJECT_URL", f"{ADDRESS}/")
    core = _built().core
    assert f"]({ADDRESS}/raw/HEAD/docs/pictures/prompt-size.svg)" in core.readme
    assert f"]({ADDRESS}/blob/HEAD/docs/langchain.md#checkpoints)" in core.readme
    assert "](docs/" not in core.readme
    assert "](#measure-it-on-your-own-runs)" in core.readme
    assert ADDRESS == core.urls["Repository"]
    assert f"{ADDRESS}/blob/HEAD/CHANGELOG.md" == core.urls["Changelog"]


def test_without_an_address_the_readme_is_as_it_lies_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """A build that is told nothing invents no address."""
    monkeypatch.delenv("PROJECT_URL", raising=False)
    core = _built().core
    assert (ROOT / "README.md").read_text("utf-8") == core.readme
    assert {} == core.urls
