"""Which messages belong together, and where recalled text may stand among them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Link:
    """What ties a message to others.

    Attributes:
        calls: The ids of the calls that it makes.
        answers: The ids of the calls whose results it holds; None where it holds none.
    """

    calls: tuple[str, ...] = ()
    answers: tuple[str, ...] | None = None


def recall_position(links: Sequence[Link], shown: int) -> int | None:
    """The beginning of the newest group of messages, where recalled text goes; None if the model has seen it.

    A call and its results are one group; every other message is one of its own, unless it stands between a call and its
    results. `shown` is how many messages the model has seen.
    """
    start = len(links) - 1
    while start >= shown:
        opener = _opener(links, start, shown)
        if opener is None:
            return start
        start = opener
    return None


def _opener(links: Sequence[Link], start: int, shown: int) -> int | None:
    """The call that the message at `start` belongs to, if it came before it."""
    if links[start].answers is not None:
        return next((index for index in range(start - 1, -1, -1) if links[index].calls), None)
    answered: set[str] = set()
    for index in range(start - 1, shown - 1, -1):
        link = links[index]
        if link.answers is not None:
            answered.update(link.answers)
        elif any(call not in answered for call in link.calls):
            return index
    return None
