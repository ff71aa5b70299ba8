"""What the shell offers for keys, users and conversations: asked of the store, and nothing where that fails."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import typer

from memory_context.exceptions import MemoryContextError

if TYPE_CHECKING:
    from memory_context._scopes import Scope
    from memory_context.stores._catalog import Catalog

OFFERED = 50
_VARIABLES = {"store": "MEMORY_CONTEXT_STORE", "user": "MEMORY_CONTEXT_USER"}
Offers = list[tuple[str, str]]


def complete_keys(ctx: typer.Context, incomplete: str) -> Offers:
    """Keys of the user's memories, with their descriptions."""
    return _offered(ctx, lambda catalog, scope: catalog.keys_from(scope, incomplete, OFFERED))


def complete_threads(ctx: typer.Context, incomplete: str) -> Offers:
    """Names of the user's conversations, the last used first."""

    def found(catalog: Catalog, scope: Scope) -> Offers:
        threads = catalog.threads(scope, limit=OFFERED)
        return [
            (one.thread_id, f"{one.memories:,} memories") for one in threads if one.thread_id.startswith(incomplete)
        ]

    return _offered(ctx, found)


def complete_users(ctx: typer.Context, incomplete: str) -> Offers:
    """Names of users."""

    def found(catalog: Catalog, scope: Scope) -> Offers:  # noqa: ARG001 - they are everybody's
        users = catalog.totals("user_id")
        return [(str(one.name), f"{one.memories:,} memories") for one in users if str(one.name).startswith(incomplete)]

    return _offered(ctx, found, of_one=False)


def _offered(
    ctx: typer.Context, find: Callable[[Catalog, Scope], Iterable[tuple[str, str]]], *, of_one: bool = True
) -> Offers:
    from memory_context._scopes import Scope  # noqa: PLC0415 - completion of options needs no store
    from memory_context.cli._open import only_user, opened_store  # noqa: PLC0415 - as above
    from memory_context.display import harmless  # noqa: PLC0415 - as above
    from memory_context.stores._catalog import Catalog  # noqa: PLC0415 - as above

    given = {name: ctx.params.get(name) or os.environ.get(variable) for name, variable in _VARIABLES.items()}
    try:
        with opened_store(given["store"], "completion") as store:
            user = given["user"] or (only_user(store) if of_one else "everybody")
            found = find(Catalog(store), Scope(user))
    except MemoryContextError:
        return []
    return [(name, harmless(said)) for name, said in found if name.isprintable()]
