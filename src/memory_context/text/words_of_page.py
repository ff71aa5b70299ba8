"""Take the words out of a page, whether a tool returned its HTML or its accessibility tree."""

from __future__ import annotations

from memory_context.text.accessibility_trees import words_of_tree
from memory_context.text.html_pages import PageWords, words_of_html, words_of_pages_in_json


def words_of_page(text: str) -> PageWords | None:
    """Return the words of the page that *text* is, as a reader sees them, or of the pages in JSON.

    None if there is no page: see `words_of_html`.
    """
    return words_of_html(text) or words_of_tree(text) or words_of_pages_in_json(text)
