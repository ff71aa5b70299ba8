"""The schema: created, migrated, refused, written down; the same in every form."""

from __future__ import annotations

import subprocess
import sys

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from memory_context import MemoryManager
from memory_context.exceptions import SchemaVersionError, StoreError
from memory_context.model.scope import Scope
from memory_context.stores import SQLAlchemyStore
from memory_context.stores.sql import migrate
from memory_context.stores.sql.schema import metadata, version
from patient import PATIENT
from schema_memories import letters

DATABASES = pytest.mark.parametrize("fixture", ["sqlite_url", "postgres_url"])


def _columns(connection: sa.Connection) -> dict[str, object]:
    inspector = sa.inspect(connection)
    names = sorted(inspector.get_table_names())
    return {
        name: (
            sorted(
                (c["name"], str(c["type"]), c["nullable"], str(c["default"]))
                for c in inspector.get_columns(name)
            ),
            sorted(str(i["name"]) for i in inspector.get_indexes(name)),
            sorted(
                (str(u["name"]), u["column_names"]) for u in inspector.get_unique_constraints(name)
            ),
            inspector.get_pk_constraint(name)["constrained_columns"],
            [
                (f["name"], f["constrained_columns"], f["referred_columns"])
                for f in inspector.get_foreign_keys(name)
            ],
        )
        for name in names
    }


@DATABASES
def test_migrations_make_the_same_schema(request: pytest.FixtureRequest, fixture: str) -> None:
    """Running every migration gives what is created in one go, and what the metadata says."""
    url = request.getfixturevalue(fixture)
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        migrate.upgrade(connection, "head")
        migrated = _columns(connection)
        difference = compare_metadata(MigrationContext.configure(connection), metadata)
        revision = connection.execute(sa.select(version.c.version_num)).scalar()
    with engine.begin() as connection:
        metadata.drop_all(connection)
        version.drop(connection)
        migrate.create_all(connection)
        created = _columns(connection)
    engine.dispose()

    assert [change for change in difference if change[0] != "remove_table"] == []
    assert migrated == created
    assert revision == migrate.HEAD


def test_user_is_in_every_key(postgres_url: str) -> None:
    """On PostgreSQL every primary, unique and foreign key has the user in it: so tables can be partitioned by user."""
    with SQLAlchemyStore(postgres_url, embedder=letters, embedding_model="letters") as store:
        MemoryManager(store, user_id="ann").store("a bed")
        store.reindex()
    engine = sa.create_engine(postgres_url)
    inspector = sa.inspect(engine)
    keys = dict[str, list[list[str]]]()
    for name in inspector.get_table_names():
        keys[name] = [
            inspector.get_pk_constraint(name)["constrained_columns"],
            *(unique["column_names"] for unique in inspector.get_unique_constraints(name)),
            *(foreign["constrained_columns"] for foreign in inspector.get_foreign_keys(name)),
        ]
    engine.dispose()

    ours = {"agent_memory_settings", "memory_context_version"}
    without = {name for name in keys for key in keys[name] if "user_id" not in key}
    assert ours == without
    assert any(name.startswith("agent_memory_vectors_") for name in keys)


@DATABASES
def test_newer_schema_is_refused(request: pytest.FixtureRequest, fixture: str) -> None:
    """A schema of a later version is not touched; the error says what to do."""
    url = request.getfixturevalue(fixture)
    with SQLAlchemyStore(url) as store:
        store.count(Scope("ann"))
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.execute(sa.update(version).values(version_num="9999"))

    with SQLAlchemyStore(url) as store:
        with pytest.raises(SchemaVersionError, match="upgrade memory-context"):
            store.count(Scope("ann"))
        with pytest.raises(SchemaVersionError, match="upgrade memory-context"):
            store.migrate()

    with engine.begin() as connection:
        assert "9999" == connection.execute(sa.select(version.c.version_num)).scalar()
    engine.dispose()


@DATABASES
def test_migrate_says_where_it_came_from(request: pytest.FixtureRequest, fixture: str) -> None:
    """Migrating an empty database creates the schema; doing it again changes nothing."""
    with SQLAlchemyStore(request.getfixturevalue(fixture)) as store:
        assert store.migrate() is None
        assert migrate.HEAD == store.migrate()


@pytest.mark.parametrize(
    "fixture", [pytest.param("sqlite_url", marks=pytest.mark.long), "postgres_url"]
)
@pytest.mark.long
def test_schema_is_created_once(request: pytest.FixtureRequest, fixture: str) -> None:
    """Several processes that open an empty database at once all find it ready."""
    url = request.getfixturevalue(fixture)
    code = "import sys; from memory_context import MemoryManager; print(MemoryManager(sys.argv[1], user_id=1).store('x'))"
    command = [sys.executable, "-c", PATIENT + code, url]

    processes = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    results = [(process.communicate(), process.returncode) for process in processes]

    assert [("", 0)] * 3 == [(error, code) for (_, error), code in results]
    assert 1 == len({key for (key, _), _ in results})


@pytest.mark.long
def test_alembic_is_loaded_for_upgrades_only(sqlite_url: str) -> None:
    """Creating, opening and using a database does not import Alembic."""
    code = (
        "import sys; from memory_context import MemoryManager\n"
        "MemoryManager(sys.argv[1], user_id=1).store('x'); print('alembic' in sys.modules)"
    )

    for _ in range(2):
        run = subprocess.run(
            [sys.executable, "-c", code, sqlite_url], capture_output=True, text=True, check=True
        )
        assert "False\n" == run.stdout


def test_foreign_table_of_that_name(sqlite_url: str) -> None:
    """A database that has another table of our name is an error, not a mess (see test_existing_tables)."""
    engine = sa.create_engine(sqlite_url)
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE agent_memories (x)")
    engine.dispose()

    with SQLAlchemyStore(sqlite_url) as store, pytest.raises(StoreError):
        store.count(Scope("ann"))
