"""The first schema: memories, their accesses, their deletions.

It is written out, not taken from `_schema`, because it must stay what it was when that moves on.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0001"
down_revision = None

_JSON = sa.JSON().with_variant(JSONB(), "postgresql")
_TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Create the tables."""
    _create_memories()
    op.create_table(
        "agent_memory_access",
        sa.Column("memory_id", sa.Uuid(), primary_key=True),
        sa.Column("accessed_at", _TIME, nullable=False),
        sa.Column("access_count", sa.BigInteger, nullable=False, server_default=sa.text("1")),
        sa.ForeignKeyConstraint(
            ["memory_id"], ["agent_memories.id"], name="fk_agent_memory_access", ondelete="CASCADE"
        ),
    )
    op.create_table(
        "agent_memory_deletions",
        sa.Column("user_id", sa.Text, primary_key=True),
        sa.Column("memory_key", sa.Text, primary_key=True),
        sa.Column("deleted_at", _TIME, nullable=False, server_default=sa.func.current_timestamp()),
        sa.Column("reason", sa.Text, nullable=False, server_default=""),
    )


def _create_memories() -> None:
    op.create_table(
        "agent_memories",
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
        sa.Column("content_metadata", _JSON, nullable=False, server_default="{}"),
        sa.Column("category", sa.Text),
        sa.Column("tags", _JSON, nullable=False, server_default="[]"),
        sa.Column("importance", sa.Float, nullable=False, server_default=sa.text("0.5")),
        sa.Column("token_count", sa.BigInteger, nullable=False, server_default=sa.text("0")),
        sa.Column("char_count", sa.BigInteger, nullable=False, server_default=sa.text("0")),
        sa.Column("line_count", sa.BigInteger, nullable=False, server_default=sa.text("0")),
        sa.Column("content_hash", sa.Text, nullable=False, server_default=""),
        sa.Column("identity", sa.Text),
        sa.Column("created_at", _TIME, nullable=False, server_default=sa.func.current_timestamp()),
        sa.Column("updated_at", _TIME, nullable=False, server_default=sa.func.current_timestamp()),
        sa.Column("expires_at", _TIME),
        sa.Column("is_active", sa.Boolean, nullable=False, server_default=sa.true()),
        sa.Column("content", sa.Text),
        sa.Column("content_bytes", sa.LargeBinary),
        sa.UniqueConstraint("user_id", "memory_key", name="uq_agent_memories_user_key"),
        sa.UniqueConstraint("user_id", "identity", name="uq_agent_memories_user_identity"),
    )
    for name, columns in {
        "user_created": ["user_id", "created_at"],
        "user_thread": ["user_id", "thread_id"],
        "user_tier": ["user_id", "tier", "tier_id"],
    }.items():
        op.create_index(f"ix_agent_memories_{name}", "agent_memories", columns)
