"""The tools with which an agent reads, searches and stores memories: their arguments and answers."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any, cast

from pydantic import Field, field_validator
from pydantic.json_schema import SkipJsonSchema

from memory_context import sentences_models_read as prompts
from memory_context.conversation.recall.stored_turns_within_budget import spoken
from memory_context.exceptions import InvalidTierError
from memory_context.memory.manager import MemoryManager
from memory_context.memory.notes_in_open_tiers import check_content
from memory_context.model.item import MemoryItem, is_secret
from memory_context.model.origin import MODEL
from memory_context.model.scope import OPEN_TIERS
from memory_context.model.selection import Selection
from memory_context.model.tiers_and_limits import policies_with
from memory_context.model.tool_names import RETRIEVE, SEARCH, STORE
from memory_context.text.excerpt.excerpt import excerpt
from memory_context.text.excerpt.turns_of_conversations import is_conversation
from memory_context.tools.arguments_as_models_write_them import (
    Key,
    LenientArgs,
    Limit,
    Lines,
    Offset,
    Tags,
    Text,
    Tier,
    as_moment,
)
from memory_context.tools.tool_calls_and_answers import ToolAnswer, Verb

# Enough to tell whether it is worth reading on.
PASSAGE_TOKENS = 60
QUERY_SHOWN = 80


class RetrieveArgs(LenientArgs):
    """The arguments of `retrieve_memory`. The key may be a reference, and a selector may be a list.

    Here and below, arguments of the type `SkipJsonSchema` are accepted, but left out of the schema, which costs tokens
    at each call.
    """

    key: Key
    lines: Lines = ""
    contains: SkipJsonSchema[str] = ""
    pattern: str = ""
    context: SkipJsonSchema[Offset] = 0
    path: str = ""
    where: str = ""
    columns: SkipJsonSchema[str] = ""
    query: str = ""
    offset: Offset = 0

    @property
    def selection(self) -> Selection:
        """Return the part of the memory that the arguments select."""
        texts = self.model_dump(exclude={"key", "offset", "context"})
        # Models give a context with other selectors, too, where it has no meaning.
        context = self.context if self.contains or self.pattern else 0
        return Selection(**{name: text or None for name, text in texts.items()}, context=context)

    @field_validator("contains", "pattern", "path", "where", "columns", "query", mode="before")
    @classmethod
    def _plain_text(cls, value: Any) -> Any:  # noqa: ANN401 - whatever a model writes
        if isinstance(value, list):
            return ", ".join(map(str, cast("Iterable[Any]", value)))
        return "" if value is None else value


class SearchArgs(LenientArgs):
    """The arguments of `search_memory`."""

    query: str = ""
    category: SkipJsonSchema[str] = ""
    tags: SkipJsonSchema[Tags] = Field(default=[])
    tier: SkipJsonSchema[Tier] = ""
    since: str = ""
    until: SkipJsonSchema[str] = ""
    limit: SkipJsonSchema[Limit] = 5

    @field_validator("since", "until")
    @classmethod
    def _is_moment(cls, value: str) -> str:
        as_moment(value)
        return value


class StoreArgs(LenientArgs):
    """The arguments of `store_memory`."""

    content: Text
    description: str = ""
    type: SkipJsonSchema[str] = "note"


def _retrieve(manager: MemoryManager, args: RetrieveArgs, max_tokens: int) -> ToolAnswer:
    text = manager.answer(args.key, args.selection, offset=args.offset, max_tokens=max_tokens)
    return ToolAnswer(text, (args.key,))


def _search(manager: MemoryManager, args: SearchArgs, max_tokens: int) -> ToolAnswer:
    search = partial(
        manager.search,
        args.query,
        args.limit,
        category=args.category or None,
        tags=args.tags or None,
        tier=args.tier or None,
        since=as_moment(args.since),
        until=as_moment(args.until, end=True),
    )
    # A part of a word, such as "timeo", is not in the index, so it is searched for in the texts themselves.
    hits = search() or search(mode="substring")
    if not hits:
        _check_tier(args.tier)
        return ToolAnswer(prompts.FOUND_NOTHING.format(query=args.query[:QUERY_SHOWN]))
    shown = list[str]()
    for hit in hits:
        shown.append(_hit_text(manager, hit, args.query))
        # The first hit is always shown, so that a search that finds something never has an empty answer.
        if len(shown) > 1 and manager.counter.exceeds("\n".join(shown), max_tokens):
            shown.pop()
            break
    return ToolAnswer("\n".join(shown), tuple(hit.memory_key for hit in hits[: len(shown)]))


def _hit_text(manager: MemoryManager, hit: MemoryItem, query: str) -> str:
    """Return the reference of a hit with the passage that matches the query; for a secret, the reference alone."""
    if is_secret(hit):
        return prompts.FOUND.format(ref=hit.ref, passage=prompts.HIDDEN)
    text = hit.text
    first = 1
    if hit.match and hit.match.lines:
        text = hit.match.passage
        first = hit.match.lines[0]
    if is_conversation(hit.text):
        # Each message stays on its line, so that the line numbers are those of the stored text.
        text = "\n".join(spoken(line).replace("\n", " ") for line in text.split("\n"))
    passage = excerpt(text, query, PASSAGE_TOKENS, manager.counter.count, first_line=first)
    return prompts.FOUND.format(ref=hit.ref, passage=passage.text)


def _check_tier(tier: str) -> None:
    """Check the name of a tier in which nothing was found; "" means that none was given.

    Raises:
        InvalidTierError: There is no such tier.
    """
    known = (*policies_with(), *OPEN_TIERS)
    if tier and tier not in known:
        raise InvalidTierError(f"there is no tier {tier!r:.80}; there are {', '.join(known)}")


def _store(manager: MemoryManager, args: StoreArgs, _: int) -> ToolAnswer:
    check_content(args.content)
    item = manager.remember(args.content, args.description or None, args.type, origin=MODEL)
    return ToolAnswer(prompts.STORED.format(ref=item.ref), (item.memory_key,))


RETRIEVING = Verb(RETRIEVE, prompts.RETRIEVE_TOOL, RetrieveArgs, _retrieve)
SEARCHING = Verb(SEARCH, prompts.SEARCH_TOOL, SearchArgs, _search)
STORING = Verb(STORE, prompts.STORE_TOOL, StoreArgs, _store)
