"""The first schema: memories, their accesses, their deletions.

It is written out, not taken from `_schema`, because it must stay what it was when that moves on.
"""

import sqlalchemy as sa
from alembic import op

from memory_context.stores.sql.columns import (
    UTCDateTime,
    count,
    json_type,
    moment,
    required,
    to_memories,
)

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create the tables."""
    _create_memories()
    op.create_table(
        "agent_memory_access",
        sa.Column("memory_id", sa.Uuid(), primary_key=True),
        required("accessed_at", UTCDateTime),
        required("access_count", sa.BigInteger, sa.text("1")),
        to_memories("fk_agent_memory_access"),
    )
    op.create_table(
        "agent_memory_deletions",
        sa.Column("user_id", sa.Text, primary_key=True),
        sa.Column("memory_key", sa.Text, primary_key=True),
        moment("deleted_at"),
        required("reason", sa.Text, ""),
    )


def _create_memories() -> None:
    op.create_table(
        "agent_memories",
        sa.Column("id", sa.Uuid(), primary_key=True),
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
        sa.Column("category", sa.Text),
        required("tags", json_type, "[]"),
        required("importance", sa.Float, sa.text("0.5")),
        count("token_count"),
        count("char_count"),
        count("line_count"),
        required("content_hash", sa.Text, ""),
        sa.Column("identity", sa.Text),
        moment("created_at"),
        moment("updated_at"),
        sa.Column("expires_at", UTCDateTime),
        required("is_active", sa.Boolean, sa.true()),
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
