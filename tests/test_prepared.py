"""Statements that the driver executes itself: as SQLAlchemy would do it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from memory_context import MemoryManager, SQLAlchemyStore
from memory_context.exceptions import StoreUnavailableError
from memory_context.model.item import MemoryItem
from memory_context.model.scope import Scope
from memory_context.stores.sql.prepared_statements import Prepared
from memory_context.stores.sql.schema import settings
from statements import listening

ANN = Scope("ann")
ADD = Prepared(sa.insert(settings), settings.c.keys())
CHANGE = Prepared(
    sa.update(settings)
    .where(settings.c.name == sa.bindparam("wanted"), settings.c.value != "b")
    .values(value="b")
)


@contextmanager
def heard(database: Any) -> Iterator[list[str]]:
    """Listen to the statements of a database's engine, as tracing does."""
    said: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_rest: object) -> None:
        said.append(statement)

    with listening(database.engine, note):
        yield said


def test_rows_are_those_of_sqlalchemy(store_url: str) -> None:
    """What a record says comes back with its types, whether somebody listens to the statements or not."""
    with MemoryManager(store_url, user_id="ann") as ann:
        key = ann.store("a text", metadata={"n": [1, None]}, tags=["x"], importance=0.25)
        store = ann.memory_store
        assert isinstance(store, SQLAlchemyStore)
        alone = store.get(ANN, key)
        with heard(store.database) as said:
            assert alone == store.get(ANN, key)
        assert any("agent_memories" in statement for statement in said)
        [queried] = store.query(ANN)
        assert alone == queried


def test_a_put_is_heard(store_url: str) -> None:
    """An application that listens to an engine hears each statement of a put, and its beginning."""
    with SQLAlchemyStore(store_url) as store:
        store.put(ANN, MemoryItem(user_id="ann", memory_key="first", content="x"))
        with heard(store.database) as said:
            stored = store.put(ANN, MemoryItem(user_id="ann", memory_key="k", content="x"))
        wanted = ["INSERT INTO agent_memories", "INSERT INTO agent_memory_passages"]
        assert all(any(words in statement for statement in said) for words in wanted)
        assert stored == store.get(ANN, "k")


def test_how_many_rows_each_changed(store_url: str) -> None:
    """Of several executions it is told how many rows each of them changed; of none nothing."""
    with SQLAlchemyStore(store_url) as store:

        def work(connection: sa.Connection) -> list[int]:
            assert [] == CHANGE.counts(connection, [])
            ADD.run(connection, [{"name": name, "value": name} for name in ("a", "b", "c")])
            return CHANGE.counts(connection, [{"wanted": name} for name in ("a", "b", "none", "c")])

        assert [1, 0, 0, 1] == store.database.write(work)


def test_errors_are_those_of_sqlalchemy(store_url: str) -> None:
    """A driver's error is raised as SQLAlchemy's, without the values, and its transaction is rolled back."""
    with SQLAlchemyStore(store_url) as store:

        def twice(connection: sa.Connection) -> None:
            ADD.run(connection, [{"name": "twice", "value": "hidden words"}])
            with pytest.raises(sa.exc.IntegrityError) as raised:
                ADD.run(connection, [{"name": "twice", "value": "hidden words"}])
            assert "hidden words" not in str(raised.value)
            raise raised.value

        with pytest.raises(Exception, match=r"(?i)unique"):
            store.database.write(twice)
        names = sa.select(settings.c.name).where(settings.c.name == "twice")
        assert [] == store.database.rows(names)


def test_a_connection_that_the_server_closed(postgres_url: str) -> None:
    """An engine that pings nothing: the first operation fails, and with it all idle connections are given up."""
    engine = sa.create_engine(postgres_url)
    store = SQLAlchemyStore(engine)
    store.put(ANN, MemoryItem(user_id="ann", memory_key="k", content="x"))
    with engine.connect(), engine.connect():
        pass  # two idle ones
    admin = sa.create_engine(postgres_url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    with admin.connect() as connection:
        connection.exec_driver_sql(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    with pytest.raises(StoreUnavailableError):
        store.get(ANN, "k")
    assert store.get(ANN, "k") is not None
    assert store.get(ANN, "k") is not None
    engine.dispose()


def test_a_file_that_cannot_be_opened_any_more(tmp_path: Path) -> None:
    """A folder in the place of a database's file is a store that cannot be reached, also for a read of one record."""
    path = tmp_path / "memory.db"
    with SQLAlchemyStore(f"sqlite:///{path}") as store:
        store.put(ANN, MemoryItem(user_id="ann", memory_key="k", content="x"))
        store.database.engine.dispose()
        for file in tmp_path.iterdir():
            file.unlink()
        path.mkdir()
        with pytest.raises(StoreUnavailableError):
            store.get(ANN, "k")


def test_ids_are_in_the_order_of_time() -> None:
    """A later record has a greater id, which is a UUID of version 7: rows that are written together lie together."""
    first = MemoryItem(user_id="ann", memory_key="a", content="x")
    ids = [first.id]
    while ids[-1].int >> 80 == first.id.int >> 80:  # until the clock has gone on
        ids.append(MemoryItem(user_id="ann", memory_key="b", content="x").id)
    assert first.id < ids[-1]
    assert len(ids) == len(set(ids))
    assert {7} == {one.version for one in ids}
