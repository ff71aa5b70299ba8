"""The library's own modules, in the tree or where it is installed."""

from __future__ import annotations

from pathlib import Path

import langchain_memory_context
import memory_context

PACKAGES = [
    Path(str(package.__file__)).parent for package in (memory_context, langchain_memory_context)
]
SOURCES = sorted(path for package in PACKAGES for path in package.rglob("*.py"))
