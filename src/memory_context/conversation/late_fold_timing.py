"""When texts that were shown in full are folded, with ``fold="after_reading"``: rent or buy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

# Providers charge a tenth for the unchanged beginning of a prompt.
CACHED_PRICE = 0.1


@dataclass(frozen=True, slots=True)
class ReadText:
    """A text that stands in the prompt in full.

    Attributes:
        index: The index of its message in the prompt.
        saved: The tokens that folding it would save.
        reads: How many model calls have seen it.
    """

    index: int
    saved: int
    reads: int


def late_fold_start(texts: Sequence[ReadText], seen_tokens: Sequence[int]) -> int | None:
    """Return the index from which on all read texts are folded now; None if none is due.

    A text that stays costs rent: a tenth of its tokens at each call after the first. Folding it costs, once, the other
    nine tenths of everything behind it that was seen and stays. It is folded when the rent, that of the next call
    included, has come to that price: whatever comes, the sum is at most twice that of the best decision made in
    hindsight. Texts behind it are folded in the same batch, at no further price.

    Args:
        texts: The texts, by the index of their message.
        seen_tokens: The tokens of each message that a model has seen.
    """
    for start in sorted({text.index for text in texts}):
        batch = [text for text in texts if text.index >= start]
        rent = sum(CACHED_PRICE * text.saved * text.reads for text in batch)
        rewritten = sum(seen_tokens[start:]) - sum(text.saved for text in batch)
        if rent >= (1 - CACHED_PRICE) * rewritten:
            return start
    return None
