"""The user in every unique and foreign key, so that tables can be partitioned by user.

SQLite cannot change a key, so there new tables are created and filled from the old ones. Chunks keep their numbers, by
which FTS5 finds them.
"""

from collections.abc import Iterator, Sequence

import sqlalchemy as sa
from alembic import op

from memory_context.stores.sql.migrations.statements import dialect, run

revision = "0007"
down_revision = "0006"

_WITH_KEYS = (
    *("agent_memories", "agent_memory_access", "agent_memory_audit", "agent_memory_calls"),
    *("agent_memory_owners", "agent_memory_passages", "agent_memory_pending"),
)
_COLUMNS = """id, user_id, agent_id, thread_id, memory_key, memory_type, tier, tier_id, summary, media_type,
    content_metadata, category, tags, importance, token_count, char_count, line_count, byte_count, content_hash,
    identity, created_at, updated_at, expires_at, is_active, content, content_bytes"""
# When a table is renamed, foreign keys of other tables follow it to its new name. The sequence of chunk numbers is
# continued, so that no number is reused, not even that of a deleted last chunk.
_REBUILT = """
DROP INDEX IF EXISTS ix_agent_memories_user_category;
DROP INDEX IF EXISTS ix_agent_memories_user_created;
DROP INDEX IF EXISTS ix_agent_memories_user_thread;
DROP INDEX IF EXISTS ix_agent_memories_user_tier;
DROP INDEX IF EXISTS ix_agent_memory_passages_lexemes;
DROP INDEX IF EXISTS ix_agent_memory_pending_user;
ALTER TABLE agent_memories RENAME TO agent_memories_0006;
ALTER TABLE agent_memory_access RENAME TO agent_memory_access_0006;
ALTER TABLE agent_memory_passages RENAME TO agent_memory_passages_0006;
ALTER TABLE agent_memory_pending RENAME TO agent_memory_pending_0006;
CREATE TABLE agent_memories (
    id $uuid NOT NULL,
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
    byte_count BIGINT NOT NULL DEFAULT 0,
    content_hash TEXT NOT NULL DEFAULT '',
    identity TEXT,
    created_at $moment NOT NULL DEFAULT CURRENT_TIMESTAMP,
    updated_at $moment NOT NULL DEFAULT CURRENT_TIMESTAMP,
    expires_at $moment,
    is_active BOOLEAN NOT NULL DEFAULT $true,
    content TEXT,
    content_bytes $bytes,
    PRIMARY KEY (user_id, id),
    CONSTRAINT uq_agent_memories_user_key UNIQUE (user_id, memory_key),
    CONSTRAINT uq_agent_memories_user_identity UNIQUE (user_id, identity)
);
INSERT INTO agent_memories ($columns) SELECT $columns FROM agent_memories_0006;
CREATE INDEX ix_agent_memories_user_created ON agent_memories (user_id, created_at);
CREATE INDEX ix_agent_memories_user_thread ON agent_memories (user_id, thread_id);
CREATE INDEX ix_agent_memories_user_tier
    ON agent_memories (user_id, tier, tier_id, is_active, char_count, byte_count);
CREATE INDEX ix_agent_memories_user_category
    ON agent_memories (user_id, category, tier, is_active, expires_at, char_count, byte_count)
    WHERE category IS NOT NULL;
CREATE TABLE agent_memory_access (
    user_id TEXT NOT NULL,
    memory_id $uuid NOT NULL,
    accessed_at $moment NOT NULL,
    access_count BIGINT NOT NULL DEFAULT 1,
    PRIMARY KEY (user_id, memory_id),
    CONSTRAINT fk_agent_memory_access FOREIGN KEY (user_id, memory_id) $to_memory
);
INSERT INTO agent_memory_access SELECT memory.user_id, memory_id, accessed_at, access_count
    FROM agent_memory_access_0006 JOIN agent_memories_0006 AS memory ON memory.id = memory_id;
CREATE TABLE agent_memory_passages (
    id $lasting_id,
    user_id TEXT NOT NULL,
    memory_id $uuid NOT NULL,
    ordinal BIGINT NOT NULL,
    start BIGINT NOT NULL,
    stop BIGINT NOT NULL,
    line BIGINT NOT NULL,
    length INTEGER NOT NULL,
    lexemes $lexemes,
    CONSTRAINT fk_agent_memory_passages FOREIGN KEY (user_id, memory_id) $to_memory,
    CONSTRAINT uq_agent_memory_passages UNIQUE (user_id, memory_id, ordinal)
);
INSERT INTO agent_memory_passages
    SELECT passage.id, memory.user_id, memory_id, ordinal, start, stop, line, length, lexemes
    FROM agent_memory_passages_0006 AS passage JOIN agent_memories_0006 AS memory ON memory.id = memory_id;
DELETE FROM sqlite_sequence WHERE name = 'agent_memory_passages';
INSERT INTO sqlite_sequence (name, seq)
    SELECT 'agent_memory_passages', seq FROM sqlite_sequence WHERE name = 'agent_memory_passages_0006';
CREATE INDEX ix_agent_memory_passages_lexemes ON agent_memory_passages $by_lexemes;
CREATE TABLE agent_memory_pending (
    user_id TEXT NOT NULL,
    memory_id $uuid NOT NULL,
    done BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (user_id, memory_id),
    CONSTRAINT fk_agent_memory_pending FOREIGN KEY (user_id, memory_id) $to_memory
);
INSERT INTO agent_memory_pending (user_id, memory_id, done)
    SELECT user_id, memory_id, done FROM agent_memory_pending_0006;
"""
_REBUILT_VECTORS = """
DROP INDEX IF EXISTS "ix_${name}_user_id";
ALTER TABLE "$name" RENAME TO "${name}_0006";
CREATE TABLE "$name" (
    user_id TEXT NOT NULL,
    memory_id $uuid NOT NULL,
    ordinal BIGINT NOT NULL,
    vector $bytes NOT NULL,
    PRIMARY KEY (user_id, memory_id, ordinal),
    CONSTRAINT "fk_$name" FOREIGN KEY (user_id, memory_id) $to_memory
);
INSERT INTO "$name" (user_id, memory_id, ordinal, vector)
    SELECT user_id, memory_id, ordinal, vector FROM "${name}_0006";
DROP TABLE "${name}_0006";
"""
_TO_MEMORY = "REFERENCES agent_memories (user_id, id) ON DELETE CASCADE"
# The index is dropped and created again, which is faster than updating it for each row.
_ALTERED = """
DROP INDEX ix_agent_memory_passages_lexemes;
DROP INDEX ix_agent_memory_pending_user;
ALTER TABLE agent_memory_passages DROP CONSTRAINT uq_agent_memory_passages;
ALTER TABLE agent_memory_access ADD COLUMN user_id TEXT;
UPDATE agent_memory_access SET user_id = memory.user_id FROM agent_memories AS memory WHERE memory.id = memory_id;
ALTER TABLE agent_memory_access ALTER COLUMN user_id SET NOT NULL;
ALTER TABLE agent_memory_passages ADD COLUMN user_id TEXT;
UPDATE agent_memory_passages SET user_id = memory.user_id FROM agent_memories AS memory WHERE memory.id = memory_id;
ALTER TABLE agent_memory_passages ALTER COLUMN user_id SET NOT NULL;
CREATE INDEX ix_agent_memory_passages_lexemes ON agent_memory_passages $by_lexemes;
ALTER TABLE agent_memories ADD PRIMARY KEY (user_id, id);
ALTER TABLE agent_memory_access ADD PRIMARY KEY (user_id, memory_id);
ALTER TABLE agent_memory_audit ADD PRIMARY KEY (user_id, id);
ALTER TABLE agent_memory_calls ADD PRIMARY KEY (user_id, id);
ALTER TABLE agent_memory_owners ADD PRIMARY KEY (user_id, number);
ALTER TABLE agent_memory_passages ADD PRIMARY KEY (user_id, id);
ALTER TABLE agent_memory_pending ADD PRIMARY KEY (user_id, memory_id);
ALTER TABLE agent_memory_passages ADD CONSTRAINT uq_agent_memory_passages UNIQUE (user_id, memory_id, ordinal);
ALTER TABLE agent_memory_access
    ADD CONSTRAINT fk_agent_memory_access FOREIGN KEY (user_id, memory_id) $to_memory;
ALTER TABLE agent_memory_passages
    ADD CONSTRAINT fk_agent_memory_passages FOREIGN KEY (user_id, memory_id) $to_memory;
ALTER TABLE agent_memory_pending
    ADD CONSTRAINT fk_agent_memory_pending FOREIGN KEY (user_id, memory_id) $to_memory;
"""
_ALTERED_VECTORS = """
DROP INDEX IF EXISTS "ix_${name}_user_id";
ALTER TABLE "$name" ADD PRIMARY KEY (user_id, memory_id, ordinal);
ALTER TABLE "$name" ADD FOREIGN KEY (user_id, memory_id) $to_memory;
"""
_DROPPED = """
DROP TABLE agent_memory_pending_0006;
DROP TABLE agent_memory_passages_0006;
DROP TABLE agent_memory_access_0006;
DROP TABLE agent_memories_0006;
"""


def upgrade() -> None:
    """Change the keys, and add the user to each read and chunk."""
    vectors = list(_vector_tables())
    is_sqlite = dialect() == "sqlite"
    if not is_sqlite:
        _drop_keys([*_WITH_KEYS, *vectors])
    run(_REBUILT if is_sqlite else _ALTERED, columns=_COLUMNS, to_memory=_TO_MEMORY)
    for name in vectors:
        run(_REBUILT_VECTORS if is_sqlite else _ALTERED_VECTORS, name=name, to_memory=_TO_MEMORY)
    if is_sqlite:
        run(_DROPPED)


def _vector_tables() -> Iterator[str]:
    settings = sa.text("SELECT name FROM agent_memory_settings WHERE name LIKE 'vectors:%'")
    for setting in op.get_bind().execute(settings).scalars().all():
        name = setting.removeprefix("vectors:")
        if sa.inspect(op.get_bind()).has_table(name):
            yield name


def _drop_keys(tables: Sequence[str]) -> None:
    """Drop the foreign keys to memories, then the primary keys, whatever their names are."""
    inspector = sa.inspect(op.get_bind())
    for name in tables:
        for foreign in inspector.get_foreign_keys(name):
            if foreign["referred_table"] == "agent_memories":
                op.drop_constraint(str(foreign["name"]), name)
    for name in tables:
        op.drop_constraint(str(inspector.get_pk_constraint(name)["name"]), name)
