"""The bytes that each memory's content takes, for quotas and figures; and the audit trail."""

import sqlalchemy as sa
from alembic import op

from memory_context.stores.sql.columns import UTCDateTime, count, integer, required

revision = "0003"
down_revision = "0002"

_SIZES = {
    "sqlite": "length(CAST(coalesce(content_bytes, content, '') AS BLOB))",
    "postgresql": "coalesce(octet_length(content_bytes), octet_length(content), 0)",
}


def upgrade() -> None:
    """Add the column and fill it, put it into the index of tiers, and create the table."""
    op.add_column(
        "agent_memories",
        count("byte_count"),
    )
    memories = sa.table("agent_memories", sa.column("byte_count"))
    op.execute(sa.update(memories).values(byte_count=sa.text(_SIZES[op.get_bind().dialect.name])))
    op.drop_index("ix_agent_memories_user_tier", "agent_memories")
    op.create_index(
        "ix_agent_memories_user_tier",
        "agent_memories",
        ["user_id", "tier", "tier_id", "is_active", "char_count", "byte_count"],
    )
    op.create_table(
        "agent_memory_audit",
        sa.Column("id", integer, sa.Identity(), primary_key=True),
        required("at", UTCDateTime),
        required("user_id", sa.Text),
        sa.Column("agent_id", sa.Text),
        sa.Column("thread_id", sa.Text),
        required("memory_key", sa.Text),
        required("action", sa.Text),
    )
    op.create_index("ix_agent_memory_audit_user_at", "agent_memory_audit", ["user_id", "at"])
    op.create_index(
        "ix_agent_memory_audit_user_key", "agent_memory_audit", ["user_id", "memory_key"]
    )
