"""Texts that stood whole in the prompt and are folded when that has paid for itself: they have been read.

With ``fold="after_reading"`` that is every large text; with any setting it is what a model read page by page, what it
wrote itself, and the arguments of its calls. Folding them changes what a provider has cached, so it waits until the
calls that they make dearer have cost as much.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from memory_context import wording_for_models as prompts
from memory_context.conversation.fold_recall_notes_policies import PREVIEW_PART
from memory_context.conversation.folding.fold_messages import MessageFolder
from memory_context.conversation.folding.fold_text import Folded
from memory_context.conversation.message import FunctionCall, Message
from memory_context.conversation.nested_json import strings_in, with_strings
from memory_context.model.item import MemoryItem
from memory_context.model.tool_names import FILE_READERS, READING_TOOLS, RETRIEVE

REFERENCE_TOKENS = 40
HEADING_CHARACTERS = 300
# Providers charge a tenth for the unchanged beginning of a prompt.
CACHED_PRICE = 0.1


@dataclass(frozen=True, slots=True)
class ReadText:
    """What could be folded of a message that a model has read.

    Attributes:
        index: The index of the message in the prompt.
        saved: The tokens that folding it would save.
        reads: How many model calls have seen it.
    """

    index: int
    saved: int
    reads: int


@dataclass(frozen=True, slots=True)
class LateFold:
    """What stands in the prompt for the large texts of a message; all of it is stored.

    Attributes:
        folds: The placeholders, by the places of the texts.
        pages: The headings of pages that were read from memory, by the places of the pages.
        calls: The message's calls, with references in place of large arguments.
        items: The memories that those references are of.
    """

    folds: dict[int, Folded] = field(default_factory=dict[int, Folded])
    pages: dict[int, str] = field(default_factory=dict[int, str])
    calls: list[FunctionCall] = field(default_factory=list[FunctionCall])
    items: list[MemoryItem] = field(default_factory=list[MemoryItem])


def due_messages(messages: Sequence[Message], seen: int, folder: MessageFolder) -> list[int]:
    """Return the indexes of the messages with texts to fold now; a model has seen the first *seen*. Needs no store."""
    tokens = folder.ledger.tokens(messages)
    read = _read_texts(messages, tokens, folder)
    start = late_fold_start(read, tokens[:seen]) if read else None
    if start is None:
        return []
    return list(dict.fromkeys(text.index for text in read if text.index >= start))


def fold_what_was_read(
    messages: Sequence[Message], due: Sequence[int], folder: MessageFolder
) -> list[Message]:
    """Return *messages* with the large texts of those that are *due* folded.

    Raises:
        StoreError: The store failed; nothing was changed.
    """
    before = list(messages)
    # All are stored before one is counted: a store that fails half-way leaves the prompt as it was.
    folds = {index: _late_fold(before[index], before[:index], folder) for index in due}
    changed = [
        _applied(folds[index], message, folder) if index in folds else message
        for index, message in enumerate(before)
    ]
    if changed != before:
        folder.fail_open.stats.add(late_folds=1)
    return changed


def _read_texts(
    messages: Sequence[Message], tokens: Sequence[int], folder: MessageFolder
) -> list[ReadText]:
    """Return what is due one day and was seen by a model, oldest first; the messages have so many *tokens*."""
    texts = list[ReadText]()
    reads = 0
    goes_on_reading = True
    least = folder.policy.least_threshold
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        is_needed = goes_on_reading and message.role == "tool" and _is_reader(message.source)
        # In a conversation of thousands of messages nearly all are smaller than any threshold.
        may_save = reads and tokens[index] > least and not is_needed
        if may_save and (saved := saved_by_folding(message, folder)):
            texts.append(ReadText(index, saved, reads))
        if message.role == "assistant":
            reads += 1
            goes_on_reading &= any(_is_reader(call.name) for call in message.calls)
    return texts[::-1]


def _is_reader(tool: str) -> bool:
    """Return whether *tool* reads in pages. Who reads on needs the pages before: they stay until something else is done."""
    return tool == RETRIEVE or tool in FILE_READERS


def saved_by_folding(message: Message, folder: MessageFolder) -> int:
    """Return about how many tokens smaller *message* would be with references in place of its large texts."""
    threshold = folder.late_threshold_of(message)
    if threshold is None:
        return 0
    counter = folder.manager.counter
    saved = 0
    for place in _unfolded(message, folder):
        text = message.texts[place]
        if counter.exceeds(text, threshold):
            tokens = counter.count(text)
            preview = min(folder.policy.preview_tokens, tokens // PREVIEW_PART)
            saved += max(0, tokens - preview - REFERENCE_TOKENS)
    for call in message.calls:
        large = _large_strings(call, folder)
        saved += sum(counter.count(text) - REFERENCE_TOKENS for text in large)
    return saved


def _unfolded(message: Message, folder: MessageFolder) -> list[int]:
    """Return the places of the texts that stand whole on purpose and may be folded.

    Of memory tools, only what was read by page. A text that was to be folded as it came in, and is not because the
    store failed, stays.
    """
    is_memory_tool = message.role == "tool" and message.source in READING_TOOLS
    if is_memory_tool and message.source != RETRIEVE:
        return []
    at_once = folder.threshold_of(message)
    return [
        place
        for place, text in message.texts.items()
        if (at_once is None or not folder.manager.counter.exceeds(text, at_once))
        and place not in message.known.folded
    ]


def _large_strings(call: FunctionCall, folder: MessageFolder) -> list[str]:
    """Return the texts in the arguments of *call* that are as large as outputs that are folded; none of what is not JSON."""
    threshold = folder.policy.threshold_for(None)
    # A call that is short has no long argument.
    if not folder.manager.counter.exceeds(call.arguments, threshold):
        return []
    try:
        arguments = json.loads(call.arguments)
    except (ValueError, RecursionError):
        return []
    exceeds = folder.manager.counter.exceeds
    return [text for text in strings_in(arguments) if exceeds(text, threshold)]


def _late_fold(message: Message, before: Sequence[Message], folder: MessageFolder) -> LateFold:
    """Return what is to stand for the large texts of *message*, stored.

    Raises:
        StoreError: The store failed.
    """
    late = LateFold()
    for place in _unfolded(message, folder):
        if message.source == RETRIEVE and message.role == "tool":
            late.pages[place] = _heading(message.texts[place])
        elif folded := folder.fold_text(message, place, before, is_late=True):
            late.folds[place] = folded
    for call in message.calls:
        kept = dict[str, str]()
        for text in dict.fromkeys(_large_strings(call, folder)):
            item = folder.store(message, text, source=call.name, named_in=[message])
            late.items.append(item)
            kept[text] = item.ref.render()
        late.calls.append(_with_references(call, kept))
    return late


def _heading(page: str) -> str:
    """Return what stays of a page that was read from memory: whose it is and which lines it showed."""
    lines = [line[:HEADING_CHARACTERS] for line in page.split("\n", 2)[:2]]
    return "\n".join([*lines, prompts.PAGE_WAS_READ])


def _with_references(call: FunctionCall, references: Mapping[str, str]) -> FunctionCall:
    """Return *call* with references in place of some texts of its arguments."""
    if not references:
        return call
    written = json.loads(call.arguments)
    arguments = with_strings(written, lambda text, _: references.get(text, text))
    return replace(call, arguments=json.dumps(arguments, ensure_ascii=False))


def _applied(late: LateFold, message: Message, folder: MessageFolder) -> Message:
    """Return *message* as *late* shows it, and count what was folded."""
    shown = folder.with_folds(message, late.folds)
    if late.pages:
        facts = replace(
            shown.known,
            # Nothing of them is in sight any more.
            lines=dict.fromkeys(shown.known.lines, ()),
            folded=(*shown.known.folded, *late.pages),
        )
        shown = shown.with_texts(late.pages, facts)
    if late.items:
        keys = [item.memory_key for item in late.items]
        facts = replace(
            shown.known,
            lines={**shown.known.lines, **dict.fromkeys(keys, ())},
            trusted=(*shown.known.trusted, *keys),
        )
        shown = replace(shown, calls=tuple(late.calls), facts=facts)
        counter = folder.manager.counter
        folder.fail_open.stats.add(
            folds=len(late.items),
            tokens_folded=sum(item.token_count for item in late.items),
            tokens_shown=sum(counter.count(item.ref.render()) for item in late.items),
        )
    return shown


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
