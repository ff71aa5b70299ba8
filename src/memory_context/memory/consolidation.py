"""Merge notes that say the same or are related."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral
from typing import Any, NamedTuple, Protocol, runtime_checkable

from memory_context import sentences_models_read as prompts
from memory_context.exceptions import InvalidArgumentError, RecordChangedError
from memory_context.memory.manager import MemoryManager, check_owner
from memory_context.model.checked_arguments import check_arguments
from memory_context.model.checked_numbers import check_whole
from memory_context.model.item import MemoryItem, is_secret, now
from memory_context.model.origin import MODEL, lowest
from memory_context.model.scope import DETAIL
from memory_context.runtime import log_events
from memory_context.runtime.deadlines import within
from memory_context.stores.protocol import Progress
from memory_context.text.notes_that_say_the_same import (
    groups,
    merged,
    shingles,
    word_set,
)
from memory_context.text.words_and_names import names

FROM = "consolidated_from"
HASHES = "consolidated_hashes"
INTO = "consolidated_into"
BY = "consolidated_by"
OLDEST = "-created_at"
NAMES_KEPT = 0.8
SAME_NOTE = 0.6  # the share of runs of three words in common for which two notes say the same
RELATED = 0.3  # the share of words in common for which a merger is asked
ASKED_AT_ONCE = 8


@runtime_checkable
class NoteMerger(Protocol):
    """Merges notes in its own words."""

    def merge(self, notes: Sequence[str], max_tokens: int) -> str | None:
        """Return one note that says what `notes`, oldest first, say; None to leave them as they are.

        It may raise anything, or take too long.
        """
        ...


class ModelConsolidator:
    """A `NoteMerger` on any model.

    Args:
        ask: Takes a system message and a question, and returns the model's answer.
    """

    def __init__(self, ask: Callable[[str, str], str]) -> None:
        check_arguments(ask=ask)
        self._ask = ask

    def merge(self, notes: Sequence[str], max_tokens: int) -> str | None:
        """See `NoteMerger.merge`."""
        numbered = [
            prompts.MERGE_NOTE.format(number=number, text=note)
            for number, note in enumerate(notes, 1)
        ]
        question = prompts.MERGE_QUESTION.format(notes="\n\n".join(numbered))
        return self._ask(prompts.MERGE_SYSTEM.format(limit=max_tokens), question)


@dataclass(frozen=True, slots=True)
class MergedNotes:
    """Notes that became one.

    Attributes:
        key: The key of the new note; "" in a dry run.
        sources: The keys of the old ones, oldest first; they still redeem.
        by: ``model``, or ``words`` if they were merged without one.
        tokens_before: The tokens of the old ones.
        tokens_after: The tokens of the new one.
    """

    key: str
    sources: tuple[str, ...]
    by: str
    tokens_before: int
    tokens_after: int


@dataclass(frozen=True, slots=True)
class ConsolidationReport:
    """The outcome of a consolidation.

    Attributes:
        notes: How many notes were looked at.
        groups: The groups that became one note each.
        finished: The keys of notes that an earlier, interrupted run had merged but not evicted.
        dry_run: Whether nothing was written.
    """

    notes: int
    groups: tuple[MergedNotes, ...]
    finished: tuple[str, ...]
    dry_run: bool

    @property
    def tokens_saved(self) -> int:
        """Return how many tokens fewer the tier has now."""
        return sum(group.tokens_before - group.tokens_after for group in self.groups)


def consolidate(
    memories: MemoryManager,
    tier: str,
    tier_id: str | None = None,
    *,
    merger: NoteMerger | None = None,
    max_tokens: int = 1000,
    seconds: float = 30.0,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> ConsolidationReport:
    """Merge the notes of a tier that say the same; with a `merger`, related and oversized ones too.

    Only notes of the same task or project (`tier_id`), type, category and `expires_at` are merged;
    secrets and binary contents are left alone. The new note is committed first, with the keys of its sources in
    its metadata. Then each source is evicted, with the new note's key in its metadata: it is no
    longer offered, but its key still redeems. A source that was changed meanwhile stays. An
    interrupted run loses nothing, and the next one finishes its work.

    Without a merger, near-duplicates are merged line by line (`text.notes_that_say_the_same.merged`), and notes
    that are only related or oversized stay as they are. The same happens if the merger fails, is
    late, loses more than a fifth of the names, or returns nothing shorter.

    Args:
        memories: The user's memories.
        tier: Which tier; not ``detail``, whose records are outputs, not notes.
        tier_id: Which task or project; without it, each of them separately.
        merger: Merges in its own words: `ModelConsolidator`, or any object with
            ``merge(notes, max_tokens)``.
        max_tokens: Notes with more tokens are oversized; a merged note should not be. A merger is given
            at most eight times as many at once.
        seconds: The deadline of each merge.
        dry_run: Only report what would be done.
        progress: Called after each group of notes with how many are done, and of how many.

    Raises:
        InvalidArgumentError: The tier is ``detail`` or None, or an argument has the wrong type.
        InvalidScopeError: A name does not fit a database column.
        StoreError: The store failed.
    """
    check_owner(memories, MemoryManager)
    if isinstance(max_tokens, Integral):  # numpy's, too
        max_tokens = int(max_tokens)
    check_whole("max_tokens", max_tokens, 1)
    check_arguments(merger=merger, dry_run=dry_run, progress=progress)
    if tier in (None, DETAIL):
        raise InvalidArgumentError(
            "the notes of one tier are merged, such as 'task'; 'detail' holds outputs, not notes"
        )
    scope = replace(memories.scope, tier=tier, tier_id=tier_id)
    # Notes of earlier versions may lack the id that their tier needs today; merged, they lack it, too.
    memories = copy(memories)
    memories.needing_ids = frozenset()
    notes = [
        item
        for item in memories.memory_store.query(scope, limit=None, order_by=OLDEST)
        if isinstance(item.content, str) and not is_secret(item)
    ]
    finished = _finish(memories, notes, dry_run=dry_run)
    remaining = [note for note in notes if note.memory_key not in finished]
    to_merge = _grouped(remaining, shingles, SAME_NOTE)
    if merger is not None:
        to_merge = _related(remaining, max_tokens)
    found = list(to_merge)
    consolidation = _Consolidation(memories, merger, max_tokens, seconds, dry_run)
    made = list[MergedNotes]()
    for done, group in enumerate(found, 1):
        made += consolidation.merge(group)
        if progress:
            progress(done, len(found))
    return ConsolidationReport(len(notes), tuple(made), tuple(finished), dry_run)


class _Consolidation(NamedTuple):
    """The settings by which groups of notes become one."""

    memories: MemoryManager
    merger: NoteMerger | None
    max_tokens: int
    seconds: float
    dry_run: bool

    def merge(self, group: Sequence[MemoryItem]) -> list[MergedNotes]:
        """Merge a group into one note by a model; if that returns none, merge its near-duplicates."""
        text = self._by_model(group)
        if text:
            return [self._made(group, text, "model")]
        made = list[MergedNotes]()
        for alike in _grouped(group, shingles, SAME_NOTE):
            texts = [item.text for item in alike]
            made.append(self._made(alike, merged(texts), "words"))
        return made

    def _by_model(self, group: Sequence[MemoryItem]) -> str | None:
        """Return the model's note, if it is shorter and keeps the names."""
        if self.merger is None:
            return None
        try:
            work = partial(self.merger.merge, [item.text for item in group], self.max_tokens)
            answer: object = within(self.seconds, work, "note merger")
        except Exception as error:  # noqa: BLE001 - whatever a user's merger raises
            log_events.MERGER_FAILED.log(error)
            return None
        text = answer.strip() if isinstance(answer, str) else ""
        known = {name for item in group for name in names(item.text)}
        kept = [name for name in known if name in text]
        if len(kept) < NAMES_KEPT * len(known):
            return None
        before = sum(item.token_count for item in group)
        return text if self.memories.counter.count(text) < before else None

    def _made(self, group: Sequence[MemoryItem], text: str, by: str) -> MergedNotes:
        key = "" if self.dry_run else self._stored(group, text, by)
        sources = tuple(item.memory_key for item in group)
        before = sum(item.token_count for item in group)
        return MergedNotes(key, sources, by, before, self.memories.counter.count(text))

    def _stored(self, group: Sequence[MemoryItem], text: str, by: str) -> str:
        newest = group[-1]
        origins = [item.origin for item in group]
        if by == "model":
            origins.append(MODEL)
        have_one_summary = all(item.summary == newest.summary for item in group)
        links = {
            FROM: [item.memory_key for item in group],
            HASHES: [item.content_hash for item in group],
            BY: by,
        }
        new = self.memories.remember(
            text,
            newest.summary if have_one_summary else None,
            newest.memory_type,
            tier=newest.tier,
            tier_id=newest.tier_id,
            metadata=links,
            category=newest.category,
            tags=dict.fromkeys(tag for item in group for tag in item.tags),
            importance=max(item.importance for item in group),
            expires_at=newest.expires_at,
            origin=lowest(origins),
        )
        for item in group:
            _evict(self.memories, item, new.memory_key)
        return new.memory_key


def _finish(memories: MemoryManager, notes: Sequence[MemoryItem], *, dry_run: bool) -> list[str]:
    """Evict the sources of merged notes that are still there unchanged; return their keys."""
    by_key = {note.memory_key: note for note in notes}
    finished = list[str]()
    for note in notes:
        keys = note.content_metadata.get(FROM, [])
        hashes = note.content_metadata.get(HASHES, [])
        for key, content_hash in zip(keys, hashes, strict=False):
            source = by_key.get(key)
            if not source or (source.tier_id, source.content_hash) != (note.tier_id, content_hash):
                continue
            if dry_run or _evict(memories, source, note.memory_key):
                finished.append(key)
    return finished


def _evict(memories: MemoryManager, read: MemoryItem, into: str) -> bool:
    """Evict a source, with the key of the merged note, unless it was changed since it was read."""
    store = memories.memory_store
    scope = memories.scope
    item = store.get(scope, read.memory_key)
    if not item or (item.content_hash, item.tier_id) != (read.content_hash, read.tier_id):
        return False
    links = {**item.content_metadata, INTO: into}
    evicted = replace(item, is_active=False, content_metadata=links, updated_at=now())
    try:
        store.put(scope, evicted, replaces=item)
    except RecordChangedError:
        return False
    return True


def _related(notes: Iterable[MemoryItem], max_tokens: int) -> Iterator[list[MemoryItem]]:
    """Yield groups of related notes, in portions for a merger, and oversized notes alone."""
    limit = ASKED_AT_ONCE * max_tokens
    for related in _grouped(notes, word_set, RELATED, alone_too=True):
        for portion in _portions(related, limit):
            is_oversized = max_tokens < portion[0].token_count <= limit
            if is_oversized or len(portion) > 1:
                yield portion


def _grouped(
    notes: Iterable[MemoryItem],
    features: Callable[[str], AbstractSet[Any]],
    least: float,
    *,
    alone_too: bool = False,
) -> Iterator[list[MemoryItem]]:
    """Yield groups of notes that have enough features in common.

    All notes of a group are of the same task or project, type and category, and expire at the same
    time. With *alone_too*, a note that is like no other is a group of its own.
    """
    kinds = dict[tuple[object, ...], list[MemoryItem]]()
    for note in notes:
        kind = (note.tier_id, note.memory_type, note.category, note.expires_at)
        kinds.setdefault(kind, []).append(note)
    for alike in kinds.values():
        for positions in groups([features(note.text) for note in alike], least):
            if alone_too or len(positions) > 1:
                yield [alike[position] for position in positions]


def _portions(group: Sequence[MemoryItem], limit: int) -> list[list[MemoryItem]]:
    """Divide a group into portions of at most `limit` tokens; a longer note is one of its own."""
    portions = list[list[MemoryItem]]()
    room = 0
    for note in group:
        room -= note.token_count
        if not portions or room < 0:
            portions.append([])
            room = limit - note.token_count
        portions[-1].append(note)
    return portions
