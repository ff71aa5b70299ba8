"""Take the words out of a page, whether a tool returned its HTML or its accessibility tree."""

from __future__ import annotations

from memory_context.text.accessibility_trees import words_of_tree
from memory_context.text.html_pages import PageWords, words_of_html


def words_of_page(text: str) -> PageWords | None:
    """Return the words of the page that *text* is, as a reader sees them; None if it is no page: see `words_of_html`."""
    return words_of_html(text) or words_of_tree(text)
