"""The index of categories leads through them in the order of time, too."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Create the index anew, with two columns more."""
    where = sa.text("category IS NOT NULL")
    op.drop_index("ix_agent_memories_user_category", "agent_memories")
    op.create_index(
        "ix_agent_memories_user_category",
        "agent_memories",
        [
            *("user_id", "category", "tier", "is_active", "expires_at", "char_count", "byte_count"),
            *("created_at", "id"),
        ],
        sqlite_where=where,
        postgresql_where=where,
    )
