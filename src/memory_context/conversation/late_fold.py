"""``fold="after_reading"``: texts that are shown in full once, and folded when that has paid for itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memory_context.conversation.fold import Folded
from memory_context.conversation.message import Message
from memory_context.conversation.message_folder import MessageFolder

REFERENCE_TOKENS = 40
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


def fold_what_was_read(
    messages: Sequence[Message], seen: int, folder: MessageFolder
) -> list[Message]:
    """Return *messages*, of which a model has seen the first *seen*, with the texts folded that are due.

    Raises:
        StoreError: The store failed; nothing was changed.
    """
    changed = list(messages)
    read = _read_texts(messages, folder)
    if not read:
        return changed
    start = late_fold_start(read, folder.ledger.tokens(messages)[:seen])
    if start is None:
        return changed
    # All are stored before one is counted: a store that fails half-way leaves the prompt as it was.
    folds = dict[int, dict[int, Folded]]()
    for index in dict.fromkeys(text.index for text in read if text.index >= start):
        message, before = messages[index], messages[:index]
        folds[index] = {}
        for place in message.known.unread:
            folded = folder.fold_text(message, place, before, bare_focus=True)
            if folded is not None:
                folds[index][place] = folded
    for index, folded_texts in folds.items():
        # What would not be shorter as a reference stays, and is not looked at again.
        changed[index] = folder.with_folds(messages[index], folded_texts)
    if any(folds.values()):
        folder.fail_open.stats.add(late_folds=1)
    return changed


def _read_texts(messages: Sequence[Message], folder: MessageFolder) -> list[ReadText]:
    """Return the texts that wait to be folded and that a model has answered behind, oldest first."""
    preview = folder.policy.preview_tokens + REFERENCE_TOKENS
    count = folder.manager.counter.count
    texts = list[ReadText]()
    reads = 0
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if reads:
            for place in message.known.unread:
                saved = max(0, count(message.texts[place]) - preview)
                texts.append(ReadText(index, saved, reads))
        if message.role == "assistant":
            reads += 1
    return texts[::-1]


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
