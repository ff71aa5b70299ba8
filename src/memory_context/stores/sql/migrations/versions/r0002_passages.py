"""The keyword index: passages, whose lexemes they hold, and which memories are still to be indexed.

Memories of before are noted as pending: they are indexed by the first search of their user, or by `reindex`.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import TSVECTOR

revision = "0002"
down_revision = "0001"

_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
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
        sa.Column("number", _NUMBER, sa.Identity(), primary_key=True),
        sa.Column("user_id", sa.Text, nullable=False),
        sa.Column("passages", sa.BigInteger, nullable=False, server_default=sa.text("0")),
        sa.Column("length", sa.BigInteger, nullable=False, server_default=sa.text("0")),
        sa.UniqueConstraint("user_id", name="uq_agent_memory_owners_user"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "agent_memory_pending",
        sa.Column("memory_id", sa.Uuid(), primary_key=True),
        sa.Column("user_id", sa.Text, nullable=False),
        sa.Column("done", sa.BigInteger, nullable=False, server_default=sa.text("0")),
        sa.ForeignKeyConstraint(
            ["memory_id"], ["agent_memories.id"], name="fk_agent_memory_pending", ondelete="CASCADE"
        ),
    )
    op.create_index("ix_agent_memory_pending_user", "agent_memory_pending", ["user_id"])
    op.create_table(
        "agent_memory_settings",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("value", sa.Text, nullable=False),
    )


def _create_passages() -> None:
    op.create_table(
        "agent_memory_passages",
        sa.Column("id", _NUMBER, sa.Identity(), primary_key=True),
        sa.Column("memory_id", sa.Uuid(), nullable=False),
        sa.Column("ordinal", sa.BigInteger, nullable=False),
        sa.Column("start", sa.BigInteger, nullable=False),
        sa.Column("stop", sa.BigInteger, nullable=False),
        sa.Column("line", sa.BigInteger, nullable=False),
        sa.Column("length", sa.Integer, nullable=False),
        sa.Column("lexemes", sa.Text().with_variant(TSVECTOR(), "postgresql")),
        sa.ForeignKeyConstraint(
            ["memory_id"],
            ["agent_memories.id"],
            name="fk_agent_memory_passages",
            ondelete="CASCADE",
        ),
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
