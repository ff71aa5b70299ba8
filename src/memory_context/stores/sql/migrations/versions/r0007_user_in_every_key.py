"""The user in every unique and foreign key, so that tables can be partitioned by user.

SQLite cannot change a key, so there the tables are made anew and filled from the old ones. Chunks keep their numbers, by
which FTS5 finds them.
"""

from collections.abc import Iterator

import sqlalchemy as sa
from alembic import op

from memory_context.stores.sql.columns import (
    UTCDateTime,
    count,
    integer,
    json_type,
    moment,
    of_memory,
    path_type,
    required,
)

revision = "0007"
down_revision = "0006"

_NUMBERED = {
    "agent_memory_owners": "number",
    "agent_memory_passages": "id",
    "agent_memory_audit": "id",
    "agent_memory_calls": "id",
}
_WITHOUT_USER = ("agent_memory_access", "agent_memory_passages")
_OLD = "_0006"


def upgrade() -> None:
    """Change the keys, and name the user of each read and chunk."""
    if op.get_bind().dialect.name == "sqlite":
        _rebuild()
    else:
        _alter()


def _vector_tables() -> Iterator[str]:
    settings = sa.text("SELECT name FROM agent_memory_settings WHERE name LIKE 'vectors:%'")
    for setting in op.get_bind().execute(settings).scalars().all():
        name = setting.removeprefix("vectors:")
        if sa.inspect(op.get_bind()).has_table(name):
            yield name


def _alter() -> None:
    vectors = list(_vector_tables())
    inspector = sa.inspect(op.get_bind())
    keys = {name: str(inspector.get_pk_constraint(name)["name"]) for name in _NUMBERED}
    hanging = [*_WITHOUT_USER, "agent_memory_pending", *vectors]
    for name in hanging:
        keys[name] = str(inspector.get_pk_constraint(name)["name"])
        for foreign in inspector.get_foreign_keys(name):
            if foreign["referred_table"] == "agent_memories":
                op.drop_constraint(str(foreign["name"]), name)
    keys["agent_memories"] = str(inspector.get_pk_constraint("agent_memories")["name"])
    for name, key in keys.items():
        op.drop_constraint(key, name)
    # The index is built faster than it is kept up to date.
    op.drop_index("ix_agent_memory_passages_lexemes")
    op.drop_constraint("uq_agent_memory_passages", "agent_memory_passages")
    for name in _WITHOUT_USER:
        op.add_column(name, sa.Column("user_id", sa.Text))
        op.execute(
            f"UPDATE {name} SET user_id = agent_memories.user_id"  # noqa: S608 - names of ours
            f" FROM agent_memories WHERE agent_memories.id = {name}.memory_id"
        )
        op.alter_column(name, "user_id", nullable=False)
    op.create_index(
        "ix_agent_memory_passages_lexemes",
        "agent_memory_passages",
        ["lexemes"],
        postgresql_using="gin",
    )
    op.create_primary_key(None, "agent_memories", ["user_id", "id"])
    for name, number in _NUMBERED.items():
        op.create_primary_key(None, name, ["user_id", number])
    op.create_primary_key(None, "agent_memory_access", ["user_id", "memory_id"])
    op.create_primary_key(None, "agent_memory_pending", ["user_id", "memory_id"])
    op.drop_index("ix_agent_memory_pending_user")
    op.create_unique_constraint(
        "uq_agent_memory_passages", "agent_memory_passages", ["user_id", "memory_id", "ordinal"]
    )
    for name in vectors:
        op.create_primary_key(None, name, ["user_id", "memory_id", "ordinal"])
        op.execute(f'DROP INDEX IF EXISTS "ix_{name}_user_id"')
    for name in hanging:
        op.create_foreign_key(
            None if name in vectors else name.replace("agent", "fk_agent"),
            name,
            "agent_memories",
            ["user_id", "memory_id"],
            ["user_id", "id"],
            ondelete="CASCADE",
        )


def _rebuild() -> None:
    vectors = list(_vector_tables())
    tables = ["agent_memories", *_WITHOUT_USER, "agent_memory_pending", *vectors]
    for name in tables:
        for index in sa.inspect(op.get_bind()).get_indexes(name):
            op.drop_index(str(index["name"]))
        # Foreign keys of the others follow it to its new name.
        op.rename_table(name, name + _OLD)
    _create_memories()
    _create_access()
    _create_passages()
    _create_pending()
    for name in vectors:
        _create_vectors(name)
    for name in reversed(tables):
        op.drop_table(name + _OLD)


def _copy(name: str) -> None:
    """Fill a new table from the old one; the user is that of the memory."""
    new = [column["name"] for column in sa.inspect(op.get_bind()).get_columns(name)]
    old = [column["name"] for column in sa.inspect(op.get_bind()).get_columns(name + _OLD)]
    source = f'"{name}{_OLD}" AS old'
    user = "old.user_id"
    if "user_id" not in old:
        source += f" JOIN agent_memories{_OLD} AS memory ON memory.id = old.memory_id"
        user = "memory.user_id"
    values = ", ".join(user if column == "user_id" else f'old."{column}"' for column in new)
    columns = ", ".join(f'"{column}"' for column in new)
    op.execute(f'INSERT INTO "{name}" ({columns}) SELECT {values} FROM {source}')  # noqa: S608 - names of ours


def _create_memories() -> None:
    op.create_table(
        "agent_memories",
        required("id", sa.Uuid()),
        required("user_id", sa.Text),
        sa.Column("agent_id", sa.Text),
        sa.Column("thread_id", sa.Text),
        required("memory_key", sa.Text),
        required("memory_type", sa.Text, "tool_output"),
        required("tier", sa.Text, "detail"),
        sa.Column("tier_id", sa.Text),
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
        sa.Column("identity", sa.Text),
        moment("created_at"),
        moment("updated_at"),
        sa.Column("expires_at", UTCDateTime),
        required("is_active", sa.Boolean, sa.true()),
        sa.Column("content", sa.Text),
        sa.Column("content_bytes", sa.LargeBinary),
        sa.PrimaryKeyConstraint("user_id", "id"),
        sa.UniqueConstraint("user_id", "memory_key", name="uq_agent_memories_user_key"),
        sa.UniqueConstraint("user_id", "identity", name="uq_agent_memories_user_identity"),
    )
    _copy("agent_memories")
    for name, columns in {
        "created": ["created_at"],
        "thread": ["thread_id"],
        "tier": ["tier", "tier_id", "is_active", "char_count", "byte_count"],
    }.items():
        op.create_index(f"ix_agent_memories_user_{name}", "agent_memories", ["user_id", *columns])
    op.create_index(
        "ix_agent_memories_user_category",
        "agent_memories",
        ["user_id", "category", "tier", "is_active", "expires_at", "char_count", "byte_count"],
        sqlite_where=sa.text("category IS NOT NULL"),
    )


def _create_access() -> None:
    op.create_table(
        "agent_memory_access",
        sa.Column("user_id", sa.Text, primary_key=True),
        sa.Column("memory_id", sa.Uuid(), primary_key=True),
        required("accessed_at", UTCDateTime),
        required("access_count", sa.BigInteger, sa.text("1")),
        of_memory("fk_agent_memory_access"),
    )
    _copy("agent_memory_access")


def _create_passages() -> None:
    op.create_table(
        "agent_memory_passages",
        sa.Column("id", integer, primary_key=True),
        required("user_id", sa.Text),
        required("memory_id", sa.Uuid()),
        required("ordinal", sa.BigInteger),
        required("start", sa.BigInteger),
        required("stop", sa.BigInteger),
        required("line", sa.BigInteger),
        required("length", sa.Integer),
        sa.Column("lexemes", sa.Text()),
        of_memory("fk_agent_memory_passages"),
        sa.UniqueConstraint("user_id", "memory_id", "ordinal", name="uq_agent_memory_passages"),
        sqlite_autoincrement=True,
    )
    _copy("agent_memory_passages")
    # A number is not given twice, not even after the last chunk was deleted.
    op.execute("DELETE FROM sqlite_sequence WHERE name = 'agent_memory_passages'")
    op.execute(
        "INSERT INTO sqlite_sequence (name, seq) SELECT 'agent_memory_passages', seq"
        " FROM sqlite_sequence WHERE name = 'agent_memory_passages_0006'"
    )
    op.create_index(
        "ix_agent_memory_passages_lexemes",
        "agent_memory_passages",
        ["lexemes"],
        sqlite_where=sa.text("lexemes IS NOT NULL"),
    )


def _create_pending() -> None:
    op.create_table(
        "agent_memory_pending",
        sa.Column("user_id", sa.Text, primary_key=True),
        sa.Column("memory_id", sa.Uuid(), primary_key=True),
        count("done"),
        of_memory("fk_agent_memory_pending"),
    )
    _copy("agent_memory_pending")


def _create_vectors(name: str) -> None:
    op.create_table(
        name,
        sa.Column("user_id", sa.Text, primary_key=True),
        sa.Column("memory_id", sa.Uuid(), primary_key=True),
        sa.Column("ordinal", sa.BigInteger, primary_key=True, autoincrement=False),
        required("vector", sa.LargeBinary),
        of_memory(f"fk_{name}"),
    )
    _copy(name)
