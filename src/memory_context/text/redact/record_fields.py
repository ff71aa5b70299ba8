"""What this library writes into records beside what people and tools said: what a user's patterns do not see."""

from __future__ import annotations

import re
from collections.abc import Iterable

from memory_context.model.item import ASSEMBLY, CONVERSATION, JSON, SECRET, STORE_ITEM, MemoryItem
from memory_context.text.redact import Form

_TAG_OF_NAMESPACE = re.compile("in_[0-9a-f]{32}")


def _paths(*paths: str) -> frozenset[tuple[str, ...]]:
    return frozenset(tuple(filter(None, path.split("."))) for path in paths)


_LINKS = (
    *(
        "redacted",
        "consolidated_from",
        "consolidated_hashes",
        "consolidated_into",
        "consolidated_by",
    ),
    *("extracted_from", "call_id", "stage_id", "tool_id", "mime_type", "mime_name", "is_image"),
)
_METADATA = {
    None: Form(kept=_paths(*_LINKS)),
    CONVERSATION: Form(kept=_paths(*_LINKS, "keys")),
    STORE_ITEM: Form(kept=_paths(*_LINKS, "namespace", "key", "index")),
}


def _members(*parents: str, of: Iterable[str]) -> tuple[str, ...]:
    return tuple(f"{parent}.{name}" for parent in parents for name in of)


# Turns, whose data may be a message of LangChain's: ids, types, and the numbers of tokens, which must stay numbers.
_TURN = Form(
    kept=_paths(
        *("role", "at", "id"),
        *_members("data", of=("id", "type", "tool_call_id", "status", "usage_metadata")),
        *_members("data.tool_calls.*", "data.invalid_tool_calls.*", of=("id", "type", "name")),
        *_members(
            "data.content.*", of=("id", "type", "tool_use_id", "tool_call_id", "name", "index")
        ),
    ),
    named=_paths("", "data", "data.tool_calls.*", "data.invalid_tool_calls.*", "data.content.*"),
    needed=frozenset(("role", "text", "data", "at", "id")),
)
# Messages that were compacted (`conversation/message.py`); an image is base64.
_MESSAGE = Form(
    kept=_paths("role", "source", "answers", *_members("calls.*", of=("id", "name")), "others.*"),
    named=_paths("", "calls.*"),
    needed=frozenset(("role", "source", "texts")),
)
# How a prompt was put together: keys and numbers, and the task.
_ASSEMBLED = Form(
    kept=_paths("budget", "room", "longest", "allocation", "tokens", "candidates", "used"),
    named=_paths(""),
    needed=frozenset(("task", "candidates", "used")),
)
_JSON = Form()


def form_of(item: MemoryItem) -> Form | None:
    """The form of each line of a content; None where it is text that somebody else wrote."""
    if item.memory_type == CONVERSATION:
        return _TURN if item.tier == CONVERSATION else _MESSAGE
    if item.memory_type == item.tier == ASSEMBLY:
        return _ASSEMBLED
    return _JSON if item.media_type == JSON else None


def metadata_form(item: MemoryItem) -> Form:
    """The form of the metadata."""
    return _METADATA.get(item.memory_type, _METADATA[None])


def is_kept_tag(item: MemoryItem, tag: str) -> bool:
    """Whether the library made this tag, and looks for it."""
    facts = item.content_metadata
    named = (f"stage:{facts.get('stage_id')}", f"tool:{facts.get('tool_id')}")
    return (
        tag == SECRET
        or tag in named
        or (item.memory_type == STORE_ITEM and bool(_TAG_OF_NAMESPACE.fullmatch(tag)))
    )
