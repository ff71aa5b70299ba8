"""Fold texts after a model has read them in full in the prompt, once folding them pays.

With ``fold="after_reading"``, these are all large texts. With any setting, they are the pages that a model read from memory,
long answers that it wrote, and large arguments of its calls. Folding a text changes the part of the prompt that a provider
has cached. So it is done only once keeping the text has cost as much as that change.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from memory_context import sentences_models_read as prompts
from memory_context.conversation.fold_recall_notes_policies import is_file_reader, preview_limit
from memory_context.conversation.folding.fold_messages import MessageFolder
from memory_context.conversation.folding.fold_text import Folded
from memory_context.conversation.message import FunctionCall, Message, is_task
from memory_context.conversation.texts_in_json_and_its_schema import strings_in, with_strings
from memory_context.model.item import MemoryItem
from memory_context.model.reference import leading_key
from memory_context.model.tool_names import PAGED_TOOLS, READING_TOOLS, RETRIEVE

REFERENCE_TOKENS = 40
HEADING_CHARACTERS = 300
# This many model calls see a page that was read from memory, whatever else they do.
PAGE_CALLS = 5
# The price of a cached token, as a share of the full price: providers cache the unchanged beginning of a prompt.
CACHED_PRICE = 0.1


@dataclass(frozen=True, slots=True)
class ReadText:
    """The large texts of a message that a model has read and that could be folded.

    Attributes:
        index: The index of the message in the prompt.
        saved: The tokens that folding them would save.
        reads: How many model calls have seen them.
    """

    index: int
    saved: int
    reads: int


@dataclass(frozen=True, slots=True)
class LateFold:
    """The replacements for a message's large texts, all of which are stored.

    Attributes:
        folds: The placeholders of texts, by the places of the texts in the message.
        pages: The headings that are left of pages read from memory, by the places of the pages.
        calls: The message's calls, with references in place of large arguments.
        items: The memories of these arguments.
    """

    folds: dict[int, Folded] = field(default_factory=dict[int, Folded])
    pages: dict[int, str] = field(default_factory=dict[int, str])
    calls: list[FunctionCall] = field(default_factory=list[FunctionCall])
    items: list[MemoryItem] = field(default_factory=list[MemoryItem])


def due_messages(messages: Sequence[Message], seen: int, folder: MessageFolder) -> list[int]:
    """Return the indexes of the messages with texts to fold now, oldest first. Does not need the store.

    Args:
        messages: The messages of the prompt.
        seen: How many of them a model has seen.
        folder: The folder of the conversation.
    """
    tokens = folder.ledger.tokens(messages)
    read = _read_texts(messages, tokens, folder)
    start = late_fold_start(read, tokens[:seen])
    if start is None:
        return []
    return [text.index for text in read if text.index >= start]


def fold_what_was_read(
    messages: list[Message], due: Sequence[int], folder: MessageFolder
) -> list[Message]:
    """Return *messages* with the large texts of those that are *due* folded.

    Raises:
        StoreError: The store failed; nothing was changed.
    """
    # All are stored before any is applied, so that a store that fails halfway leaves the prompt as it was.
    folds = [_late_fold(messages[index], messages[:index], folder) for index in due]
    changed = list(messages)
    for index, late in zip(due, folds, strict=True):
        changed[index] = _applied(late, messages[index], folder)
    if changed != messages:
        folder.fail_open.stats.add(late_folds=1)
    return changed


def _read_texts(
    messages: Sequence[Message], tokens: Sequence[int], folder: MessageFolder
) -> list[ReadText]:
    """Return the messages with texts that were read and may be folded, oldest first.

    Pages are left out as long as the model goes on reading further pages, and those from memory also for some calls more:
    the model asked for them, and works with them.

    Args:
        messages: The messages of the prompt.
        tokens: The number of tokens of each of them.
        folder: The folder of the conversation.
    """
    texts = list[ReadText]()
    reads = 0
    goes_on_reading = True
    least = folder.policy.least_threshold
    for index, message in reversed(list(enumerate(messages))):
        is_needed = message.is_result and (
            (goes_on_reading and _is_reader(message.source))
            or (message.source in PAGED_TOOLS and reads < PAGE_CALLS)
        )
        # A cheap test first: of thousands of messages, nearly all are smaller than any threshold.
        is_large = reads and tokens[index] > least
        if is_large and not is_needed and not is_task(message, messages[:index]):
            saved = saved_by_folding(message, folder)
            if saved:
                texts.append(ReadText(index, saved, reads))
        if message.is_reply:
            reads += 1
            goes_on_reading = goes_on_reading and any(
                _is_reader(call.name) for call in message.calls
            )
    return texts[::-1]


def _is_reader(tool: str) -> bool:
    """Return whether *tool* reads page by page. The pages stay in the prompt as long as the model goes on reading."""
    return tool == RETRIEVE or is_file_reader(tool)


def saved_by_folding(message: Message, folder: MessageFolder) -> int:
    """Return the approximate number of tokens that folding the large texts of *message* saves; 0 if it has none."""
    threshold = folder.late_threshold_of(message)
    if threshold is None:
        return 0
    counter = folder.manager.counter
    saved = 0
    for place in _unfolded(message, folder):
        text = message.texts[place]
        if counter.exceeds(text, threshold):
            tokens = counter.count(text)
            preview = preview_limit(folder.policy.preview_tokens, tokens)
            saved += max(0, tokens - preview - REFERENCE_TOKENS)
    for call in message.calls:
        for text in _large_strings(call, folder):
            saved += counter.count(text) - REFERENCE_TOKENS
    return saved


def _unfolded(message: Message, folder: MessageFolder) -> list[int]:
    """Return the places of the texts of *message* that were left whole on purpose, and may be folded now.

    Among the answers of memory tools, only pages may be folded. A text that should have been folded as it arrived, but was
    not because the store failed, stays as it is.
    """
    is_memory_tool = message.is_result and message.source in READING_TOOLS
    if is_memory_tool and message.source not in PAGED_TOOLS:
        return []
    at_once = folder.threshold_of(message)
    exceeds = folder.manager.counter.exceeds
    unfolded = list[int]()
    for place, text in message.texts.items():
        was_due = at_once is not None and exceeds(text, at_once)
        is_left_of_page = is_memory_tool and text.endswith(prompts.PAGE_WAS_READ)
        if not (was_due or is_left_of_page or place in message.known.folded):
            unfolded.append(place)
    return unfolded


def _large_strings(call: FunctionCall, folder: MessageFolder) -> list[str]:
    """Return the strings in the arguments of *call* that are above the usual threshold; [] if the arguments are not JSON."""
    threshold = folder.policy.threshold_for(None)
    exceeds = folder.manager.counter.exceeds
    # A cheap test first: a short call has no long argument.
    if not exceeds(call.arguments, threshold):
        return []
    try:
        arguments = json.loads(call.arguments)
    except (ValueError, RecursionError):
        return []
    return [text for text in strings_in(arguments) if exceeds(text, threshold)]


def _late_fold(message: Message, before: Sequence[Message], folder: MessageFolder) -> LateFold:
    """Store the large texts of *message*, and return their replacements.

    Raises:
        StoreError: The store failed.
    """
    late = LateFold()
    for place in _unfolded(message, folder):
        if message.source in PAGED_TOOLS and message.is_result:
            late.pages[place] = _heading(message.texts[place])
            continue
        folded = folder.fold_text(message, place, before, is_late=True)
        if folded:
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
    """Return what is left of a page that was read from memory: the lines that say what it showed."""
    heading = page.split("\n", 2)[:2]
    lines = [line[:HEADING_CHARACTERS] for line in heading]
    return "\n".join([*lines, prompts.PAGE_WAS_READ])


def _with_references(call: FunctionCall, references: Mapping[str, str]) -> FunctionCall:
    """Return *call* with references in place of some texts of its arguments."""
    if not references:
        return call
    written = json.loads(call.arguments)
    arguments = with_strings(written, lambda text, _: references.get(text, text))
    return replace(call, arguments=json.dumps(arguments, ensure_ascii=False))


def _applied(late: LateFold, message: Message, folder: MessageFolder) -> Message:
    """Return *message* with the replacements of its texts, and count the folds."""
    shown = folder.with_folds(message, late.folds)
    if late.pages:
        placeholders = [place for place, heading in late.pages.items() if leading_key(heading)]
        facts = replace(
            shown.known,
            # None of their lines is in the prompt any longer.
            lines=dict.fromkeys(shown.known.lines, ()),
            # A heading without a reference is no placeholder: that of an answer of `query_memory`.
            folded=(*shown.known.folded, *placeholders),
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
    """Return the index of the message from which on all read texts are folded now; None if nothing is folded.

    This is the ski-rental (rent-or-buy) rule. Keeping a text costs rent: at each call after the first, a tenth of its
    tokens. Folding it costs a price once: nine tenths of all tokens behind it that were cached and stay. The text is
    folded when the rent, including that of the next call, reaches the price. So whatever happens next, the total is at
    most twice the cost of the best decision in hindsight. Texts behind it are folded in the same batch at no extra price.

    Args:
        texts: The texts that were read.
        seen_tokens: The number of tokens of each message that a model has seen.
    """
    for start in sorted({text.index for text in texts}):
        rent = 0.0
        saved = 0
        for text in texts:
            if text.index >= start:
                rent += CACHED_PRICE * text.saved * text.reads
                saved += text.saved
        rewritten = sum(seen_tokens[start:]) - saved
        if rent >= (1 - CACHED_PRICE) * rewritten:
            return start
    return None
