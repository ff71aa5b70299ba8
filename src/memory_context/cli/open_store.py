"""From the options of a verb to a store, and to the user whose memories are meant."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from getpass import getuser
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memory_context.exceptions import (
    InvalidArgumentError,
    MemoryNotFoundError,
    StoreUnavailableError,
)
from memory_context.stores import MemoryStore, SQLAlchemyStore, as_store
from memory_context.stores.opening import FILES, database_url
from memory_context.stores.sql.catalog import Catalog
from memory_context.stores.sql.inspection import missing_file

if TYPE_CHECKING:
    from memory_context.memory.manager import MemoryManager

USERS_SHOWN = 20


def check_given(url: str | None, verb: str) -> str:
    """The URL.

    Raises:
        InvalidArgumentError: None was given.
    """
    if url:
        return url
    message = (
        f"{verb} needs to know the database: --store URL, or the variable MEMORY_CONTEXT_STORE"
    )
    raise InvalidArgumentError(message)


def check_database(url: str | None, verb: str) -> str:
    """The URL of a database that is there; SQLite would make an empty one of a name that was mistyped.

    Raises:
        InvalidArgumentError: None was given.
        StoreUnavailableError: There is no such file.
    """
    given = check_given(url, verb)
    inside = database_url(given)
    if not inside.startswith(FILES) and (path := missing_file(inside)):
        message = f"there is no database {path!r}; `memory-context migrate` makes one"
        raise StoreUnavailableError(message)
    return given


@contextmanager
def opened_store(url: str | None, verb: str, embedder: str | None = None) -> Generator[MemoryStore]:
    """The store that the options name; with an embedder, a database that searches by meaning too.

    Raises:
        InvalidArgumentError: An embedder for a store around a database.
    """
    given = check_database(url, verb)
    if embedder and database_url(given) != given:
        around = given.removesuffix(database_url(given))
        message = (
            f"--embedder goes with a database, not with a store around it; leave out {around!r}"
        )
        raise InvalidArgumentError(message)
    store = SQLAlchemyStore(given, embedder=loaded(embedder)) if embedder else as_store(given)
    try:
        yield store
    finally:
        store.close()


@contextmanager
def opened(
    url: str | None,
    user: str | None,
    verb: str,
    embedder: str | None = None,
    *,
    audit: bool = False,
) -> Generator[MemoryManager]:
    """The memories of the user that the options name; without a name, of the only one that there is.

    Raises:
        InvalidArgumentError: There are several, and none was named.
        MemoryNotFoundError: Nothing is stored.
    """
    from memory_context.memory.manager import MemoryManager  # noqa: PLC0415 - takes 0.4 s, which completion has not

    with opened_store(url, verb, embedder) as store:
        yield MemoryManager(
            store, user_id=user or only_user(store), agent_id=login(audit=audit), audit=audit
        )


def login(*, audit: bool) -> str | None:
    """Who is at work here, for an audit trail: ``cli:`` and the name that they are logged in by."""
    return f"cli:{getuser()}" if audit else None


def loaded(name: str) -> Any:  # noqa: ANN401 - the store says whether it is an embedder
    """The object that ``MODULE:NAME`` is, from the working directory too, as servers find their applications.

    Raises:
        InvalidArgumentError: There is none.
    """
    module, _, attribute = name.partition(":")
    sys.path.insert(0, str(Path.cwd()))
    try:
        return attrgetter(attribute)(importlib.import_module(module))
    except (ImportError, AttributeError, ValueError) as error:
        message = f"an embedder is named as MODULE:NAME, and {name!r} cannot be loaded: {error}"
        raise InvalidArgumentError(message) from error
    finally:
        sys.path.pop(0)


def only_user(store: MemoryStore) -> str:
    """The one user who has stored something.

    Raises:
        InvalidArgumentError: There are several; names them.
        MemoryNotFoundError: There is none.
    """
    return _only([(user.name, user.memories) for user in Catalog(store).totals("user_id")])


def _only(users: Sequence[tuple[str, int]]) -> str:
    if not users:
        message = "nothing is stored in this database yet"
        raise MemoryNotFoundError(message)
    if len(users) > 1:
        names = [f"{name} ({memories:,})" for name, memories in users[:USERS_SHOWN]]
        more = f" and {len(users) - USERS_SHOWN:,} more" if len(users) > USERS_SHOWN else ""
        message = f"whose memories? There are those of {', '.join(names)}{more}: --user ID"
        raise InvalidArgumentError(message)
    return users[0][0]
