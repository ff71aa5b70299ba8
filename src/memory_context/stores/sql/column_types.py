"""The kinds of columns that tables have."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.ext.compiler import compiles

from memory_context.model.item import in_utc


class UTCDateTime(sa.types.TypeDecorator[datetime]):
    """A moment, which goes in with any time zone and comes out in UTC."""

    impl = sa.DateTime(timezone=True)
    cache_ok = True

    @property
    def python_type(self) -> type[datetime]:
        """Return what its values are in Python."""
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
        """Return *value* in UTC: PostgreSQL gives the session's time zone, SQLite none."""
        if value is None:
            return None
        moment: datetime = value
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


# SQLite numbers rows by itself for INTEGER only, which holds 64 bits there.
integer = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
# In the order of code points, so that what is below a path is one range of an index. SQLite has it so anyway.
path_type = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
json_type = sa.JSON().with_variant(JSONB(), "postgresql")


def required(name: str, kind: Any, default: Any = None) -> sa.Column[Any]:  # noqa: ANN401 - a type and a value of SQLAlchemy's
    """Return a column that is never null, with the *default* that the database itself fills in."""
    return sa.Column(name, kind, nullable=False, server_default=default)


def count(name: str) -> sa.Column[Any]:
    """Return a column of whole numbers, which begin at 0."""
    return required(name, sa.BigInteger, sa.text("0"))


def moment(name: str) -> sa.Column[Any]:
    """Return a column of times, which are the moment of the insert by default."""
    return required(name, UTCDateTime, sa.func.current_timestamp())


class NumberedKey(sa.PrimaryKeyConstraint):
    """The primary key of rows with a number, in the column that it is made of.

    SQLite numbers by this column alone, as FTS5 must find rows by it. On PostgreSQL the user is the key's first part: a
    table that is partitioned by user can have no other.
    """


@compiles(NumberedKey, "postgresql")
def _with_user(key: NumberedKey, _compiler: object, **_: object) -> str:
    [number] = key.columns
    return f"PRIMARY KEY (user_id, {number.name})"


def of_memory(name: str) -> sa.ForeignKeyConstraint:
    """Return the foreign key of rows that go with their memory."""
    return sa.ForeignKeyConstraint(
        ["user_id", "memory_id"],
        ["agent_memories.user_id", "agent_memories.id"],
        name=name,
        ondelete="CASCADE",
    )
