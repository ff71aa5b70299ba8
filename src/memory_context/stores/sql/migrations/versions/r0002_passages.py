"""The keyword index: passages, the owners of their lexemes, and the memories that are still to be indexed.

Existing memories are noted as pending. The first search of their user, or `reindex`, indexes them.
"""

from alembic import op

from memory_context.stores.sql.migrations.statements import dialect, run

revision = "0002"
down_revision = "0001"

_FTS5 = (
    """CREATE VIRTUAL TABLE IF NOT EXISTS agent_memory_index USING fts5(
    lexemes, content='', detail=none, columnsize=0, tokenize="ascii tokenchars '!#$%&()*+,-./:;<=>?@[\\]^_`{|}~'")""",
    "CREATE VIRTUAL TABLE IF NOT EXISTS agent_memory_terms USING fts5vocab(agent_memory_index, row)",
)


def upgrade() -> None:
    """Create the tables, and note every memory as pending."""
    run("""
CREATE TABLE agent_memory_owners (
    number $lasting_id,
    user_id TEXT NOT NULL,
    passages BIGINT NOT NULL DEFAULT 0,
    length BIGINT NOT NULL DEFAULT 0,
    CONSTRAINT uq_agent_memory_owners_user UNIQUE (user_id)
);
CREATE TABLE agent_memory_pending (
    memory_id $uuid NOT NULL PRIMARY KEY,
    user_id TEXT NOT NULL,
    done BIGINT NOT NULL DEFAULT 0,
    CONSTRAINT fk_agent_memory_pending FOREIGN KEY (memory_id) REFERENCES agent_memories (id) ON DELETE CASCADE
);
CREATE INDEX ix_agent_memory_pending_user ON agent_memory_pending (user_id);
CREATE TABLE agent_memory_settings (
    name TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
);
CREATE TABLE agent_memory_passages (
    id $lasting_id,
    memory_id $uuid NOT NULL,
    ordinal BIGINT NOT NULL,
    start BIGINT NOT NULL,
    stop BIGINT NOT NULL,
    line BIGINT NOT NULL,
    length INTEGER NOT NULL,
    lexemes $lexemes,
    CONSTRAINT fk_agent_memory_passages FOREIGN KEY (memory_id) REFERENCES agent_memories (id) ON DELETE CASCADE,
    CONSTRAINT uq_agent_memory_passages UNIQUE (memory_id, ordinal)
);
CREATE INDEX ix_agent_memory_passages_lexemes ON agent_memory_passages $by_lexemes;
INSERT INTO agent_memory_pending (memory_id, user_id) SELECT id, user_id FROM agent_memories;
INSERT INTO agent_memory_settings (name, value) VALUES ('analyzer', '1');
""")
    if dialect() == "sqlite":
        for statement in _FTS5:
            op.get_bind().exec_driver_sql(statement)
