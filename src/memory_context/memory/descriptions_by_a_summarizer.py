"""Describe texts in a model's words, within limits; the description by kind is the fallback."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from inspect import iscoroutinefunction
from typing import Protocol, runtime_checkable

from memory_context.exceptions import InvalidArgumentError
from memory_context.model.checked_arguments import check_arguments
from memory_context.model.checked_numbers import check_not_negative
from memory_context.model.one_line import one_line
from memory_context.runtime import log_events
from memory_context.runtime.after_fork import Lock, in_child
from memory_context.runtime.circuit_breaker import Breaker
from memory_context.runtime.deadlines import within
from memory_context.runtime.telemetry import count, operation

# A late call keeps its thread: without a bound, such threads would fill the process.
MAX_WAITING = 4


@runtime_checkable
class Summarizer(Protocol):
    """Describes a text in its own words."""

    def summarize(self, text: str, description: str) -> str | None:
        """Return one line about `text`; None if `description` cannot be improved.

        It may raise anything, or take too long.

        Args:
            text: The beginning and the end of the text, as many characters as the limits say.
            description: What is known about the whole text without a model.
        """
        ...


@dataclass(frozen=True, slots=True)
class SummaryLimits:
    """The limits on the cost of a summarizer.

    Attributes:
        seconds: How long one summary may take; the fold waits that long for it.
        calls: How many summaries one manager may ask for.
        characters: How many of a text's characters the summarizer is shown.
        failures: After how many failures in a row it is not asked for a while.
        pause: How many seconds that while lasts.

    Raises:
        InvalidArgumentError: A number is negative, or not a number.
    """

    seconds: float = 5.0
    calls: int = 1000
    characters: int = 8000
    failures: int = 3
    pause: float = 60.0

    def __post_init__(self) -> None:
        """Check every number."""
        check_not_negative(self, self.__slots__)


@dataclass(slots=True, weakref_slot=True)
class Summaries:
    """Asks a summarizer within its limits. Safe under threads.

    Each call runs in a thread of its own, which is abandoned when it is late. While four are running,
    the summarizer is not asked.

    Attributes:
        summarizer: The summarizer.
        limits: What it may cost.
        clock: Returns the current moment, in seconds.
        calls: How often it was asked.
        failures: How often it failed, was late, or returned something other than text.
    """

    summarizer: Summarizer
    limits: SummaryLimits = field(default_factory=SummaryLimits)
    clock: Callable[[], float] = time.monotonic
    calls: int = 0
    failures: int = 0
    _breaker: Breaker = field(init=False)
    _lock: Lock = field(default_factory=Lock)
    _threads: threading.Semaphore = field(default_factory=partial(threading.Semaphore, MAX_WAITING))

    def __post_init__(self) -> None:
        """Check the summarizer and its limits."""
        in_child(self)
        check_arguments(limits=self.limits, clock=self.clock)
        self._breaker = Breaker(self.limits.failures, self.limits.pause, self.clock)
        is_one = isinstance(self.summarizer, Summarizer)
        if not is_one or iscoroutinefunction(self.summarizer.summarize):
            raise InvalidArgumentError(
                "a summarizer has a method summarize(text, description) that is not async; "
                f"{type(self.summarizer).__name__} has none"
            )

    def after_fork(self) -> None:
        """Start with no calls running in a forked child, which has none of the parent's threads."""
        self._threads = threading.Semaphore(MAX_WAITING)

    def summary(self, text: str, description: str) -> str:
        """Return the summarizer's line; `description` if it is not asked, fails or is late."""
        # Without blocking: a fold must not wait for a summary that it can do without.
        if not self._may_ask() or not self._threads.acquire(blocking=False):
            return description
        beginning_and_end = self._shortened(text)
        answer: object
        try:
            with operation("summarize", characters=len(beginning_and_end)):
                ask = partial(self._asked, beginning_and_end, description)
                answer = within(self.limits.seconds, ask, "summarizer")
        except Exception as error:  # noqa: BLE001 - whatever a user's summarizer raises
            answer = error
        if answer is not None and not isinstance(answer, str):
            count("summarizer_calls", outcome="failed")
            with self._lock:
                self.failures += 1
                self._breaker.note_failure()
            summarizer = type(self.summarizer).__name__
            log_events.SUMMARIZER_FAILED.log(summarizer=summarizer, problem=type(answer).__name__)
            return description
        count("summarizer_calls", outcome="answered")
        with self._lock:
            self._breaker.note_success()
        return one_line(answer or "") or description

    def _asked(self, text: str, description: str) -> object:
        try:
            return self.summarizer.summarize(text, description)
        finally:
            # In the thread itself, which is free only now, even if nobody waits for it any longer.
            self._threads.release()

    def _shortened(self, text: str) -> str:
        """Return what may be shown of *text*: three quarters of it from the beginning, one from the end."""
        most = self.limits.characters
        if len(text) <= most:
            return text
        # A document says at its beginning what it is, and a log at its end how it went.
        last = most // 4
        return f"{text[: most - last]}\n…\n{text[len(text) - last :]}"

    def _may_ask(self) -> bool:
        with self._lock:
            may = self.calls < self.limits.calls and self._breaker.lets_ask
            self.calls += may
            return may


def as_summaries(summarizer: Summarizer | Summaries | None) -> Summaries | None:
    """Return a summarizer with its own limits, or with the default ones; None for none.

    Raises:
        InvalidArgumentError: It is not a summarizer.
    """
    if summarizer is None or isinstance(summarizer, Summaries):
        return summarizer
    return Summaries(summarizer)
