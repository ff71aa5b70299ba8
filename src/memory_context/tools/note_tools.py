"""The verbs by which an agent keeps, reads and clears its notes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from pydantic import Field, field_validator

from memory_context.memory.scoped_memory import DEFAULT_PRIORITY, DEFAULT_TIER, ScopedMemory
from memory_context.model.category import Category
from memory_context.model.item import MemoryItem, is_secret
from memory_context.model.reference import MemoryRef, key_in
from memory_context.model.selection import Selection
from memory_context.model.tier import priority_of
from memory_context.model.tool_names import CLEAR, GET, LIST, SAVE
from memory_context.runtime import prompts
from memory_context.text.excerpt.excerpt import excerpt
from memory_context.text.quoting import quoted
from memory_context.text.read.paging import truncated
from memory_context.text.read.partial_read import answer
from memory_context.tools.memory_tools import Answer, MemoryToolError, NoteArgs, Text, Verb

LEAST_TEXT = 30


class SaveArgs(NoteArgs):
    """The arguments of `save_memory`."""

    content: Text = Field(description=prompts.SAVE_CONTENT)
    tier: str = Field(default=DEFAULT_TIER, description=prompts.SAVE_TIER)
    category: str = Field(default="", description=prompts.SAVE_CATEGORY)
    tags: list[str] = Field(default=[], description=prompts.SAVE_TAGS)
    metadata: dict[str, Any] = Field(default={}, description=prompts.SAVE_METADATA)
    priority: int = Field(default=DEFAULT_PRIORITY, description=prompts.SAVE_PRIORITY)

    @field_validator("metadata", mode="before")
    @classmethod
    def _as_object(cls, value: Any) -> Any:  # noqa: ANN401 - whatever a model writes
        if not isinstance(value, str):
            return value
        try:
            return json.loads(value or "{}")
        except ValueError:
            return value


class GetArgs(NoteArgs):
    """The arguments of `get_memory`."""

    tier: str = Field(default="", description=prompts.GET_TIER)
    key: str = Field(default="", description=prompts.GET_KEY)
    category: str = Field(default="", description=prompts.SEARCH_CATEGORY)
    tags: list[str] = Field(default=[], description=prompts.SEARCH_TAGS)
    offset: int = Field(default=0, ge=0, description=prompts.GET_OFFSET)

    @field_validator("key", mode="before")
    @classmethod
    def _plain_key(cls, value: Any) -> Any:  # noqa: ANN401 - whatever a model writes
        return key_in(value) if isinstance(value, str) else value


class ClearArgs(NoteArgs):
    """The arguments of `clear_memory`."""

    tier: str = Field(description=prompts.CLEAR_TIER)
    category: str = Field(default="", description=prompts.SEARCH_CATEGORY)
    tags: list[str] = Field(default=[], description=prompts.SEARCH_TAGS)


class ListArgs(NoteArgs):
    """`list_categories` takes no arguments."""


def _saved(notes: ScopedMemory, args: SaveArgs, _: int) -> Answer:
    key = notes.save(
        args.content,
        args.category or None,
        args.tags,
        args.metadata,
        args.priority,
        tier=args.tier or DEFAULT_TIER,
    )
    return Answer(prompts.SAVED.format(tier=args.tier or DEFAULT_TIER, ref=MemoryRef(key)), (key,))


def _got(notes: ScopedMemory, args: GetArgs, most: int) -> Answer:
    if args.key:
        item = notes.get(args.key, tier=args.tier or None)
        if item is None:
            raise MemoryToolError(prompts.NO_NOTE.format(key=args.key))
        return Answer(answer(item, Selection(), 0, most, notes.counter.count), (args.key,))
    found = notes.get(category=args.category or None, tags=args.tags, tier=args.tier or None)[
        args.offset :
    ]
    if not found:
        return Answer(prompts.NO_NOTES)
    return _listed(notes, found, args.offset, most)


def _listed(notes: ScopedMemory, found: list[MemoryItem], offset: int, most: int) -> Answer:
    """As many notes as fit; the first, cut if need be, in any case."""
    count = notes.counter.count
    left = most - count(prompts.NOTES_LEFT.format(count=len(found), offset=offset + len(found))) - 1
    shown = list[str]()
    for item in found:
        line = note_line(item)
        if (needed := count(line) + 1) > left:
            break
        shown.append(line)
        left -= needed
    if not shown:
        shown = [_shortened(found[0], left, notes)]
    rest = len(found) - len(shown)
    more = [prompts.NOTES_LEFT.format(count=rest, offset=offset + len(shown))] if rest else []
    return Answer(
        "\n".join((*shown, *more)), tuple(item.memory_key for item in found[: len(shown)])
    )


def _shortened(item: MemoryItem, budget: int, notes: ScopedMemory) -> str:
    """A note that is too long to be shown whole: its reference, which opens it, and some of it."""
    count, ref = notes.counter.count, item.ref.render()
    left = budget - count(ref) - 1
    part = (
        excerpt(item.text, "", left, count).text
        if left >= LEAST_TEXT and not is_secret(item)
        else ""
    )
    return truncated(f"{ref}\n{part}" if part else ref, budget, count)


def note_line(item: MemoryItem) -> str:
    """A note as a model reads it: its key, what is known of it, and its text; of a secret no text."""
    facts = [
        item.tier,
        *([item.category] if item.category else []),
        *item.tags,
        f"priority {priority_of(item.importance)}",
    ]
    text = prompts.HIDDEN if is_secret(item) else quoted(item.text)
    return prompts.NOTE.format(
        ref=MemoryRef(item.memory_key), facts=f"({', '.join(facts)})", text=text
    )


def _cleared(notes: ScopedMemory, args: ClearArgs, _: int) -> Answer:
    count = notes.clear(args.category or None, args.tags, tier=args.tier)
    if count is None:
        return Answer(prompts.DECLINED)
    number = prompts.ONE_NOTE if count == 1 else prompts.MANY_NOTES.format(count=count)
    return Answer(prompts.CLEARED.format(count=number, tier=args.tier))


def _categories(notes: ScopedMemory, _: ListArgs, most: int) -> Answer:
    lines = list(_tree(notes.list_categories()))
    return Answer(truncated("\n".join(lines) or prompts.NO_NOTES, most, notes.counter.count))


def _tree(categories: Iterable[Category], depth: int = 0) -> Iterator[str]:
    for one in categories:
        yield prompts.CATEGORY.format(
            indent="  " * depth, path=one.path or prompts.NO_CATEGORY, count=one.total
        )
        yield from _tree(one.children, depth + 1)


SAVING = Verb(SAVE, prompts.SAVE_TOOL, SaveArgs, _saved)
GETTING = Verb(GET, prompts.GET_TOOL, GetArgs, _got)
CLEARING = Verb(CLEAR, prompts.CLEAR_TOOL, ClearArgs, _cleared)
LISTING = Verb(LIST, prompts.LIST_TOOL, ListArgs, _categories)
NOTE_VERBS = (SAVING, GETTING, CLEARING, LISTING)
