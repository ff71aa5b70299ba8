"""Taking over a table `agent_memories` that another program has made.

Its layout is the one that ours grew out of: a user's number, a key, a type, a summary, a text, a
JSON object and a time. The table stays under another name, because it is not ours to drop.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa

from memory_context.exceptions import InvalidRecordError, SchemaVersionError, StoreError
from memory_context.model.item import MemoryItem, is_secret, recounted
from memory_context.model.record_fields_in_json import item_from
from memory_context.stores.sql.dialects import advisory_lock
from memory_context.stores.sql.index import keyword_index
from memory_context.stores.sql.migrate import LOCK, create_all, is_foreign
from memory_context.stores.sql.restore import insert_record
from memory_context.text.describe import describe
from memory_context.text.tokens.counter import default_counter

# Each row as the record of `record_fields_in_json`. PostgreSQL's CURRENT_TIMESTAMP was stored in the time zone
# of the database, SQLite's in UTC, both without saying so.
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
_NOT_IN_KEYS = re.compile(r"[^A-Za-z0-9_.\-]")
_LONGEST_START = 200  # of a key that the id is appended to, within the 255 characters of a key


@dataclass(frozen=True, slots=True)
class Adopted:
    """The outcome of an adoption.

    Attributes:
        memories: How many rows were taken over.
        renamed: How many of them have another key now; the old table has their old one, under the
            same id.
        table: The name that the old table has now.
    """

    memories: int
    renamed: int
    table: str = "agent_memories_before_adoption"


def adopt(connection: sa.Connection) -> Adopted:
    """Create our schema, and take over the rows of the table `agent_memories` that is there.

    Raises:
        SchemaVersionError: There is no such table of another program.
        StoreError: A row cannot be taken over.
    """
    advisory_lock(connection, LOCK)
    if not is_foreign(connection):
        raise SchemaVersionError(
            "there is no table agent_memories of another program; nothing to adopt"
        )
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
                # That layout allows a user to have a key twice: the newest row keeps it.
                start = item.memory_key[:_LONGEST_START]
                item = replace(item, memory_key=f"{start}_{item.id.hex}")
                insert_record(connection, item)
            adopted += 1
            renamed += item.memory_key != record["memory_key"]
    # The next searches index them, or `memory-context reindex`.
    keyword_index.reset(connection)
    return Adopted(adopted, renamed)


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
