"""Cut records into batches of a bounded number and size, so that moving many takes a bounded amount of RAM."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from memory_context.model.checked_arguments import check_arguments
from memory_context.model.item import AnyRecord, MemoryItem

T = TypeVar("T")

MOST = 200
CHARACTERS = 8_000_000


def batches_of(things: Iterable[T], size: Callable[[T], int]) -> Iterator[list[T]]:
    """Yield *things* in batches of at most 200 and at most 8 million characters; a larger thing is a batch of its own."""
    batch: list[T] = []
    total = 0
    for thing in things:
        added = size(thing)
        is_full = len(batch) == MOST or total + added > CHARACTERS
        if batch and is_full:
            yield batch
            batch = []
            total = 0
        batch.append(thing)
        total += added
    if batch:
        yield batch


def slices_of(things: Sequence[T], most: int) -> Iterator[Sequence[T]]:
    """Yield *things* in slices of at most *most*."""
    for start in range(0, len(things), most):
        yield things[start : start + most]


def batches_of_records(records: Iterable[AnyRecord]) -> Iterator[list[AnyRecord]]:
    """Return the batches of *records*, each of which is checked.

    Raises:
        InvalidArgumentError: One is not a record.
    """
    check_arguments(records=records)
    return batches_of(map(_checked, records), _size_of)


def _checked(record: AnyRecord) -> AnyRecord:
    check_arguments(record=record)
    return record


def _size_of(record: AnyRecord) -> int:
    """Return the characters or bytes of a record's content."""
    return len(record.content) if isinstance(record, MemoryItem) else 0
