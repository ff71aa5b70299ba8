"""The verbs `list` and `search`: records in a table, or as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields

from rich.console import RenderableType

from memory_context.cli.app import NOTHING_FOUND
from memory_context.cli.filter_options import Narrowing
from memory_context.cli.open_store import opened
from memory_context.cli.screen import (
    LINE,
    NAME,
    NUMBER,
    counted,
    local,
    print_json,
    print_paged,
    say,
    table,
)
from memory_context.display import numbered, plain
from memory_context.model.item import Match, MemoryItem
from memory_context.stores import Mode
from memory_context.stores.sql.catalog import Catalog, CatalogEntry, Sort

_FACTS = tuple(field.name for field in fields(CatalogEntry))
LINES_SHOWN = 8
_COLUMNS = (("key", NAME), ("type", NAME), ("tokens", NUMBER), ("stored", NAME), ("summary", LINE))


@dataclass(frozen=True, slots=True)
class Place:
    """Which database, and whose memories in it; and whether what is done there goes into its audit trail."""

    store: str | None
    user: str | None
    audit: bool = False


@dataclass(frozen=True, slots=True)
class Paging:
    """How many, and from where on."""

    limit: int
    offset: int = 0

    def next_offset(self, total: int) -> int | None:
        """Where the next page begins, None after the last one."""
        end = self.offset + self.limit
        return end if end < total else None

    def facts(self, total: int) -> dict[str, object]:
        """What ``--json`` says of it."""
        return {"total": total, "offset": self.offset, "next_offset": self.next_offset(total)}


def record(item: MemoryItem | CatalogEntry) -> dict[str, object]:
    """What is known of a memory, without its content, as every ``--json`` gives it."""
    return {name: getattr(item, name) for name in _FACTS}


def list_memories(
    place: Place, narrowing: Narrowing, paging: Paging, sort: Sort, *, evicted: bool, as_json: bool
) -> int:
    """Print the records that match; 1 if there are none."""
    filters = narrowing.filters()
    if evicted:
        filters.setdefault("is_active", [True, False])
    with opened(place.store, place.user, "list") as memory:
        catalog = Catalog(memory.memory_store)
        found = catalog.entries(
            memory.scope, filters, sort=sort, limit=paging.limit, offset=paging.offset
        )
        total = catalog.count(memory.scope, filters)
    if as_json:
        print_json({"memories": [record(entry) for entry in found], **paging.facts(total)})
    elif found:
        print_paged(table(_COLUMNS, [_row(entry) for entry in found]))
    tell_page(paging, len(found), total, "memories", quiet=as_json)
    return 0 if found else NOTHING_FOUND


def tell_page(paging: Paging, shown: int, total: int, what: str, *, quiet: bool) -> None:
    """Say on standard error which part of how many was shown, and how to get the next."""
    if quiet:
        return
    if not shown:
        say(f"no {what} match" if not total else f"there are only {total:,} {what}")
    elif shown < total:
        following = paging.next_offset(total)
        more = f"; the next: --offset {following}" if following else ""
        say(f"{paging.offset + 1:,}-{paging.offset + shown:,} of {total:,} {what}{more}")


def _row(entry: CatalogEntry) -> list[str]:
    return [
        entry.memory_key,
        entry.memory_type,
        f"{entry.token_count:,}",
        local(entry.created_at),
        entry.summary,
    ]


@dataclass(frozen=True, slots=True)
class Search:
    """What is looked for, and how."""

    query: str
    limit: int
    mode: Mode
    embedder: str | None


def search_memories(place: Place, search: Search, narrowing: Narrowing, *, as_json: bool) -> int:
    """Print what a search finds; 1 if it finds nothing."""
    filters = narrowing.filters()
    with opened(place.store, place.user, "search", search.embedder, audit=place.audit) as memory:
        hits = memory.search(search.query, search.limit, mode=search.mode, filters=filters)
    if as_json:
        print_json(
            {
                "query": search.query,
                "memories": [record(hit) | {"match": _match(hit)} for hit in hits],
            }
        )
    elif hits:
        print_paged(*(part for hit in hits for part in _shown(hit)))
    else:
        say("nothing found")
    return 0 if hits else NOTHING_FOUND


def _match(hit: MemoryItem) -> Mapping[str, object] | None:
    return asdict(hit.match) if hit.match else None


def _shown(hit: MemoryItem) -> list[RenderableType]:
    """A hit: its key and summary, where and why it was found, and the passage."""
    parts: list[RenderableType] = [plain(hit.memory_key, "bold cyan"), plain(hit.summary)]
    facts = [hit.memory_type, counted(hit.token_count, "token", "tokens"), local(hit.created_at)]
    if hit.match and hit.match.lines:
        facts.append(f"lines {hit.match.lines[0]}-{hit.match.lines[1]}")
    if hit.match and hit.match.why:
        facts.append(f"found by {', '.join(hit.match.why)}")
    parts.append(plain(" · ".join(facts), "dim"))
    lines = speaking_lines(hit.match) if hit.match else []
    return [*parts, *(numbered(number, line) for number, line in lines), ""]


def speaking_lines(match: Match) -> list[tuple[int, str]]:
    """The lines of the passage that hold words of the query, with their numbers; the first ones where none does."""
    first = match.lines[0] if match.lines else 1
    lines = list(enumerate(match.passage.splitlines(), first))
    words = [word.casefold() for word in match.why]
    speaking = [
        (number, line) for number, line in lines if any(word in line.casefold() for word in words)
    ]
    return (speaking or lines)[:LINES_SHOWN]
