"""The tools with which an agent saves, reads, deletes and clears its notes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Annotated, Any

from pydantic import Field, WithJsonSchema, field_validator

from memory_context import sentences_models_read as prompts
from memory_context.conversation.notes_in_prompts import note_line
from memory_context.memory.scoped_memory import DEFAULT_PRIORITY, DEFAULT_TIER, ScopedMemory
from memory_context.model.category import Category
from memory_context.model.item import MemoryItem, is_secret
from memory_context.model.json_object import JsonObject
from memory_context.model.origin import MODEL
from memory_context.model.reference import MemoryRef
from memory_context.model.selection import Selection
from memory_context.model.tool_names import CLEAR, DELETE, GET, LIST, SAVE
from memory_context.text.excerpt.excerpt import excerpt
from memory_context.text.read.paging import truncated
from memory_context.text.read.read_by_selection import answer
from memory_context.tools.arguments_as_models_write_them import Key, LenientArgs, Tags, Text, Tier
from memory_context.tools.tool_calls_and_answers import (
    CountsTokens,
    MemoryToolError,
    ToolAnswer,
    Verb,
)

LEAST_TEXT = 30


class SaveArgs(LenientArgs):
    """The arguments of `save_memory`."""

    content: Text = Field(description=prompts.SAVE_CONTENT)
    tier: Tier = DEFAULT_TIER
    category: str = Field(default="", description=prompts.SAVE_CATEGORY)
    tags: Tags = Field(default=[], description=prompts.SAVE_TAGS)
    # A text in the schema, because strict schemas do not allow objects with arbitrary members.
    metadata: Annotated[JsonObject, WithJsonSchema({"type": "string"})] = Field(
        default={}, description=prompts.SAVE_METADATA
    )
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


class GetArgs(LenientArgs):
    """The arguments of `get_memory`."""

    tier: Tier = ""
    key: Key = Field(default="", description=prompts.GET_KEY)
    category: str = Field(default="", description=prompts.NOTES_CATEGORY)
    tags: Tags = Field(default=[], description=prompts.NOTES_TAGS)
    offset: int = Field(default=0, ge=0, description=prompts.GET_OFFSET)


class DeleteArgs(LenientArgs):
    """The arguments of `delete_memory`."""

    key: Key = Field(description=prompts.GET_KEY)


class ClearArgs(LenientArgs):
    """The arguments of `clear_memory`."""

    tier: Tier
    category: str = Field(default="", description=prompts.NOTES_CATEGORY)
    tags: Tags = Field(default=[], description=prompts.NOTES_TAGS)


class ListArgs(LenientArgs):
    """`list_categories` takes no arguments."""


_TIER_DESCRIPTIONS = {SAVE: prompts.SAVE_TIER, GET: prompts.GET_TIER, CLEAR: prompts.CLEAR_TIER}


def offer_tiers(tool: str, arguments: JsonObject, tiers: Iterable[str]) -> None:
    """List the open *tiers* in the schema of the *arguments* of *tool*, if one of them is the tier."""
    if tool not in _TIER_DESCRIPTIONS:
        return
    if tool == SAVE:
        tiers = [prompts.TIER_LIVES.get(tier, tier) for tier in tiers]
    arguments["tier"]["description"] = _TIER_DESCRIPTIONS[tool].format(tiers=", ".join(tiers))


def told_arguments(verb: Verb[Any], memories: CountsTokens) -> JsonObject:
    """Return the schema of a verb's arguments as a host sends it to a model.

    Pydantic's titles and the docstrings of the classes are left out: they cost tokens at every call, and add nothing.
    """
    schema = verb.args.model_json_schema()
    kept = ("type", "properties", "required", "$defs")
    arguments = {name: schema[name] for name in kept if name in schema}
    if isinstance(memories, ScopedMemory):
        offer_tiers(verb.name, arguments["properties"], memories.open_tiers)
    return arguments


def _save(notes: ScopedMemory, args: SaveArgs, _: int) -> ToolAnswer:
    tier = args.tier or DEFAULT_TIER
    key = notes.save(
        args.content,
        args.category or None,
        args.tags,
        args.metadata,
        args.priority,
        tier=tier,
        origin=MODEL,
    )
    return ToolAnswer(prompts.SAVED.format(tier=tier, ref=MemoryRef(key)), (key,))


def _get(notes: ScopedMemory, args: GetArgs, max_tokens: int) -> ToolAnswer:
    tier = args.tier or None
    if args.key:
        note = notes.get(args.key, tier=tier)
        if not note:
            raise MemoryToolError(prompts.NO_NOTE.format(key=args.key))
        text = answer(note, Selection(), 0, max_tokens, notes.counter.count)
        return ToolAnswer(text, (args.key,))
    all_notes = notes.get(category=args.category or None, tags=args.tags, tier=tier)
    page = all_notes[args.offset :]
    if not page:
        return ToolAnswer(prompts.NO_NOTES)
    return _listed(notes, page, args.offset, max_tokens)


def _listed(
    notes: ScopedMemory, page: list[MemoryItem], offset: int, max_tokens: int
) -> ToolAnswer:
    """Answer with as many notes as fit, and at least the first one, which is cut if necessary."""
    count = notes.counter.count
    longest_end = prompts.NOTES_LEFT.format(count=len(page), offset=offset + len(page))
    budget = max_tokens - count(longest_end) - 1
    lines = list[str]()
    for note in page:
        line = note_line(note)
        tokens = count(line) + 1
        if tokens > budget:
            break
        lines.append(line)
        budget -= tokens
    if not lines:
        lines.append(_shortened(page[0], budget, notes))
    keys = tuple(note.memory_key for note in page[: len(lines)])
    not_shown = len(page) - len(lines)
    if not_shown:
        lines.append(prompts.NOTES_LEFT.format(count=not_shown, offset=offset + len(lines)))
    return ToolAnswer("\n".join(lines), keys)


def _shortened(note: MemoryItem, budget: int, notes: ScopedMemory) -> str:
    """Return the reference and an excerpt of a note that is too long to be shown in full."""
    count = notes.counter.count
    text = note.ref.render()
    remaining = budget - count(text) - 1
    if remaining >= LEAST_TEXT and not is_secret(note):
        part = excerpt(note.text, "", remaining, count).text
        if part:
            text = f"{text}\n{part}"
    return truncated(text, budget, count)


def _delete(notes: ScopedMemory, args: DeleteArgs, _: int) -> ToolAnswer:
    is_deleted = notes.delete(args.key)
    if is_deleted is None:
        return ToolAnswer(prompts.DECLINED)
    if not is_deleted:
        raise MemoryToolError(prompts.NO_NOTE.format(key=args.key))
    return ToolAnswer(prompts.DELETED_NOTE.format(ref=MemoryRef(args.key)))


def _clear(notes: ScopedMemory, args: ClearArgs, _: int) -> ToolAnswer:
    count = notes.clear(args.category or None, args.tags, tier=args.tier)
    if count is None:
        return ToolAnswer(prompts.DECLINED)
    number = prompts.ONE_NOTE if count == 1 else prompts.MANY_NOTES.format(count=count)
    return ToolAnswer(prompts.CLEARED.format(count=number, tier=args.tier))


def _list(notes: ScopedMemory, _: ListArgs, max_tokens: int) -> ToolAnswer:
    text = "\n".join(_tree(notes.list_categories())) or prompts.NO_NOTES
    return ToolAnswer(truncated(text, max_tokens, notes.counter.count))


def _tree(categories: Iterable[Category], depth: int = 0) -> Iterator[str]:
    for category in categories:
        path = category.path or prompts.NO_CATEGORY
        yield prompts.CATEGORY.format(indent="  " * depth, path=path, count=category.total)
        yield from _tree(category.children, depth + 1)


SAVING = Verb(SAVE, prompts.SAVE_TOOL, SaveArgs, _save)
GETTING = Verb(GET, prompts.GET_TOOL, GetArgs, _get)
DELETING = Verb(DELETE, prompts.DELETE_TOOL, DeleteArgs, _delete)
CLEARING = Verb(CLEAR, prompts.CLEAR_TOOL, ClearArgs, _clear)
LISTING = Verb(LIST, prompts.LIST_TOOL, ListArgs, _list)
NOTE_VERBS = (SAVING, GETTING, DELETING, CLEARING, LISTING)
