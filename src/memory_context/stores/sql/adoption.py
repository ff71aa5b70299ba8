"""Adoption: copying the rows of a table `agent_memories` that another program has made into our own table.

Its layout is the one from which ours developed: a user's number, a key, a type, a summary, a text,
a JSON object and a time. The old table is renamed, not dropped, because it belongs to the other program.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from memory_context.exceptions import InvalidRecordError, SchemaVersionError, StoreError
from memory_context.model.item import MemoryItem, is_secret, now, recounted
from memory_context.model.records_as_json import item_from
from memory_context.stores.sql.index import keyword_index
from memory_context.stores.sql.migrate import LOCK, create_all, is_foreign
from memory_context.stores.sql.restore_imported_records import insert_records
from memory_context.stores.sql.upserts_locks_and_settings import advisory_lock
from memory_context.text.describe import describe
from memory_context.text.tokens.counter import default_counter

# As text, so that a time that Python cannot represent, such as 'infinity', is an error of its row. On PostgreSQL, times
# without a zone are in the time zone of the database; on SQLite times are texts, in UTC unless they name a zone.
_MOMENTS = {
    "postgresql": "CAST(created_at::TIMESTAMPTZ AT TIME ZONE 'UTC' AS TEXT)",
    "sqlite": "created_at",
}
_ROWS = """
SELECT id, CAST(user_id AS TEXT) AS user_id, CAST(agent_id AS TEXT) AS agent_id, CAST(thread_id AS TEXT) AS thread_id,
    memory_key, memory_type, summary, content, content_metadata, {moment} AS created_at, is_active
FROM agent_memories_before_adoption AS old ORDER BY old.created_at DESC"""
_COLUMNS = (
    "id",
    "user_id",
    "agent_id",
    "thread_id",
    "memory_key",
    "memory_type",
    "summary",
    "content",
    "content_metadata",
    "created_at",
    "is_active",
)
_NEEDED = ("id", "user_id", "memory_key")
_NOT_IN_KEYS = re.compile(r"[^A-Za-z0-9_.\-]")
# This many characters of a key leave room for an id, within the 255 characters of a key.
_LONGEST_START = 200


@dataclass(frozen=True, slots=True)
class Adopted:
    """The outcome of an adoption.

    Attributes:
        memories: The number of rows that were taken over.
        renamed: The number of those that have a new key now. The old table has their old key, under
            the same id.
        table: The new name of the old table.
    """

    memories: int
    renamed: int
    table: str = "agent_memories_before_adoption"


def adopt(connection: sa.Connection) -> Adopted:
    """Create our schema, and copy the rows of the existing table `agent_memories` into it.

    Raises:
        SchemaVersionError: There is no such table of another program, or it lacks columns.
        StoreError: A row cannot be taken over.
    """
    advisory_lock(connection, LOCK)
    if not is_foreign(connection):
        raise SchemaVersionError(
            "there is no table agent_memories of another program; nothing to adopt"
        )
    _check_columns(connection)
    connection.exec_driver_sql(
        "ALTER TABLE agent_memories RENAME TO agent_memories_before_adoption"
    )
    create_all(connection)
    adopted = renamed = 0
    rows = sa.text(_ROWS.format(moment=_MOMENTS[connection.dialect.name]))
    with connection.execute(rows.execution_options(yield_per=100)) as found:
        for row in found.mappings():
            item = _item(row)
            if not insert_records(connection, [item]):
                # In the old layout a user can have a key twice. The newest row keeps it.
                start = item.memory_key[:_LONGEST_START]
                item = replace(item, memory_key=f"{start}_{item.id.hex}")
                if not insert_records(connection, [item]):
                    raise StoreError(f"two rows of agent_memories have the id {item.id}")
            adopted += 1
            renamed += item.memory_key != row["memory_key"]
    # Marks all memories as pending: the next searches, or `memory-context reindex`, index them.
    keyword_index.reset(connection)
    return Adopted(adopted, renamed)


def _moment(text: object) -> datetime:
    """Return the time in *text*, the `created_at` of a row; now if it is None.

    Raises:
        ValueError: It is not a time in the years 1 to 9999.
    """
    if text is None:
        return now()
    try:
        moment = datetime.fromisoformat(str(text))
    except ValueError:
        raise ValueError(
            f"created_at: {text!r} is not a time in the years 1 to 9999; set one, or NULL"
        ) from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _check_columns(connection: sa.Connection) -> None:
    """Check that the table of another program has all columns that are read.

    Raises:
        SchemaVersionError: It lacks some.
    """
    found = {column["name"] for column in sa.inspect(connection).get_columns("agent_memories")}
    missing = [name for name in _COLUMNS if name not in found]
    if missing:
        raise SchemaVersionError(
            f"the table agent_memories lacks these columns, which adopt reads: {', '.join(missing)}. "
            "Add them; all but id, user_id and memory_key may be empty"
        )


def _item(row: sa.RowMapping) -> MemoryItem:
    record: dict[str, Any] = {"memory_type": "tool_output", "content": ""}
    for name, value in row.items():
        # If a needed value is missing, it stays None, for which the record is refused.
        if value is None and name not in _NEEDED:
            continue
        record[name] = value
    try:
        moment = _moment(row["created_at"])
        record |= {"created_at": moment, "updated_at": moment}
        # SQLite has no types for keys, JSON and booleans; a value that does not fit is refused below.
        if isinstance(record["memory_key"], str):
            record["memory_key"] = _NOT_IN_KEYS.sub("_", record["memory_key"])
        metadata = record.get("content_metadata")
        if isinstance(metadata, str):
            record["content_metadata"] = json.loads(metadata)
        if record.get("is_active") in (0, 1):
            record["is_active"] = bool(record["is_active"])
        item = item_from(record)
    except (InvalidRecordError, ValueError, RecursionError) as error:
        raise StoreError(
            f"the row {row['id']} of agent_memories cannot be taken over: {error}"
        ) from error
    if not item.summary and not is_secret(item):
        item = replace(item, summary=describe(item.content))
    return recounted(item, default_counter().count)
