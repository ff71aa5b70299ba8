"""Token counts and squashed texts, each text once: the messages of a recording stand in many prompts."""

from __future__ import annotations

from dataclasses import dataclass, field

from memory_context.replay.needed_values import squash
from memory_context.text.tokens.counter import TokenCounter, default_counter


@dataclass(slots=True, eq=False)
class Meter:
    """A `TokenCounter` that remembers what it has counted, as long as it lives.

    Attributes:
        counter: What it counts by.
    """

    counter: TokenCounter = field(default_factory=default_counter)
    _counts: dict[str, int] = field(default_factory=dict[str, int])
    _squashed: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def name(self) -> str:
        """What it counts by, as ``o200k_base``."""
        return self.counter.name

    def count(self, text: str) -> int:
        """The number of tokens of `text`."""
        found = self._counts.get(text)
        if found is None:
            found = self._counts[text] = self.counter.count(text)
        return found

    def exceeds(self, text: str, limit: int) -> bool:
        """Whether ``count(text) > limit``."""
        return (
            self.count(text) > limit if text in self._counts else self.counter.exceeds(text, limit)
        )

    def squash(self, text: str) -> str:
        """See `squash`."""
        found = self._squashed.get(text)
        if found is None:
            found = self._squashed[text] = squash(text)
        return found
