"""Count and squash each text only once, because the messages of a recording are in many prompts."""

from __future__ import annotations

from functools import cache

from memory_context.replay.identifiers_needed_and_shown import squash
from memory_context.text.tokens.counter import TokenCounter, default_counter


class TokenMeter:
    """A `TokenCounter` that caches its counts, and squashed texts, for its lifetime.

    Args:
        counter: The counter that does the work; by default the library's default one.
    """

    def __init__(self, counter: TokenCounter | None = None) -> None:
        self.counter = counter or default_counter()
        self.name = self.counter.name
        self.count = cache(self.counter.count)
        self.squash = cache(squash)

    def exceeds(self, text: str, limit: int) -> bool:
        """Return whether ``count(text) > limit``. It counts in full, since every text of a recording is counted anyway."""
        return self.count(text) > limit
