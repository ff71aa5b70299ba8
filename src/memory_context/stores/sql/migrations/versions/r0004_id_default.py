"""A default for the id of a memory, for rows that other programs insert; on PostgreSQL only."""

from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Set the default."""
    if op.get_bind().dialect.name == "postgresql":
        op.execute("ALTER TABLE agent_memories ALTER COLUMN id SET DEFAULT gen_random_uuid()")
