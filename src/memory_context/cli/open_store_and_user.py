"""Open the store that a command's options name, and find out whose memories are meant.

Every command imports this module. Therefore its functions import what loads a database library only when they need it.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from getpass import getuser
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from memory_context.exceptions import (
    InvalidArgumentError,
    MemoryNotFoundError,
    StoreUnavailableError,
)

if TYPE_CHECKING:
    from memory_context.memory.manager import MemoryManager
    from memory_context.stores import FileStore, MemoryStore

USERS_SHOWN = 20


def check_given(url: str | None, command: str) -> str:
    """Return *url*, or without one, the URL of the library's default database, if this folder has it.

    Raises:
        InvalidArgumentError: *url* is empty, or there is neither.
    """
    # An empty URL is from a variable that a script forgot to set; it does not mean the default database.
    given = database_here() if url is None else url
    if given:
        return given
    raise InvalidArgumentError(
        f"{command} needs a database: give --store URL, such as sqlite:///memory.db, or set MEMORY_CONTEXT_STORE"
    )


def check_database(url: str | None, command: str) -> str:
    """Return the URL of a database that exists, because SQLite would create an empty one for a mistyped name.

    Raises:
        InvalidArgumentError: No URL was given, and this folder has no default database.
        StoreUnavailableError: There is no such file or folder.
    """
    from memory_context.stores import as_store
    from memory_context.stores.sql.doctor_looks_into_a_database import missing_file
    from memory_context.stores.store_of_a_url import FILES, database_url

    given = check_given(url, command)
    inside = database_url(given)
    if inside.startswith(FILES):
        with cast("FileStore", as_store(inside)) as store:
            if not store.directory.is_dir():
                raise StoreUnavailableError(f"there is no folder {str(store.directory)!r}")
    elif path := missing_file(inside):
        raise StoreUnavailableError(
            f"there is no database {path!r}; `memory-context migrate` creates one"
        )
    return given


def database_here() -> str | None:
    """Return the URL of the library's default database if this folder has it, otherwise None."""
    from memory_context.stores.sql.doctor_looks_into_a_database import missing_file
    from memory_context.stores.sql.urls import DEFAULT_URL

    return None if missing_file(DEFAULT_URL) else DEFAULT_URL


@contextmanager
def opened_store(
    url: str | None, command: str, embedder: str | None = None
) -> Generator[MemoryStore]:
    """Open the store that the options name; with an embedder, it also searches by meaning.

    Raises:
        InvalidArgumentError: An embedder was given, but the URL has a prefix such as ``encrypted+``.
    """
    from memory_context.stores import SQLAlchemyStore, as_store
    from memory_context.stores.store_of_a_url import database_url

    given = check_database(url, command)
    prefix = given.removesuffix(database_url(given))
    if embedder and prefix:
        raise InvalidArgumentError(
            f"--embedder works with a plain database only; leave out {prefix!r}"
        )
    store = SQLAlchemyStore(given, embedder=loaded(embedder)) if embedder else as_store(given)
    try:
        yield store
    finally:
        store.close()


@contextmanager
def opened(
    url: str | None,
    user: str | None,
    command: str,
    embedder: str | None = None,
    *,
    audit: bool = False,
) -> Generator[MemoryManager]:
    """Open the memories of the user that the options name; without a name, those of the only user.

    Raises:
        InvalidArgumentError: There are several users, and none was named.
        MemoryNotFoundError: Nothing is stored, or nothing of that user.
    """
    from memory_context.memory.manager import MemoryManager

    with opened_store(url, command, embedder) as store:
        yield MemoryManager(
            store, user_id=chosen_user(store, user), agent_id=login(audit=audit), audit=audit
        )


def login(*, audit: bool) -> str | None:
    """Return the agent's name for the audit trail: ``cli:`` and the login name; None without a trail."""
    return f"cli:{login_name()}" if audit else None


def login_name() -> str:
    """Return the login name of this process's user; ``uid-N`` if the system has none, as in many containers."""
    try:
        return getuser()
    except (KeyError, OSError):
        return f"uid-{os.getuid()}"


def loaded(name: str) -> Any:  # noqa: ANN401 - the store checks that it is an embedder
    """Import the object ``MODULE:NAME``. As with web servers, the module may be in the working directory.

    Raises:
        InvalidArgumentError: It cannot be imported.
    """
    module, _, attribute = name.partition(":")
    sys.path.insert(0, str(Path.cwd()))
    try:
        return attrgetter(attribute)(importlib.import_module(module))
    except (ImportError, AttributeError, ValueError) as error:
        raise InvalidArgumentError(
            f"cannot load the embedder {name!r} (expected MODULE:NAME): {error}"
        ) from error
    finally:
        sys.path.pop(0)


def chosen_user(store: MemoryStore, user: str | None) -> str:
    """Return the user that was named; without a name, the only one of whom the store has anything.

    Raises:
        InvalidArgumentError: There are several, and none was named; the message lists them.
        MemoryNotFoundError: There is nothing of that user, whose name may be mistyped; the message lists the others.
    """
    from memory_context.memory.filters_from_keywords import ANY_STATE
    from memory_context.model.scope import Scope
    from memory_context.stores import Administration

    # Only this user's rows are read, as long as the name is right.
    if user and store.count(Scope(user), ANY_STATE):
        return user
    users = store.users() if isinstance(store, Administration) else []
    if user in users:
        return user
    if not users:
        raise MemoryNotFoundError("nothing is stored in this database yet")
    if not user and len(users) == 1:
        return users[0]
    names = ", ".join(users[:USERS_SHOWN])
    if len(users) > USERS_SHOWN:
        names += f" and {len(users) - USERS_SHOWN:,} more"
    if user:
        raise MemoryNotFoundError(
            f"there is nothing of a user {user!r} in this database; its users are {names}"
        )
    raise InvalidArgumentError(f"there are several users; choose one with --user ID: {names}")
