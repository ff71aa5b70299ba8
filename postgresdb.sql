-- The schema of memory-context for PostgreSQL, for people who manage their own database.
-- Equal to what the library creates (a test holds it so); regenerate with:
--     python -c "from memory_context.stores._migrate import postgres_ddl; print(postgres_ddl(), end='')"

CREATE TABLE agent_memories (
    id UUID NOT NULL,
    user_id TEXT NOT NULL,
    agent_id TEXT,
    thread_id TEXT,
    memory_key TEXT NOT NULL,
    memory_type TEXT DEFAULT 'tool_output' NOT NULL,
    tier TEXT DEFAULT 'detail' NOT NULL,
    tier_id TEXT,
    summary TEXT DEFAULT '' NOT NULL,
    media_type TEXT DEFAULT 'text/plain' NOT NULL,
    content_metadata JSONB DEFAULT '{}' NOT NULL,
    category TEXT,
    tags JSONB DEFAULT '[]' NOT NULL,
    importance FLOAT DEFAULT 0.5 NOT NULL,
    token_count BIGINT DEFAULT 0 NOT NULL,
    char_count BIGINT DEFAULT 0 NOT NULL,
    line_count BIGINT DEFAULT 0 NOT NULL,
    content_hash TEXT DEFAULT '' NOT NULL,
    identity TEXT,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL,
    updated_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL,
    expires_at TIMESTAMP WITH TIME ZONE,
    is_active BOOLEAN DEFAULT true NOT NULL,
    content TEXT,
    content_bytes BYTEA,
    PRIMARY KEY (id),
    CONSTRAINT uq_agent_memories_user_key UNIQUE (user_id, memory_key),
    CONSTRAINT uq_agent_memories_user_identity UNIQUE (user_id, identity)
);

CREATE TABLE agent_memory_deletions (
    user_id TEXT NOT NULL,
    memory_key TEXT NOT NULL,
    deleted_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL,
    reason TEXT DEFAULT '' NOT NULL,
    PRIMARY KEY (user_id, memory_key)
);

CREATE TABLE agent_memory_access (
    memory_id UUID NOT NULL,
    accessed_at TIMESTAMP WITH TIME ZONE NOT NULL,
    access_count BIGINT DEFAULT 1 NOT NULL,
    PRIMARY KEY (memory_id),
    CONSTRAINT fk_agent_memory_access FOREIGN KEY(memory_id) REFERENCES agent_memories (id) ON DELETE CASCADE
);

CREATE TABLE memory_context_version (
    version_num VARCHAR(32) NOT NULL,
    CONSTRAINT memory_context_version_pkc PRIMARY KEY (version_num)
);

CREATE INDEX ix_agent_memories_user_created ON agent_memories (user_id, created_at);

CREATE INDEX ix_agent_memories_user_thread ON agent_memories (user_id, thread_id);

CREATE INDEX ix_agent_memories_user_tier ON agent_memories (user_id, tier, tier_id);

INSERT INTO memory_context_version (version_num) VALUES ('0001');
