"""The newest schema as plain SQL for PostgreSQL. ``python tests/plain_ddl.py`` prints it, for postgresdb.sql."""

from __future__ import annotations

import sys

import sqlalchemy as sa
from sqlalchemy.schema import CreateIndex, CreateTable, DDLElement

from memory_context.stores.sql.migrate import HEAD, ID_DEFAULT
from memory_context.stores.sql.schema import metadata, version
from memory_context.text.index.analyzer import VERSION

# `postgresdb.sql` may be applied again, but must not mix with tables of others or of other revisions.
_CHECK_TABLES = """\
DO $$
DECLARE
    taken TEXT;
    revision TEXT;
BEGIN
    IF to_regclass('memory_context_version') IS NULL THEN
        SELECT name INTO taken FROM unnest(ARRAY[{names}]) AS name
            WHERE to_regclass(name) IS NOT NULL LIMIT 1;
        IF taken IS NOT NULL THEN
            RAISE EXCEPTION 'another program has made the table %; see: docs/howto/existing-tables.md', taken;
        END IF;
    ELSE
        SELECT version_num INTO revision FROM memory_context_version;
        IF revision <> '{head}' THEN
            RAISE EXCEPTION 'the tables have schema %, this file has {head}; see: memory-context migrate', revision;
        END IF;
    END IF;
END $$"""
_ROWS = """\
INSERT INTO agent_memory_settings (name, value) VALUES ('analyzer', '{analyzer}') ON CONFLICT DO NOTHING;

INSERT INTO memory_context_version (version_num) VALUES ('{head}') ON CONFLICT DO NOTHING"""


def postgres_ddl() -> str:
    """Return the newest schema as plain SQL for PostgreSQL: what ``postgresdb.sql`` holds."""
    dialect = sa.make_url("postgresql+psycopg://").get_dialect()()
    tables = [*metadata.sorted_tables, version]
    elements: list[DDLElement] = [CreateTable(table, if_not_exists=True) for table in tables]
    for table in tables:
        indexes = sorted(table.indexes, key=lambda index: str(index.name))
        elements += [CreateIndex(index, if_not_exists=True) for index in indexes]
    names = ", ".join(f"'{table.name}'" for table in tables)
    # In one transaction, or psql would go on with the rest after the check has failed.
    statements = ["BEGIN", _CHECK_TABLES.format(names=names, head=HEAD)]
    statements += [
        str(element.compile(dialect=dialect)).strip().replace("\t", "    ") for element in elements
    ]
    statements += [ID_DEFAULT, _ROWS.format(analyzer=VERSION, head=HEAD), "COMMIT"]
    # SQLAlchemy ends the lines of a table's columns with a space.
    return ";\n\n".join(statements).replace(" \n", "\n") + ";\n"


if __name__ == "__main__":
    sys.stdout.write(postgres_ddl())
