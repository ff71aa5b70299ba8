"""On PostgreSQL, a default for the id of a memory, for rows that other programs insert."""

from memory_context.stores.sql.migrations.statements import dialect, run

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Set the default."""
    if dialect() == "postgresql":
        run("ALTER TABLE agent_memories ALTER COLUMN id SET DEFAULT gen_random_uuid()")
