"""Shell completion of memory keys and user names; if the store cannot be read, nothing is offered.

The shells' completion scripts evaluate what is offered (zsh's `_arguments` twice), which stored text could exploit.
Therefore descriptions are never offered, and a name is offered only if it consists of the characters in `_SAFE`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

import typer

from memory_context.exceptions import MemoryContextError

if TYPE_CHECKING:
    from memory_context.model.scope import Scope
    from memory_context.stores.sql.listings_and_totals_of_memories import Catalog

OFFERED = 50
_SAFE = re.compile(r"[A-Za-z0-9_.@+-]+")


def complete_keys(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the keys of the user's memories that begin with *incomplete*."""
    return _offered(
        ctx, incomplete, lambda catalog, scope: catalog.keys_from(scope, incomplete, OFFERED)
    )


def complete_users(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the names of the users that begin with *incomplete*."""
    return _offered(ctx, incomplete, lambda catalog, _: catalog.counts("user_id"), "everybody")


def _offered(
    ctx: typer.Context,
    incomplete: str,
    find: Callable[[Catalog, Scope], Collection[str]],
    user: str | None = None,
) -> list[str]:
    """Return the names that *find* returns for *user*, by default the user of the command, and that are safe to offer."""
    # Imported here because they load a database library, which is not needed to complete the name of an option.
    from memory_context.cli.open_store_and_user import chosen_user, opened_store
    from memory_context.model.scope import Scope
    from memory_context.stores.sql.listings_and_totals_of_memories import Catalog

    url = ctx.params.get("store") or os.environ.get("MEMORY_CONTEXT_STORE")
    user = user or ctx.params.get("user") or os.environ.get("MEMORY_CONTEXT_USER")
    try:
        with opened_store(url, "completion") as store:
            names = find(Catalog(store), Scope(user or chosen_user(store, None)))
    except MemoryContextError:
        return []
    return [name for name in names if name.startswith(incomplete) and _SAFE.fullmatch(name)]
