"""The one-line summary of a new memory: the caller's, a summarizer's, or by its kind."""

from __future__ import annotations

from memory_context.memory.descriptions_by_a_summarizer import Summaries
from memory_context.model.item import SECRET, MemoryItem, is_secret
from memory_context.model.one_line import one_line
from memory_context.text.describe import describe

MAX_SUMMARY = 1000


def summary_of(
    item: MemoryItem, description: str | None, *, source: str, summaries: Summaries | None
) -> str:
    """Return the summary of `item`, in one line of at most 1,000 characters.

    Args:
        item: A record without a summary, with its secrets removed already: a line cut from the
            original could show half a secret.
        description: The caller's own; without one, the content is described.
        source: The tool or file that made the content.
        summaries: Asks a summarizer for better words than the description by kind; None asks nobody.
    """
    if description:
        return one_line(description, MAX_SUMMARY)
    if is_secret(item):
        return SECRET  # says nothing about the content
    arguments = item.content_metadata.get("arguments")
    if not isinstance(arguments, str):
        arguments = None
    summary = describe(item.content, source=source, arguments=arguments)
    if summaries and isinstance(item.content, str):
        summary = summaries.summary(item.content, summary)
    return one_line(summary, MAX_SUMMARY)
