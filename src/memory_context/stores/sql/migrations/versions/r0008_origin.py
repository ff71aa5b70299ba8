"""Who each memory comes from, and whether its key was generated. Of what is there already nobody has noted it."""

from memory_context.stores.sql.migrations.statements import run

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Add the columns; what is there counts as imported, under keys of its writers' own choice."""
    run("""
ALTER TABLE agent_memories ADD COLUMN origin TEXT NOT NULL DEFAULT 'import';
ALTER TABLE agent_memories ADD COLUMN generated_key BOOLEAN NOT NULL DEFAULT $false;
""")
