"""When a text is folded, and what stays of it in the prompt."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from memory_context.conversation.settings import LEAST_THRESHOLD, PREVIEW_PART
from memory_context.model.item import MemoryItem, encodable
from memory_context.text.excerpt.excerpt import ENDS, PREVIEW, Excerpt, excerpt
from memory_context.text.tokens.counter import TokenCounter

CACHED = 0.1


def level(sizes: Sequence[int], together: int) -> int:
    """The most tokens that a text may have and stay whole, if those that stay have at most `together`; 50 or more.

    Texts of one size fare alike, wherever they stand.
    """
    fitting = (
        size for size in set(sizes) if sum(other for other in sizes if other <= size) <= together
    )
    return max(LEAST_THRESHOLD, *fitting, 0)


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
