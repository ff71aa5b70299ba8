"""When a text is folded, and what stays of it in the prompt."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Literal

from memory_context.exceptions import InvalidArgumentError, InvalidThresholdError
from memory_context.model.item import MemoryItem, encodable
from memory_context.text.excerpt.excerpt import ENDS, PREVIEW, Excerpt, excerpt
from memory_context.text.tokens.counter import TokenCounter

LEAST_THRESHOLD = 50
PERSON = "user"
PERSONS_THRESHOLD = 8000
CACHED = 0.1
PREVIEW_PART = 4
TOGETHER = 4000


@dataclass(frozen=True, slots=True)
class FoldPolicy:
    """When a text is folded, and how much of it stays; in tokens.

    The defaults are those that cost least on recorded agent runs: fold at once, never rewrite (see `docs/why.md`).

    Attributes:
        threshold: A text with more tokens is folded.
        source_thresholds: Other thresholds for messages from some sources. A person's own words (source ``user``)
            have 8,000 unless said otherwise.
        preview_tokens: The most that stays of a folded text beside its reference; never more than a quarter of it.
        expansion_budget: The most that is brought back at once.
        recall: Whether anything is brought back without being asked for.
        fold: ``at_once``, or ``after_reading``: a text is shown in full to the first model call that sees it, and
            folded later, in batches, when keeping it has cost as much as rewriting what stands behind it (`due`).
        read_cap: Larger texts are folded at once all the same.
        recall_results: Whether tools' results are looked at too for what they may need.
        user_layer_tokens: The most that a conversation begins with of what is known about its user; 0 for nothing.
        largest: No threshold is larger than this, whatever else is said.

    Raises:
        InvalidThresholdError: A threshold below 50.
        InvalidArgumentError: A negative budget.
    """

    threshold: int = 500
    source_thresholds: Mapping[str, int] = field(default_factory=dict[str, int])
    preview_tokens: int = 300
    expansion_budget: int = 2000
    recall: bool = True
    largest: int | None = None
    fold: Literal["at_once", "after_reading"] = "at_once"
    read_cap: int = 2500
    user_layer_tokens: int = 300
    recall_results: bool = False

    def __post_init__(self) -> None:
        """Check every number."""
        for name, threshold in {"threshold": self.threshold, **self.source_thresholds}.items():
            if not _is_whole(threshold) or threshold < LEAST_THRESHOLD:
                message = f"the threshold for {name!r} must be {LEAST_THRESHOLD} tokens or more, not {threshold!r}"
                raise InvalidThresholdError(message)
        if self.fold not in ("at_once", "after_reading"):
            message = f'fold must be "at_once" or "after_reading", not {self.fold!r}'
            raise InvalidArgumentError(message)
        for name in ("preview_tokens", "expansion_budget", "read_cap", "user_layer_tokens"):
            if not _is_whole(getattr(self, name)) or getattr(self, name) < 0:
                message = f"{name} must be a whole number of tokens, 0 or more, not {getattr(self, name)!r}"
                raise InvalidArgumentError(message)

    def threshold_for(self, source: str | None) -> int:
        """The threshold for a user message from `source`, or for a tool's result (None)."""
        persons = max(PERSONS_THRESHOLD, self.threshold)
        by_source = {PERSON: persons, **self.source_thresholds}
        threshold = self.threshold if source is None else by_source.get(source, self.threshold)
        return threshold if self.largest is None else min(threshold, self.largest)

    @property
    def together(self) -> int:
        """The most tokens of tools' results that answer one message and stay whole; eight times the default threshold.

        No recorded run has come near it (see `docs/why.md`): it is there for thirty calls side by side.
        """
        most = max(TOGETHER, 2 * self.threshold)
        return most if self.largest is None else min(most, 2 * self.largest)

    def preview_budget(self, source: str | None) -> int:
        """The most tokens of a preview: of a person's words a quarter of their threshold."""
        return (
            self.threshold_for(source) // PREVIEW_PART if source == PERSON else self.preview_tokens
        )


def level(sizes: Sequence[int], together: int) -> int:
    """The most tokens that a text may have and stay whole, if those that stay have at most `together`; 50 or more.

    Texts of one size fare alike, wherever they stand.
    """
    fitting = (
        size for size in set(sizes) if sum(other for other in sizes if other <= size) <= together
    )
    return max(LEAST_THRESHOLD, *fitting, 0)


def _is_whole(number: object) -> bool:
    return isinstance(number, int) and not isinstance(number, bool)


@dataclass(frozen=True, slots=True)
class Folded:
    """What stands in the prompt for a stored text.

    Attributes:
        text: Reference and preview.
        item: The stored memory.
        preview: What stays in sight.
        tokens: The tokens of `text`.
    """

    text: str
    item: MemoryItem
    preview: Excerpt
    tokens: int


@dataclass(frozen=True, slots=True)
class Reading:
    """A text that stands in the prompt in full.

    Attributes:
        place: The place of its message in the prompt.
        saved: The tokens that folding it would save.
        reads: How many model calls have seen it.
    """

    place: int
    saved: int
    reads: int


def due(readings: Sequence[Reading], seen: Sequence[int]) -> int | None:
    """The place from which on all read texts are folded now; None if none is due.

    Rent or buy: a text that stays costs a tenth of its tokens at each call after the first (providers' price of an
    unchanged prefix); folding it once costs the other nine tenths of everything that was seen behind it and stays. It
    is folded when the rent, the next call's included, has come to that price: whatever comes, the sum is at most twice
    that of the best decision made in hindsight. Texts behind it are folded in the same batch, at no further price.

    Args:
        readings: The texts, by place.
        seen: The tokens of each message that a model has seen.
    """
    for start in sorted({reading.place for reading in readings}):
        batch = [reading for reading in readings if reading.place >= start]
        rent = sum(CACHED * reading.saved * reading.reads for reading in batch)
        rewritten = sum(seen[start:]) - sum(reading.saved for reading in batch)
        if rent >= (1 - CACHED) * rewritten:
            return start
    return None


@dataclass(frozen=True, slots=True)
class Asked:
    """What a text was asked for, which decides what of it stays in sight.

    Attributes:
        question: The call that it answers, the words before that, the task.
        known: The names that stand in the prompt already.
        of_person: Whether it is a person's own words, which keep their beginning and end.
    """

    question: str = ""
    known: AbstractSet[str] = frozenset()
    of_person: bool = False


NOTHING_ASKED = Asked()


def placeholder(
    item: MemoryItem, preview_tokens: int, counter: TokenCounter, asked: Asked
) -> tuple[str, Excerpt]:
    """What stands in the prompt for a stored text, reference and preview; and the preview."""
    preview = excerpt(
        item.text,
        asked.question,
        preview_tokens,
        counter.count,
        ranking=ENDS if asked.of_person else PREVIEW,
        known=asked.known,
    )
    return encodable(f"{item.ref}\n{preview.text}") if preview.text else item.ref.render(), preview


def fold(
    text: str,
    store: Callable[[str], MemoryItem],
    counter: TokenCounter,
    *,
    threshold: int,
    preview_tokens: int,
    asked: Asked = NOTHING_ASKED,
) -> Folded | None:
    """`text` as it is shown in the prompt if it has more than `threshold` tokens; None if it stays as it is.

    `store` commits the text; that happens before its reference exists. A text stays whole if the reference would not be
    shorter.
    """
    if not counter.exceeds(text, threshold):
        return None
    item = store(text)
    shown, preview = placeholder(
        item, min(preview_tokens, item.token_count // PREVIEW_PART), counter, asked
    )
    tokens = counter.count(shown)
    whole = (
        item.token_count if item.content == text else counter.count(text)
    )  # a store may have taken secrets out
    return Folded(shown, item, preview, tokens) if tokens < whole else None
