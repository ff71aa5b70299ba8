"""The requests that the server answers: JSON objects in, JSON objects out, as they stand on the wire."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, cast

from memory_context import wording_for_models as prompts
from memory_context.exceptions import MemoryContextError, StoreError
from memory_context.runtime import events
from memory_context.runtime.threads import off_loop
from memory_context.tools.verbs import advice

Wire: TypeAlias = dict[str, Any]
Method: TypeAlias = Callable[[Wire], Wire]
Methods: TypeAlias = Mapping[str, Method]

# JSON-RPC 2.0, section 5.1; MCP answers an unknown tool and an unknown resource with INVALID_PARAMS.
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603


class RequestError(Exception):
    """A request that gets an error in place of a result: its JSON-RPC code, and what would be right."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


async def answered(method: Method, params: Wire) -> Wire:
    """Return the result of a request. The store is used in a thread, so that requests run in parallel.

    Raises:
        RequestError: What went wrong, in words for the client. What nobody expected is only logged.
    """
    try:
        return await off_loop(method, params)
    except RequestError:
        raise
    except MemoryContextError as error:
        raise refusal(error) from None
    except Exception as error:  # noqa: BLE001 - one request must not end the others
        events.REQUEST_BROKE.log(error, where=True)
        raise RequestError(INTERNAL_ERROR, prompts.MCP_FAILED) from None


def refusal(error: MemoryContextError, key: str = "") -> RequestError:
    """Return what a client is told of `error`, which may be about `key`."""
    if not isinstance(error, StoreError):
        return RequestError(INVALID_PARAMS, on_wire(advice(error, key)))
    events.REQUEST_FAILED.log(error)
    return RequestError(INTERNAL_ERROR, advice(error, key))


def on_wire(text: str) -> str:
    """Return `text` as UTF-8 can carry it: a lone surrogate becomes a replacement character."""
    if text.isascii():
        return text
    # By way of UTF-16, because there a pair of surrogates becomes the character that it stands for.
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def member(wire: Wire, name: str) -> Wire:
    """Return the object that stands under *name*; an empty one if none does."""
    value = wire.get(name)
    return cast("Wire", value) if isinstance(value, dict) else {}
