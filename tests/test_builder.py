"""`build_model_context`: a web front end's data layer becomes a context on the same database."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from for_each import for_each
from memory_context import MemoryContext, SQLAlchemyStore, build_model_context
from memory_context.exceptions import InvalidArgumentError, UnsupportedDatabaseError
from memory_context.stores.sql.urls import synchronous
from messages import LOG, results


@dataclass
class DataLayer:
    """What Chainlit's `SQLAlchemyDataLayer` has, as far as it matters here."""

    engine: AsyncEngine


@pytest.fixture(params=["sqlite_url", "postgres_url"])
def url(request: pytest.FixtureRequest) -> str:
    """The URL of a database, as the library writes it."""
    return str(request.getfixturevalue(request.param))


@pytest.fixture
async def engine(url: str) -> AsyncIterator[AsyncEngine]:
    """An asynchronous engine on it, on asyncpg or aiosqlite."""
    engine = create_async_engine(asynchronous(url))
    yield engine
    await engine.dispose()


def asynchronous(url: str) -> str:
    """The same database, as an asynchronous front end names it."""
    return url.replace("+psycopg", "+asyncpg").replace("sqlite:", "sqlite+aiosqlite:")


class TestTheSameDatabase:
    """Whatever the front end hands over, the context folds into its database, for its user, in its thread."""

    async def folds_into(self, context: MemoryContext, engine: AsyncEngine) -> None:
        """Add a large output; the front end's own engine finds it."""
        await context.add_message(results(LOG))
        statement = sa.text(
            "SELECT content FROM agent_memories WHERE user_id = '7' AND thread_id = 't'"
        )
        async with engine.connect() as connection:
            assert [LOG] == list((await connection.execute(statement)).scalars())
        await context.aclose()

    @pytest.mark.long
    async def test_of_a_data_layer(self, engine: AsyncEngine) -> None:
        """By its asynchronous engine."""
        context = build_model_context(7, DataLayer(engine), thread_id="t")
        await self.folds_into(context, engine)

    async def test_of_an_asynchronous_engine(self, engine: AsyncEngine) -> None:
        """By its URL, with its password."""
        await self.folds_into(build_model_context(7, data_layer=engine, thread_id="t"), engine)

    async def test_of_an_engine(self, url: str, engine: AsyncEngine) -> None:
        """On the caller's engine itself."""
        own = sa.create_engine(url)
        await self.folds_into(build_model_context(7, data_layer=own, thread_id="t"), engine)
        own.dispose()

    @pytest.mark.long
    async def test_of_a_url(self, url: str, engine: AsyncEngine) -> None:
        """With either driver, as text and as SQLAlchemy's URL."""
        await self.folds_into(build_model_context(7, asynchronous(url), thread_id="t"), engine)
        for same in (url, sa.make_url(url), sa.make_url(asynchronous(url))):
            context = build_model_context(7, data_layer=same, thread_id="t")
            assert [LOG] == [hit.content for hit in await context.search("worker-1234 done")]
            await context.aclose()

    async def test_of_a_store(self, url: str, engine: AsyncEngine) -> None:
        """A store is taken as it is."""
        with SQLAlchemyStore(url) as store:
            await self.folds_into(build_model_context(7, store, thread_id="t"), engine)


async def test_other_settings(sqlite_url: str) -> None:
    """Everything else is a setting of `MemoryContext`; without a thread one is made."""
    context = build_model_context("ann", data_layer=sqlite_url, threshold=50, notes=True)

    assert ("ann", 50, True) == (
        context.user_id,
        context.fold_policy.threshold,
        len(context.thread_id) == 36,
    )
    with pytest.raises(TypeError, match="colour"):
        build_model_context("ann", data_layer=sqlite_url, colour="red")


async def test_no_data_layer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A front end without one gets the default store, as `MemoryContext` does."""
    monkeypatch.setenv("MEMORY_CONTEXT_STORE", f"sqlite:///{tmp_path}/default.db")
    context = build_model_context("ann", None)
    await context.add_message(results(LOG))
    await context.aclose()

    assert (tmp_path / "default.db").exists()


@for_each(
    "given, wanted",
    [
        ("postgresql+asyncpg://u:p@h:1/d", "postgresql+psycopg://u:p@h:1/d"),
        ("postgresql+asyncpg://h/d?ssl=require", "postgresql+psycopg://h/d?sslmode=require"),
        (
            "postgresql+asyncpg://h/d?prepared_statement_cache_size=0",
            "postgresql+psycopg://h/d",
        ),
        ("sqlite+aiosqlite:////srv/x.db", "sqlite:////srv/x.db"),
        ("sqlite+aiosqlite:///chat.db", "sqlite:///chat.db"),
    ],
)
def test_the_url_of_an_asynchronous_driver(given: str, wanted: str) -> None:
    """Becomes psycopg's or sqlite3's; asyncpg's own settings are translated, or left out."""
    assert sa.make_url(wanted) == synchronous(given)


@for_each("given", ["sqlite:///x.db", "file:///srv", "postgresql://h/d", None, 42])
def test_anything_else_stays(given: object) -> None:
    """What a store takes, or refuses, is for the store."""
    assert given is synchronous(given)


def test_what_cannot_be_shared() -> None:
    """A database in memory belongs to its engine; another data layer says what is possible."""
    with pytest.raises(UnsupportedDatabaseError, match="in memory"):
        build_model_context("ann", create_async_engine("sqlite+aiosqlite://"))
    with pytest.raises(InvalidArgumentError, match="a store is a URL, an engine"):
        build_model_context("ann", object())  # type: ignore[arg-type]


def test_the_page_shows_the_app() -> None:
    """What the how-to shows of the Chainlit app stands in it so; long tests drive the app itself."""
    root = Path(__file__).parents[1]
    page = (root / "docs/howto/web-front-end.md").read_text("utf-8").partition("## Chainlit")[2]
    app = (root / "examples/chainlit/app.py").read_text("utf-8")
    blocks = page.split("```python\n")[1:]

    assert 2 == len(blocks)
    for block in blocks:
        assert block.partition("```")[0] in app
