"""Run SQL queries over the memories of one user: each memory that has rows is a table under its key."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from memory_context import sentences_models_read as prompts
from memory_context.exceptions import InvalidQueryError, InvalidSelectionError
from memory_context.memory.filters_from_keywords import beginning_with
from memory_context.model.item import MemoryItem, is_query_answer, is_secret
from memory_context.model.one_line import one_line
from memory_context.model.query_result import QueryResult
from memory_context.model.scope import Scope
from memory_context.stores.protocol import MemoryStore
from memory_context.text.query.sandboxed_database import LockedDatabase
from memory_context.text.read.read_time_limit import TimeLimit
from memory_context.text.rows.rows_in_text import table_of
from memory_context.text.rows.text_table import Row, TextTable
from memory_context.text.shortened_name_list import listed

# Ten texts of 5 MB each are loaded and grouped in half this time.
SECONDS = 20.0
MOST_UNITED = 200
TABLES_LISTED = 10
ANY = "*"
KEY_COLUMN = "memory_key"


def query(store: MemoryStore, scope: Scope, sql: str) -> QueryResult:
    """Run one SELECT over the memories that *scope* sees.

    Raises:
        InvalidQueryError: See `LockedDatabase.select`; or a table is not a memory, or is secret or binary content.
        SelectionTimeoutError: It took more than 20 seconds.
        StoreError: The store failed.
    """
    tables = _MemoriesAsTables(store, scope)
    with LockedDatabase(tables.named, TimeLimit(SECONDS)) as database:
        selected = database.select(sql)
    rows = tuple(map(tuple, selected.rows))
    return QueryResult(selected.columns, rows, sql, tuple(tables.sources))


class _MemoriesAsTables:
    """Provides as tables the memories that a statement names, and records their keys as its sources."""

    def __init__(self, store: MemoryStore, scope: Scope) -> None:
        self._store = store
        self._scope = scope
        self.sources: dict[str, None] = {}

    def named(self, name: str) -> TextTable:
        """Return the memory under the key *name* as a table; for a pattern such as ``read_file_*``, all that match as one.

        Raises:
            InvalidQueryError: There is none, or its content may not be read as rows; the message says what there is.
        """
        if ANY in name:
            return self._united(name)
        item = self._store.get(self._scope, name) if name.isprintable() else None
        if not item:
            raise self._no_table(name)
        return self._table_of(item)

    def _table_of(self, item: MemoryItem) -> TextTable:
        if is_secret(item) or not isinstance(item.content, str):
            kind = "a secret" if is_secret(item) else f"binary content ({item.media_type})"
            raise InvalidQueryError(f"{item.memory_key} is {kind}, which has no rows")
        try:
            table = table_of(item.content, is_answer=is_query_answer(item))
        except InvalidSelectionError as error:
            raise InvalidQueryError(f"{item.memory_key} has no rows: {error}") from error
        self.sources[item.memory_key] = None
        return table

    def _united(self, pattern: str) -> TextTable:
        """Return the rows of all memories whose keys match as one table, whose first column is the key."""
        parts = list[tuple[str, TextTable]]()
        for item in self._matching(pattern):
            table = self._table_of(item)
            parts.append((item.memory_key, table))
            first_key, first = parts[0]
            if table.columns != first.columns:
                raise InvalidQueryError(
                    f"the tables of {pattern} have different columns: {first_key} has "
                    f"{listed(first.columns)}, {item.memory_key} has {listed(table.columns)}"
                )
        if not parts:
            raise self._no_table(pattern)

        def rows() -> Iterator[Row]:
            for key, table in parts:
                for row in table.rows():
                    yield [key, *row]

        _, first = parts[0]
        return replace(first, columns=(KEY_COLUMN, *first.columns), rows=rows, name=pattern)

    def _matching(self, pattern: str) -> list[MemoryItem]:
        """Return the memories whose keys match, oldest first, without secrets and binary content.

        Raises:
            InvalidQueryError: There are more than 200.
        """
        beginning, _, _ = pattern.partition(ANY)
        filters = {KEY_COLUMN: beginning_with(beginning)} if beginning else None
        parts = map(re.escape, pattern.split(ANY))
        matches = re.compile(".*".join(parts)).fullmatch
        items = self._store.query(self._scope, filters, limit=None, order_by="-created_at")
        found = [
            item
            for item in items
            if isinstance(item.content, str) and not is_secret(item) and matches(item.memory_key)
        ]
        if len(found) > MOST_UNITED:
            raise InvalidQueryError(
                f"{pattern} are {len(found)} memories; {MOST_UNITED} at most can be one table"
            )
        return found

    def _no_table(self, name: str) -> InvalidQueryError:
        """Return the error for a name that no memory has. It names the newest memories, with their descriptions."""
        newest = self._store.query(self._scope, limit=TABLES_LISTED)
        described = [item for item in newest if not is_secret(item)]
        listing = [f"{item.memory_key} ({one_line(item.summary)})" for item in described]
        tables = "; ".join(listing) or "nothing"
        return InvalidQueryError(prompts.NO_TABLE.format(name=name, tables=tables))
