"""Closing connections to a PostgreSQL server that no longer answers, although the connections stay open.

The server process may be stopped, or a proxy or network may no longer pass bytes on. Neither drivers
nor TCP timeouts notice all of these cases, because the other side's kernel may still acknowledge
what it receives.
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
    """Make *connection* close itself if the server does not answer within `deadlines.patience` seconds."""
    import psycopg  # noqa: PLC0415 - it is loaded already if there is a connection

    wait = type(connection).wait
    # A weak reference, because the connection itself will hold the function below.
    reference = ref(connection)

    def bounded(steps: Generator[Any, Any, T], *args: Any, **options: Any) -> T:  # noqa: ANN401 - psycopg's
        """Wait for the server as psycopg does, but close the connection once it has been silent for too long."""
        this: Any = reference()
        seconds = deadlines.patience()
        if seconds is None:
            return wait(this, steps, *args, **options)
        try:
            return wait(this, _answered(steps, seconds), *args, **options)
        except TimeoutError as error:
            this.close()
            raise psycopg.OperationalError(str(error)) from None

    connection.wait = bounded  # type: ignore[assignment,method-assign] # for this connection only


def _answered(steps: Generator[Any, Any, T], seconds: float) -> Generator[Any, Any, T]:
    """Pass on what *steps* yield, until the server is silent for too long.

    psycopg resumes the generator several times a second, even while no bytes arrive.

    Raises:
        TimeoutError: The server neither accepted nor sent a byte for this many *seconds*.
    """
    last = time.monotonic()
    try:
        wanted = next(steps)
        while True:
            ready = yield wanted
            if ready:
                last = time.monotonic()
            elif time.monotonic() - last > seconds:
                raise TimeoutError(f"the server has not answered for {seconds:g} s")
            wanted = steps.send(ready)
    except StopIteration as done:
        return done.value  # type: ignore[no-any-return] # of a generator of T


@contextmanager
def given_up(connection: Any) -> Generator[None]:  # noqa: ANN401 - a driver's
    """Apply `give_up` during the body to a connection of a caller's engine, and undo it afterwards."""
    is_callers = type(connection).__module__.startswith("psycopg") and "wait" not in vars(
        connection
    )
    if not is_callers:
        yield
        return
    give_up(connection)
    try:
        yield
    finally:
        del connection.wait
