"""The tool with which an agent queries its memories in SQL instead of reading them."""

from __future__ import annotations

from memory_context import sentences_models_read as prompts
from memory_context.memory.manager import MemoryManager
from memory_context.model.query_result import QueryResult
from memory_context.model.selection import Cost
from memory_context.model.tool_names import QUERY
from memory_context.text.read.paging import fits, page_of
from memory_context.text.read.rows_where_sql_holds import FoundRows
from memory_context.tools.arguments_as_models_write_them import Key, LenientArgs, Text
from memory_context.tools.tool_calls_and_answers import ToolAnswer, Verb

# In tokens.
BEGINNING = 500


class QueryArgs(LenientArgs):
    """The arguments of `query_memory`."""

    sql: Text
    save_as: Key = ""


def _query(manager: MemoryManager, args: QueryArgs, max_tokens: int) -> ToolAnswer:
    result = manager.query(args.sql, save_as=args.save_as or None)
    count = manager.counter.count
    if result.key is None:
        return ToolAnswer(_table(result, max_tokens, count), result.sources)
    kept = prompts.QUERY_KEPT.format(ref=manager.get(result.key).ref)
    table = _table(result, max_tokens - count(f"{kept}\n"), count)
    return ToolAnswer(f"{kept}\n{table}", (result.key, *result.sources))


def _table(result: QueryResult, max_tokens: int, cost: Cost) -> str:
    """Return the number of rows, and all of them, or if they cost more than *max_tokens*, the first ones and how to go on."""
    total = len(result)
    if not total:
        return prompts.NO_ANSWER.format(columns=", ".join(result.columns))
    rows = FoundRows(result.columns, list(map(list, result.rows)), 0, total)
    # The longest lines that may surround the rows.
    first_line = rows.part(total, total)
    last_line = prompts.QUERY_MORE.format(offset=total)
    around = cost(f"{first_line}\n\n{last_line}")
    page = page_of(rows, 0, max(max_tokens - around, 1), cost)
    # A large answer is narrowed or aggregated more often than read, so only its beginning is shown. It has a whole row.
    beginning = min(max_tokens, BEGINNING) - around
    if page.next_offset is not None and fits(rows.render(0, 1), beginning, cost):
        page = page_of(rows, 0, beginning, cost)
    shown = prompts.ANSWER.format(part=page.part, text=page.text)
    if page.next_offset is None:
        return shown
    return f"{shown}\n{prompts.QUERY_MORE.format(offset=page.next_offset)}"


QUERYING = Verb(QUERY, prompts.QUERY_TOOL, QueryArgs, _query)
