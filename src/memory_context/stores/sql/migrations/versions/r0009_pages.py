"""The index of categories also holds time and id, so that the pages of a category can be read from it in time order."""

from memory_context.stores.sql.migrations.statements import run

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Create the index again, with two more columns."""
    run("""
DROP INDEX ix_agent_memories_user_category;
CREATE INDEX ix_agent_memories_user_category
    ON agent_memories (user_id, category, tier, is_active, expires_at, char_count, byte_count, created_at, id)
    WHERE category IS NOT NULL;
""")
