"""The verbs `stats` and `threads`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from rich.console import RenderableType

from memory_context.cli.app import NOTHING_FOUND
from memory_context.cli.listings import Paging, Place, tell_page
from memory_context.cli.open_store import opened, opened_store
from memory_context.cli.screen import NAME, NUMBER, local, print_json, print_paged, size, table
from memory_context.display import facts
from memory_context.memory.retention import count_expired
from memory_context.model.scope import Scope
from memory_context.stores import MemoryStore
from memory_context.stores.sql.catalog import Catalog, CatalogTotal

_COUNTS = (("memories", NUMBER), ("tokens", NUMBER), ("characters", NUMBER), ("newest", NAME))
_THREADS = (
    ("conversation", NAME),
    ("memories", NUMBER),
    ("tokens", NUMBER),
    ("first", NAME),
    ("last", NAME),
)


@dataclass(frozen=True, slots=True)
class Stats:
    """How much a database holds, of one user or of all: what ``stats --json`` gives."""

    database_bytes: int
    memories: int
    evicted: int
    tokens: int
    characters: int
    conversations: int
    expired: int
    not_indexed: int
    users: Sequence[CatalogTotal]
    types: Sequence[CatalogTotal]
    tiers: Sequence[CatalogTotal]


def show_stats(place: Place, *, as_json: bool) -> int:
    """Print how much is stored; 1 if nothing is."""
    user = Scope(place.user).user_id if place.user else None
    with opened_store(place.store, "stats") as store:
        found = stats_of(store, user)
    if as_json:
        print_json(asdict(found))
    else:
        print_paged(*_shown(found))
    return 0 if found.memories else NOTHING_FOUND


def stats_of(store: MemoryStore, user: str | None) -> Stats:
    """How much a store holds."""
    catalog = Catalog(store)
    users, types, tiers = (
        catalog.totals(column, user) for column in ("user_id", "memory_type", "tier")
    )
    return Stats(
        database_bytes=catalog.size(),
        memories=sum(one.memories for one in users),
        evicted=sum(one.evicted for one in users),
        tokens=sum(one.tokens for one in users),
        characters=sum(one.characters for one in users),
        conversations=catalog.count_threads(user),
        expired=sum(count_expired(store, user_id=user).values()),
        not_indexed=catalog.count_pending(user),
        users=users,
        types=types,
        tiers=tiers,
    )


def _shown(found: Stats) -> list[RenderableType]:
    numbers = [(name, f"{value:,}") for name, value in _numbers(found)]
    parts: list[RenderableType] = [facts([("database", size(found.database_bytes)), *numbers])]
    for name, totals in (("user", found.users), ("type", found.types), ("tier", found.tiers)):
        if totals:
            parts += ["", table(((name, NAME), *_COUNTS), [_row(one) for one in totals])]
    return parts


def _numbers(found: Stats) -> list[tuple[str, int]]:
    names = (
        "memories",
        "evicted",
        "tokens",
        "characters",
        "conversations",
        "expired",
        "not_indexed",
    )
    return [(name.replace("_", " "), getattr(found, name)) for name in names]


def _row(total: CatalogTotal) -> list[str]:
    counts = (total.memories, total.tokens, total.characters)
    return [total.name, *(f"{count:,}" for count in counts), local(total.newest)]


def list_threads(place: Place, paging: Paging, *, as_json: bool) -> int:
    """Print a user's conversations; 1 if there are none."""
    with opened(place.store, place.user, "threads") as memory:
        catalog = Catalog(memory.memory_store)
        found = catalog.threads(memory.scope, limit=paging.limit, offset=paging.offset)
        total = catalog.count_threads(memory.scope.user_id)
    if as_json:
        print_json({"threads": [asdict(one) for one in found], **paging.facts(total)})
    elif found:
        rows = [
            [
                one.thread_id,
                f"{one.memories:,}",
                f"{one.tokens:,}",
                local(one.first),
                local(one.last),
            ]
            for one in found
        ]
        print_paged(table(_THREADS, rows))
    tell_page(paging, len(found), total, "conversations", quiet=as_json)
    return 0 if found else NOTHING_FOUND
