"""Who each memory comes from, and whether its key was generated. Of what is there already nobody has noted it."""

import sqlalchemy as sa
from alembic import op

from memory_context.stores.sql.columns import required

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Add the columns; what is there counts as imported, under keys of its writers' own choice."""
    op.add_column("agent_memories", required("origin", sa.Text, "import"))
    op.add_column("agent_memories", required("generated_key", sa.Boolean, sa.false()))
