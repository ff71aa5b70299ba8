"""The one-line summary of a new memory: the caller's, a summarizer's, or by its kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from memory_context.memory.summaries import Summaries
from memory_context.model.item import SECRET, MemoryItem, is_secret
from memory_context.model.reference import one_line
from memory_context.text.describe import describe

MAX_SUMMARY = 1000


def with_summary(
    item: MemoryItem,
    description: str | None,
    *,
    source: str,
    as_stored: Callable[[str], str],
    summaries: Summaries | None,
) -> MemoryItem:
    """Return `item` with its summary, in one line of at most 1,000 characters.

    Whatever is cut or made from the content is taken from the text as the store keeps it: a secret
    that is cut in two is no longer recognised, so it must be redacted before.

    Args:
        item: A record without a summary.
        description: The caller's own; without one the content is described.
        source: The tool or file that made the content.
        as_stored: Redacts a text as the store does.
        summaries: Asked for better words than the description by kind; None: nobody is asked.
    """
    if description:
        if len(description) > MAX_SUMMARY and item.memory_type != SECRET:
            description = as_stored(description)
        summary = description
    elif is_secret(item):
        summary = SECRET  # says nothing about the content
    else:
        summary = _described(item, source, as_stored, summaries)
    return replace(item, summary=one_line(summary, MAX_SUMMARY))


def _described(
    item: MemoryItem, source: str, as_stored: Callable[[str], str], summaries: Summaries | None
) -> str:
    arguments = item.content_metadata.get("arguments")
    arguments = as_stored(arguments) if isinstance(arguments, str) else None
    if isinstance(item.content, bytes):
        return describe(item.content, source=source, arguments=arguments)
    text = as_stored(item.content)
    line = describe(text, source=source, arguments=arguments)
    return summaries.summary(text, line) if summaries else line
