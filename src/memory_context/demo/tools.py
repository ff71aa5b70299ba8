"""The demo's tools. Each runs something real on this machine; its output has tens to hundreds of kilobytes."""

from __future__ import annotations

import csv
import io
import json
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from importlib.metadata import Distribution, distributions
from itertools import chain
from pathlib import Path
from typing import Any

from autogen_core.tools import FunctionTool

from memory_context.demo.project import run_pytest
from memory_context.runtime import prompts

LIMIT = 400_000
PACKAGES, LISTING, TESTS, SIZES = (
    "installed_packages",
    "list_environment",
    "run_tests",
    "file_sizes",
)
FILE_COLUMNS = ("package", "version", "bytes", "path")


def demo_tools(project: Path) -> list[FunctionTool]:
    """The four tools; `run_tests` tests the project in the folder `project`."""

    def run_tests() -> str:
        return run_pytest(project)

    return [
        FunctionTool(installed_packages, prompts.DEMO_PACKAGES, name=PACKAGES),
        FunctionTool(list_environment, prompts.DEMO_LISTING, name=LISTING),
        FunctionTool(run_tests, prompts.DEMO_TESTS, name=TESTS),
        FunctionTool(file_sizes, prompts.DEMO_SIZES, name=SIZES),
    ]


def installed_packages() -> str:
    """The whole metadata of the installed packages, by name, as JSON; of so many that `LIMIT` characters are enough."""
    known = by_name()
    shown, left = list[Any](), LIMIT
    for metadata in (dist.metadata.json for dist in known):
        left -= len(json.dumps(metadata, indent=4))
        if left < 0:
            break
        shown.append(metadata)
    note = prompts.DEMO_LIMITED_JSON.format(count=len(shown), total=len(known), limit=LIMIT)
    return json.dumps({"shown": note, "packages": shown}, indent=1)


def list_environment() -> str:
    """Size and path of each file below `sys.prefix`, by path; at most `LIMIT` characters."""
    return limited(f"{size:>11} {path}\n" for path, size in _files_below(sys.prefix))


def file_sizes() -> str:
    """A row for each file of each installed package; at most `LIMIT` characters."""
    rows = (row for dist in by_name() for row in files_of(dist))
    return limited(csv_row(row) for row in chain([FILE_COLUMNS], rows))


def by_name() -> list[Distribution]:
    """The installed packages by name, each the one that Python would import."""
    first: dict[str, Distribution] = {}
    for dist in distributions():
        first.setdefault((dist.metadata["Name"] or "").lower(), dist)
    return [first[name] for name in sorted(first) if name]


def files_of(dist: Distribution) -> Iterator[tuple[str, str, int, str]]:
    """Package, version, bytes and path of each file of `dist`."""
    name, version = dist.metadata["Name"], dist.version  # read anew from the file each time
    for path in sorted(dist.files or ()):
        if path.size is not None:
            yield name, version, path.size, str(path)


def _files_below(root: str) -> Iterator[tuple[str, int]]:
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in sorted(files):
            path = Path(folder, name)
            with suppress(OSError):  # it may be gone by now
                yield str(path.relative_to(root)), path.lstat().st_size


def csv_row(values: Iterable[object]) -> str:
    """One line of CSV."""
    row = io.StringIO()
    csv.writer(row, lineterminator="\n").writerow(values)
    return row.getvalue()


def limited(lines: Iterable[str]) -> str:
    """The lines, as many as `LIMIT` allows, and a last one that says so where it does not allow all."""
    shown, left = list[str](), LIMIT
    for line in lines:
        left -= len(line)
        if left < 0:
            return "".join(shown) + prompts.DEMO_LIMITED.format(limit=LIMIT) + "\n"
        shown.append(line)
    return "".join(shown)
