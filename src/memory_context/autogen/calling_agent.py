"""Find the context of the agent that calls a tool, and collect the keys that memory tools report.

A tool or workbench that was loaded from a configuration has no reference to the agent's own `MemoryContext`.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING
from weakref import ref

if TYPE_CHECKING:
    from memory_context.autogen.context import MemoryContext

# An agent gets the messages from its context and then starts its tool calls as tasks, which inherit this variable.
_caller: ContextVar[ref[MemoryContext] | None] = ContextVar("memory_context_caller", default=None)

_reported: ContextVar[list[str] | None] = ContextVar("memory_context_reported", default=None)


def set_caller(context: MemoryContext) -> None:
    """Note that the agent of `context` is about to call its model, and then tools."""
    _caller.set(ref(context))


def caller(user_id: str) -> MemoryContext | None:
    """Return the context of the agent that makes the current tool call; None if it belongs to another user."""
    reference = _caller.get()
    context = reference() if reference else None
    if context and context.user_id == user_id:
        return context
    return None


@contextmanager
def reporting() -> Generator[list[str]]:
    """Collect the keys that memory tools report inside the block: of the memories that an answer is about.

    Memories that an answer only quotes are not reported.
    """
    keys = list[str]()
    token = _reported.set(keys)
    try:
        yield keys
    finally:
        _reported.reset(token)


def report(keys: Iterable[str]) -> None:
    """Report the keys of the memories that a memory tool's answer is about, to `reporting`."""
    reported = _reported.get()
    if reported is not None:
        reported.extend(keys)
