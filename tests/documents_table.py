"""A table `agent_memories` as other programs have it: the layout of the product's requirements, with rows of all kinds."""

from __future__ import annotations

import re
from pathlib import Path

import sqlalchemy as sa

from memory_context import SQLAlchemyStore
from memory_context.memory.copy_export_import import ALL_USERS, Transferred, import_memories

PAGE = (Path(__file__).parents[1] / "docs/howto/existing-tables.md").read_text("utf-8")

ANN, BOB = 7, 8
THREAD = "0b7f3c1e-6a54-4d0c-9a39-3d1f2c4b5a69"
POSTGRESQL = """
CREATE TABLE "User" (id SERIAL PRIMARY KEY, name TEXT);
CREATE TABLE agents (id SERIAL PRIMARY KEY);
CREATE TABLE threads (id UUID PRIMARY KEY);
CREATE TABLE agent_memories (
    id UUID PRIMARY KEY DEFAULT gen_random_uuid(),
    user_id INTEGER NOT NULL REFERENCES "User"(id) ON DELETE CASCADE,
    agent_id INTEGER REFERENCES agents(id),
    thread_id UUID REFERENCES threads(id),
    memory_key VARCHAR(255) NOT NULL,
    memory_type VARCHAR(50),
    summary TEXT,
    content TEXT,
    content_metadata JSONB DEFAULT '{}',
    created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
    is_active BOOLEAN DEFAULT TRUE
);
CREATE INDEX idx_memories_key ON agent_memories(memory_key);
CREATE INDEX idx_memories_thread ON agent_memories(thread_id);
CREATE INDEX idx_memories_user ON agent_memories(user_id);
"""
# SQLite makes no UUIDs and numbers rows by itself; everything else it takes as it stands.
SQLITE = POSTGRESQL.replace("SERIAL", "INTEGER").replace(" DEFAULT gen_random_uuid()", "")
ROWS = f"""
INSERT INTO "User" (id, name) VALUES ({ANN}, 'Ann'), ({BOB}, 'Bob');
INSERT INTO agents (id) VALUES (3);
INSERT INTO threads (id) VALUES ('{THREAD}');
INSERT INTO agent_memories VALUES
    ('00000000-0000-4000-8000-000000000001', {ANN}, 3, '{THREAD}', 'cmd_log_123', 'command_output', 'NPM Install Output',
     'added 512 packages, zebrafish-4711 was deprecated', '{{"command": "npm install", "seconds": 2.5}}',
     '2025-03-01 10:00:00', TRUE),
    ('00000000-0000-4000-8000-000000000002', {ANN}, NULL, NULL, 'style', 'user_preference', NULL,
     'Answer in one sentence.', NULL, '2025-03-02 10:00:00.250', NULL),
    ('00000000-0000-4000-8000-000000000003', {BOB}, NULL, NULL, 'cmd_log_123', NULL, 'of Bob', NULL, '{{}}',
     '2025-03-03 10:00:00', FALSE),
    ('00000000-0000-4000-8000-000000000004', {ANN}, NULL, NULL, 'cmd_log_123', 'command_output', 'older, same key',
     'the first run', '{{}}', '2025-02-01 10:00:00', TRUE),
    ('00000000-0000-4000-8000-000000000005', {ANN}, NULL, NULL, 'what did: it', 'secret', NULL, 'hunter2', '{{}}',
     '2025-03-04 10:00:00', TRUE);
"""


def execute(url: str, script: str) -> None:
    """Run a script of statements."""
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        for statement in script.split(";\n"):
            if statement.strip():
                connection.exec_driver_sql(statement)
    engine.dispose()


def make(url: str, rows: str = ROWS) -> None:
    """Make the tables in a database, with rows."""
    execute(url, (SQLITE if url.startswith("sqlite") else POSTGRESQL) + rows)


def insert(url: str, number: int, **values: object) -> None:
    """Add a row of Ann's with a numbered id."""
    row = {"id": f"00000000-0000-4000-8000-{number:012d}", "user_id": ANN, **values}
    table = sa.table("agent_memories", *map(sa.column, row))
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.execute(table.insert().values(row))
    engine.dispose()


def names_in(url: str) -> set[str]:
    """The tables of a database, and their indexes."""
    engine = sa.create_engine(url)
    inspector = sa.inspect(engine)
    tables = inspector.get_table_names()
    indexes = {str(index["name"]) for table in tables for index in inspector.get_indexes(table)}
    engine.dispose()
    return {*tables, *indexes}


def take_over(url: str, folder: Path) -> Transferred:
    """Rename the table, and import its rows, as the page says."""
    execute(url, "ALTER TABLE agent_memories RENAME TO agent_memories_before")
    return import_rows(url, folder)


def import_rows(url: str, folder: Path) -> Transferred:
    """Write the rows of the renamed table as an export by the page's query, and import it."""
    dialect = sa.make_url(url).get_backend_name()
    [query] = re.findall(rf"```sql {dialect}\n(.*?);\n```", PAGE, re.DOTALL)
    engine = sa.create_engine(url)
    with engine.connect() as connection:
        lines = [
            str(line) for line in connection.execute(sa.text(query.replace(":", r"\:"))).scalars()
        ]
    engine.dispose()
    file = folder / "rows.jsonl"
    file.write_text("\n".join(lines), "utf-8")
    with SQLAlchemyStore(url) as store:
        return import_memories(store, file, user_id=ALL_USERS)
