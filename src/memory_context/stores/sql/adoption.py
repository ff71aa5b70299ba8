"""Adoption: copying the rows of a table `agent_memories` that another program has made into our own table.

Its layout is the one from which ours developed: a user's number, a key, a type, a summary, a text,
a JSON object and a time. The old table is renamed, not dropped, because it belongs to the other program.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa

from memory_context.exceptions import InvalidRecordError, SchemaVersionError, StoreError
from memory_context.model.item import MemoryItem, is_secret, recounted
from memory_context.model.record_fields_in_json import item_from
from memory_context.stores.sql.index import keyword_index
from memory_context.stores.sql.migrate import LOCK, create_all, is_foreign
from memory_context.stores.sql.restore_records import insert_record
from memory_context.stores.sql.upserts_locks_and_settings import advisory_lock
from memory_context.text.describe import describe
from memory_context.text.tokens.counter import default_counter

# Each row in the JSON form of `record_fields_in_json`. Its times have no zone: on PostgreSQL they are in the time zone of
# the database, on SQLite in UTC.
_RECORDS = {
    "postgresql": """
SELECT json_build_object(
    'id', id,
    'user_id', user_id::TEXT,
    'agent_id', agent_id::TEXT,
    'thread_id', thread_id::TEXT,
    'memory_key', memory_key,
    'memory_type', coalesce(memory_type, 'tool_output'),
    'summary', coalesce(summary, ''),
    'content', coalesce(content, ''),
    'content_metadata', coalesce(content_metadata, '{}'),
    'created_at', coalesce(created_at::TIMESTAMPTZ, CURRENT_TIMESTAMP),
    'updated_at', coalesce(created_at::TIMESTAMPTZ, CURRENT_TIMESTAMP),
    'is_active', coalesce(is_active, TRUE)
) AS record FROM agent_memories_before_adoption ORDER BY created_at DESC""",
    "sqlite": """
SELECT json_object(
    'id', id,
    'user_id', CAST(user_id AS TEXT),
    'agent_id', CAST(agent_id AS TEXT),
    'thread_id', CAST(thread_id AS TEXT),
    'memory_key', memory_key,
    'memory_type', coalesce(memory_type, 'tool_output'),
    'summary', coalesce(summary, ''),
    'content', coalesce(content, ''),
    'content_metadata', json(coalesce(content_metadata, '{}')),
    'created_at', coalesce(created_at, CURRENT_TIMESTAMP) || 'Z',
    'updated_at', coalesce(created_at, CURRENT_TIMESTAMP) || 'Z',
    'is_active', json(CASE WHEN coalesce(is_active, TRUE) THEN 'true' ELSE 'false' END)
) AS record FROM agent_memories_before_adoption ORDER BY created_at DESC""",
}
_COLUMNS = (
    *("id", "user_id", "agent_id", "thread_id", "memory_key", "memory_type"),
    *("summary", "content", "content_metadata", "created_at", "is_active"),
)
_NOT_IN_KEYS = re.compile(r"[^A-Za-z0-9_.\-]")
_LONGEST_START = (
    200  # so many characters of a key leave room for an id, within the 255 characters of a key
)


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
    records = sa.text(_RECORDS[connection.dialect.name]).columns(record=sa.JSON)
    with connection.execute(records.execution_options(yield_per=100)) as rows:
        for record in rows.scalars():
            item = _item(record)
            if not insert_record(connection, item):
                # In the old layout a user can have a key twice. The newest row keeps it.
                start = item.memory_key[:_LONGEST_START]
                item = replace(item, memory_key=f"{start}_{item.id.hex}")
                insert_record(connection, item)
            adopted += 1
            renamed += item.memory_key != record["memory_key"]
    # Marks all memories as pending: the next searches, or `memory-context reindex`, index them.
    keyword_index.reset(connection)
    return Adopted(adopted, renamed)


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


def _item(record: dict[str, Any]) -> MemoryItem:
    key = _NOT_IN_KEYS.sub("_", record["memory_key"])
    try:
        item = item_from(record | {"memory_key": key})
    except InvalidRecordError as error:
        raise StoreError(
            f"the row {record['id']} of agent_memories cannot be taken over: {error}"
        ) from error
    if not item.summary and not is_secret(item):
        item = replace(item, summary=describe(item.content))
    return recounted(item, default_counter().count)
