"""postgresdb.sql, and the SQL of docs/howto/existing-tables.md, on a real PostgreSQL."""

from __future__ import annotations

import re
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa

from commands import in_this_process
from documents_table import ANN, BOB, PAGE, ROWS, execute, make, names_in, take_over
from memory_context import MemoryManager
from memory_context.exceptions import StoreError
from memory_context.model.scope import Scope
from memory_context.stores import SQLAlchemyStore
from memory_context.stores.sql import migrate
from memory_context.stores.sql.schema import metadata
from plain_ddl import postgres_ddl

ROOT = Path(__file__).parents[1]
PLAIN_DDL = (ROOT / "postgresdb.sql").read_text("utf-8")


def apply(url: str) -> None:
    """Run postgresdb.sql as psql does, outside a transaction of the caller's."""
    with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute(PLAIN_DDL.encode())


def test_plain_ddl_is_the_schema(postgres_url: str) -> None:
    """postgresdb.sql is what the library creates, and a database made with it is used as it is; ids have a default."""
    assert PLAIN_DDL.endswith("\n\n" + postgres_ddl())

    apply(postgres_url)
    execute(postgres_url, "INSERT INTO agent_memories (user_id, memory_key) VALUES ('ann', 'k')")
    with MemoryManager(postgres_url, user_id="ann") as manager:
        item = manager.get("k")

    assert ("detail", {}, (), True, 0.5, 0) == (
        item.tier,
        item.content_metadata,
        item.tags,
        item.is_active,
        item.importance,
        item.token_count,
    )


def test_applied_again(postgres_url: str) -> None:
    """On tables of our own it succeeds, whether it or the library has made them, and changes nothing."""
    with MemoryManager(postgres_url, user_id="ann") as manager:
        manager.store("a text", key="k")
        before = names_in(postgres_url)

        apply(postgres_url)
        apply(postgres_url)

        assert before == names_in(postgres_url)
        assert "a text" == manager.retrieve("k")


def test_on_tables_of_others(postgres_url: str) -> None:
    """A table that memory-context did not make is named, and nothing is changed."""
    make(postgres_url)
    before = names_in(postgres_url)

    with pytest.raises(
        psycopg.errors.RaiseException, match="another program has made the table agent_memories"
    ):
        apply(postgres_url)

    assert before == names_in(postgres_url)


def test_on_tables_of_another_revision(postgres_url: str) -> None:
    """Tables of an earlier revision are to be migrated, and are not stamped with this one."""
    engine = sa.create_engine(postgres_url)
    with engine.begin() as connection:
        migrate.upgrade(connection, "0002")
    with pytest.raises(
        psycopg.errors.RaiseException, match=r"schema 0002, .*memory-context migrate"
    ):
        apply(postgres_url)
    with engine.connect() as connection:
        assert "0002" == migrate.revision_of(connection)
    engine.dispose()


@pytest.mark.long
def test_foreign_keys_to_users(postgres_url: str, tmp_path: Path) -> None:
    """With the page's foreign keys deleting a user deletes all that is kept of them; strangers are refused."""
    make(postgres_url, ROWS)
    take_over(postgres_url, tmp_path)
    with SQLAlchemyStore(postgres_url) as store:
        [statements] = re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL)
        execute(postgres_url, statements)
        ann = MemoryManager(store, user_id=ANN, audit=True)
        ann.store("a text about zebrafish", key="k")
        ann.store("gone", key="gone")
        ann.retrieve("k")
        ann.forget("gone")
        with pytest.raises(StoreError, match="violates foreign key"):
            MemoryManager(store, user_id=99).store("x")
        with pytest.raises(StoreError):
            MemoryManager(store, user_id="no number").store("x")

        execute(postgres_url, f'DELETE FROM "User" WHERE id = {ANN}')

        assert [] == list(store.list_all(Scope(str(ANN))))
        assert 1 == len(list(store.list_all(Scope(str(BOB)))))
    assert {} == rows_of(postgres_url, str(ANN))
    assert 0 == in_this_process("doctor", "--store", postgres_url).returncode


def rows_of(url: str, user_id: str) -> dict[str, int]:
    """How many rows each table has of a user, where there are any; a row of no memory is anybody's."""
    engine = sa.create_engine(url)
    counts: dict[str, int] = {}
    with engine.connect() as connection:
        for table in metadata.sorted_tables:
            if "user_id" in table.c:
                where = table.c.user_id == user_id
            elif "memory_id" in table.c:
                memories = metadata.tables["agent_memories"]
                where = ~table.c.memory_id.in_(sa.select(memories.c.id))
            else:
                continue
            counts[table.name] = connection.execute(
                sa.select(sa.func.count()).select_from(table).where(where)
            ).scalar_one()
    engine.dispose()
    return {name: count for name, count in counts.items() if count}
