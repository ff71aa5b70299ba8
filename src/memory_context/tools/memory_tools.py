"""The verbs by which an agent reads, searches and keeps memories: their arguments and their answers, for a model."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Generic, Protocol, TypeVar, cast

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from memory_context.exceptions import (
    InvalidKeyError,
    InvalidTierError,
    MemoryContextError,
    MemoryDeletedError,
    MemoryNotFoundError,
    StoreError,
)
from memory_context.memory.manager import MemoryManager
from memory_context.model.item import MemoryItem, in_utc, is_secret
from memory_context.model.reference import MemoryRef, key_in
from memory_context.model.scope import OPEN_TIERS
from memory_context.model.selection import Selection
from memory_context.model.tier import policies_with
from memory_context.model.tool_names import RETRIEVE, SEARCH, STORE
from memory_context.runtime import prompts
from memory_context.text.excerpt.excerpt import excerpt
from memory_context.text.read.paging import truncated
from memory_context.text.tokens.counter import TokenCounter

LEAST_ANSWER = 200
MAX_HITS = 20
PASSAGE_TOKENS = 60
_SHOWN_LINES = re.compile(r"lines (\d+-\d+(?:, \d+-\d+)*) of \d+")
_RUN = re.compile(r"(\d+)-(\d+)")


class Counting(Protocol):
    """Memories that verbs work on."""

    @property
    def counter(self) -> TokenCounter:
        """What counts the tokens of answers."""
        ...


Memories = TypeVar("Memories", bound=Counting)


def plain_schema(schema: dict[str, Any]) -> None:
    """Take away what tells a model nothing, which reads the schema at every call: titles and defaults of null."""
    for argument in schema.get("properties", {}).values():
        argument.pop("title", None)
        if argument.get("default", "") is None:
            del argument["default"]


def _as_text(value: Any) -> Any:  # noqa: ANN401 - whatever a model writes
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else value


def _as_offset(value: Any) -> Any:  # noqa: ANN401 - whatever a model writes
    return max(0, value) if isinstance(value, int) else value or 0


Text = Annotated[str, BeforeValidator(_as_text)]
Offset = Annotated[int, BeforeValidator(_as_offset)]


class RetrieveArgs(BaseModel):
    """The arguments of `retrieve_memory`, as models write them: whole references, numbers and lists are understood."""

    model_config = ConfigDict(json_schema_extra=plain_schema)

    key: str = Field(description=prompts.RETRIEVE_KEY)
    lines: str = Field(default="", description=prompts.RETRIEVE_LINES)
    contains: str = Field(default="", description=prompts.RETRIEVE_CONTAINS)
    pattern: str = Field(default="", description=prompts.RETRIEVE_PATTERN)
    context: Offset = Field(default=0, description=prompts.RETRIEVE_CONTEXT)
    path: str = Field(default="", description=prompts.RETRIEVE_PATH)
    where: str = Field(default="", description=prompts.RETRIEVE_WHERE)
    columns: str = Field(default="", description=prompts.RETRIEVE_COLUMNS)
    query: str = Field(default="", description=prompts.RETRIEVE_QUERY)
    offset: Offset = Field(default=0, description=prompts.RETRIEVE_OFFSET)

    @property
    def selection(self) -> Selection:
        """Which part is meant."""
        texts = self.model_dump(exclude={"key", "offset", "context"})
        context = self.context if self.contains or self.pattern else 0
        return Selection(**{name: text or None for name, text in texts.items()}, context=context)

    @field_validator("key", mode="before")
    @classmethod
    def _plain_key(cls, value: Any) -> Any:  # noqa: ANN401 - whatever a model writes
        return key_in(value).strip(" `\"'[]") if isinstance(value, str) else value

    @field_validator("lines", mode="before")
    @classmethod
    def _plain_lines(cls, value: Any) -> str:  # noqa: ANN401 - whatever a model writes
        return lines_as_meant(value)

    @field_validator("contains", "pattern", "path", "where", "columns", "query", mode="before")
    @classmethod
    def _plain_text(cls, value: Any) -> Any:  # noqa: ANN401 - whatever a model writes
        if isinstance(value, list):
            return ", ".join(map(str, cast("Iterable[Any]", value)))
        return "" if value is None else value


class NoteArgs(BaseModel):
    """Arguments that speak of tiers and tags, as models write them: see `as_meant`."""

    model_config = ConfigDict(json_schema_extra=plain_schema)

    @model_validator(mode="before")
    @classmethod
    def _as_meant(cls, values: Any) -> Any:  # noqa: ANN401 - whatever a model writes
        return as_meant(values)


class SearchArgs(NoteArgs):
    """The arguments of `search_memory`."""

    query: str = Field(description=prompts.SEARCH_QUERY)
    category: str = Field(default="", description=prompts.SEARCH_CATEGORY)
    tags: list[str] = Field(default=[], description=prompts.SEARCH_TAGS)
    tier: str = Field(default="", description=prompts.SEARCH_TIER)
    since: str = Field(default="", description=prompts.SEARCH_SINCE)
    until: str = Field(default="", description=prompts.SEARCH_UNTIL)
    limit: int = Field(default=5, description=prompts.SEARCH_LIMIT)

    @field_validator("limit")
    @classmethod
    def _within_limits(cls, value: int) -> int:
        return min(max(value, 1), MAX_HITS)

    @field_validator("since", "until")
    @classmethod
    def _is_moment(cls, value: str) -> str:
        moment(value)
        return value

    @property
    def narrow(self) -> dict[str, Any]:
        """What narrows the search, as `MemoryManager.search` takes it."""
        given = {
            "category": self.category or None,
            "tags": self.tags or None,
            "tier": self.tier or None,
            "since": moment(self.since),
            "until": moment(self.until, end=True),
        }
        return {name: value for name, value in given.items() if value is not None}


class StoreArgs(BaseModel):
    """The arguments of `store_memory`."""

    content: Text = Field(description=prompts.STORE_CONTENT)
    description: str = Field(default="", description=prompts.STORE_DESCRIPTION)
    type: str = Field(default="note", description=prompts.STORE_TYPE)


class MemoryToolError(Exception):
    """What went wrong, in words for the model: what to do next."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a verb answers.

    Attributes:
        text: For the model.
        keys: The memories that it speaks of.
    """

    text: str
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Verb(Generic[Memories]):
    """One of the tools on a user's memories, whichever framework calls it.

    Attributes:
        name: What models call it.
        description: What models are told of it.
        args: Its arguments.
        work: Gives the answer, within a number of tokens; of a `MemoryManager`, or what else the verb works on.
    """

    name: str
    description: str
    args: type[BaseModel]
    work: Callable[[Memories, Any, int], Answer]

    def answer(self, memories: Memories, args: Any, max_tokens: int) -> Answer:  # noqa: ANN401 - each verb's own
        """The answer; it never takes more than `max_tokens`, or 200 if that is less.

        Raises:
            MemoryToolError: What went wrong, and what to do next.
        """
        most = max(max_tokens, LEAST_ANSWER)
        try:
            return self.work(memories, args, most)
        except MemoryContextError as error:
            told = advice(error, getattr(args, "key", ""))
            raise MemoryToolError(truncated(told, most, memories.counter.count)) from None


def _retrieved(manager: MemoryManager, args: RetrieveArgs, most: int) -> Answer:
    return Answer(
        manager.answer(args.key, args.selection, offset=args.offset, max_tokens=most), (args.key,)
    )


def _searched(manager: MemoryManager, args: SearchArgs, most: int) -> Answer:
    hits = manager.search(args.query, args.limit, **args.narrow)
    if not hits:
        check_tier(args.tier)
    found = [_found(manager, hit, args.query) for hit in hits]
    shown = found[:1]
    for part in found[1:]:
        if manager.counter.exceeds("\n".join((*shown, part)), most):
            break
        shown.append(part)
    text = "\n".join(shown) or prompts.FOUND_NOTHING.format(query=args.query[:80])
    return Answer(text, tuple(hit.memory_key for hit in hits[: len(shown)]))


def _found(manager: MemoryManager, hit: MemoryItem, query: str) -> str:
    if is_secret(hit):
        return prompts.FOUND.format(ref=hit.ref, passage=prompts.HIDDEN)
    found = hit.match if hit.match and hit.match.lines else None
    text, first = (found.passage, found.lines[0]) if found and found.lines else (hit.text, 1)
    passage = excerpt(text, query, PASSAGE_TOKENS, manager.counter.count, first_line=first)
    return prompts.FOUND.format(ref=hit.ref, passage=passage.text)


def _stored(manager: MemoryManager, args: StoreArgs, _: int) -> Answer:
    item = manager.remember(args.content, args.description or None, args.type)
    return Answer(prompts.STORED.format(ref=item.ref), (item.memory_key,))


RETRIEVING = Verb(RETRIEVE, prompts.RETRIEVE_TOOL, RetrieveArgs, _retrieved)
SEARCHING = Verb(SEARCH, prompts.SEARCH_TOOL, SearchArgs, _searched)
STORING = Verb(STORE, prompts.STORE_TOOL, StoreArgs, _stored)
VERBS = (RETRIEVING, SEARCHING, STORING)


def check_tier(tier: str) -> None:
    """Check the name of a tier in which nothing was found; "" is none.

    Raises:
        InvalidTierError: Nothing can be there.
    """
    known = (*policies_with(), *OPEN_TIERS)
    if tier and tier not in known:
        message = f"there is no tier {tier!r:.80}; there are {', '.join(known)}"
        raise InvalidTierError(message)


def as_meant(values: Any) -> Any:  # noqa: ANN401 - whatever a model writes
    """Arguments of verbs on notes in the form that they are declared in: a compartment is a tier, words are tags."""
    if not isinstance(values, Mapping):
        return values
    given = {
        name: value
        for name, value in cast("Mapping[str, Any]", values).items()
        if value is not None
    }
    if "compartment" in given:
        given.setdefault("tier", given.pop("compartment"))
    if isinstance(given.get("tier"), str):
        given["tier"] = given["tier"].strip().lower()
    if isinstance(given.get("tags"), str):
        given["tags"] = [word.strip() for word in given["tags"].split(",") if word.strip()]
    return given


def moment(text: str, *, end: bool = False) -> datetime | None:
    """The moment that a model writes, UTC where it says no zone; of a day its beginning, or with `end` its end.

    Raises:
        ValueError: It is none.
    """
    if not text.strip():
        return None
    try:
        read = datetime.fromisoformat(text.strip())
    except ValueError:
        raise ValueError(prompts.NO_MOMENT) from None
    whole_day = end and len(text.strip()) == len("2026-01-31")
    return in_utc(read if read.tzinfo else read.replace(tzinfo=UTC), timedelta(days=whole_day))


def lines_as_meant(value: Any) -> str:  # noqa: ANN401 - whatever a model writes
    """Lines in the form that `parse_ranges` takes, of the forms that models write: 120, [120, 180], "L120 to L180"."""
    if isinstance(value, list | tuple):
        parts = [str(part) for part in cast("Iterable[Any]", value)]
        value = ("-" if len(parts) == 2 and all(map(str.isdigit, parts)) else ",").join(parts)
    text = str(value).strip().lower() if value is not None else ""
    if text in ("", "all", "none", "null"):
        return ""
    numbers = re.findall(r"\d+", text)
    if re.fullmatch(r"(?:lines?|l)?\s*\d+\s*(?:-|\u2013|:|\.\.|to)\s*l?\s*\d+", text):
        return f"{max(1, int(numbers[0]))}-{numbers[1]}"
    return re.sub(r"^(?:lines?|l)\s*", "", text)


def lines_shown(text: str) -> Iterator[tuple[str, tuple[int, int]]]:
    """The key and the whole lines that an answer of `retrieve_memory` shows, one pair for each run of lines."""
    first, _, rest = text.partition("\n")
    refs, shown = MemoryRef.find_all(first), _SHOWN_LINES.match(rest)
    if refs and shown:
        yield from ((refs[0].key, (int(run[1]), int(run[2]))) for run in _RUN.finditer(shown[1]))


def problem_with(error: ValidationError) -> str:
    """Arguments that are of no use, in words for a model: which, and why."""
    first = error.errors()[0]
    name = ".".join(map(str, first["loc"])) or "arguments"
    return prompts.WRONG_ARGUMENT.format(name=name, problem=first["msg"])


def advice(error: MemoryContextError, key: str) -> str:
    """What a model should do next, after `error`, which may be about `key`."""
    match error:
        case MemoryDeletedError():
            return prompts.DELETED.format(message=error)
        case MemoryNotFoundError():
            return prompts.NOT_FOUND.format(key=key)
        case InvalidKeyError():
            return prompts.BAD_KEY.format(message=error)
        case StoreError():
            return prompts.STORE_FAILED
        case _:
            return prompts.BAD_ARGUMENT.format(message=error)
