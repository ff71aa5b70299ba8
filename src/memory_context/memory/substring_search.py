"""Find memories by a part of a line, whatever its case, without an index."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from memory_context.model.item import Match, MemoryItem, is_secret
from memory_context.model.one_line import one_line
from memory_context.model.scope import Scope
from memory_context.sentences_models_read import HIDDEN
from memory_context.stores import Filters

if TYPE_CHECKING:
    from memory_context.stores.protocol import MemoryStore

# Only the newest 1,000 memories of at most 100,000 characters are read: 100 MB.
SCANNED = 1000
LONGEST_SCANNED = 100_000


def containing(
    store: MemoryStore, scope: Scope, part: str, limit: int, filters: Filters
) -> list[MemoryItem]:
    """Return the newest memories with a line or a description that contains *part*, whatever its case.

    Secrets are found by their description only.

    Raises:
        StoreError: The store failed.
    """
    found = list[MemoryItem]()
    wanted = {"char_count": {"$lte": LONGEST_SCANNED}, **filters}
    part = part.casefold()
    for item in store.query(scope, wanted, limit=SCANNED):
        shown = replace(item, content=HIDDEN) if is_secret(item) else item
        match = _match_of(part, shown)
        if match:
            found.append(replace(shown, match=match))
        if len(found) == limit:
            break
    return found


def _match_of(part: str, item: MemoryItem) -> Match | None:
    """Return a match for the description of *item* or the first line that contains *part*; None if none does."""
    lines = f"{one_line(item.summary)}\n{item.text}".split("\n")
    for number, line in enumerate(lines):
        if part in line.casefold():
            if number == 0:  # the description, which is no line of the content
                return Match(1.0, "", None, (part,))
            return Match(1.0, line, (number, number), (part,))
    return None
