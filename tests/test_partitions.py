"""PostgreSQL's tables hash-partitioned by user: the contract of stores on them, and how plain ones become that.

That each statement reads and writes one part stands in `test_statements`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from memory_context import MemoryManager
from memory_context.model.scope import Scope
from memory_context.stores import MemoryStore, SQLAlchemyStore
from memory_context.stores.sql import doctor_looks_into_a_database
from memory_context.stores.sql.hash_partitioned_tables import parts_of
from memory_context.stores.sql.schema import metadata
from memory_context.testing import MemoryStoreContract
from partitioning import partition
from schema_memories import letters
from statements import watching

PARTS = 16


@pytest.mark.long
class TestPartitionedStore(MemoryStoreContract):
    """The contract, on tables in 16 parts."""

    @pytest.fixture
    def store(self, postgres_url: str) -> Iterator[MemoryStore]:
        """An empty store."""
        partition(postgres_url, PARTS)
        with SQLAlchemyStore(postgres_url) as store:
            yield store


def _opened(url: str) -> SQLAlchemyStore:
    return SQLAlchemyStore(url, embedder=letters, embedding_model="letters")


def test_plain_tables_become_partitioned(postgres_url: str) -> None:
    """The script of the page keeps every record, deletion, number and vector; what is stored later is in the parts, too."""
    with _opened(postgres_url) as store:
        for user in ("ann", "bob", "eve"):
            manager = MemoryManager(store, user_id=user, audit=True)
            for number in range(5):
                manager.store(f"the bed of {user} is number {number}", key=f"bed-{number}")
            manager.forget("bed-0")
            manager.retrieve("bed-1")
        store.reindex()
        next_id = "SELECT last_value FROM {}_seq"
        counters = (
            "agent_memory_passages_id",
            "agent_memory_audit_id",
            "agent_memory_owners_number",
        )
        with store.database.engine.begin() as connection:
            connection.exec_driver_sql(
                "ALTER TABLE agent_memories ADD COLUMN mine INTEGER DEFAULT 7,"
                " ADD COLUMN twice INTEGER GENERATED ALWAYS AS (token_count * 2) STORED"
            )
            numbers = [
                connection.exec_driver_sql(next_id.format(one)).scalar_one() for one in counters
            ]
        before = {user: list(store.list_all(Scope(user))) for user in store.users()}

    partition(postgres_url, PARTS)

    with _opened(postgres_url) as store:
        assert before == {user: list(store.list_all(Scope(user))) for user in store.users()}
        assert store.deletion(Scope("ann"), "bed-0")
        assert [] == store.database.run_as_it_is(doctor_looks_into_a_database.missing)
        faults = store.database.run_as_it_is(doctor_looks_into_a_database.faults)
        assert not any(faults.values()), faults
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
        later = [connection.exec_driver_sql(next_id.format(one)).scalar_one() for one in counters]
        assert all(before < after for before, after in zip(numbers, later, strict=True))
        mine = connection.exec_driver_sql(
            "SELECT count(*) FROM agent_memories WHERE mine = 7 AND twice = token_count * 2"
        )
        assert 9 == mine.scalar(), (
            "a column of the user's own is there, with its values and default"
        )
        schemas = sa.inspect(connection).get_schema_names()
        held = "SELECT count(*) FROM ONLY {}"
        for table in metadata.sorted_tables:
            whole = connection.exec_driver_sql(held.format(table.name)).scalar()
            assert ("user_id" in table.c) == (whole == 0), table.name
    engine.dispose()
    assert not [name for name in schemas if "before" in name]


def test_vectors_of_a_new_model_are_partitioned(postgres_url: str) -> None:
    """A model that comes later has its vectors in as many parts."""
    partition(postgres_url, 4)
    with _opened(postgres_url) as store:
        MemoryManager(store, user_id="ann").store("a bed")
        store.reindex()
        names = sa.inspect(store.database.engine).get_table_names()

    assert 4 == len([name for name in names if "_vectors_" in name and name[:-1].endswith("_p")])


def test_nothing_is_dropped_that_others_use(postgres_url: str) -> None:
    """If a view of the user's own refers to a table, the script fails, and changes nothing."""
    with SQLAlchemyStore(postgres_url) as store:
        key = MemoryManager(store, user_id="ann").store("a text")
        with store.database.engine.begin() as connection:
            connection.exec_driver_sql("CREATE VIEW mine AS SELECT memory_key FROM agent_memories")

        with pytest.raises(DBAPIError, match="mine"):
            partition(postgres_url, 4)

        with store.database.engine.begin() as connection:
            assert 0 == parts_of(connection)
            connection.exec_driver_sql("DROP VIEW mine")
        partition(postgres_url, 4)
        with pytest.raises(DBAPIError, match=r"public.*partitioned already"):
            partition(postgres_url, 8)
        with store.database.engine.begin() as connection:
            assert 4 == parts_of(connection)
        assert store.get(Scope("ann"), key)


@pytest.mark.long
def test_partitioned_tables_are_like_plain_ones(postgres_url: str) -> None:
    """Columns, keys, indexes and foreign keys of each table are the same after the script, but for the numbering."""
    with _opened(postgres_url) as store:
        MemoryManager(store, user_id="ann").store("a bed")
        store.reindex()
        plain = _layout(store.database.engine)

        partition(postgres_url, 4)

        assert plain == _layout(store.database.engine)


def _layout(engine: sa.Engine) -> dict[str, object]:
    """The layout of each table of the schema and of vectors, without the defaults of numbers."""
    inspector = sa.inspect(engine)
    layout = dict[str, object]()
    ours = [name for name in inspector.get_table_names() if not re.search(r"_p\d$", name)]
    for name in ours:
        if name.startswith("agent_memor"):
            columns = inspector.get_columns(name)
            layout[name] = (
                [(one["name"], str(one["type"]), one["nullable"]) for one in columns],
                inspector.get_pk_constraint(name),
                sorted(map(str, inspector.get_unique_constraints(name))),
                # PostgreSQL lists a foreign key once more for each part of the table that it refers to.
                [one for one in inspector.get_foreign_keys(name) if one["referred_table"] in ours],
                sorted(
                    f"{one['name']} {one['column_names']} {one.get('expressions')}"
                    for one in inspector.get_indexes(name)
                ),
            )
    return layout
