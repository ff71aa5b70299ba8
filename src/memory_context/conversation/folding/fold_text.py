"""Fold one text: store it, and put a reference with a preview in its place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from types import MappingProxyType
from typing import NamedTuple

from memory_context.conversation.fold_recall_notes_policies import preview_limit
from memory_context.model.item import MemoryItem, encodable
from memory_context.text.excerpt.changed_lines import changed_lines
from memory_context.text.excerpt.excerpt import ENDS, PREVIEW, excerpt
from memory_context.text.query.preview_of_table_columns import table_line
from memory_context.text.relevance.recall_candidates_and_their_calls import Ranges
from memory_context.text.terminal_output import as_on_terminal, without_colours
from memory_context.text.tokens.counter import TokenCounter
from memory_context.text.words_and_names import names


class Folded(NamedTuple):
    """The placeholder that a prompt contains for a stored text.

    Attributes:
        text: The reference and the preview.
        item: The stored memory.
        ranges: The ranges of lines that the preview shows.
        tokens: The number of tokens in `text`.
    """

    text: str
    item: MemoryItem
    ranges: Ranges
    tokens: int


class PreviewFocus(NamedTuple):
    """What decides which lines of a text its preview shows.

    Attributes:
        question: What the text is read for: the call that it answers, the words before the call, and what was asked.
        known: The names that the prompt contains already.
        by_person: Whether a person wrote the text. Its preview then shows its beginning and end.
        as_table: Whether the preview of a table names its columns, for an agent that can query the table.
        earlier: Texts with references in the prompt that this text may be nearly equal to, by their keys.
    """

    question: str = ""
    known: AbstractSet[str] = frozenset()
    by_person: bool = False
    as_table: bool = False
    earlier: Mapping[str, str] = MappingProxyType({})


# The part of the preview that may show what has changed since a nearly equal text. The rest shows the text as a whole.
CHANGES_PART = 0.75
NO_FOCUS = PreviewFocus()


def fold(
    text: str,
    store: Callable[[str], MemoryItem],
    counter: TokenCounter,
    *,
    threshold: int,
    preview_tokens: int,
    focus: PreviewFocus = NO_FOCUS,
) -> Folded | None:
    """Store a text and return the placeholder for it; None if the text stays in the prompt.

    A text stays if it is not above the threshold, or if reference and preview would not be shorter.

    Args:
        text: The text.
        store: Commits a text and returns its memory. It is called before the reference is made.
        counter: Counts tokens.
        threshold: The most tokens that a text may have without being folded.
        preview_tokens: The most tokens that the preview may have.
        focus: What decides which lines the preview shows.
    """
    if not counter.exceeds(text, threshold):
        return None
    item = store(text)
    tokens_left = preview_limit(preview_tokens, item.token_count)
    columns = table_line(item.text, counter, tokens_left) if focus.as_table else ""
    tokens_left -= counter.count(columns)
    most_for_changes = CHANGES_PART * tokens_left
    changes = changed_lines(item.text, focus.earlier, most_for_changes, counter.count)
    # A colour may follow what a terminal overwrites.
    plain = without_colours(item.text)
    on_terminal = as_on_terminal(plain)
    preview = excerpt(
        on_terminal,
        focus.question,
        tokens_left - counter.count(changes.text),
        counter.count,
        ranking=ENDS if focus.by_person else PREVIEW,
        known=focus.known | set(names(changes.text)),
    )
    parts = (item.ref.render(), columns, changes.text, preview.text)
    shown = encodable("\n".join(filter(None, parts)))
    tokens = counter.count(shown)
    unfolded = item.token_count
    # If the store has redacted the text, the memory's token count is not that of the text in the prompt.
    if item.content != text:
        unfolded = counter.count(text)
    if tokens >= unfolded:
        return None
    ranges = changes.ranges
    # The preview leaves out what a terminal would overwrite, such as a progress bar. Then no line counts as shown whole.
    if on_terminal == plain:
        ranges += preview.ranges
    return Folded(shown, item, ranges, tokens)
