"""The column types, columns and keys from which the tables are made."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.schema import SchemaItem

from memory_context.model.item import in_utc


class UTCDateTime(sa.types.TypeDecorator[datetime]):
    """A point in time. It may be stored with any time zone, and is read in UTC."""

    impl = sa.DateTime(timezone=True)
    cache_ok = True

    @property
    def python_type(self) -> type[datetime]:
        """Return the Python type of its values."""
        return datetime

    def process_bind_param(self, value: datetime | None, dialect: sa.Dialect) -> datetime | None:  # noqa: ARG002 - SQLAlchemy's signature
        """Convert *value* to UTC.

        Raises:
            ValueError: It has no time zone.
        """
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"a time needs a time zone: {value!r}")
        return in_utc(value)

    def process_result_value(self, value: Any | None, dialect: sa.Dialect) -> datetime | None:  # noqa: ARG002, ANN401 - SQLAlchemy's signature
        """Return *value* in UTC. PostgreSQL returns it in the session's time zone, SQLite without one."""
        if value is None:
            return None
        moment: datetime = value
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


# SQLite numbers rows automatically only in a column of type INTEGER, which has 64 bits there.
integer = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
# Sorted by code point, so that everything below a path is one range of an index. SQLite sorts so by default.
path_type = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
json_type = sa.JSON().with_variant(JSONB(), "postgresql")


def required(name: str, kind: Any = sa.Text, default: Any = None) -> sa.Column[Any]:  # noqa: ANN401 - a type and a value of SQLAlchemy's
    """Return a column that is never null, by default of texts. The database fills in *default* if a value is missing."""
    return sa.Column(name, kind, nullable=False, server_default=default)


def count(name: str) -> sa.Column[Any]:
    """Return a column of whole numbers, 0 by default."""
    return required(name, sa.BigInteger, sa.text("0"))


def moment(name: str) -> sa.Column[Any]:
    """Return a column of times, by default the time of the insert."""
    return required(name, UTCDateTime, sa.func.current_timestamp())


class NumberedKey(sa.PrimaryKeyConstraint):
    """The primary key of a table whose rows have a number, given the column of this number.

    On SQLite the number alone is the key, because FTS5 must find rows by it. On PostgreSQL the key is the user and the
    number: a table that is partitioned by user must have the user in its key.
    """


@compiles(NumberedKey, "postgresql")
def _with_user(key: NumberedKey, _compiler: object, **_: object) -> str:
    [number] = key.columns
    return f"PRIMARY KEY (user_id, {number.name})"


def text(name: str) -> sa.Column[Any]:
    """Return a column of texts, which may be null."""
    return sa.Column(name, sa.Text)


def row_of_memory(name: str) -> tuple[SchemaItem, ...]:
    """Return the keys of a table with at most one row for each memory, which is deleted with the memory."""
    return (
        sa.Column("user_id", sa.Text, primary_key=True),
        sa.Column("memory_id", sa.Uuid(), primary_key=True),
        of_memory(name),
    )


def entry_of_log() -> tuple[SchemaItem, ...]:
    """Return the columns that every log has: the number and the time of an entry, and the user, agent and thread."""
    return (
        sa.Column("id", integer, sa.Identity()),
        required("at", UTCDateTime),
        required("user_id"),
        text("agent_id"),
        text("thread_id"),
        NumberedKey("id"),
    )


def of_memory(name: str) -> sa.ForeignKeyConstraint:
    """Return the foreign key of rows that belong to a memory, and are deleted with it."""
    return sa.ForeignKeyConstraint(
        ["user_id", "memory_id"],
        ["agent_memories.user_id", "agent_memories.id"],
        name=name,
        ondelete="CASCADE",
    )
