"""What models were sent, and what was decided before."""

import sqlalchemy as sa
from alembic import op

from memory_context.stores.sql.columns import UTCDateTime, count, integer, required

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Create the table and its indexes."""
    op.create_table(
        "agent_memory_calls",
        sa.Column("id", integer, sa.Identity(), primary_key=True),
        required("at", UTCDateTime),
        required("user_id", sa.Text),
        sa.Column("agent_id", sa.Text),
        sa.Column("thread_id", sa.Text),
        required("kind", sa.Text),
        count("tokens_full"),
        count("tokens_sent"),
        count("tokens_spent"),
        sa.Column("details", sa.Text),
        sa.Column("details_sealed", sa.LargeBinary),
        sa.Column("prompt", sa.Text),
        sa.Column("prompt_sealed", sa.LargeBinary),
    )
    op.create_index("ix_agent_memory_calls_at", "agent_memory_calls", ["at"])
    op.create_index("ix_agent_memory_calls_user_at", "agent_memory_calls", ["user_id", "at"])
