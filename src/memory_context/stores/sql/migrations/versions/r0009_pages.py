"""The index of categories leads through them in the order of time, too."""

from memory_context.stores.sql.migrations.statements import run

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Create the index anew, with two columns more."""
    run("""
DROP INDEX ix_agent_memories_user_category;
CREATE INDEX ix_agent_memories_user_category
    ON agent_memories (user_id, category, tier, is_active, expires_at, char_count, byte_count, created_at, id)
    WHERE category IS NOT NULL;
""")
