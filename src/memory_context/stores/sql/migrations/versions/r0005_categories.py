"""An index of categories, in the order of code points."""

from memory_context.stores.sql.migrations.statements import dialect, run

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Give the column its order, which SQLite has anyway, and create the index."""
    if dialect() == "postgresql":
        run('ALTER TABLE agent_memories ALTER COLUMN category TYPE TEXT COLLATE "C"')
    run("""
CREATE INDEX ix_agent_memories_user_category
    ON agent_memories (user_id, category, tier, is_active, expires_at, char_count, byte_count)
    WHERE category IS NOT NULL
""")
