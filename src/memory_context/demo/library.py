"""What the team reads: the sources of Python's standard library, and the metadata and files of installed packages."""

from __future__ import annotations

import json
import platform
import re
import sysconfig
from functools import cache
from importlib.metadata import distribution
from itertools import chain
from pathlib import Path

from autogen_core.tools import FunctionTool

from memory_context.demo.tools import FILE_COLUMNS, by_name, csv_row, files_of, limited
from memory_context.runtime import prompts

LEAST, MOST = 10_000, 120_000
SOURCE, DEFINITIONS, PACKAGE, FILES = (
    "read_source",
    "list_definitions",
    "package_metadata",
    "package_files",
)
_DEFINITION = re.compile(r"^\s*(?:async )?(?:def|class) \w.*", re.MULTILINE)


def library_tools() -> list[FunctionTool]:
    """The four tools of each agent."""
    return [
        FunctionTool(read_source, prompts.DEMO_SOURCE, name=SOURCE),
        FunctionTool(list_definitions, prompts.DEMO_DEFINITIONS, name=DEFINITIONS),
        FunctionTool(package_metadata, prompts.DEMO_PACKAGE, name=PACKAGE),
        FunctionTool(package_files, prompts.DEMO_FILES, name=FILES),
    ]


@cache
def sources() -> list[str]:
    """The files of the standard library's larger modules, by name."""
    files = sorted(_library().glob("*.py"))
    return [
        file.name for file in files if file.name[0] != "_" and LEAST < file.stat().st_size < MOST
    ]


@cache
def packages() -> list[str]:
    """The installed packages, those with the most files first."""
    sizes = {dist.metadata["Name"]: len(dist.files or ()) for dist in by_name()}
    return sorted(sizes, key=lambda name: -sizes[name])


def read_source(file: str) -> str:
    """The text of `file`, under a line that says what it is."""
    return f"{file} of Python {platform.python_version()}\n{_text(file)}"


def list_definitions(file: str) -> str:
    """The lines of `file` that define something, with their numbers."""
    text = _text(file)
    found = (
        (text.count("\n", 0, match.end()) + 1, match.group())
        for match in _DEFINITION.finditer(text)
    )
    return limited(f"{number:>5} {line.lstrip(chr(10))}\n" for number, line in found)


def package_metadata(name: str) -> str:
    """What the package `name` says about itself."""
    return json.dumps(distribution(name).metadata.json, indent=1)


def package_files(name: str) -> str:
    """A row for each file of the package `name`."""
    return limited(csv_row(row) for row in chain([FILE_COLUMNS], files_of(distribution(name))))


def _library() -> Path:
    return Path(sysconfig.get_path("stdlib"))


def _text(file: str) -> str:
    return (_library() / Path(file).name).read_text(encoding="utf-8", errors="replace")
