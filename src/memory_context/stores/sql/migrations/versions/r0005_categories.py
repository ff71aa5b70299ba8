"""An index of categories, ordered by code point."""

from memory_context.stores.sql.migrations.statements import dialect, run

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Set the column's collation, which SQLite has by default, and create the index."""
    if dialect() == "postgresql":
        run('ALTER TABLE agent_memories ALTER COLUMN category TYPE TEXT COLLATE "C"')
    run("""
CREATE INDEX ix_agent_memories_user_category
    ON agent_memories (user_id, category, tier, is_active, expires_at, char_count, byte_count)
    WHERE category IS NOT NULL
""")
