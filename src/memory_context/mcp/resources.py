"""List and read memories as MCP resources, with the URIs ``memory://{key}``."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeAlias
from urllib.parse import unquote
from uuid import UUID

from memory_context import sentences_models_read as prompts
from memory_context.exceptions import MemoryContextError
from memory_context.mcp.wire_types_and_errors import (
    INVALID_PARAMS,
    RequestError,
    Wire,
    refusal,
)
from memory_context.memory.manager import MemoryManager
from memory_context.model.item import MemoryItem, encodable, is_secret
from memory_context.stores import Filters

# Creation time and id of the last memory of a page.
ResourcePosition: TypeAlias = tuple[datetime, UUID]

SCHEME = "memory://"
TEMPLATE = SCHEME + "{key}"
PAGE = 50
# A store reads whole records, and fifty records of 50 MB each would not fit into the process's memory.
BATCH = 5
MAX_READ = 16_000_000  # characters


@dataclass(frozen=True)
class Resources:
    """The memories of one user, listed in pages of *page* memories."""

    manager: MemoryManager
    page: int = PAGE

    def listed(self, params: Wire) -> Wire:
        """Answer ``resources/list``: the active memories, newest first; of secrets, only their names.

        A page has at most 50 memories, and fewer if they are large, since a store reads whole records.

        Raises:
            RequestError: The cursor is not one of this server's.
            StoreError: The store failed.
        """
        cursor = params.get("cursor")
        after: ResourcePosition | None = None if cursor is None else _parsed(cursor)
        items = list[MemoryItem]()
        more = True
        while more and len(items) < self.page:
            # Checked between batches, so a page may exceed the limit by one batch.
            if sum(item.char_count for item in items) >= MAX_READ:
                break
            batch = self._batch(after)
            more = len(batch) == BATCH
            items += batch
            if items:
                after = items[-1].created_at, items[-1].id
        page: Wire = {"resources": [_resource(item) for item in items]}
        if more:
            last = items[-1]
            page["nextCursor"] = f"{last.created_at.isoformat()} {last.id}"
        return page

    def templates(self, _: Wire) -> Wire:
        """Answer ``resources/templates/list``."""
        template = {"uriTemplate": TEMPLATE, "name": "memory", "description": prompts.MCP_TEMPLATE}
        return {"resourceTemplates": [template]}

    def read(self, params: Wire) -> Wire:
        """Answer ``resources/read``: the whole content; binary content in base64.

        Raises:
            RequestError: There is no such memory, it is a secret, or the store failed.
        """
        uri = str(params["uri"])
        key = key_of(uri)
        try:
            item = self.manager.fetch(key)
        except MemoryContextError as error:
            raise refusal(error, key) from None
        if is_secret(item):
            raise RequestError(INVALID_PARAMS, prompts.MCP_SECRET.format(key=key))
        self.manager.audit("expanded", key)
        content = {"uri": uri, "mimeType": item.media_type}
        if isinstance(item.content, bytes):
            content["blob"] = base64.b64encode(item.content).decode()
        else:
            content["text"] = encodable(item.content)
        return {"contents": [content]}

    def _batch(self, after: ResourcePosition | None) -> list[MemoryItem]:
        """Return the next batch, newest first: from the beginning, or after a position."""
        if after is None:
            return self._filtered({}, BATCH)
        moment, memory_id = after
        # Memories with the same creation time are ordered by id.
        same = self._filtered({"created_at": moment, "id": {"$lt": memory_id}}, BATCH)
        if len(same) == BATCH:
            return same
        return same + self._filtered({"created_at": {"$lt": moment}}, BATCH - len(same))

    def _filtered(self, filters: Filters, limit: int) -> list[MemoryItem]:
        return self.manager.memory_store.query(self.manager.scope, filters, limit=limit)


def _resource(item: MemoryItem) -> Wire:
    """Return a memory's entry in the list; a secret's has only what its reference tells."""
    resource: Wire = {
        "uri": SCHEME + item.memory_key,
        "name": item.memory_key,
        "description": item.ref.description,
        "mimeType": item.media_type,
        "annotations": {"priority": item.importance, "lastModified": item.updated_at.isoformat()},
    }
    if not is_secret(item):
        resource["size"] = len(item.data)
    return resource


def key_of(uri: str) -> str:
    """Return the key in a URI, even if a client has percent-encoded it or added a slash at the end."""
    if uri.lower().startswith(SCHEME):
        quoted = uri[len(SCHEME) :].removesuffix("/")
        return unquote(quoted)
    message = prompts.MCP_NO_SUCH_RESOURCE.format(uri=encodable(uri[:80]))
    raise RequestError(INVALID_PARAMS, message)


def _parsed(cursor: str) -> ResourcePosition:
    moment, _, memory_id = cursor.partition(" ")
    try:
        return datetime.fromisoformat(moment).astimezone(UTC), UUID(memory_id)
    except (ValueError, OverflowError):
        raise RequestError(INVALID_PARAMS, prompts.MCP_NO_SUCH_PAGE) from None
