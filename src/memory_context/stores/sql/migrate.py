"""The version of the schema: creating a missing schema, upgrading an older one with Alembic, refusing a newer one."""

from __future__ import annotations

import sqlalchemy as sa

from memory_context.exceptions import SchemaVersionError
from memory_context.stores.sql.index import fts5, keyword_index
from memory_context.stores.sql.schema import metadata, version
from memory_context.stores.sql.upserts_locks_and_settings import (
    advisory_lock,
    is_postgresql,
    is_sqlite,
)

HEAD = "0009"
REVISIONS = ("0001", "0002", "0003", "0004", "0005", "0006", "0007", "0008", HEAD)
# An arbitrary number that keeps this lock apart from those of other programs.
LOCK = 7_305_419_172_614_029
# For rows that other programs insert. On PostgreSQL only, as SQLite has no function that makes a UUID.
ID_DEFAULT = "ALTER TABLE agent_memories ALTER COLUMN id SET DEFAULT gen_random_uuid()"


def revision_of(connection: sa.Connection) -> str | None:
    """Return the revision of the database's schema; None if there is none yet."""
    # Checked first, because on PostgreSQL a failed SELECT would abort the whole transaction.
    if not sa.inspect(connection).has_table(version.name):
        return None
    return connection.scalar(sa.select(version.c.version_num))


def is_foreign(connection: sa.Connection) -> bool:
    """Return whether another program has made the table `agent_memories`.

    Such a table has no column `tier`, which every revision of our own schema has.
    """
    inspector = sa.inspect(connection)
    if not inspector.has_table("agent_memories"):
        return False
    return "tier" not in [column["name"] for column in inspector.get_columns("agent_memories")]


def ensure_schema(connection: sa.Connection) -> None:
    """Create the schema if there is none; on SQLite, also upgrade an older one.

    On PostgreSQL an administrator decides when to upgrade.

    Raises:
        SchemaVersionError: The schema is newer than this library; or it is older, on PostgreSQL
            (see `memory-context migrate`); or `agent_memories` belongs to another program.
    """
    revision = revision_of(connection)
    if revision == HEAD:
        return
    if is_postgresql(connection) and revision in REVISIONS:
        raise SchemaVersionError(
            f"the database has schema {revision}, this library needs {HEAD}; run `memory-context migrate`"
        )
    migrate(connection)


def migrate(connection: sa.Connection) -> str | None:
    """Create the schema or upgrade it to this library's revision, and return the previous revision.

    Only one process does it at a time.

    Raises:
        SchemaVersionError: The schema is newer than this library, or `agent_memories` belongs to
            another program.
    """
    # Without the lock, two processes that start together would both create the tables, and one would fail.
    advisory_lock(connection, LOCK)
    if is_foreign(connection):
        raise SchemaVersionError(
            "another program has made the table agent_memories; rename it, and take over its rows as "
            "docs/howto/existing-tables.md shows, or give memory-context a database of its own"
        )
    revision = revision_of(connection)
    if revision is None:
        create_all(connection)
    elif revision not in REVISIONS:
        raise SchemaVersionError(
            f"the database has schema {revision}, which is newer than this library's {HEAD}; upgrade memory-context"
        )
    elif revision != HEAD:
        upgrade(connection, HEAD)
    return revision


def create_all(connection: sa.Connection) -> None:
    """Create the newest schema. A test checks that it equals the result of all migrations."""
    # Not by running the migrations, because Alembic takes 0.4 s to import.
    metadata.create_all(connection)
    if is_sqlite(connection):
        fts5.create(connection)
    else:
        connection.exec_driver_sql(ID_DEFAULT)
    keyword_index.reset(connection)
    version.create(connection)
    connection.execute(sa.insert(version).values(version_num=HEAD))


def upgrade(connection: sa.Connection, revision: str) -> None:
    """Run Alembic's migrations up to *revision* on this connection."""
    from alembic import command  # noqa: PLC0415 - takes 0.4 s to import, needed for upgrades only
    from alembic.config import Config  # noqa: PLC0415 - as above

    config = Config()
    config.set_main_option("script_location", "memory_context.stores.sql:migrations")
    config.attributes["connection"] = connection
    command.upgrade(config, revision)
