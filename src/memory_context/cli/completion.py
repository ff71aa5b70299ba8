"""What the shell offers for keys, users and conversations: asked of the store, and nothing where that fails.

The shells' scripts evaluate what is offered (zsh's `_arguments` twice), so stored text has no place there: no
descriptions, and no name that has any other characters than those of `_SAFE`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import typer

from memory_context.exceptions import MemoryContextError

if TYPE_CHECKING:
    from memory_context.model.scope import Scope
    from memory_context.stores.sql.catalog import Catalog

OFFERED = 50
_SAFE = re.compile(r"[A-Za-z0-9_.@+-]+")
_VARIABLES = {"store": "MEMORY_CONTEXT_STORE", "user": "MEMORY_CONTEXT_USER"}


def complete_keys(ctx: typer.Context, incomplete: str) -> list[str]:
    """Keys of the user's memories."""
    return _offered(
        ctx, incomplete, lambda catalog, scope: catalog.keys_from(scope, incomplete, OFFERED)
    )


def complete_threads(ctx: typer.Context, incomplete: str) -> list[str]:
    """Names of the user's conversations, the last used first."""

    def found(catalog: Catalog, scope: Scope) -> Iterable[str]:
        return (one.thread_id for one in catalog.threads(scope, limit=OFFERED))

    return _offered(ctx, incomplete, found)


def complete_users(ctx: typer.Context, incomplete: str) -> list[str]:
    """Names of users."""
    return _offered(
        ctx,
        incomplete,
        lambda catalog, _: (one.name for one in catalog.totals("user_id")),
        of_one=False,
    )


def _offered(
    ctx: typer.Context,
    incomplete: str,
    find: Callable[[Catalog, Scope], Iterable[str]],
    *,
    of_one: bool = True,
) -> list[str]:
    from memory_context.cli.open_store import only_user, opened_store  # noqa: PLC0415 - as above
    from memory_context.model.scope import Scope  # noqa: PLC0415 - completion of options needs no store
    from memory_context.stores.sql.catalog import Catalog  # noqa: PLC0415 - as above

    given = {
        name: ctx.params.get(name) or os.environ.get(variable)
        for name, variable in _VARIABLES.items()
    }
    try:
        with opened_store(given["store"], "completion") as store:
            user = given["user"] or (only_user(store) if of_one else "everybody")
            names = list(find(Catalog(store), Scope(user)))
    except MemoryContextError:
        return []
    return [name for name in names if name.startswith(incomplete) and _SAFE.fullmatch(name)]
