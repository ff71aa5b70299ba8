"""Giving up a PostgreSQL server that says nothing any more, although its connections stay open.

A process that is stopped, a proxy or a network that passes no bytes: no driver and no timer of TCP
notices all of them, because a kernel may go on to confirm what it receives.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import ref

from memory_context.runtime import deadlines

if TYPE_CHECKING:
    from psycopg import Connection

T = TypeVar("T")


def give_up(connection: Connection[Any], _record: object = None) -> None:
    """Let *connection* wait for an answer no longer than `deadlines.patience` says, then close it."""
    import psycopg  # noqa: PLC0415 - is loaded by who has a connection

    wait = type(connection).wait
    # Not the connection itself, which would then hold itself.
    there = ref(connection)

    def bounded(steps: Generator[Any, Any, T], *args: Any, **options: Any) -> T:  # noqa: ANN401 - psycopg's
        waiting: Any = there()
        seconds = deadlines.patience()
        if seconds is None:
            return wait(waiting, steps, *args, **options)
        try:
            return wait(waiting, _answered(steps, seconds), *args, **options)
        except TimeoutError as error:
            waiting.close()
            raise psycopg.OperationalError(str(error)) from None

    connection.wait = bounded  # type: ignore[assignment,method-assign] # of this connection


def _answered(steps: Generator[Any, Any, T], seconds: float) -> Generator[Any, Any, T]:
    """Yield what *steps* yield, which psycopg resumes several times a second also while nothing comes.

    Raises:
        TimeoutError: For *seconds* the server took and sent no byte.
    """
    last = time.monotonic()
    try:
        wanted = next(steps)
        while True:
            ready = yield wanted
            if ready:
                last = time.monotonic()
            elif time.monotonic() - last > seconds:
                raise TimeoutError(f"the server has said nothing for {seconds:g} s")
            wanted = steps.send(ready)
    except StopIteration as done:
        return done.value  # type: ignore[no-any-return] # of a generator of T


@contextmanager
def given_up(connection: Any) -> Generator[None]:  # noqa: ANN401 - a driver's
    """Do as `give_up` in the body, to a connection of a caller's, which is as it was afterwards."""
    is_theirs = type(connection).__module__.startswith("psycopg") and "wait" not in vars(connection)
    if not is_theirs:
        yield
        return
    give_up(connection)
    try:
        yield
    finally:
        del connection.wait
