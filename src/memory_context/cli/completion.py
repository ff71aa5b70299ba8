"""Completion of keys and users in the shell: from the store, and nothing if that fails.

The shells' scripts evaluate what is offered (zsh's `_arguments` twice), so stored text has no place there: no
descriptions, and no name that has other characters than those of `_SAFE`.
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


def complete_keys(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return keys of the user's memories."""
    return _offered(
        ctx, incomplete, lambda catalog, scope: catalog.keys_from(scope, incomplete, OFFERED)
    )


def complete_users(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return names of users."""
    return _offered(
        ctx, incomplete, lambda catalog, _: catalog.counts("user_id"), of_one_user=False
    )


def _offered(
    ctx: typer.Context,
    incomplete: str,
    find: Callable[[Catalog, Scope], Iterable[str]],
    *,
    of_one_user: bool = True,
) -> list[str]:
    # Completion of options needs no store: these load a database library.
    from memory_context.cli.open_store_and_user import only_user, opened_store
    from memory_context.model.scope import Scope
    from memory_context.stores.sql.catalog import Catalog

    url = ctx.params.get("store") or os.environ.get("MEMORY_CONTEXT_STORE")
    user = ctx.params.get("user") or os.environ.get("MEMORY_CONTEXT_USER")
    try:
        with opened_store(url, "completion") as store:
            if not of_one_user:
                user = "everybody"
            names = list(find(Catalog(store), Scope(user or only_user(store))))
    except MemoryContextError:
        return []
    return [name for name in names if name.startswith(incomplete) and _SAFE.fullmatch(name)]
