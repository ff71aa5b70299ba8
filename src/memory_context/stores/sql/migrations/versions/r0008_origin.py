"""The origin of each memory, and whether its key was generated. For existing memories, neither is known."""

from memory_context.stores.sql.migrations.statements import run

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Add the columns. Existing memories count as imported, with keys of the caller's choice."""
    run("""
ALTER TABLE agent_memories ADD COLUMN origin TEXT NOT NULL DEFAULT 'import';
ALTER TABLE agent_memories ADD COLUMN generated_key BOOLEAN NOT NULL DEFAULT $false;
""")
