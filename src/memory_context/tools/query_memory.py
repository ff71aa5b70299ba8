"""The tool by which an agent queries its memories with SQL instead of reading them; and the tools that an agent gets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memory_context import wording_for_models as prompts
from memory_context.memory.manager import MemoryManager
from memory_context.memory.scoped_memory import ScopedMemory
from memory_context.model.query_result import QueryResult
from memory_context.model.selection import Cost
from memory_context.model.tool_names import QUERY
from memory_context.text.read.paging import page_of
from memory_context.text.read.sql_rows import FoundRows
from memory_context.tools.lenient_arguments import Key, LenientArgs, Text
from memory_context.tools.note_tools import NOTE_VERBS
from memory_context.tools.retrieve_search_store import RETRIEVING, SEARCHING, STORING
from memory_context.tools.verbs import ToolAnswer, Verb


class QueryArgs(LenientArgs):
    """The arguments of `query_memory`."""

    sql: Text
    save_as: Key = ""


def _query(manager: MemoryManager, args: QueryArgs, max_tokens: int) -> ToolAnswer:
    result = manager.query(args.sql, save_as=args.save_as or None)
    if result.key is None:
        return ToolAnswer(_table(result, max_tokens, manager.counter.count), result.sources)
    kept = prompts.QUERY_KEPT.format(ref=manager.get(result.key).ref)
    max_tokens -= manager.counter.count(f"{kept}\n")
    table = _table(result, max_tokens, manager.counter.count)
    return ToolAnswer(f"{kept}\n{table}", (result.key, *result.sources))


def _table(result: QueryResult, max_tokens: int, cost: Cost) -> str:
    """Return the number of rows, as many rows as fit into *max_tokens*, and how to get the rest."""
    total = len(result)
    if not total:
        return prompts.NO_ANSWER.format(columns=", ".join(result.columns))
    rows = FoundRows(result.columns, [list(row) for row in result.rows], 0, total)
    around = cost(f"{rows.part(total, total)}\n\n{prompts.QUERY_MORE.format(offset=total)}")
    page = page_of(rows, 0, max(max_tokens - around, 1), cost)
    shown = prompts.ANSWER.format(part=page.part, text=page.text)
    if page.next_offset is None:
        return shown
    return f"{shown}\n{prompts.QUERY_MORE.format(offset=page.next_offset)}"


QUERYING = Verb(QUERY, prompts.QUERY_TOOL, QueryArgs, _query)


def memory_verbs(*, queries: bool) -> tuple[Verb[MemoryManager], ...]:
    """Return the verbs on a user's memories; if *queries* is true, `query_memory`, too."""
    return (RETRIEVING, SEARCHING, *([QUERYING] if queries else []), STORING)


def verbs_on(memories: object, *, queries: bool) -> Mapping[Verb[Any], Any]:
    """Return the verbs that an agent gets, each with the object that it works on.

    For a `ScopedMemory` these include the verbs on notes.
    """
    verbs = memory_verbs(queries=queries)
    if not isinstance(memories, ScopedMemory):
        return dict.fromkeys(verbs, memories)
    return {**dict.fromkeys(verbs, memories.manager), **dict.fromkeys(NOTE_VERBS, memories)}
