"""The tables, described once for SQLite and PostgreSQL."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, TypeAlias

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB, TSVECTOR

from memory_context.model.item import in_utc

AnyRow: TypeAlias = sa.Row[*tuple[Any, ...]]
AnySelect: TypeAlias = sa.Select[*tuple[Any, ...]]


class UTCDateTime(sa.types.TypeDecorator[datetime]):
    """A moment, which goes in with any time zone and comes out in UTC."""

    impl = sa.DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: sa.Dialect) -> datetime | None:  # noqa: ARG002 - SQLAlchemy's signature
        """Convert *value* to UTC.

        Raises:
            ValueError: It has no time zone.
        """
        if value is None:
            return None
        if value.tzinfo is None:
            message = f"a time needs a time zone: {value!r}"
            raise ValueError(message)
        return in_utc(value)

    def process_result_value(self, value: Any | None, dialect: sa.Dialect) -> datetime | None:  # noqa: ARG002, ANN401 - SQLAlchemy's signature
        """Return *value* in UTC: PostgreSQL gives the session's time zone, SQLite none."""
        if value is None:
            return None
        moment: datetime = value
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


# SQLite numbers rows by itself for INTEGER only, which holds 64 bits there.
integer = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
json_type = sa.JSON().with_variant(JSONB(), "postgresql")
metadata = sa.MetaData()

# The content comes last: SQLite walks through a long value to reach the columns behind it.
memories = sa.Table(
    "agent_memories",
    metadata,
    sa.Column("id", sa.Uuid(), primary_key=True),
    sa.Column("user_id", sa.Text, nullable=False),
    sa.Column("agent_id", sa.Text),
    sa.Column("thread_id", sa.Text),
    sa.Column("memory_key", sa.Text, nullable=False),
    sa.Column("memory_type", sa.Text, nullable=False, server_default="tool_output"),
    sa.Column("tier", sa.Text, nullable=False, server_default="detail"),
    sa.Column("tier_id", sa.Text),
    sa.Column("summary", sa.Text, nullable=False, server_default=""),
    sa.Column("media_type", sa.Text, nullable=False, server_default="text/plain"),
    sa.Column("content_metadata", json_type, nullable=False, server_default="{}"),
    sa.Column("category", sa.Text),
    sa.Column("tags", json_type, nullable=False, server_default="[]"),
    sa.Column("importance", sa.Float, nullable=False, server_default=sa.text("0.5")),
    sa.Column("token_count", sa.BigInteger, nullable=False, server_default=sa.text("0")),
    sa.Column("char_count", sa.BigInteger, nullable=False, server_default=sa.text("0")),
    sa.Column("line_count", sa.BigInteger, nullable=False, server_default=sa.text("0")),
    sa.Column("byte_count", sa.BigInteger, nullable=False, server_default=sa.text("0")),
    sa.Column("content_hash", sa.Text, nullable=False, server_default=""),
    sa.Column("identity", sa.Text),
    sa.Column(
        "created_at", UTCDateTime, nullable=False, server_default=sa.func.current_timestamp()
    ),
    sa.Column(
        "updated_at", UTCDateTime, nullable=False, server_default=sa.func.current_timestamp()
    ),
    sa.Column("expires_at", UTCDateTime),
    sa.Column("is_active", sa.Boolean, nullable=False, server_default=sa.true()),
    sa.Column("content", sa.Text),
    sa.Column("content_bytes", sa.LargeBinary),
    sa.UniqueConstraint("user_id", "memory_key", name="uq_agent_memories_user_key"),
    sa.UniqueConstraint("user_id", "identity", name="uq_agent_memories_user_identity"),
    sa.Index("ix_agent_memories_user_created", "user_id", "created_at"),
    sa.Index("ix_agent_memories_user_thread", "user_id", "thread_id"),
    # What capacities and quotas add up is read from this index alone.
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

access = sa.Table(
    "agent_memory_access",
    metadata,
    sa.Column("memory_id", sa.Uuid(), primary_key=True),
    sa.Column("accessed_at", UTCDateTime, nullable=False),
    sa.Column("access_count", sa.BigInteger, nullable=False, server_default=sa.text("1")),
    sa.ForeignKeyConstraint(
        ["memory_id"], ["agent_memories.id"], name="fk_agent_memory_access", ondelete="CASCADE"
    ),
)

deletions = sa.Table(
    "agent_memory_deletions",
    metadata,
    sa.Column("user_id", sa.Text, primary_key=True),
    sa.Column("memory_key", sa.Text, primary_key=True),
    sa.Column(
        "deleted_at", UTCDateTime, nullable=False, server_default=sa.func.current_timestamp()
    ),
    sa.Column("reason", sa.Text, nullable=False, server_default=""),
)

# Each user's number, with which their lexemes begin, and what BM25 must know of all their chunks.
owners = sa.Table(
    "agent_memory_owners",
    metadata,
    sa.Column("number", integer, sa.Identity(), primary_key=True),
    sa.Column("user_id", sa.Text, nullable=False),
    sa.Column("passages", sa.BigInteger, nullable=False, server_default=sa.text("0")),
    sa.Column("length", sa.BigInteger, nullable=False, server_default=sa.text("0")),
    sa.UniqueConstraint("user_id", name="uq_agent_memory_owners_user"),
    # SQLite would give the number of a forgotten user to the next one otherwise.
    sqlite_autoincrement=True,
)

# The chunks of a memory, as offsets into its content. On SQLite the lexemes are in a table of FTS5 under the same id,
# and null here.
passages = sa.Table(
    "agent_memory_passages",
    metadata,
    sa.Column("id", integer, sa.Identity(), primary_key=True),
    sa.Column("memory_id", sa.Uuid(), nullable=False),
    sa.Column("ordinal", sa.BigInteger, nullable=False),
    sa.Column("start", sa.BigInteger, nullable=False),
    sa.Column("stop", sa.BigInteger, nullable=False),
    sa.Column("line", sa.BigInteger, nullable=False),
    sa.Column("length", sa.Integer, nullable=False),
    sa.Column("lexemes", sa.Text().with_variant(TSVECTOR(), "postgresql")),
    sa.ForeignKeyConstraint(
        ["memory_id"], ["agent_memories.id"], name="fk_agent_memory_passages", ondelete="CASCADE"
    ),
    sa.UniqueConstraint("memory_id", "ordinal", name="uq_agent_memory_passages"),
    sa.Index(
        "ix_agent_memory_passages_lexemes",
        "lexemes",
        postgresql_using="gin",
        sqlite_where=sa.text("lexemes IS NOT NULL"),  # always null there, so that it has no entries
    ),
    sqlite_autoincrement=True,
)

# Memories that are not fully indexed: the index holds their chunks up to the offset `done` only.
pending = sa.Table(
    "agent_memory_pending",
    metadata,
    sa.Column("memory_id", sa.Uuid(), primary_key=True),
    sa.Column("user_id", sa.Text, nullable=False),
    sa.Column("done", sa.BigInteger, nullable=False, server_default=sa.text("0")),
    sa.ForeignKeyConstraint(
        ["memory_id"], ["agent_memories.id"], name="fk_agent_memory_pending", ondelete="CASCADE"
    ),
    sa.Index("ix_agent_memory_pending_user", "user_id"),
)

# The version of the analyzer that the index was built with, and the tables of vectors
# (`vector_index`).
settings = sa.Table(
    "agent_memory_settings",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("value", sa.Text, nullable=False),
)

# Who did what with which memory; filled where a caller asks for an audit trail.
audit = sa.Table(
    "agent_memory_audit",
    metadata,
    sa.Column("id", integer, sa.Identity(), primary_key=True),
    sa.Column("at", UTCDateTime, nullable=False),
    sa.Column("user_id", sa.Text, nullable=False),
    sa.Column("agent_id", sa.Text),
    sa.Column("thread_id", sa.Text),
    sa.Column("memory_key", sa.Text, nullable=False),
    sa.Column("action", sa.Text, nullable=False),
    sa.Index("ix_agent_memory_audit_user_at", "user_id", "at"),
    sa.Index("ix_agent_memory_audit_user_key", "user_id", "memory_key"),
)

# Alembic's table, under a name of our own; outside `metadata`, because Alembic keeps it.
version = sa.Table(
    "memory_context_version",
    sa.MetaData(),
    sa.Column("version_num", sa.String(32), nullable=False),
    sa.PrimaryKeyConstraint("version_num", name="memory_context_version_pkc"),
)


def total_of(column: sa.ColumnElement[int]) -> sa.Cast[int]:
    """Return the sum of *column*; 0 for no rows.

    It is cast, because PostgreSQL sums a BIGINT up to a NUMERIC, which comes as a Decimal.
    """
    return sa.cast(sa.func.coalesce(sa.func.sum(column), 0), sa.BigInteger)


def count_rows(
    connection: sa.Connection, table: sa.FromClause, *where: sa.ColumnElement[bool]
) -> int:
    """Return how many rows of *table* meet *where*."""
    statement = sa.select(sa.func.count()).select_from(table).where(*where)
    return connection.execute(statement).scalar_one()
