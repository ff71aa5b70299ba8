"""PostgreSQL's tables hash-partitioned by user: the contract of stores on them, and how plain ones become that.

That each statement reads and writes one part stands in `test_statements`.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import sqlalchemy as sa

from commands import in_this_process
from memory_context import MemoryManager
from memory_context.exceptions import InvalidArgumentError, StoreError, UnsupportedDatabaseError
from memory_context.model.scope import Scope
from memory_context.stores import MemoryStore, SQLAlchemyStore
from memory_context.stores.sql import database_diagnosis
from memory_context.stores.sql.partitions import parts_of
from memory_context.stores.sql.schema import metadata
from memory_context.testing import MemoryStoreContract
from schema_memories import letters
from statements import watching

PARTS = 16


@pytest.mark.long
class TestPartitionedStore(MemoryStoreContract):
    """The contract, on tables in 16 parts."""

    @pytest.fixture
    def store(self, postgres_url: str) -> Iterator[MemoryStore]:
        """An empty store."""
        with SQLAlchemyStore(postgres_url) as store:
            store.migrate(parts=PARTS)
            yield store


def _opened(url: str) -> SQLAlchemyStore:
    return SQLAlchemyStore(url, embedder=letters, embedding_model="letters")


def test_plain_tables_become_partitioned(postgres_url: str) -> None:
    """`migrate --partitions` keeps every record, deletion, number and vector; what is stored later is in the parts, too."""
    with _opened(postgres_url) as store:
        for user in ("ann", "bob", "eve"):
            manager = MemoryManager(store, user_id=user, audit=True)
            for number in range(5):
                manager.store(f"the bed of {user} is number {number}", key=f"bed-{number}")
            manager.forget("bed-0")
            manager.retrieve("bed-1")
        store.reindex()
        before = {user: list(store.list_all(Scope(user))) for user in store.users()}

    done = in_this_process("migrate", "--store", postgres_url, "--partitions", str(PARTS))

    assert 0 == done.returncode, done.stderr
    assert f"{PARTS} partitions" in " ".join(done.stdout.split())
    with _opened(postgres_url) as store:
        assert before == {user: list(store.list_all(Scope(user))) for user in store.users()}
        assert store.deletion(Scope("ann"), "bed-0")
        assert [] == store.database.run_as_it_is(database_diagnosis.missing)
        assert [] == store.database.run_as_it_is(database_diagnosis.miscounted)
        new = MemoryManager(store, user_id="zoe", audit=True)
        new.store("a cab", key="cab")
        for user, query, key in (("zoe", "cab", "cab"), ("ann", "number 3", "bed-3")):
            assert key == store.search(Scope(user), query, mode="keyword")[0].memory_key
        assert 4 == len(store.search(Scope("ann"), "a bad bed", mode="semantic"))
        with watching("ann") as watch:
            receipt = store.forget_user("ann")
        assert (4, 4, 4) == (receipt.memories, receipt.passages, receipt.vectors)
        # Threads of other stores may send something at the same time.
        [part] = {part for one in watch.sent if "ann" in str(one.values) for part in one.parts}
        vacuums = [one.sql for one in watch.sent if one.sql.startswith("VACUUM")]
        # Reading the index of words from end to end would take longer the more others there are.
        assert all(sql.startswith("VACUUM (INDEX_CLEANUP OFF) ") for sql in vacuums)
        vacuumed = {sql.split()[-1] for sql in vacuums}
        others = {name for name in vacuumed if not name.endswith(f"_p{part}")}
        assert len(vacuumed) > 8
        assert {"agent_memory_settings"} == others
    engine = sa.create_engine(postgres_url)
    with engine.connect() as connection:
        assert PARTS == parts_of(connection)
        schemas = sa.inspect(connection).get_schema_names()
        held = "SELECT count(*) FROM ONLY {}"
        for table in metadata.sorted_tables:
            whole = connection.exec_driver_sql(held.format(table.name)).scalar()
            assert ("user_id" in table.c) == (whole == 0), table.name
    engine.dispose()
    assert not [name for name in schemas if "before" in name]


def test_vectors_of_a_new_model_are_partitioned(postgres_url: str) -> None:
    """A model that comes later has its vectors in as many parts."""
    with _opened(postgres_url) as store:
        store.migrate(parts=4)
        MemoryManager(store, user_id="ann").store("a bed")
        store.reindex()
        names = sa.inspect(store.database.engine).get_table_names()

    assert 4 == len([name for name in names if "_vectors_" in name and name[:-1].endswith("_p")])


def test_what_cannot_be_partitioned(postgres_url: str, sqlite_url: str) -> None:
    """Again into as many parts changes nothing; neither do SQLite, other numbers and others' columns, which are errors."""
    with SQLAlchemyStore(sqlite_url) as store, pytest.raises(UnsupportedDatabaseError):
        store.migrate(parts=PARTS)
    with SQLAlchemyStore(postgres_url) as store:
        key = MemoryManager(store, user_id="ann").store("a text")
        with pytest.raises(InvalidArgumentError, match="2 to 1024"):
            store.migrate(parts=1)
        with store.database.engine.begin() as connection:
            connection.exec_driver_sql("ALTER TABLE agent_memories ADD COLUMN mine INTEGER")
        with pytest.raises(StoreError, match="mine"):
            store.migrate(parts=4)
        with store.database.engine.begin() as connection:
            assert 0 == parts_of(connection)
            connection.exec_driver_sql("ALTER TABLE agent_memories DROP COLUMN mine")
        for _ in range(2):
            store.migrate(parts=4)
        with pytest.raises(StoreError, match="4 parts already"):
            store.migrate(parts=8)

        assert store.get(Scope("ann"), key)
