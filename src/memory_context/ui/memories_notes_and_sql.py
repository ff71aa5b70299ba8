"""The pages to find, read, change and forget memories, the notes by tier, and SQL over the rows of memories."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from memory_context.display.decision_stats_and_package_tables import answer
from memory_context.display.drawn_memories import hit, memory
from memory_context.display.escaped_html import Html, folded, joined, sent_back, soft, tag
from memory_context.exceptions import (
    InvalidArgumentError,
    RecordChangedError,
    SelectionTimeoutError,
)
from memory_context.memory.filters_from_keywords import search_filters
from memory_context.memory.scoped_memory import ScopedMemory
from memory_context.model.generated_keys import made_by
from memory_context.model.item import MemoryItem, changed, is_secret, is_storable
from memory_context.model.origin import CONFIRMED, PERSON
from memory_context.model.scope import DETAIL
from memory_context.text.describe.description import counted
from memory_context.text.lines import lines_of
from memory_context.ui.links_forms_and_tables import (
    Visit,
    button,
    choice,
    field,
    labelled,
    listing,
    remark,
    when,
)

ROWS = 50
HITS = 20
# A memory's uses are looked for in this many of the newest calls of its conversation.
LOOKED_THROUGH = 5000
# The lines of a text that are shown on one page, and the characters of each.
LINES = 1000
LONGEST = 10_000
FACETS = ("type", "tier", "tool", "category", "thread", "since", "until")
_LINE_END = re.compile("\r\n?")
# Tiers whose notes belong to one run, session, plan, task or project.
OWNED = ("run", "session", "plan", "task", "project")


def found(visit: Visit) -> Html:
    """Draw a search form with facets, and below it the hits; without words, the newest memories page by page."""
    asked = {name: visit.word(name) for name in ("q", *FACETS)}
    form = _search_form(visit, asked)
    by_tool = None
    if asked["tool"]:
        by_tool = made_by(asked["tool"])
    filters = search_filters(
        by_tool,
        types=asked["type"] or None,
        tier=asked["tier"] or None,
        category=asked["category"] or None,
        thread=asked["thread"] or None,
        since=_day(asked["since"]),
        until=_day(asked["until"]),
    )
    if asked["q"]:
        hits = visit.memory.search(asked["q"], HITS, filters=filters)
        found_here = [hit(item, visit.key(item.memory_key), is_open=True) for item in hits]
        drawn = found_here or [remark("nothing found")]
        return joined(tag("h1", "Memories"), form, tag("div", *drawn, id="found"))
    total = visit.memory.memory_store.count(visit.memory.scope, filters)
    start = visit.start
    entries = visit.catalog.entries(visit.memory.scope, filters, limit=ROWS, offset=start)
    rows = [
        [
            visit.key(one.memory_key),
            one.memory_type,
            f"{one.token_count:,}",
            when(one.created_at),
            one.summary,
        ]
        for one in entries
    ]
    parts = [tag("h1", "Memories"), form]
    if rows:
        parts.append(listing(("key", "type", "tokens", "stored", "summary"), rows, (2,)))
    return joined(*parts, visit.pages(len(rows), ROWS, total, **asked))


def _search_form(visit: Visit, asked: Mapping[str, str]) -> Html:
    catalog = visit.catalog
    types = list(catalog.counts("memory_type", visit.user))
    tiers = list(catalog.counts("tier", visit.user))
    # After a search, the keyboard's focus must be on the results, not on the form again.
    first = {} if asked["q"] else {"autofocus": ""}
    return visit.form(
        "memories#found",
        labelled("words", field("search", "q", asked["q"], **first)),
        labelled("type", choice("type", types, asked["type"])),
        labelled("tier", choice("tier", tiers, asked["tier"])),
        labelled("tool", choice("tool", catalog.tools(visit.user), asked["tool"])),
        labelled("category", field("text", "category", asked["category"])),
        labelled("conversation", field("text", "thread", asked["thread"])),
        labelled("from", field("date", "since", asked["since"])),
        labelled("before", field("date", "until", asked["until"])),
        button("Find"),
    )


def _day(text: str) -> datetime | None:
    """Return the beginning of a day in local time, as UTC; None for an empty text.

    Raises:
        InvalidArgumentError: It is not a day.
    """
    if not text:
        return None
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError):
        raise InvalidArgumentError(f"{text!r:.80} is not a day such as 2026-01-31") from None


def one_memory(visit: Visit) -> Html:
    """Draw a memory: its content, forms to change it, and where it was used.

    Raises:
        MemoryNotFoundError: There is no such memory. If it was deleted, the message says when and why.
    """
    item = visit.memory.get(visit.word("key"))
    link: Html | str = ""
    # The content of a secret is not shown, and so not read.
    if not is_secret(item):
        item = visit.memory.read(item.memory_key)
        if isinstance(item.content, str):
            if visit.word("whole"):
                return _whole_text(visit, item, item.content)
            link = visit.link(
                "the whole text, line by line", "memory", key=item.memory_key, whole="1"
            )
    parts = [
        tag("h1", "Memory"),
        memory(item),
        tag("p", link),
        _actions(visit, item),
        tag("h2", "Where it was used"),
    ]
    return joined(*parts, _uses(visit, item))


def _whole_text(visit: Visit, item: MemoryItem, content: str) -> Html:
    """Draw a text as it is, `LINES` lines to a page."""
    lines = list(lines_of(content))
    start = visit.start
    shown = lines[start : start + LINES]
    text = "\n".join(line[:LONGEST] for line in shown)
    pages = visit.pages(len(shown), LINES, len(lines), key=item.memory_key, whole="1")
    parts = [tag("h1", "Text of ", visit.key(item.memory_key))]
    if any(len(line) > LONGEST for line in shown):
        parts.append(remark(f"lines are cut at {LONGEST:,} characters"))
    return joined(*parts, tag("pre", text), pages)


def _actions(visit: Visit, item: MemoryItem) -> Html:
    seen = item.updated_at.isoformat()
    act = partial(visit.form, method="post", key=item.memory_key, seen=seen)
    forms = list[Html]()
    content = item.content
    is_note = item.tier != DETAIL and not is_secret(item)
    if is_note and isinstance(content, str) and is_storable(content):
        text = tag("textarea", sent_back(content), name="content", rows="6")
        edit_it = act("edit", labelled("content", text), button("Save"))
        forms.append(folded("edit", edit_it))
    if item.origin not in CONFIRMED:
        forms.append(act("confirm", button("Confirm it")))
    day = ""
    if item.expires_at:
        day = f"{item.expires_at.astimezone():%Y-%m-%d}"
    ends = labelled("forget it on (empty: never)", field("date", "day", day))
    expire_it = act("expire", ends, button("Set"))
    forms.append(folded("expire", expire_it))
    warning = tag("p", "It is deleted for good; references to it will say when.")
    forget_it = act("forget", warning, button("Forget it", "danger"))
    forms.append(folded("forget", forget_it))
    return joined(*forms)


def _uses(visit: Visit, item: MemoryItem) -> Html:
    """Draw the calls that folded a memory or brought it back, and its entries in the audit trail."""
    rows = list[list[str]]()
    if item.thread_id:
        records = visit.memory.calls(
            thread_id=item.thread_id, kind="model", limit=LOOKED_THROUGH, prompts=False
        )
        for call in records.model_calls:
            verbs = ", ".join(verb for verb, keys in call.changes() if item.memory_key in keys)
            if verbs:
                at = call.at.isoformat()
                link = visit.link(when(call.at), "call", id=item.thread_id, at=at)
                rows.append([link, verbs, item.thread_id])
    for entry in visit.trail(key=item.memory_key, limit=ROWS):
        what = f"{entry.action} by {entry.agent_id or 'nobody named'}"
        rows.append([when(entry.at), what, entry.thread_id or ""])
    if not rows:
        return soft("No calls that folded it or brought it back are kept.")
    return listing(("at", "what", "conversation"), rows[:ROWS])


def notes(visit: Visit) -> Html:
    """Draw the notes of each tier, the newest first."""
    catalog = visit.catalog
    parts = [tag("h1", "Notes")]
    tiers = dict(catalog.counts("tier", visit.user))
    tiers.pop(DETAIL, None)
    if not tiers:
        parts.append(remark("no notes yet"))
    for tier, total in tiers.items():
        rows = [
            [
                visit.key(one.memory_key),
                one.tier_id or "",
                when(one.created_at),
                when(one.expires_at),
                one.summary,
            ]
            for one in catalog.entries(visit.memory.scope, {"tier": tier}, limit=ROWS)
        ]
        parts.append(tag("h2", tier))
        parts.append(listing(("key", "of", "stored", "expires", "note"), rows))
        if total > len(rows):
            everything = visit.link(f"all {total:,}", "memories", tier=tier)
            parts.append(tag("p", everything))
    return joined(*parts)


def _as_seen(visit: Visit) -> MemoryItem:
    """Return the memory that a form changes, which must be unchanged since the page with the form was drawn.

    Raises:
        MemoryNotFoundError: There is no such memory.
        RecordChangedError: It was changed since that page was drawn.
    """
    item = visit.memory.get(visit.word("key"))
    if visit.word("seen") != item.updated_at.isoformat():
        raise RecordChangedError(
            f"{item.memory_key} was changed since you opened its page, so nothing was done now; "
            "go back to copy what you wrote, then open the memory again"
        )
    return item


def edit(visit: Visit) -> str:
    """Change a note's content, and return the address to go to.

    Raises:
        MemoryNotFoundError: There is no such note.
        RecordChangedError: Somebody else changed the note meanwhile.
        MemoryContextError: The new content is refused; nothing was changed.
    """
    item = _as_seen(visit)
    ids: dict[str, Any] = {}
    if item.tier in OWNED:
        ids[f"{item.tier}_id"] = item.tier_id
    # Browsers end the lines of a form with \r\n, however they ended before.
    content = _LINE_END.sub("\n", visit.asked.get("content", ""))
    before = _LINE_END.sub("\n", item.text)
    if content == before:
        content = item.text
    elif "\r\n" in item.text:
        content = content.replace("\n", "\r\n")
    notes = ScopedMemory(visit.memory, **ids)
    if not notes.update(item.memory_key, content, origin=PERSON, seen=item.updated_at):
        raise InvalidArgumentError(f"{item.memory_key} is not a note that can be changed")
    return visit.address("memory", key=item.memory_key)


def expire(visit: Visit) -> str:
    """Set or remove the day on which a memory is forgotten, and return the address to go to.

    Raises:
        MemoryNotFoundError: There is no such memory.
        InvalidArgumentError: The day is not valid.
        RecordChangedError: Somebody else changed the memory meanwhile.
    """
    item = _as_seen(visit)
    changed = replace(item, expires_at=_day(visit.word("day")))
    visit.memory.memory_store.put(visit.memory.scope, changed, replaces=item)
    visit.memory.audit("stored", item.memory_key)
    return visit.address("memory", key=item.memory_key)


def confirm(visit: Visit) -> str:
    """Record that a person vouches for a memory, and return the address to go to.

    Raises:
        MemoryNotFoundError: There is no such memory.
        RecordChangedError: Somebody else changed the memory meanwhile.
    """
    item = _as_seen(visit)
    visit.memory.confirm(item.memory_key, seen=item.updated_at)
    return visit.address("memory", key=item.memory_key)


def forget(visit: Visit) -> str:
    """Delete a memory for good, and return the address to go to.

    Raises:
        MemoryNotFoundError: There is no such memory.
        RecordChangedError: Somebody else changed the memory meanwhile.
    """
    item = _as_seen(visit)
    if not visit.memory.forget(item.memory_key, reason="forgotten by hand", seen=item.updated_at):
        raise changed(item.memory_key)
    return visit.address("memories")


def query(visit: Visit) -> Html:
    """Draw a form for one SELECT, and its result."""
    sql = visit.word("sql")
    box = tag("textarea", sql, name="sql", rows="4", autofocus="", spellcheck="false")
    label = "one SELECT; each memory is a table under its key, in double quotes"
    form = visit.form("query", labelled(label, box), button("Run"))
    parts = [tag("h1", "Query"), form]
    if sql:
        try:
            result = visit.memory.query(sql)
        except (InvalidArgumentError, SelectionTimeoutError) as error:
            parts.append(tag("p", str(error), cls="error"))
        else:
            size = counted(len(result), "row")
            if result.sources:
                size += ", from "
            parts += [answer(result), tag("p", soft(size), visit.keys(result.sources))]
    return joined(*parts)
