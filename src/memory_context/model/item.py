"""The record of one memory (`MemoryItem`), and the functions that derive facts from its content: counts, hash, identity."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import MINYEAR, UTC, datetime, timedelta
from pathlib import Path
from typing import Any, SupportsIndex, TypeAlias, cast, overload
from uuid import UUID

from memory_context.exceptions import InvalidArgumentError, InvalidContentError, RecordChangedError
from memory_context.model.checked_numbers import shown
from memory_context.model.importance import HIGHEST_PRIORITY
from memory_context.model.json_object import JsonObject
from memory_context.model.media_types_and_image_sizes import BINARY as BINARY
from memory_context.model.media_types_and_image_sizes import data_url, described, media_type_of
from memory_context.model.origin import IMPORT, Origin
from memory_context.model.reference import MemoryRef
from memory_context.model.registry_of_drawers import Displayed
from memory_context.model.scope import DETAIL, MAX_NAME
from memory_context.runtime.files_replaced_safely import draft_of

FIRST = datetime.min.replace(tzinfo=UTC)
LAST = datetime.max.replace(tzinfo=UTC)
TEXT = "text/plain"
JSON = "application/json"
ALWAYS = "always"
ASSEMBLY = "assembly"
CONVERSATION = "conversation"
PATTERN = "pattern"
PREFERENCE = "user_preference"
# The member of a conversation's metadata for turns that memory brought back. They are kept, but never found.
RECALLED = "recalled"
STORE_ITEM = "store_item"
SEALED = "application/vnd.memory-context."
QUERY_ANSWER = "query_answer"
SECRET = "secret"  # noqa: S105 - the name of a memory type

Content: TypeAlias = str | bytes
AnyContent: TypeAlias = Content | JsonObject | list[Any]
"""Content that can be kept: a dict or a list becomes JSON."""


def now() -> datetime:
    """Return this moment, in UTC."""
    return datetime.now(UTC)


def new_id() -> UUID:
    """Return a UUID in the order of time: version 7 of RFC 9562.

    Rows that are written together then lie together in the indexes. With random ids each would change a different page.
    """
    milliseconds = time.time_ns() // 1_000_000
    random = int.from_bytes(os.urandom(10))
    number = milliseconds << 80 | random
    # The variant's two bits and the version's four, in the places that the RFC gives them.
    number &= ~(0xF << 76 | 0x3 << 62)
    number |= 0x7 << 76 | 0x2 << 62
    return UUID(int=number)


@dataclass(frozen=True, slots=True)
class Match:
    """Why a search found a memory.

    Attributes:
        score: Higher is better; comparable within one search only.
        passage: The passage that matches, about 2,000 characters; empty for a secret.
        lines: The first and the last line of the passage, from 1; None if the memory was found
            by its key, description, category, tags or metadata alone, and for binary content.
        why: The words of the query that it was found by, as they are written in the query.
    """

    score: float
    passage: str
    lines: tuple[int, int] | None = None
    why: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Deletion:
    """When and why a memory was deleted."""

    memory_key: str
    deleted_at: datetime
    reason: str


@dataclass(frozen=True, slots=True)
class Conflict:
    """A record that was not written, because another one is in its place.

    Attributes:
        user_id: Its owner.
        memory_key: Its key.
        reason: What is in its way.
        id: The memory's id; None for a deletion.
    """

    user_id: str
    memory_key: str
    reason: str
    id: UUID | None = None


@dataclass(frozen=True, slots=True)
class Restored:
    """The outcome of writing another store's records unchanged.

    Attributes:
        written: How many were new here.
        unchanged: How many were here already.
        conflicts: Those that were not written.
    """

    written: int = 0
    unchanged: int = 0
    conflicts: tuple[Conflict, ...] = ()

    def __add__(self, other: Restored) -> Restored:
        """Return both together."""
        return Restored(
            self.written + other.written,
            self.unchanged + other.unchanged,
            self.conflicts + other.conflicts,
        )


LONGEST_REPR = 1000
"""The most characters of a field that a repr shows: a content can have 50 MB."""
# The fields that can reveal a secret. A hash can: short secrets are found by trying.
_REVEALING = {"content", "summary", "content_metadata", "content_hash", "identity", "match"}


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryItem(Displayed):
    """A memory: a record in a store, which lives as long as its tier prescribes.

    Times are UTC. `content` is what was stored, ``str`` or ``bytes``; a dict or list is stored as JSON text.

    Attributes:
        id: Identifies the record for good.
        user_id: The tenant.
        memory_key: Unique per user: what a reference shows.
        memory_type: ``tool_output``, ``file_content``, ``note``, ``decision``, ``secret``, …: an open list.
        tier: The tier that it belongs to: ``detail`` for folded outputs.
        tier_id: Which run, session, plan, task or project of the tier.
        agent_id: The agent that made it.
        thread_id: The conversation in which it was made.
        summary: One line that describes it.
        content: The whole text, or the bytes of binary content.
        media_type: ``text/plain``, ``application/json``, ``application/octet-stream``, …
        content_metadata: Source command, arguments, exit status, …: a JSON object.
        category: A path such as ``project-context/rockets``.
        tags: Words.
        importance: 0 to 1.
        origin: Who it comes from; if from several, the least trusted one (`lowest`).
        token_count: Tokens of a text; 0 for binary content.
        char_count: Characters of a text, bytes of binary content.
        line_count: Lines of a text; 0 for binary content.
        content_hash: SHA-256 of the content (text as UTF-8), in hex.
        identity: The same for equal contents, which are one record; None where they stay separate records.
        generated_key: Whether its key was drawn at random, so that whoever writes the key must have seen it.
        created_at: When it was stored.
        updated_at: When it was last changed.
        expires_at: When it may be deleted, or None.
        is_active: False once it was evicted: no longer offered, still redeemable.
        accessed_at: When it was last read, or None.
        access_count: How often it was read.
        match: Set on search hits only, never stored.
    """

    user_id: str
    memory_key: str
    content: Content
    memory_type: str = "tool_output"
    tier: str = DETAIL
    tier_id: str | None = None
    agent_id: str | None = None
    thread_id: str | None = None
    summary: str = ""
    media_type: str = TEXT
    content_metadata: Mapping[str, Any] = field(default_factory=JsonObject)
    category: str | None = None
    tags: tuple[str, ...] = ()
    importance: float = 0.5
    origin: Origin = IMPORT
    token_count: int = 0
    char_count: int = 0
    line_count: int = 0
    content_hash: str = ""
    identity: str | None = None
    generated_key: bool = False
    created_at: datetime = field(default_factory=now)
    updated_at: datetime = field(default_factory=now)
    expires_at: datetime | None = None
    is_active: bool = True
    accessed_at: datetime | None = None
    access_count: int = 0
    id: UUID = field(default_factory=new_id)
    match: Match | None = None

    def __repr__(self) -> str:
        """Show the beginning of every field but those that reveal a secret: tracebacks and logs show a repr, too."""
        hidden = _REVEALING if is_secret(self) else ()
        shown = list[str]()
        for one in fields(self):
            value = "…" if one.name in hidden else repr(getattr(self, one.name))
            if len(value) > LONGEST_REPR:
                value = f"{value[:LONGEST_REPR]}…"
            shown.append(f"{one.name}={value}")
        return f"{type(self).__name__}({', '.join(shown)})"

    @property
    def priority(self) -> int:
        """Return how much it matters, 1 to 10: the importance in the steps that agents use."""
        return min(max(round(self.importance * HIGHEST_PRIORITY), 1), HIGHEST_PRIORITY)

    @property
    def ref(self) -> MemoryRef:
        """Return the reference that stands for this memory in a prompt."""
        return MemoryRef(self.memory_key, self.summary, self.token_count)

    @property
    def text(self) -> str:
        """Return the content as text; for binary content, one line that describes it."""
        if isinstance(self.content, str):
            return self.content
        return f"({described(self.content, self.media_type)})"

    @property
    def data(self) -> bytes:
        """Return the content as bytes, exactly as it was stored; text as UTF-8."""
        return encoded(self.content)

    @property
    def data_url(self) -> str:
        """Return a URL that holds the content (RFC 2397), for a browser or a model that takes images."""
        charset = "" if isinstance(self.content, bytes) else ";charset=utf-8"
        return data_url(self.data, self.media_type + charset)

    def save_to(self, path: str | os.PathLike[str]) -> Path:
        """Write the content to the file *path*, exactly as it was stored, text as UTF-8; return the file's path.

        An existing file is replaced only when the new one is complete.

        Raises:
            OSError: It cannot be written.
        """
        target = Path(path)
        with draft_of(target) as draft:
            draft.write_bytes(self.data)
        return target


AnyRecord: TypeAlias = MemoryItem | Deletion
"""The record that a store holds for a key, and that is moved from one store to another."""


class MemoryList(Displayed, list[MemoryItem]):
    """A list of memories. A notebook shows hits with their passages, other records as a table."""

    __slots__ = ()

    @overload
    def __getitem__(self, index: SupportsIndex, /) -> MemoryItem: ...

    @overload
    def __getitem__(self, index: slice, /) -> MemoryList: ...

    def __getitem__(self, index: SupportsIndex | slice, /) -> MemoryItem | MemoryList:
        """Return a memory, or a slice as a list that a notebook shows in the same way."""
        chosen = super().__getitem__(index)
        if isinstance(chosen, MemoryItem):
            return chosen
        return MemoryList(chosen)


def changed(key: str) -> RecordChangedError:
    """Return the error for a record that is no longer as it was read."""
    return RecordChangedError(
        f"the memory {key!r} was changed or deleted since it was read; read it again"
    )


def is_secret(item: MemoryItem) -> bool:
    """Return whether only a memory's key may be shown: it is a secret, or compacted messages that refer to one."""
    return item.memory_type == SECRET or SECRET in item.tags


def is_query_answer(item: MemoryItem) -> bool:
    """Return whether the content is a saved answer to a query: CSV under a line of column names."""
    return item.memory_type == QUERY_ANSWER and "sql" in item.content_metadata


def to_content(value: Any) -> tuple[Content, str]:  # noqa: ANN401 - whatever a caller brings
    """Return the content to store for *value*, and its media type: text and bytes as they are, dicts and lists as JSON.

    Raises:
        InvalidContentError: It has another type, or JSON cannot express it.
    """
    if isinstance(value, str):
        return value, TEXT
    if isinstance(value, bytes | bytearray | memoryview):
        data = bytes(cast("bytes", value))
        return data, media_type_of(data)
    if isinstance(value, dict | list | tuple):
        return _json(cast("object", value), "content"), JSON
    raise InvalidContentError(
        f"content must be text, bytes, a dict or a list, not {type(value).__name__}: give str() of it, asdict() of a "
        "dataclass, or model_dump() of a pydantic model"
    )


def check_metadata(metadata: Mapping[str, Any] | None) -> JsonObject:
    """Return a copy of *metadata* as it will come back from the store.

    Raises:
        InvalidContentError: JSON cannot express it, or a text in it has NUL bytes or lone surrogates.
    """
    if not isinstance(metadata, Mapping | None):
        raise InvalidContentError(f"metadata must be a mapping, not {type(metadata).__name__}")
    text = _json(dict(metadata or {}), "metadata")
    # JSON writes a NUL byte as \u0000; after an escaped backslash these characters stand for themselves.
    without_backslashes = text.replace(r"\\", "")
    if r"\u0000" in without_backslashes or not is_storable(text):
        raise InvalidContentError(
            "metadata must not contain NUL bytes or lone surrogates; put such text into the content"
        )
    copy: JsonObject = json.loads(text)
    return copy


def _json(value: object, name: str) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidContentError(
            f"{name} cannot be expressed as JSON: {error}; write such values as text"
        ) from error


def is_same(held: MemoryItem, item: MemoryItem) -> bool:
    """Return whether *item*, whose writer chose its key, is the same memory as *held*, the record under that key."""
    if item.identity is not None or type(held.content) is not type(item.content):
        return False
    for fact in ("content_hash", "tier", "tier_id", "memory_type"):
        if getattr(held, fact) != getattr(item, fact):
            return False
    # A record without a hash is compared by its content.
    return item.content_hash != "" or held.content == item.content


def with_zone(moment: datetime | None, name: str) -> datetime | None:
    """Return *moment* if it has a time zone or is None.

    Raises:
        InvalidArgumentError: It is not a datetime, or has no time zone; the message calls it *name*.
    """
    given: object = moment
    if not isinstance(given, datetime | None):
        raise InvalidArgumentError(f"{name} is a datetime with a time zone, not {given!r:.80}")
    if moment is not None and moment.tzinfo is None:
        raise InvalidArgumentError(
            f"{name} needs a time zone: {moment!r}; datetime.now(UTC) has one"
        )
    return moment


def in_utc(moment: datetime, later: timedelta = timedelta()) -> datetime:
    """Return *moment* plus *later*, in UTC; beyond the years 1 to 9999, their first or last moment."""
    try:
        return moment.astimezone(UTC) + later
    except OverflowError:
        is_early = later < timedelta() or moment.year == MINYEAR
        return FIRST if is_early else LAST


def is_storable(text: str) -> bool:
    """Return whether a TEXT column of every supported database takes *text*: no NUL, no lone surrogate."""
    return "\0" not in text and _has_utf8(text)


def encodable(text: str) -> str:
    """Return *text* as UTF-8 can express it: with U+FFFD in place of lone surrogates."""
    if _has_utf8(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _has_utf8(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def bytes_of(content: Content) -> int:
    """Return how many bytes *content* takes in a store, a text as UTF-8."""
    if isinstance(content, bytes) or content.isascii():
        return len(content)
    return len(encoded(content))


def encoded(content: Content) -> bytes:
    """Return the bytes of *content*; text as UTF-8, in which lone surrogates survive."""
    if isinstance(content, bytes):
        return content
    return content.encode("utf-8", "surrogatepass")


def decoded(data: bytes, media_type: str) -> Content:
    """Return the content that `encoded` turned into *data*."""
    if is_text(media_type):
        return data.decode("utf-8", "surrogatepass")
    return data


def is_text(media_type: str) -> bool:
    """Return whether content of this media type is text, even if it is kept as bytes."""
    return media_type.startswith("text/") or media_type == JSON


def check_content(content: Content, media_type: str) -> None:
    """Check that *content* can be kept under its media type, which says whether it comes back as text or as bytes.

    Raises:
        InvalidContentError: Bytes have the media type of a text; or text that must be kept as bytes has another.
    """
    if isinstance(content, bytes) and is_text(media_type):
        raise InvalidContentError(
            f"bytes cannot have the media type {media_type!r} of a text; use {BINARY}"
        )
    if isinstance(content, str) and not is_text(media_type) and not is_storable(content):
        raise InvalidContentError(
            f"text with NUL bytes or lone surrogates cannot have the media type {media_type!r}; use {TEXT}"
        )


def check_names(*names: object, tags: Iterable[object] = ()) -> None:
    """Check the type, tier, category and tags of a record. None is allowed, except among the tags.

    Raises:
        InvalidArgumentError: One is not a text of 1 to 255 printable characters.
    """
    given = [name for name in names if name is not None]
    for name in (*given, *tags):
        if not isinstance(name, str) or not 0 < len(name) <= MAX_NAME or not name.isprintable():
            raise InvalidArgumentError(
                f"a type, tier, category or tag has 1 to {MAX_NAME} printable characters, not {shown(name)}"
            )


def hash_content(content: Content) -> str:
    """Return the SHA-256 of the content, in hex."""
    return hashlib.sha256(encoded(content)).hexdigest()


def identity_of(content: Content, content_hash: str) -> str:
    """Return the identity that equal contents share. Text and bytes never share one: each comes back as stored."""
    return content_hash if isinstance(content, str) else f"bytes:{content_hash}"


def count_lines(content: Content) -> int:
    """Count lines as an editor does: a last line needs no line break, an empty text has none."""
    if isinstance(content, bytes) or not content:
        return 0
    return content.count("\n") + (not content.endswith("\n"))


def facts_of(content: Content, count_tokens: Callable[[str], int]) -> JsonObject:
    """Return the counts and the hash of *content*, by the names of a record's fields."""
    return {
        "token_count": count_tokens(content) if isinstance(content, str) else 0,
        "char_count": len(content),
        "line_count": count_lines(content),
        "content_hash": hash_content(content),
    }


def recounted(item: MemoryItem, count_tokens: Callable[[str], int]) -> MemoryItem:
    """Return *item* with counts, hash and (if it had one) `identity` computed again from its content."""
    facts = facts_of(item.content, count_tokens)
    identity = identity_of(item.content, facts["content_hash"]) if item.identity else None
    return replace(item, **facts, identity=identity)


def is_intact(item: MemoryItem) -> bool:
    """Return whether the content matches its hash. Content that a store has sealed is checked by its seal alone."""
    return item.media_type.startswith(SEALED) or item.content_hash == hash_content(item.content)
