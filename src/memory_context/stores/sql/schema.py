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


def _required(name: str, kind: Any, default: Any = None) -> sa.Column[Any]:  # noqa: ANN401 - a type and a value of SQLAlchemy's
    return sa.Column(name, kind, nullable=False, server_default=default)


def _count(name: str) -> sa.Column[Any]:
    return _required(name, sa.BigInteger, sa.text("0"))


def _moment(name: str) -> sa.Column[Any]:
    return _required(name, UTCDateTime, sa.func.current_timestamp())


def _to_memories(name: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["memory_id"], ["agent_memories.id"], name=name, ondelete="CASCADE"
    )


# The content comes last: SQLite walks through a long value to reach the columns behind it.
memories = sa.Table(
    "agent_memories",
    metadata,
    sa.Column("id", sa.Uuid(), primary_key=True),
    _required("user_id", sa.Text),
    sa.Column("agent_id", sa.Text),
    sa.Column("thread_id", sa.Text),
    _required("memory_key", sa.Text),
    _required("memory_type", sa.Text, "tool_output"),
    _required("tier", sa.Text, "detail"),
    sa.Column("tier_id", sa.Text),
    _required("summary", sa.Text, ""),
    _required("media_type", sa.Text, "text/plain"),
    _required("content_metadata", json_type, "{}"),
    sa.Column("category", sa.Text),
    _required("tags", json_type, "[]"),
    _required("importance", sa.Float, sa.text("0.5")),
    _count("token_count"),
    _count("char_count"),
    _count("line_count"),
    _count("byte_count"),
    _required("content_hash", sa.Text, ""),
    sa.Column("identity", sa.Text),
    _moment("created_at"),
    _moment("updated_at"),
    sa.Column("expires_at", UTCDateTime),
    _required("is_active", sa.Boolean, sa.true()),
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
    _required("accessed_at", UTCDateTime),
    _required("access_count", sa.BigInteger, sa.text("1")),
    _to_memories("fk_agent_memory_access"),
)

deletions = sa.Table(
    "agent_memory_deletions",
    metadata,
    sa.Column("user_id", sa.Text, primary_key=True),
    sa.Column("memory_key", sa.Text, primary_key=True),
    _moment("deleted_at"),
    _required("reason", sa.Text, ""),
)

# Each user's number, with which their lexemes begin, and what BM25 must know of all their chunks.
owners = sa.Table(
    "agent_memory_owners",
    metadata,
    sa.Column("number", integer, sa.Identity(), primary_key=True),
    _required("user_id", sa.Text),
    _count("passages"),
    _count("length"),
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
    _required("memory_id", sa.Uuid()),
    _required("ordinal", sa.BigInteger),
    _required("start", sa.BigInteger),
    _required("stop", sa.BigInteger),
    _required("line", sa.BigInteger),
    _required("length", sa.Integer),
    sa.Column("lexemes", sa.Text().with_variant(TSVECTOR(), "postgresql")),
    _to_memories("fk_agent_memory_passages"),
    sa.UniqueConstraint("memory_id", "ordinal", name="uq_agent_memory_passages"),
    sa.Index(
        "ix_agent_memory_passages_lexemes",
        "lexemes",
        postgresql_using="gin",
        sqlite_where=sa.text("lexemes IS NOT NULL"),  # always null there, so that it has no entries
    ),
    sqlite_autoincrement=True,
)

# What statements of the keyword index select: chunks by rank, and those that hold a lexeme.
HIT_COLUMNS = (
    *(passages.c.id, passages.c.memory_id, passages.c.start, passages.c.stop, passages.c.line),
    sa.column("score", sa.Float),
)
HELD_COLUMNS = (
    sa.column("lexeme", sa.Text),
    *(passages.c.memory_id, passages.c.start, passages.c.stop),
)

# Memories that are not fully indexed: the index holds their chunks up to the offset `done` only.
pending = sa.Table(
    "agent_memory_pending",
    metadata,
    sa.Column("memory_id", sa.Uuid(), primary_key=True),
    _required("user_id", sa.Text),
    _count("done"),
    _to_memories("fk_agent_memory_pending"),
    sa.Index("ix_agent_memory_pending_user", "user_id"),
)

# The version of the analyzer that the index was built with, and the tables of vectors
# (`vector_index`).
settings = sa.Table(
    "agent_memory_settings",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    _required("value", sa.Text),
)

# Who did what with which memory; filled where a caller asks for an audit trail.
audit = sa.Table(
    "agent_memory_audit",
    metadata,
    sa.Column("id", integer, sa.Identity(), primary_key=True),
    _required("at", UTCDateTime),
    _required("user_id", sa.Text),
    sa.Column("agent_id", sa.Text),
    sa.Column("thread_id", sa.Text),
    _required("memory_key", sa.Text),
    _required("action", sa.Text),
    sa.Index("ix_agent_memory_audit_user_at", "user_id", "at"),
    sa.Index("ix_agent_memory_audit_user_key", "user_id", "memory_key"),
)

# Alembic's table, under a name of our own; outside `metadata`, because Alembic keeps it.
version = sa.Table(
    "memory_context_version",
    sa.MetaData(),
    _required("version_num", sa.String(32)),
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
