"""The keyword index: passages, whose lexemes they hold, and which memories are still to be indexed.

Memories of before are noted as pending: they are indexed by the first search of their user, or by `reindex`.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import TSVECTOR

from memory_context.stores.sql.columns import count, integer, required, to_memories

revision = "0002"
down_revision = "0001"

_FTS5 = (
    """CREATE VIRTUAL TABLE IF NOT EXISTS agent_memory_index USING fts5(
    lexemes, content='', detail=none, columnsize=0, tokenize="ascii tokenchars '!#$%&()*+,-./:;<=>?@[\\]^_`{|}~'")""",
    "CREATE VIRTUAL TABLE IF NOT EXISTS agent_memory_terms USING fts5vocab(agent_memory_index, row)",
)


def upgrade() -> None:
    """Create the tables, and note every memory as pending."""
    _create_tables()
    _create_passages()
    if op.get_bind().dialect.name == "sqlite":
        for statement in _FTS5:
            op.get_bind().exec_driver_sql(statement)
    op.execute(
        "INSERT INTO agent_memory_pending (memory_id, user_id) SELECT id, user_id FROM agent_memories"
    )
    op.execute("INSERT INTO agent_memory_settings (name, value) VALUES ('analyzer', '1')")


def _create_tables() -> None:
    op.create_table(
        "agent_memory_owners",
        sa.Column("number", integer, sa.Identity(), primary_key=True),
        required("user_id", sa.Text),
        count("passages"),
        count("length"),
        sa.UniqueConstraint("user_id", name="uq_agent_memory_owners_user"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "agent_memory_pending",
        sa.Column("memory_id", sa.Uuid(), primary_key=True),
        required("user_id", sa.Text),
        count("done"),
        to_memories("fk_agent_memory_pending"),
    )
    op.create_index("ix_agent_memory_pending_user", "agent_memory_pending", ["user_id"])
    op.create_table(
        "agent_memory_settings",
        sa.Column("name", sa.Text, primary_key=True),
        required("value", sa.Text),
    )


def _create_passages() -> None:
    op.create_table(
        "agent_memory_passages",
        sa.Column("id", integer, sa.Identity(), primary_key=True),
        required("memory_id", sa.Uuid()),
        required("ordinal", sa.BigInteger),
        required("start", sa.BigInteger),
        required("stop", sa.BigInteger),
        required("line", sa.BigInteger),
        required("length", sa.Integer),
        sa.Column("lexemes", sa.Text().with_variant(TSVECTOR(), "postgresql")),
        to_memories("fk_agent_memory_passages"),
        sa.UniqueConstraint("memory_id", "ordinal", name="uq_agent_memory_passages"),
        sqlite_autoincrement=True,
    )
    op.create_index(
        "ix_agent_memory_passages_lexemes",
        "agent_memory_passages",
        ["lexemes"],
        postgresql_using="gin",
        sqlite_where=sa.text("lexemes IS NOT NULL"),
    )
