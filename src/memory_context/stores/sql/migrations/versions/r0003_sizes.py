"""The size of each memory's content in bytes, for quotas and statistics; and the audit trail."""

from memory_context.stores.sql.migrations.statements import dialect, run

revision = "0003"
down_revision = "0002"

_SIZES = {
    "sqlite": "length(CAST(coalesce(content_bytes, content, '') AS BLOB))",
    "postgresql": "coalesce(octet_length(content_bytes), octet_length(content), 0)",
}


def upgrade() -> None:
    """Add the column and fill it, add it to the index of tiers, and create the table of the audit trail."""
    script = """
ALTER TABLE agent_memories ADD COLUMN byte_count BIGINT NOT NULL DEFAULT 0;
UPDATE agent_memories SET byte_count = $size;
DROP INDEX ix_agent_memories_user_tier;
CREATE INDEX ix_agent_memories_user_tier
    ON agent_memories (user_id, tier, tier_id, is_active, char_count, byte_count);
CREATE TABLE agent_memory_audit (
    id $id,
    at $moment NOT NULL,
    user_id TEXT NOT NULL,
    agent_id TEXT,
    thread_id TEXT,
    memory_key TEXT NOT NULL,
    action TEXT NOT NULL
);
CREATE INDEX ix_agent_memory_audit_user_at ON agent_memory_audit (user_id, at);
CREATE INDEX ix_agent_memory_audit_user_key ON agent_memory_audit (user_id, memory_key);
"""
    run(script, size=_SIZES[dialect()])
