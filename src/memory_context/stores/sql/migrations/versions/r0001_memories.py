"""The first schema: memories, their accesses, their deletions."""

from memory_context.stores.sql.migrations.statements import run

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create the tables."""
    run("""
CREATE TABLE agent_memories (
    id $uuid NOT NULL PRIMARY KEY,
    user_id TEXT NOT NULL,
    agent_id TEXT,
    thread_id TEXT,
    memory_key TEXT NOT NULL,
    memory_type TEXT NOT NULL DEFAULT 'tool_output',
    tier TEXT NOT NULL DEFAULT 'detail',
    tier_id TEXT,
    summary TEXT NOT NULL DEFAULT '',
    media_type TEXT NOT NULL DEFAULT 'text/plain',
    content_metadata $json NOT NULL DEFAULT '{}',
    category TEXT,
    tags $json NOT NULL DEFAULT '[]',
    importance FLOAT NOT NULL DEFAULT 0.5,
    token_count BIGINT NOT NULL DEFAULT 0,
    char_count BIGINT NOT NULL DEFAULT 0,
    line_count BIGINT NOT NULL DEFAULT 0,
    content_hash TEXT NOT NULL DEFAULT '',
    identity TEXT,
    created_at $moment NOT NULL DEFAULT CURRENT_TIMESTAMP,
    updated_at $moment NOT NULL DEFAULT CURRENT_TIMESTAMP,
    expires_at $moment,
    is_active BOOLEAN NOT NULL DEFAULT $true,
    content TEXT,
    content_bytes $bytes,
    CONSTRAINT uq_agent_memories_user_key UNIQUE (user_id, memory_key),
    CONSTRAINT uq_agent_memories_user_identity UNIQUE (user_id, identity)
);
CREATE INDEX ix_agent_memories_user_created ON agent_memories (user_id, created_at);
CREATE INDEX ix_agent_memories_user_thread ON agent_memories (user_id, thread_id);
CREATE INDEX ix_agent_memories_user_tier ON agent_memories (user_id, tier, tier_id);
CREATE TABLE agent_memory_access (
    memory_id $uuid NOT NULL PRIMARY KEY,
    accessed_at $moment NOT NULL,
    access_count BIGINT NOT NULL DEFAULT 1,
    CONSTRAINT fk_agent_memory_access FOREIGN KEY (memory_id) REFERENCES agent_memories (id) ON DELETE CASCADE
);
CREATE TABLE agent_memory_deletions (
    user_id TEXT NOT NULL,
    memory_key TEXT NOT NULL,
    deleted_at $moment NOT NULL DEFAULT CURRENT_TIMESTAMP,
    reason TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (user_id, memory_key)
);
""")
