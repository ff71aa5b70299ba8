"""Whose turn it is: a workbench that was loaded from a configuration finds the context of the agent that calls it."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING
from weakref import ref

if TYPE_CHECKING:
    from memory_context.autogen.context import MemoryContext

# An agent asks its context for the messages and then starts its tool calls as tasks, which inherit the variable.
_caller: ContextVar[ref[MemoryContext] | None] = ContextVar("memory_context_caller", default=None)

_reported: ContextVar[list[str] | None] = ContextVar("memory_context_reported", default=None)


def set_caller(context: MemoryContext) -> None:
    """Note that the agent of `context` is about to call its model, and then tools."""
    _caller.set(ref(context))


def caller(user_id: str) -> MemoryContext | None:
    """Return the context of the agent that calls a tool here, if it belongs to this user."""
    reference = _caller.get()
    context = reference() if reference else None
    return context if context is not None and context.user_id == user_id else None


@contextmanager
def reporting() -> Generator[list[str]]:
    """Collect the keys that memory tools, called inside, report: those that they speak of, not those they quote."""
    keys = list[str]()
    token = _reported.set(keys)
    try:
        yield keys
    finally:
        _reported.reset(token)


def report(keys: Iterable[str]) -> None:
    """Tell whoever calls a memory tool which memories its answer speaks of."""
    reported = _reported.get()
    if reported is not None:
        reported.extend(keys)
