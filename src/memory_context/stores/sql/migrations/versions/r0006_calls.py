"""The log of model calls, and of the decisions before them."""

from memory_context.stores.sql.migrations.statements import run

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Create the table and its indexes."""
    run("""
CREATE TABLE agent_memory_calls (
    id $id,
    at $moment NOT NULL,
    user_id TEXT NOT NULL,
    agent_id TEXT,
    thread_id TEXT,
    kind TEXT NOT NULL,
    tokens_full BIGINT NOT NULL DEFAULT 0,
    tokens_sent BIGINT NOT NULL DEFAULT 0,
    tokens_spent BIGINT NOT NULL DEFAULT 0,
    details TEXT,
    details_sealed $bytes,
    prompt TEXT,
    prompt_sealed $bytes
);
CREATE INDEX ix_agent_memory_calls_at ON agent_memory_calls (at);
CREATE INDEX ix_agent_memory_calls_user_at ON agent_memory_calls (user_id, at);
""")
