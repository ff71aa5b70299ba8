"""Remove secrets from records: from new ones, from imports, and from those stored before there was a redactor."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from memory_context.exceptions import InvalidArgumentError, RecordChangedError
from memory_context.memory.filters_from_keywords import ANY_STATE
from memory_context.model.call_log_records import CallRecord, Decision, ModelCall
from memory_context.model.checked_arguments import check_arguments
from memory_context.model.item import (
    ASSEMBLY,
    CONVERSATION,
    JSON,
    RECALLED,
    SECRET,
    STORE_ITEM,
    AnyRecord,
    Content,
    Deletion,
    MemoryItem,
    recounted,
)
from memory_context.model.json_object import JsonObject
from memory_context.model.scope import Scope
from memory_context.stores import Administration, MemoryStore
from memory_context.stores.protocol import CallKeeper, Progress
from memory_context.text.redact import JsonForm, Redaction
from memory_context.text.redact.record_texts import NO_FORM
from memory_context.text.tokens.counter import default_counter

if TYPE_CHECKING:
    from memory_context.text.redact import Redactor

REDACTED = "redacted"
# Tags that this library writes and searches by, so they stay: secrets, stages and tools, LangGraph namespaces.
_LIBRARY_TAG = re.compile(r"secret|(?:stage|tool):.*|in_[0-9a-f]{32}")
# The members of metadata that this library writes, which stay: links to other memories, ids, MIME types.
_LINKS = frozenset(
    (
        REDACTED, "consolidated_from", "consolidated_hashes", "consolidated_into", "consolidated_by", "extracted_from",
        "call_id", "stage_id", "tool_id", "mime_type", "mime_name", "is_image",
    )
)  # fmt: skip
_METADATA = JsonForm(_LINKS)
_METADATA_OF = {
    CONVERSATION: JsonForm(_LINKS | {"keys", "facts", RECALLED}),
    STORE_ITEM: JsonForm(_LINKS | {"namespace", "key", "index", "ttl", "updated_at"}),
}
# The form of turns and of compacted messages. The data of a turn may be a LangChain message; images are base64.
MESSAGES = JsonForm(
    frozenset(
        (
            "id", "type", "role", "at", "source", "name", "answers", "others", "status", "index", "tool_call_id",
            "tool_use_id", "usage_metadata",
        )
    ),
    nested=frozenset(("data", "content", "calls", "tool_calls", "invalid_tool_calls")),
    shows_names=False,
)  # fmt: skip


def redacted_facts(item: MemoryItem, redaction: Redaction) -> MemoryItem:
    """Return *item* without secrets in its summary, metadata, category and tags; its metadata counts what was removed."""
    if not redaction.redactor:
        return item
    form = _METADATA_OF.get(item.memory_type, _METADATA)
    metadata = redaction.value(dict(item.content_metadata), form)
    if item.memory_type == CONVERSATION and RECALLED in metadata:
        metadata[RECALLED] = _redacted_turns(metadata[RECALLED], redaction)
    category = item.category
    # The category of a LangGraph item is its namespace, by which it is found.
    if category and item.memory_type != STORE_ITEM:
        category = redaction.text(category)
    summary = redaction.line(item.summary)
    tags = [tag if _LIBRARY_TAG.fullmatch(tag) else redaction.text(tag) for tag in item.tags]
    # Last, when every secret that was removed has been counted.
    metadata = noted(metadata, redaction)
    return replace(
        item, summary=summary, content_metadata=metadata, category=category, tags=tuple(tags)
    )


def _redacted_turns(recalled: Any, redaction: Redaction) -> Any:  # noqa: ANN401 - whatever a file holds
    """Return recalled turns, which are lines of JSON like the content's, without secrets."""
    try:
        return [[place, redaction.json(line, MESSAGES)] for place, line in recalled]
    except (ValueError, TypeError, RecursionError):
        return redaction.value(recalled)


def noted(metadata: Mapping[str, Any], redaction: Redaction) -> JsonObject:
    """Return *metadata* with the counts of removed secrets; another value of the caller's under that name stays."""
    facts = dict(metadata)
    if redaction.counts:
        with suppress(TypeError, ValueError):
            facts[REDACTED] = dict(redaction.counts + Counter(dict(metadata.get(REDACTED, {}))))
    return facts


def with_redacted_content(item: MemoryItem, redaction: Redaction) -> MemoryItem:
    """Return *item* without secrets in its content; in JSON, each text is redacted by itself."""
    content = _redacted_content(item, redaction)
    return item if content == item.content else replace(item, content=content)


def _redacted_content(item: MemoryItem, redaction: Redaction) -> Content:
    content = item.content
    if not redaction.redactor or isinstance(content, bytes) or item.memory_type == ASSEMBLY:
        return content
    if item.memory_type == CONVERSATION:
        return _redacted_json(content.split("\n"), redaction, MESSAGES)
    if item.media_type == JSON:
        return _redacted_json([content], redaction)
    return redaction.text(content)


def _redacted_json(lines: Sequence[str], redaction: Redaction, form: JsonForm = NO_FORM) -> str:
    try:
        return "\n".join(redaction.json(line, form) for line in lines)
    except (ValueError, RecursionError):  # somebody edited it, and it is no longer JSON
        return redaction.text("\n".join(lines))


def redacted_call(what: ModelCall | Decision, redaction: Redaction) -> ModelCall | Decision:
    """Return a model call or a decision without secrets, which a judge may have quoted.

    Raises:
        RedactionTimeoutError: A pattern took too long.
    """
    if isinstance(what, ModelCall):
        lines = what.prompt.split("\n") if what.prompt else []
        return replace(what, prompt=_redacted_json(lines, redaction, MESSAGES))
    return replace(
        what,
        asked=redaction.line(what.asked),
        searched=what.searched and redaction.line(what.searched),
        why=redaction.line(what.why),
    )


def redacted_record(
    item: MemoryItem, redaction: Redaction, count_tokens: Callable[[str], int]
) -> MemoryItem:
    """Return a record without secrets. If that changes its content, its counts and hash are computed again.

    It then has no identity: contents that differed only in their secrets stay separate records.
    """
    if item.memory_type == SECRET:
        return item
    cleared = redacted_facts(with_redacted_content(item, redaction), redaction)
    if cleared.content == item.content:
        return cleared
    return recounted(replace(cleared, identity=None), count_tokens)


def redacted_import(record: AnyRecord, redactor: Redactor) -> AnyRecord:
    """Return a record from another store without secrets."""
    redaction = Redaction(redactor)
    if isinstance(record, Deletion):
        return replace(record, reason=redaction.text(record.reason))
    cleared = redacted_record(record, redaction, default_counter().count)
    redactor.tell(redaction.counts)
    return cleared


def redact_memories(
    store: MemoryStore,
    redactor: Redactor,
    *,
    user_id: str | int | None = None,
    progress: Progress | None = None,
) -> dict[str, int]:
    """Remove the secrets from what was stored without a redactor; return how many, by kind.

    Both memories and the records of model calls are redacted. Keys and the reasons of deletions stay
    as they are. An interrupted call may be repeated.

    Args:
        store: Where the memories are.
        redactor: Finds the secrets.
        user_id: Whose memories; without it, everybody's.
        progress: Called with how many memories are done, and of how many.

    Raises:
        RedactionTimeoutError: A pattern took too long.
        InvalidArgumentError: There is no `user_id`, and the store cannot list its users.
        StoreError: The store failed; what was done until then is done.
    """
    check_arguments(redactor=redactor, progress=progress)
    if redactor is None:  # pyright: ignore[reportUnnecessaryComparison] # a store without one has None
        raise InvalidArgumentError("redactor must be a redactor, such as Redactor(), not None")
    scopes = [Scope(user) for user in users_of(store, user_id)]
    total = sum(store.count(scope, ANY_STATE) for scope in scopes)
    counts = Counter[str]()
    done = 0
    for scope in scopes:
        for item in store.list_all(scope):
            counts += _redact_stored(store, item, redactor)
            done += 1
            if progress:
                progress(done, max(done, total))

    def without_secrets(record: CallRecord) -> CallRecord | None:
        """Return the record without its secrets; None if it has none."""
        redaction = Redaction(redactor)
        cleared = replace(record, what=redacted_call(record.what, redaction))
        if cleared == record:
            return None
        counts.update(redaction.counts)
        redactor.tell(redaction.counts)
        return cleared

    if isinstance(store, CallKeeper):
        # This also overwrites what is still in the database's log and index.
        only = None if user_id is None else scopes[0].user_id
        store.rewrite_calls(only, without_secrets)
    return dict(counts)


def users_of(store: MemoryStore, user_id: str | int | None) -> list[str]:
    """Return the id of the given user; without one, the ids of all users of the store.

    Raises:
        InvalidArgumentError: The store cannot list its users.
    """
    check_arguments(store=store)
    if user_id is not None:
        return [Scope(cast("str", user_id)).user_id]
    if isinstance(store, Administration):
        return store.users()
    raise InvalidArgumentError(f"{store!r} cannot list its users; give a user_id")


def _redact_stored(store: MemoryStore, item: MemoryItem | None, redactor: Redactor) -> Counter[str]:
    """Write a record without its secrets; return how many it had."""
    while item:
        redaction = Redaction(redactor)
        cleared = redacted_record(item, redaction, default_counter().count)
        if cleared == item:
            break
        try:
            store.put(Scope(item.user_id), cleared, replaces=item)
        except RecordChangedError:  # by somebody else, meanwhile
            item = store.get(Scope(item.user_id), item.memory_key)
        else:
            redactor.tell(redaction.counts)
            return redaction.counts
    return Counter()
