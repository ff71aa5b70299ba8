"""Choose the memory verbs that an agent gets as tools, by what its memories can do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memory_context.memory.manager import MemoryManager
from memory_context.memory.scoped_memory import ScopedMemory
from memory_context.tools.note_tools import NOTE_VERBS
from memory_context.tools.query_memory import QUERYING
from memory_context.tools.retrieve_search_store import RETRIEVING, SEARCHING, STORING
from memory_context.tools.tool_calls_and_answers import Verb


def memory_verbs(*, queries: bool) -> tuple[Verb[MemoryManager], ...]:
    """Return the verbs on a user's memories; with *queries*, including `query_memory`."""
    return (RETRIEVING, SEARCHING, *([QUERYING] if queries else []), STORING)


def verbs_on(memories: object, *, queries: bool) -> Mapping[Verb[Any], Any]:
    """Return the verbs that an agent gets, each with the object that it works on.

    For a `ScopedMemory` these include the verbs on notes.
    """
    verbs = memory_verbs(queries=queries)
    if not isinstance(memories, ScopedMemory):
        return dict.fromkeys(verbs, memories)
    return {**dict.fromkeys(verbs, memories.manager), **dict.fromkeys(NOTE_VERBS, memories)}
