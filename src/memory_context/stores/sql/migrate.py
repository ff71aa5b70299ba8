"""Creating the schema where there is none, upgrading it by Alembic, refusing a newer one."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.schema import CreateIndex, CreateTable, DDLElement

from memory_context.exceptions import SchemaVersionError
from memory_context.stores.sql.dialects import advisory_lock, is_postgresql, is_sqlite
from memory_context.stores.sql.index import fts5, keyword_index
from memory_context.stores.sql.schema import metadata, settings, version
from memory_context.text.index.analyzer import VERSION

HEAD = "0003"
REVISIONS = ("0001", "0002", HEAD)
# Any number of our own: it keeps this lock apart from those of other programs.
_LOCK = 7_305_419_172_614_029


def revision_of(connection: sa.Connection) -> str | None:
    """Return the revision of the database's schema; None where there is none yet."""
    # On PostgreSQL a failed SELECT would spoil the whole transaction.
    if not sa.inspect(connection).has_table(version.name):
        return None
    return connection.execute(sa.select(version.c.version_num)).scalar()


def ensure_schema(connection: sa.Connection) -> None:
    """Create the schema where there is none; on SQLite, also upgrade an older one.

    PostgreSQL has an administrator, who decides when.

    Raises:
        SchemaVersionError: It is newer than this library; or older, on PostgreSQL (see
            `memory-context migrate`).
    """
    revision = revision_of(connection)
    if revision == HEAD:
        return
    if is_postgresql(connection) and revision in REVISIONS:
        message = f"the database has schema {revision}, this library needs {HEAD}; run `memory-context migrate`"
        raise SchemaVersionError(message)
    migrate(connection)


def migrate(connection: sa.Connection) -> str | None:
    """Bring the schema to this library's revision, and return the one that was there before.

    One process does it at a time.

    Raises:
        SchemaVersionError: The schema is newer than this library.
    """
    # Two processes that start together would both create the tables, and one of them fail.
    advisory_lock(connection, _LOCK)
    revision = revision_of(connection)
    if revision is None:
        create_all(connection)
    elif revision not in REVISIONS:
        message = f"the database has schema {revision}, which is newer than this library's {HEAD}; upgrade memory-context"
        raise SchemaVersionError(message)
    elif revision != HEAD:
        upgrade(connection, HEAD)
    return revision


def create_all(connection: sa.Connection) -> None:
    """Create the newest schema in one go; a test holds it equal to what the migrations make."""
    # Not by the migrations one after another: Alembic takes 0.4 s to import.
    metadata.create_all(connection)
    if is_sqlite(connection):
        fts5.create(connection)
    keyword_index.reset(connection)
    version.create(connection)
    connection.execute(sa.insert(version).values(version_num=HEAD))


def postgres_ddl() -> str:
    """Return the newest schema as plain SQL for PostgreSQL: what ``postgresdb.sql`` holds."""
    dialect = sa.make_url("postgresql+psycopg://").get_dialect()()
    tables = [*metadata.sorted_tables, version]
    elements: list[DDLElement] = [CreateTable(table) for table in tables]
    for table in tables:
        indexes = sorted(table.indexes, key=lambda index: str(index.name))
        elements += [CreateIndex(index) for index in indexes]
    statements = [
        str(element.compile(dialect=dialect)).strip().replace("\t", "    ") for element in elements
    ]
    rows = [
        sa.insert(settings).values(name=keyword_index.ANALYZER, value=str(VERSION)),
        sa.insert(version).values(version_num=HEAD),
    ]
    # The file is run by psql, which has no parameters.
    literal = {"literal_binds": True}
    statements += [str(row.compile(dialect=dialect, compile_kwargs=literal)) for row in rows]
    # SQLAlchemy ends the lines of a table's columns with a space.
    return ";\n\n".join(statements).replace(" \n", "\n") + ";\n"


def upgrade(connection: sa.Connection, revision: str) -> None:
    """Run Alembic's migrations up to *revision* on this connection."""
    from alembic import command  # noqa: PLC0415 - takes 0.4 s to import, needed for upgrades only
    from alembic.config import Config  # noqa: PLC0415 - as above

    config = Config()
    config.set_main_option("script_location", "memory_context.stores.sql:migrations")
    config.attributes["connection"] = connection
    command.upgrade(config, revision)
