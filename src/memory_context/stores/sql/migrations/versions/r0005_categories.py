"""An index of categories, in the order of code points."""

import sqlalchemy as sa
from alembic import op

from memory_context.stores.sql.columns import path_type

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Give the column its order, which SQLite has anyway, and create the index."""
    if op.get_bind().dialect.name == "postgresql":
        op.alter_column("agent_memories", "category", type_=path_type)
    where = sa.text("category IS NOT NULL")
    op.create_index(
        "ix_agent_memories_user_category",
        "agent_memories",
        ["user_id", "category", "tier", "is_active", "expires_at", "char_count", "byte_count"],
        sqlite_where=where,
        postgresql_where=where,
    )
