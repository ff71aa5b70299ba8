"""The tables, described once for SQLite and PostgreSQL, and common conditions and sums on them.

In the index, a memory is cut into chunks (table `passages`), and a chunk is kept as the set of its *lexemes*: its
analyzed words.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, TypeAlias
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import TSVECTOR

from memory_context.model.item import with_zone
from memory_context.stores.sql.column_types import (
    NumberedKey,
    count,
    entry_of_log,
    integer,
    json_type,
    moment,
    of_memory,
    path_type,
    required,
    row_of_memory,
    text,
)
from memory_context.stores.sql.column_types import UTCDateTime as UTCDateTime

AnyRow: TypeAlias = sa.Row[*tuple[Any, ...]]
AnySelect: TypeAlias = sa.Select[*tuple[Any, ...]]
Condition: TypeAlias = sa.ColumnElement[bool]
Conditions: TypeAlias = Sequence[Condition]

metadata = sa.MetaData()

# Every unique and foreign key contains the user, so that all tables can be partitioned by user.
# The content comes last, because SQLite reads through a long value to reach the columns after it.
memories = sa.Table(
    "agent_memories",
    metadata,
    required("id", sa.Uuid()),
    required("user_id"),
    text("agent_id"),
    text("thread_id"),
    required("memory_key"),
    required("memory_type", sa.Text, "tool_output"),
    required("tier", sa.Text, "detail"),
    text("tier_id"),
    required("summary", sa.Text, ""),
    required("media_type", sa.Text, "text/plain"),
    required("content_metadata", json_type, "{}"),
    sa.Column("category", path_type),
    required("tags", json_type, "[]"),
    required("importance", sa.Float, sa.text("0.5")),
    count("token_count"),
    count("char_count"),
    count("line_count"),
    count("byte_count"),
    required("content_hash", sa.Text, ""),
    text("identity"),
    required("origin", sa.Text, "import"),
    required("generated_key", sa.Boolean, sa.false()),
    moment("created_at"),
    moment("updated_at"),
    sa.Column("expires_at", UTCDateTime),
    required("is_active", sa.Boolean, sa.true()),
    text("content"),
    sa.Column("content_bytes", sa.LargeBinary),
    sa.PrimaryKeyConstraint("user_id", "id"),
    sa.UniqueConstraint("user_id", "memory_key", name="uq_agent_memories_user_key"),
    sa.UniqueConstraint("user_id", "identity", name="uq_agent_memories_user_identity"),
    sa.Index("ix_agent_memories_user_created", "user_id", "created_at"),
    sa.Index("ix_agent_memories_user_thread", "user_id", "thread_id"),
    sa.Index(
        "ix_agent_memories_user_category",
        "user_id",
        "category",
        # The totals of namespaces, and the ids on a page of one, are read from this index alone.
        *("tier", "is_active", "expires_at", "char_count", "byte_count", "created_at", "id"),
        sqlite_where=sa.text("category IS NOT NULL"),
        postgresql_where=sa.text("category IS NOT NULL"),
    ),
    # The sums for capacities and quotas are read from this index alone.
    sa.Index(
        "ix_agent_memories_user_tier",
        "user_id",
        "tier",
        "tier_id",
        "is_active",
        "char_count",
        "byte_count",
    ),
)

IS_ACTIVE = memories.c.is_active.is_(sa.true())
# Selects the ids of memories: of all, unless conditions are added.
MEMORY_IDS = sa.select(memories.c.id)

access = sa.Table(
    "agent_memory_access",
    metadata,
    *row_of_memory("fk_agent_memory_access"),
    required("accessed_at", UTCDateTime),
    required("access_count", sa.BigInteger, sa.text("1")),
)

deletions = sa.Table(
    "agent_memory_deletions",
    metadata,
    sa.Column("user_id", sa.Text, primary_key=True),
    sa.Column("memory_key", sa.Text, primary_key=True),
    moment("deleted_at"),
    required("reason", sa.Text, ""),
)

# Each user's number, which is the prefix of their lexemes in the index, and the totals of their chunks for BM25.
owners = sa.Table(
    "agent_memory_owners",
    metadata,
    sa.Column("number", integer, sa.Identity()),
    required("user_id"),
    count("passages"),
    count("length"),
    NumberedKey("number"),
    sa.UniqueConstraint("user_id", name="uq_agent_memory_owners_user"),
    # Otherwise SQLite would reuse the number of a forgotten user.
    sqlite_autoincrement=True,
)

# The chunks of a memory, as offsets into its content. On SQLite the lexemes are in an FTS5 table under the same id, and
# null here.
passages = sa.Table(
    "agent_memory_passages",
    metadata,
    sa.Column("id", integer, sa.Identity()),
    required("user_id"),
    required("memory_id", sa.Uuid()),
    required("ordinal", sa.BigInteger),
    required("start", sa.BigInteger),
    required("stop", sa.BigInteger),
    required("line", sa.BigInteger),
    required("length", sa.Integer),
    sa.Column("lexemes", sa.Text().with_variant(TSVECTOR(), "postgresql")),
    NumberedKey("id"),
    of_memory("fk_agent_memory_passages"),
    sa.UniqueConstraint("user_id", "memory_id", "ordinal", name="uq_agent_memory_passages"),
    sa.Index(
        "ix_agent_memory_passages_lexemes",
        "lexemes",
        postgresql_using="gin",
        # They are always null on SQLite, so its index is empty.
        sqlite_where=sa.text("lexemes IS NOT NULL"),
    ),
    sqlite_autoincrement=True,
)

# The columns that the statements of the keyword index select: ranked chunks, and the chunk ids of each lexeme.
HIT_COLUMNS = (
    passages.c.id,
    passages.c.memory_id,
    passages.c.start,
    passages.c.stop,
    passages.c.line,
    sa.column("score", sa.Float),
)
HELD_COLUMNS = (
    sa.column("lexeme", sa.Text),
    sa.column("often", sa.Float),
    passages.c.memory_id,
    sa.column("chunks", sa.JSON),
)

# Memories that are not fully indexed yet. Their chunks are in the index up to the offset `done`.
pending = sa.Table(
    "agent_memory_pending",
    metadata,
    *row_of_memory("fk_agent_memory_pending"),
    count("done"),
)

# Facts about the database itself: the version of the analyzer that the index was built with, the
# tables of vectors (`vector_index`), and the key of a blind index (`index_key_of_encrypted_databases`).
settings = sa.Table(
    "agent_memory_settings",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    required("value"),
)

# Who did what with which memory. It is filled only if a caller asks for an audit trail.
audit = sa.Table(
    "agent_memory_audit",
    metadata,
    *entry_of_log(),
    required("memory_key"),
    required("action"),
    sa.Index("ix_agent_memory_audit_user_at", "user_id", "at"),
    sa.Index("ix_agent_memory_audit_user_key", "user_id", "memory_key"),
)

# Model calls, and the decisions before them: see `call_log_records`. The details are JSON, or sealed by a codec.
calls = sa.Table(
    "agent_memory_calls",
    metadata,
    *entry_of_log(),
    required("kind"),
    count("tokens_full"),
    count("tokens_sent"),
    count("tokens_spent"),
    text("details"),
    sa.Column("details_sealed", sa.LargeBinary),
    text("prompt"),
    sa.Column("prompt_sealed", sa.LargeBinary),
    sa.Index("ix_agent_memory_calls_at", "at"),
    sa.Index("ix_agent_memory_calls_user_at", "user_id", "at"),
)

# Alembic's version table, under our own name. It is not in `metadata`, because Alembic maintains it.
version = sa.Table(
    "memory_context_version",
    sa.MetaData(),
    required("version_num", sa.String(32)),
    sa.PrimaryKeyConstraint("version_num", name="memory_context_version_pkc"),
)


def belongs(table: sa.FromClause) -> Condition:
    """Match the rows of *table* that belong to the memory of the enclosing or joined statement."""
    return (table.c.user_id == memories.c.user_id) & (table.c.memory_id == memories.c.id)


def this_memory(user_id: str, memory_id: UUID) -> tuple[Condition, ...]:
    """Match the user's memory with this id."""
    return memories.c.user_id == user_id, memories.c.id == memory_id


def narrowed(table: sa.FromClause, **values: object) -> list[Condition]:
    """Match the rows of *table* whose columns have the given values. A value of None is not a condition."""
    return [table.c[name] == value for name, value in values.items() if value is not None]


def in_period(
    moment: sa.ColumnElement[Any], since: datetime | None, until: datetime | None
) -> list[Condition]:
    """Match times from *since* on and before *until*; None sets no bound.

    Raises:
        InvalidArgumentError: A bound is not a datetime, or has no time zone.
    """
    bounds: list[Condition] = []
    since = with_zone(since, "a moment")
    until = with_zone(until, "a moment")
    if since:
        bounds.append(moment >= since)
    if until:
        bounds.append(moment < until)
    return bounds


def total_of(column: sa.ColumnElement[int]) -> sa.Cast[int]:
    """Return the sum of *column*; 0 without rows.

    It is cast, because in PostgreSQL the sum of a BIGINT is a NUMERIC, which would be read as a Decimal.
    """
    total = sa.func.sum(column)
    return sa.cast(sa.func.coalesce(total, 0), sa.BigInteger)


def count_rows(
    connection: sa.Connection,
    /,
    table: sa.FromClause,
    *where: Condition,
    **values: object,
) -> int:
    """Return the number of rows of *table* that meet *where* and whose columns have the given values."""
    count = sa.select(sa.func.count()).select_from(table)
    statement = count.filter_by(**values).where(*where)
    return connection.execute(statement).scalar_one()
