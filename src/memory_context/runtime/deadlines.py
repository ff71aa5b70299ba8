"""Somebody else's code, within a deadline."""

from __future__ import annotations

import contextvars
import queue
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def within(seconds: float, work: Callable[[], T], name: str) -> T:
    """The result of `work`, which runs in a thread of its own, and is left to itself when it is late.

    Raises:
        TimeoutError: No result within `seconds`.
        Exception: What `work` raises.
    """
    answers = queue.SimpleQueue[tuple[T | None, Exception | None]]()

    def run() -> None:
        try:
            answers.put((work(), None))
        except Exception as error:  # noqa: BLE001 - handed over
            answers.put((None, error))

    threading.Thread(
        target=contextvars.copy_context().run, args=(run,), name=name, daemon=True
    ).start()
    try:
        result, error = answers.get(timeout=seconds)
    except queue.Empty:
        message = f"no answer within {seconds} s"
        raise TimeoutError(message) from None
    if error is not None:
        raise error
    return result  # type: ignore[return-value] # without an error, it is one
