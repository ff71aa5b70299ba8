"""A deadline for code of a user's, which may hang."""

from __future__ import annotations

import contextvars
import queue
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def within(seconds: float, work: Callable[[], T], name: str) -> T:
    """Return the result of *work*, which runs in a thread of its own and is abandoned when it is late.

    Raises:
        TimeoutError: There is no result within *seconds*.
        Exception: What *work* raises.
    """
    answers = queue.SimpleQueue[tuple[T | None, Exception | None]]()

    def run() -> None:
        try:
            answers.put((work(), None))
        except Exception as error:  # noqa: BLE001 - handed over
            answers.put((None, error))

    context = contextvars.copy_context()
    # Not from a pool: a call that hangs would hold its thread, and several would use the pool up.
    threading.Thread(target=context.run, args=(run,), name=name, daemon=True).start()
    try:
        result, error = answers.get(timeout=seconds)
    except queue.Empty:
        message = f"no answer within {seconds} s"
        # The thread goes on, because Python cannot end it; its answer falls into a queue that
        # nobody reads.
        raise TimeoutError(message) from None
    if error is not None:
        raise error
    return result  # type: ignore[return-value] # without an error, it is one
