"""Token counts and squashed texts, each text once: the messages of a recording stand in many prompts."""

from __future__ import annotations

from functools import cache

from memory_context.replay.needed_values import squash
from memory_context.text.tokens.counter import TokenCounter, default_counter


class TokenMeter:
    """A `TokenCounter` that remembers what it has counted, as long as it lives; texts that it has squashed, too.

    Args:
        counter: The counter that it asks; the default one without it.
    """

    def __init__(self, counter: TokenCounter | None = None) -> None:
        self.counter = counter or default_counter()
        self.name = self.counter.name
        self.count = cache(self.counter.count)
        self.squash = cache(squash)

    def exceeds(self, text: str, limit: int) -> bool:
        """Return whether ``count(text) > limit``: every text of a recording is counted in any case."""
        return self.count(text) > limit
