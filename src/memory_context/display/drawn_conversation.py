"""Draw a conversation as it is in the prompt: its messages, their tokens, and its references with their previews."""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from memory_context.display.drawn_contents import text_of
from memory_context.display.escaped_html import (
    Html,
    bar,
    escaped,
    folded,
    joined,
    key_name,
    soft,
    table,
    tag,
)
from memory_context.display.log_diff_and_numbered_lines import shortened
from memory_context.display.rows_and_json_trees import CELL
from memory_context.model.reference import MemoryRef, without_references
from memory_context.model.transcript import Transcript, TranscriptEntry
from memory_context.text.describe.description import counted

SHORT_LINES = 8
SHORT_CHARACTERS = 600
# Of a long conversation, this many messages at its beginning and at its end are drawn.
FIRST = 20
LAST = 60
ROLES = {"memory": "recalled"}
# What a recall may add to a reference: its origin, and that it comes from another conversation.
_BESIDE = re.compile(r"(?: \(.*\))?")


@dataclass(frozen=True, slots=True)
class ReferencedText:
    """A reference on a line of its own with the text below it; or the text before the first reference."""

    ref: MemoryRef | None
    text: str


def split_at_references(text: str, known: AbstractSet[str]) -> list[ReferencedText]:
    """Split a text at its references. Only those whose keys are *known* to the conversation count; others are text."""
    parts = list[ReferencedText]()
    ref = None
    below = list[str]()
    for line in text.splitlines(keepends=True):
        refs = MemoryRef.find_all(line) if line.startswith("[MemoryRef: ") else []
        # The reference, with a recall's addition, must fill its line. Inside a sentence it only mentions a text that was
        # folded elsewhere.
        fills = len(refs) == 1 and _BESIDE.fullmatch(without_references(line).rstrip())
        if fills and refs[0].key in known:
            parts.append(ReferencedText(ref, "".join(below)))
            ref = refs[0]
            below = []
        else:
            below.append(line)
    parts.append(ReferencedText(ref, "".join(below)))
    return [part for part in parts if part.ref or part.text.strip()]


def conversation(view: Transcript) -> Html:
    """Draw a conversation: its totals, and its messages in a table."""
    # At least 1, since it is a divisor.
    largest = max([1, *(entry.tokens for entry in view.entries)])
    last_from = len(view.entries) - LAST
    rows = list[Html]()
    for index, entry in enumerate(view.entries):
        if index < FIRST or index >= last_from:
            rows.append(_row(entry, view, largest))
        elif index == FIRST:
            more = soft(f"⋯ {last_from - FIRST:,} more messages")
            rows.append(tag("tr", tag("td"), tag("td", more), tag("td")))
    facts = " · ".join(f"{name} {value}" for name, value in view.facts)
    head = tag("div", tag("b", view.title), soft(f" {facts}"), cls="head")
    body = soft("no messages yet")
    if rows:
        body = tag("table", tag("tbody", *rows))
    return joined(head, _totals(view), body)


def _totals(view: Transcript) -> Html:
    """Draw how many tokens are in the prompt, and how many only in the store."""
    prompt = sum(entry.tokens for entry in view.entries)
    stored = sum(view.stored.values())
    total = max(prompt + stored, 1)
    label = "tokens in the prompt"
    if view.limit:
        label = f"{label}, of {view.limit:,} at most"
    rows = [(f"{prompt:,}", label, bar(prompt / total))]
    if stored:
        texts = counted(len(view.stored), "text")
        label = f"tokens of {texts} in the store, behind references"
        rows.append((f"{stored:,}", label, bar(stored / total)))
    return table(("", "", ""), rows, (0,))


def _row(entry: TranscriptEntry, view: Transcript, largest: int) -> Html:
    label = escaped(entry.role)
    if entry.name != entry.role:
        role = ROLES.get(entry.role, entry.role)
        label = joined(role, Html("<br>"), soft(entry.name))
    content = list[Html]()
    if entry.is_error:
        content.append(tag("div", "failed", cls="error"))
    for name, arguments in entry.calls:
        call = tag("code", tag("b", name), "(", shortened(arguments, most=CELL), ")")
        content.append(tag("div", soft("calls "), call))
    for text in entry.texts:
        for part in split_at_references(text, view.stored.keys()):
            if part.ref:
                content.append(_folded_text(part.ref, part.text, view.stored[part.ref.key]))
            else:
                content.append(_plain_text(part.text))
    if entry.images:
        content.append(soft(counted(entry.images, "image")))
    share = bar(entry.tokens / largest)
    return tag(
        "tr",
        tag("td", label, cls=f"who {entry.role}"),
        tag("td", *content, cls="what"),
        tag("td", f"{entry.tokens:,}", Html("<br>"), share, cls="num"),
    )


def _folded_text(ref: MemoryRef, preview: str, stored: int) -> Html:
    """Draw a reference, and below it the preview that the model sees."""
    size = soft(f"· {stored:,} tokens in the store")
    title = joined(key_name(ref.key), f" {ref.description} ", size)
    if not preview.strip():
        return tag("div", title)
    return folded(title, tag("pre", preview.rstrip("\n")))


def _plain_text(text: str) -> Html:
    """Draw a text; a long one folded under its first line."""
    text = text.strip("\n")
    lines = text.split("\n")
    if len(lines) <= SHORT_LINES and len(text) <= SHORT_CHARACTERS:
        return tag("pre", text)
    size = f"{len(lines):,} lines"
    if len(lines) == 1:
        size = f"{len(text):,} characters"
    first = shortened(lines[0], most=CELL)
    title = joined(first, " ", soft(f"· {size}"))
    return folded(title, text_of(text, len(lines)))
