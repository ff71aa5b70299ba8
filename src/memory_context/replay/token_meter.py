"""Token counts and squashed texts, each text once: the messages of a recording stand in many prompts."""

from __future__ import annotations

from dataclasses import dataclass, field

from memory_context.replay.needed_values import squash
from memory_context.text.tokens.counter import TokenCounter, default_counter


@dataclass(slots=True, eq=False)
class TokenMeter:
    """A `TokenCounter` that remembers what it has counted, as long as it lives.

    Attributes:
        counter: The counter that it asks.
    """

    counter: TokenCounter = field(default_factory=default_counter)
    _counts: dict[str, int] = field(default_factory=dict[str, int])
    _squashed: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def name(self) -> str:
        """Return the encoding's name, such as ``o200k_base``."""
        return self.counter.name

    def count(self, text: str) -> int:
        """Return the number of tokens of `text`."""
        if text not in self._counts:
            self._counts[text] = self.counter.count(text)
        return self._counts[text]

    def exceeds(self, text: str, limit: int) -> bool:
        """Return whether ``count(text) > limit``."""
        if text in self._counts:
            return self._counts[text] > limit
        return self.counter.exceeds(text, limit)

    def squash(self, text: str) -> str:
        """Return `text` squashed: see `needed_values.squash`."""
        if text not in self._squashed:
            self._squashed[text] = squash(text)
        return self._squashed[text]
