"""Consolidation: notes of a tier that belong together become one; and preferences out of a finished conversation."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol, cast, runtime_checkable

from memory_context.exceptions import InvalidArgumentError, RecordChangedError
from memory_context.memory.chat_history import Turn
from memory_context.memory.context_package import GLOBAL
from memory_context.memory.manager import MemoryManager
from memory_context.model.item import PREFERENCE, MemoryItem, is_secret, now
from memory_context.model.reference import one_line
from memory_context.model.scope import DETAIL
from memory_context.runtime import events, prompts
from memory_context.runtime.deadlines import within
from memory_context.text.similarity import groups, merged, shingles, words_of
from memory_context.text.terms import names

FROM, HASHES, INTO, BY = (
    "consolidated_from",
    "consolidated_hashes",
    "consolidated_into",
    "consolidated_by",
)
OLDEST = "-created_at"
NAMES_KEPT = 0.8
ASKED_AT_ONCE = 8
MOST_PREFERENCES = 10
MOST_CHARACTERS = 40_000


@runtime_checkable
class NoteMerger(Protocol):
    """Merges notes in its own words."""

    def merge(self, notes: Sequence[str], max_tokens: int) -> str | None:
        """One note that says what `notes` say, oldest first; None for none. May raise anything, or take too long."""
        ...


@runtime_checkable
class PreferenceExtractor(Protocol):
    """Finds out what a person prefers."""

    def extract(self, turns: Sequence[Turn]) -> Sequence[str]:
        """What the person of a conversation prefers, a sentence each. May raise anything, or take too long."""
        ...


class ModelConsolidator:
    """A `NoteMerger` and a `PreferenceExtractor` on any model.

    Args:
        ask: Gives the model's answer to a system message and a question, both texts.
    """

    def __init__(self, ask: Callable[[str, str], str]) -> None:
        self._ask = ask

    def merge(self, notes: Sequence[str], max_tokens: int) -> str | None:
        """See `NoteMerger.merge`."""
        texts = (
            prompts.MERGE_NOTE.format(number=number, text=text)
            for number, text in enumerate(notes, 1)
        )
        question = prompts.MERGE_QUESTION.format(notes="\n\n".join(texts))
        return self._ask(prompts.MERGE_SYSTEM.format(limit=max_tokens), question)

    def extract(self, turns: Sequence[Turn]) -> Sequence[str]:
        """See `PreferenceExtractor.extract`."""
        lines = (
            prompts.PREFERENCES_TURN.format(role=turn.role, text=turn.text)
            for turn in turns
            if turn.text
        )
        system = prompts.PREFERENCES_SYSTEM.format(limit=MOST_PREFERENCES)
        answer = self._ask(system, "\n".join(lines)[-MOST_CHARACTERS:])
        found: object = json.loads(answer[answer.find("[") : answer.rfind("]") + 1])
        return [str(one) for one in cast("list[object]", found)] if isinstance(found, list) else []


@dataclass(frozen=True, slots=True)
class Consolidated:
    """Notes that became one.

    Attributes:
        key: The key of the new one; "" in a dry run.
        sources: The keys of the old ones, oldest first; they still redeem.
        by: ``model`` or ``words``.
        tokens_before: What the old ones took.
        tokens_after: What the new one takes.
    """

    key: str
    sources: tuple[str, ...]
    by: str
    tokens_before: int
    tokens_after: int


@dataclass(frozen=True, slots=True)
class ConsolidationReport:
    """What was consolidated.

    Attributes:
        notes: How many notes were looked at.
        groups: Which became one.
        finished: The keys of notes that an earlier run, which ended too soon, had merged and not evicted.
        dry_run: Whether nothing was written.
    """

    notes: int
    groups: tuple[Consolidated, ...]
    finished: tuple[str, ...]
    dry_run: bool

    @property
    def tokens_saved(self) -> int:
        """How many tokens less the tier offers."""
        return sum(group.tokens_before - group.tokens_after for group in self.groups)


def consolidate(  # noqa: PLR0913 - each is a setting of its own, with a default
    memories: MemoryManager,
    tier: str,
    tier_id: str | None = None,
    *,
    merger: NoteMerger | None = None,
    max_tokens: int = 1000,
    similarity: float = 0.6,
    relatedness: float = 0.3,
    seconds: float = 30.0,
    dry_run: bool = False,
    progress: Callable[[int, int], object] | None = None,
) -> ConsolidationReport:
    """Make one note of those of a tier that say the same; with a `merger`, of related and of oversized ones too.

    Only notes of the same task or project (`tier_id`), type and category are merged; secrets and binary contents are
    left alone. The new note is committed first, with the keys of its sources in its metadata; then each source is
    evicted, with the new note's key in its own: nothing offers it any more, its key still redeems. A source that was
    changed meanwhile stays. A run that ended too soon has lost nothing, and the next one finishes its work.

    Without a merger, and where it fails, is late, loses a fifth of the names or does not get shorter, near-duplicates
    become one by their lines (`_similar.merged`); what is only related or oversized stays as it is.

    Args:
        memories: The user's memories.
        tier: Which tier; not ``detail``, whose records are outputs, not notes.
        tier_id: Which task or project; each of them by itself without it.
        merger: Merges in its own words: `ModelConsolidator`, or any object with ``merge(notes, max_tokens)``.
        max_tokens: Notes with more tokens are oversized; a merged note should not be. A merger gets eight times as much
            at once at most.
        similarity: Near-duplicates have so much of their runs of three words in common, 0 to 1.
        relatedness: Related notes have so much of their words in common, 0 to 1; for a merger only.
        seconds: The deadline of each merge.
        dry_run: Only say what would be done.
        progress: Called after each group of notes with how many are done, and of how many.

    Raises:
        InvalidArgumentError: The tier ``detail``, a merger that is none, or a share that is none.
        InvalidScopeError: A name that no database column can hold.
        StoreError: The store could not do it.
    """
    _check(tier, merger, similarity, relatedness)
    scope = replace(memories.scope, tier=tier, tier_id=tier_id)
    notes = [
        item
        for item in memories.memory_store.query(scope, limit=None, order_by=OLDEST)
        if _is_note(item)
    ]
    finished = _finish(memories, notes, dry_run=dry_run)
    left = [note for note in notes if note.memory_key not in finished]
    found = _related(left, relatedness, max_tokens) if merger else _alike(left, similarity)
    work = _Work(memories, merger, max_tokens, similarity, seconds, dry_run)
    made = list[Consolidated]()
    for done, group in enumerate(found, 1):
        made += work.consolidated(group)
        if progress:
            progress(done, len(found))
    return ConsolidationReport(len(notes), tuple(made), tuple(finished), dry_run)


def propose_preferences(
    memories: MemoryManager,
    turns: Sequence[Turn],
    extractor: PreferenceExtractor,
    confirm: Callable[[str], bool],
    *,
    seconds: float = 30.0,
) -> list[MemoryItem]:
    """Store what a person turned out to prefer in a finished conversation, each sentence once it is confirmed.

    Nothing calls this by itself. What the user's preferences say already is not proposed again.

    Args:
        memories: The user's memories.
        turns: The conversation, as `ConversationMemory.get_turns` gives it.
        extractor: Reads it: `ModelConsolidator`, or any object with ``extract(turns)``. Where it fails or is late,
            nothing is proposed.
        confirm: Asked for each sentence before it is written; what is declined is not.
        seconds: The deadline of the extraction.

    Returns:
        What was stored: preferences in the tier ``global``.

    Raises:
        StoreError: The store could not do it.
    """
    try:
        found: object = within(seconds, partial(extractor.extract, turns), "preferences")
    except Exception as error:  # noqa: BLE001 - whatever an extractor of somebody else's raises
        events.EXTRACTOR_FAILED.log(error)
        return []
    proposed = [one_line(memories.kept(one), 300) for one in _texts(found)][:MOST_PREFERENCES]
    known = memories.memory_store.query(
        memories.scope, {"memory_type": PREFERENCE}, limit=None, order_by=OLDEST
    )
    said = {words_of(item.text) for item in known}
    sources = {"extracted_from": list(dict.fromkeys(turn.key for turn in turns if turn.key))}
    stored = list[MemoryItem]()
    for text in proposed:
        if text and words_of(text) not in said and confirm(text):
            said.add(words_of(text))
            stored.append(
                memories.remember(
                    text, text, PREFERENCE, tier=GLOBAL, metadata=sources, importance=0.9
                )
            )
    return stored


@dataclass(frozen=True, slots=True)
class _Work:
    """How groups of notes become one."""

    memories: MemoryManager
    merger: NoteMerger | None
    most: int
    similarity: float
    seconds: float
    dry_run: bool

    def consolidated(self, group: Sequence[MemoryItem]) -> list[Consolidated]:
        """What became of a group: one note; none if it stays as it is; without a model, of its near-duplicates."""
        text = self._by_model(group)
        if text:
            return [self._made(group, text, "model")]
        alike = groups([shingles(item.text) for item in group], self.similarity)
        parts = [[group[place] for place in places] for places in alike]
        return [
            self._made(part, merged([item.text for item in part]), "words")
            for part in parts
            if len(part) > 1
        ]

    def _by_model(self, group: Sequence[MemoryItem]) -> str | None:
        """The model's note, if it is one."""
        if self.merger is None:
            return None
        try:
            work = partial(self.merger.merge, [item.text for item in group], self.most)
            answer: object = within(self.seconds, work, "note merger")
        except Exception as error:  # noqa: BLE001 - whatever a merger of somebody else's raises
            events.MERGER_FAILED.log(error)
            return None
        return (
            answer.strip()
            if isinstance(answer, str) and self._is_good(group, answer.strip())
            else None
        )

    def _is_good(self, group: Sequence[MemoryItem], answer: str) -> bool:
        known = {name for item in group for name in names(item.text)}
        kept = sum(name in answer for name in known)
        shorter = bool(answer) and self._tokens(answer) < sum(item.token_count for item in group)
        return shorter and kept >= NAMES_KEPT * len(known)

    def _tokens(self, text: str) -> int:
        return self.memories.counter.count(text)

    def _made(self, group: Sequence[MemoryItem], text: str, by: str) -> Consolidated:
        key = "" if self.dry_run else self._stored(group, text, by)
        sources = tuple(item.memory_key for item in group)
        return Consolidated(
            key, sources, by, sum(item.token_count for item in group), self._tokens(text)
        )

    def _stored(self, group: Sequence[MemoryItem], text: str, by: str) -> str:
        first = group[-1]
        links = {
            FROM: [item.memory_key for item in group],
            HASHES: [item.content_hash for item in group],
            BY: by,
        }
        new = self.memories.remember(
            text,
            first.summary
            if len(group) == 1 or all(item.summary == first.summary for item in group)
            else None,
            first.memory_type,
            tier=first.tier,
            tier_id=first.tier_id,
            metadata=links,
            category=first.category,
            tags=dict.fromkeys(tag for item in group for tag in item.tags),
            importance=max(item.importance for item in group),
        )
        for item in group:
            _evict(self.memories, item, new.memory_key)
        return new.memory_key


def _check(tier: str, merger: object, *shares: float) -> None:
    if tier == DETAIL:
        message = "the tier 'detail' holds outputs, which are not merged; consolidate notes of another tier"
        raise InvalidArgumentError(message)
    if merger is not None and not isinstance(merger, NoteMerger):
        message = f"a merger has merge(notes, max_tokens), {type(merger).__name__} has not"
        raise InvalidArgumentError(message)
    if not all(0 < share <= 1 for share in shares):
        message = f"similarity and relatedness are above 0 and at most 1, not {shares}"
        raise InvalidArgumentError(message)


def _is_note(item: MemoryItem) -> bool:
    return isinstance(item.content, str) and not is_secret(item)


def _finish(memories: MemoryManager, notes: Sequence[MemoryItem], *, dry_run: bool) -> list[str]:
    """Evict the sources of merged notes that are still there as they were merged; their keys."""
    there = {note.memory_key: note for note in notes}
    found = list[str]()
    for note in notes:
        sources: tuple[list[str], list[str]] = (
            note.content_metadata.get(FROM, []),
            note.content_metadata.get(HASHES, []),
        )
        for key, digest in zip(*sources, strict=False):
            source = there.get(key)
            if source is not None and (source.content_hash, source.tier_id) == (
                digest,
                note.tier_id,
            ):
                found += (
                    [] if not dry_run and not _evict(memories, source, note.memory_key) else [key]
                )
    return found


def _evict(memories: MemoryManager, read: MemoryItem, into: str) -> bool:
    """Set a source aside, with the link to what it became part of; whether it was still what was read."""
    store, scope = memories.memory_store, memories.scope
    item = store.get(scope, read.memory_key)
    if item is None or item.content_hash != read.content_hash or item.tier_id != read.tier_id:
        return False
    links = {**item.content_metadata, INTO: into}
    try:
        store.put(
            scope,
            replace(item, is_active=False, content_metadata=links, updated_at=now()),
            replaces=item,
        )
    except RecordChangedError:
        return False
    return True


def _alike(notes: Iterable[MemoryItem], least: float) -> list[list[MemoryItem]]:
    """The groups of near-duplicates."""
    rooms = (
        (room, groups([shingles(note.text) for note in room], least)) for room in _rooms(notes)
    )
    return [
        [room[place] for place in places]
        for room, found in rooms
        for places in found
        if len(places) > 1
    ]


def _related(notes: Iterable[MemoryItem], least: float, most: int) -> list[list[MemoryItem]]:
    """The groups of related notes, each as much as a merger gets at once, and oversized notes alone."""
    found = list[list[MemoryItem]]()
    for room in _rooms(notes):
        for places in groups([words_of(note.text) for note in room], least):
            found += _portions([room[place] for place in places], ASKED_AT_ONCE * most)
    return [
        group
        for group in found
        if len(group) > 1 or most < group[0].token_count <= ASKED_AT_ONCE * most
    ]


def _portions(group: Sequence[MemoryItem], most: int) -> list[list[MemoryItem]]:
    """A group in pieces of at most `most` tokens; a longer note is a piece."""
    found, room = list[list[MemoryItem]](), 0
    for note in group:
        room -= note.token_count
        if not found or room < 0:
            found.append([])
            room = most - note.token_count
        found[-1].append(note)
    return found


def _rooms(notes: Iterable[MemoryItem]) -> list[list[MemoryItem]]:
    """Notes of one task or project, type and category each: only these become one."""
    found = dict[tuple[str | None, str, str | None], list[MemoryItem]]()
    for note in notes:
        found.setdefault((note.tier_id, note.memory_type, note.category), []).append(note)
    return list(found.values())


def _texts(found: object) -> list[str]:
    parts = cast("Sequence[object]", found) if isinstance(found, list | tuple) else ()
    return [one for one in parts if isinstance(one, str)]


__all__ = [
    "Consolidated",
    "ConsolidationReport",
    "ModelConsolidator",
    "NoteMerger",
    "PreferenceExtractor",
    "consolidate",
    "propose_preferences",
]
