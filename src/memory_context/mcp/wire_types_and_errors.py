"""Answer the requests of MCP clients: the types of messages as they are on the wire, and the errors of the protocol."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, cast

from memory_context import sentences_models_read as prompts
from memory_context.exceptions import MemoryContextError, StoreError
from memory_context.model.item import encodable
from memory_context.runtime import log_events
from memory_context.runtime.threads import off_loop
from memory_context.tools.tool_calls_and_answers import advice

Wire: TypeAlias = dict[str, Any]
Method: TypeAlias = Callable[[Wire], Wire]
Methods: TypeAlias = Mapping[str, Method]

# JSON-RPC 2.0, section 5.1. MCP uses INVALID_PARAMS for unknown tools and resources.
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


class RequestError(Exception):
    """An error to answer a request with: the JSON-RPC code, and a message that says what would be right."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


async def answered(method: Method, params: Wire) -> Wire:
    """Return the result of a request. The method runs in a thread, so that requests are answered in parallel.

    Raises:
        RequestError: The request failed. The details of an unexpected error are logged, not sent to the client.
    """
    try:
        return await off_loop(method, params)
    except RequestError:
        raise
    except MemoryContextError as error:
        raise refusal(error) from None
    except Exception as error:  # noqa: BLE001 - one request must not end the others
        log_events.REQUEST_BROKE.log(error, where=True)
        raise RequestError(INTERNAL_ERROR, prompts.MCP_FAILED) from None


def refusal(error: MemoryContextError, key: str = "") -> RequestError:
    """Return the error that the client gets for `error`, which may be about the memory `key`."""
    if not isinstance(error, StoreError):
        return RequestError(INVALID_PARAMS, encodable(advice(error, key)))
    log_events.REQUEST_FAILED.log(error)
    return RequestError(INTERNAL_ERROR, advice(error, key))


def readable(line: str) -> str:
    """Return a line of JSON with replacement characters for halves of surrogate pairs, which the SDKs refuse to read.

    A program in JavaScript sends a half if it cuts a text in the middle of an emoji.
    """
    if not _ESCAPED_SURROGATE.search(line):
        return line
    try:
        return encodable(json.dumps(json.loads(line), ensure_ascii=False))
    except (ValueError, RecursionError):
        return line


def member(wire: Wire, name: str) -> Wire:
    """Return the object under *name*; an empty one if there is no object."""
    value = wire.get(name)
    return cast("Wire", value) if isinstance(value, dict) else {}
