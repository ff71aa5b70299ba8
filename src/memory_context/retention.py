"""How long memories are kept: what `expires_at` says is over goes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from uuid import UUID

from memory_context._items import now
from memory_context.stores import MemoryStore
from memory_context.stores._catalog import Catalog

BATCH = 50
EXPIRED = "expired"


def delete_expired(
    store: MemoryStore,
    *,
    user_id: str | None = None,
    at: datetime | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> int:
    """Delete the memories whose `expires_at` is over, evicted ones too; how many there were.

    Batch by batch, each in one transaction: an interruption leaves whole batches. References to them say when and why
    afterwards, as after `forget`.

    Args:
        store: Where.
        user_id: Whose; everybody's without it.
        at: The moment that counts; now without it.
        progress: Called after each batch with how many are done, and of how many.

    Raises:
        StoreError: The store could not do it, or is of a kind that keeps no catalog. Batches before stay deleted.
    """
    catalog, moment = Catalog(store), at or now()
    doomed = catalog.expired(moment, user_id)
    done = deleted = 0
    for user, ids in _batches(doomed):
        deleted += catalog.delete_expired(user, ids, moment, EXPIRED)
        done += len(ids)
        if progress:
            progress(done, len(doomed))
    return deleted


def count_expired(store: MemoryStore, *, user_id: str | None = None, at: datetime | None = None) -> dict[str, int]:
    """For each user how many memories `delete_expired` would delete."""
    doomed = Catalog(store).expired(at or now(), user_id)
    return {user: len(list(those)) for user, those in groupby(doomed, itemgetter(0))}


def _batches(doomed: Sequence[tuple[str, UUID]]) -> Iterator[tuple[str, list[UUID]]]:
    """Those of one user, so many at a time."""
    for user, those in groupby(doomed, itemgetter(0)):
        ids = [id_ for _, id_ in those]
        yield from ((user, ids[start : start + BATCH]) for start in range(0, len(ids), BATCH))
