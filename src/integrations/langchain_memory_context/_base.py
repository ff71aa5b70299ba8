"""LangChain's `BaseMemory`, wherever it lives: langchain-classic today, langchain-core before 1.0."""

from __future__ import annotations

try:
    from langchain_classic.base_memory import BaseMemory
except ModuleNotFoundError:
    from langchain_core.memory import BaseMemory  # type: ignore[import-not-found,no-redef,unused-ignore] # before 1.0

__all__ = ["BaseMemory"]
