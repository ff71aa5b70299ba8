"""Draw the content of a memory by its kind: as a table, a tree, a log, a diff, a picture, or lines of text."""

from __future__ import annotations

from contextlib import suppress

from memory_context.display.escaped_html import Html, folded, image, joined, soft
from memory_context.display.log_diff_and_numbered_lines import (
    LOOKED_AT,
    diff_line,
    head_and_tail,
    log_line,
    notable,
    numbered,
    plain_line,
)
from memory_context.display.rows_and_json_trees import JsonTree, rows_of
from memory_context.exceptions import InvalidSelectionError
from memory_context.model.item import MemoryItem, is_secret
from memory_context.model.json_object import elements_of
from memory_context.model.media_types_and_image_sizes import data_url, embedded_bytes, media_type_of
from memory_context.text.describe import Kind, identify
from memory_context.text.json_documents import NOTHING, is_json_lines, parse
from memory_context.text.rows.rows_in_text import table_of
from memory_context.text.unwrap_mcp_json_and_fences import unwrap

PARSED_AT_MOST = 1_000_000
LARGEST_PICTURE = 500_000
PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp")
SECRET_NOTE = "a secret: its content is not shown here; .content has it"  # noqa: S105 - a sentence about secrets


def content_of(item: MemoryItem) -> Html:
    """Draw the content of a memory, bounded in size. The content of a secret is not shown."""
    if is_secret(item):
        return soft(SECRET_NOTE)
    if isinstance(item.content, bytes):
        return _bytes(item.content, item.text)
    encoded = embedded_bytes(item.content)
    if encoded and media_type_of(encoded.data) in PICTURES:
        return _bytes(encoded.data, item.text[:80])
    return text_of(item.content, item.line_count)


def _bytes(data: bytes, description: str) -> Html:
    """Draw a picture. For other bytes, and for a picture too large for a notebook's file, draw only the description."""
    media_type = media_type_of(data)
    if media_type in PICTURES and len(data) <= LARGEST_PICTURE:
        return image(data_url(data, media_type))
    return soft(description)


def text_of(text: str, total: int) -> Html:
    """Draw a text of `total` lines by its kind, without the wrapper that a tool may have put around it."""
    if len(text) > PARSED_AT_MOST:
        return _lines(text, total)
    inner = unwrap(text).text
    are_json_lines = is_json_lines(inner)
    value = NOTHING if are_json_lines else parse(inner)
    if value is not NOTHING:
        # A list of objects is drawn as a table, with the tree below it.
        objects = elements_of(value)
        has_rows = len(objects) > 1 and all(isinstance(one, dict) for one in objects)
    else:
        has_rows = are_json_lines or identify(inner).kind is Kind.TABLE
    rows = Html("")
    if has_rows:
        with suppress(InvalidSelectionError):
            rows = rows_of(table_of(inner))
    if value is not NOTHING:
        tree = JsonTree().draw(value)
        return joined(rows, folded("as JSON", tree)) if rows else tree
    if rows:
        return rows
    if inner is not text:
        total = len(inner.splitlines())
    return _lines(inner, total)


def _lines(text: str, total: int) -> Html:
    """Draw numbered lines: only the notable ones of a log, and those of a diff in its colours."""
    beginning = text[:LOOKED_AT]
    lines = beginning.replace("\r\n", "\n").removesuffix("\n").split("\n")
    kind = identify(beginning[:PARSED_AT_MOST]).kind
    if len(beginning) == len(text):
        total = len(lines)
    if kind is Kind.LOG:
        return numbered(notable(lines), log_line, total)
    if kind is Kind.DIFF:
        return numbered(head_and_tail(lines), diff_line, total)
    return numbered(head_and_tail(lines), plain_line, total)
