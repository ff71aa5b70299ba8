"""A deadline for code of a user's, which may hang."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import TypeVar

T = TypeVar("T")


def within(seconds: float, work: Callable[[], T], name: str) -> T:
    """Return the result of *work*, which runs in a thread of its own and is abandoned when it is late.

    Raises:
        TimeoutError: There is no result within *seconds*.
        Exception: What *work* raises.
    """
    future = Future[T]()

    def run() -> None:
        try:
            future.set_result(work())
        except Exception as error:  # noqa: BLE001 - handed over
            future.set_exception(error)

    context = contextvars.copy_context()
    # Not from a pool: a call that hangs would hold its thread, and several would use the pool up.
    threading.Thread(target=context.run, args=(run,), name=name, daemon=True).start()
    if not wait([future], seconds).done:
        message = f"no answer within {seconds} s"
        # The thread goes on, because Python cannot end it; nobody reads its answer.
        raise TimeoutError(message)
    return future.result()
