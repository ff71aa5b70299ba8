"""Which messages belong together, and where recalled text may stand among them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MessageLink:
    """What ties a message to others.

    Attributes:
        calls: The ids of the calls that it makes.
        answers: The ids of the calls whose results it holds; None where it holds none.
    """

    calls: tuple[str, ...] = ()
    answers: tuple[str, ...] | None = None


def recall_position(links: Sequence[MessageLink], shown: int) -> int | None:
    """Return where the newest group of messages begins; recalled text goes there. None if the model has seen it.

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


def _opener(links: Sequence[MessageLink], start: int, shown: int) -> int | None:
    """Return the index of the call that the message at *start* belongs to; None if it stands alone."""
    if links[start].answers is not None:
        for index in range(start - 1, -1, -1):
            if links[index].calls:
                return index
        return None
    answered: set[str] = set()
    for index in range(start - 1, shown - 1, -1):
        link = links[index]
        if link.answers is not None:
            answered.update(link.answers)
        elif any(call not in answered for call in link.calls):
            return index
    return None
