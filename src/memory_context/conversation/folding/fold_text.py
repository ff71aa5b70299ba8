"""Folding one text: it is stored, and a reference with a preview takes its place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from memory_context.conversation.fold_recall_notes_policies import PREVIEW_PART
from memory_context.model.item import MemoryItem, encodable
from memory_context.text.excerpt.changed_lines import changed_lines
from memory_context.text.excerpt.excerpt import ENDS, PREVIEW, Excerpt, excerpt
from memory_context.text.query.preview_of_table_columns import table_line
from memory_context.text.tokens.counter import TokenCounter
from memory_context.text.words_and_names import names


@dataclass(frozen=True, slots=True)
class Folded:
    """What stands in the prompt for a stored text.

    Attributes:
        text: Reference and preview.
        item: The stored memory.
        preview: The lines that stay in the prompt.
        tokens: The tokens of `text`.
    """

    text: str
    item: MemoryItem
    preview: Excerpt
    tokens: int


@dataclass(frozen=True, slots=True)
class PreviewFocus:
    """What decides which lines of a text its preview shows.

    Attributes:
        question: The call that the text answers, the words before that, the task.
        known: The names that stand in the prompt already.
        by_person: Whether it is a person's own words, which keep their beginning and end.
        as_table: Whether a text with rows says its columns, for whoever writes a query on it.
        earlier: By their keys, texts that stand in the prompt and that this one may be nearly equal to.
    """

    question: str = ""
    known: AbstractSet[str] = frozenset()
    by_person: bool = False
    as_table: bool = False
    earlier: Mapping[str, str] = field(default_factory=dict[str, str])


# What has changed since a nearly equal text leaves a quarter of the preview to the whole of this one.
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
    """Return what stands in the prompt for *text* if it has more than *threshold* tokens; None if it stays.

    *store* commits the text; that happens before its reference exists. A text also stays if reference and preview would
    not be shorter.
    """
    if not counter.exceeds(text, threshold):
        return None
    item = store(text)
    left = min(preview_tokens, item.token_count // PREVIEW_PART)
    columns = table_line(item.text, counter, left) if focus.as_table else ""
    left -= counter.count(columns)
    changes = changed_lines(item.text, focus.earlier, CHANGES_PART * left, counter.count)
    preview = excerpt(
        item.text,
        focus.question,
        left - counter.count(changes.text),
        counter.count,
        ranking=ENDS if focus.by_person else PREVIEW,
        known=focus.known | set(names(changes.text)),
    )
    parts = (item.ref.render(), columns, changes.text, preview.text)
    shown = encodable("\n".join(filter(None, parts)))
    tokens = counter.count(shown)
    # A store may have redacted the text; then the count of its record is not that of the text.
    whole = item.token_count if item.content == text else counter.count(text)
    if tokens >= whole:
        return None
    ranges = (*changes.ranges, *preview.ranges)
    return Folded(shown, item, Excerpt(preview.text, ranges), tokens)
