"""A memory, and lists of them: as a table, or as hits with the passages that speak for them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence

from memory_context.display.contents import SECRET_NOTE, content_of
from memory_context.display.html import Html, folded, joined, soft, table, tag
from memory_context.display.numbered_lines import Line, marked_line, numbered, shortened
from memory_context.model.item import Match, MemoryItem, is_secret
from memory_context.model.scope import DETAIL
from memory_context.text.index.analyzer import wanted_by, words_found_by

SHOWN = 50
OPEN = 5
PASSAGE_LINES = 10
PLAIN_LINES = 20


def memory(item: MemoryItem) -> Html:
    """A memory: what it is, what is known of it, and what it holds."""
    known = folded("facts", table(("", ""), _facts(item)))
    return joined((tag("div", *_title(item), cls="head"), content_of(item), known))


def _title(item: MemoryItem) -> Iterator[Html | str]:
    yield tag("code", item.memory_key, cls="key")
    yield f" {item.summary} "
    yield soft(f"· {item.memory_type} · {_size(item)}{'' if item.is_active else ' · evicted'}")


def _size(item: MemoryItem) -> str:
    if isinstance(item.content, bytes):
        return f"{item.char_count or len(item.content):,} bytes"
    lines = f", {item.line_count:,} lines" if item.line_count > 1 else ""
    return f"{item.token_count:,} tokens{lines}"


def _facts(item: MemoryItem) -> Iterator[tuple[str, str]]:
    """What is known of a memory; what it does not have is left out."""
    known = {
        "user": item.user_id,
        "tier": item.tier if item.tier_id is None else f"{item.tier} {item.tier_id}",
        "category": item.category,
        "tags": ", ".join(item.tags),
        "importance": f"{item.importance:g}",
        "agent": item.agent_id,
        "thread": item.thread_id,
        "media type": item.media_type,
        "metadata": json.dumps(dict(item.content_metadata), ensure_ascii=False)
        if item.content_metadata
        else "",
        "stored": f"{item.created_at:%Y-%m-%d %H:%M} UTC",
        "expires": f"{item.expires_at:%Y-%m-%d %H:%M} UTC" if item.expires_at else "",
        "reads": f"{item.access_count:,}" if item.access_count else "",
    }
    return ((name, shortened(value)) for name, value in known.items() if value)


def memories(items: Sequence[MemoryItem]) -> Html:
    """Hits with their passages; records that no search with words has found, as a table."""
    if not items:
        return soft("no memories")
    return joined((*_drawn(items[:SHOWN]), *_more(len(items) - SHOWN)))


def _drawn(items: Sequence[MemoryItem]) -> Iterator[Html]:
    if any(item.match and item.match.why for item in items):
        return (_hit(item, is_open=at < OPEN) for at, item in enumerate(items))
    return iter((_table(items),))


def _more(count: int) -> Iterator[Html]:
    if count > 0:
        yield soft(f"⋯ {count:,} more")


def _table(items: Sequence[MemoryItem]) -> Html:
    """What is known of each record; a column that none has anything for is left out."""
    columns: dict[str, Callable[[MemoryItem], str]] = {
        "key": lambda one: tag("code", one.memory_key, cls="key"),
        "type": lambda one: one.memory_type,
        "tier": lambda one: "" if one.tier == DETAIL else one.tier,
        "category": lambda one: one.category or "",
        "tags": lambda one: ", ".join(one.tags),
        "tokens": lambda one: f"{one.token_count:,}",
        "summary": lambda one: one.summary,
    }
    filled = {
        name: cells for name, cell in columns.items() if any(cells := [cell(one) for one in items])
    }
    return table(filled, zip(*filled.values(), strict=True), (list(filled).index("tokens"),))


def _hit(item: MemoryItem, *, is_open: bool) -> Html:
    match = item.match
    where = f" · lines {match.lines[0]:,}-{match.lines[1]:,}" if match and match.lines else ""
    why = f" · found by {', '.join(match.why)}" if match and match.why else ""
    title = joined((*_title(item), soft(f"{where}{why}")))
    if is_secret(item):
        return folded(title, soft(SECRET_NOTE), is_open=is_open)
    return (
        folded(title, _passage(match), is_open=is_open)
        if match and match.passage
        else tag("div", title)
    )


def _passage(match: Match) -> Html:
    """The lines of the passage that hold words of the query, and those around them."""
    words = marks_of(match.passage, match.why)
    lines = passage_lines(match, words)
    return numbered(lines, marked_line(words), lines[-1].number, lines[0].number)


def passage_lines(match: Match, words: Sequence[str]) -> list[Line]:
    """Lines of a passage, at most `PASSAGE_LINES`, with their numbers: those with words first."""
    first = match.lines[0] if match.lines else 1
    lines = match.passage.replace("\r\n", "\n").removesuffix("\n").split("\n")
    low = [word.casefold() for word in words]
    counts = {at: sum(word in line.casefold() for word in low) for at, line in enumerate(lines)}
    speaking = sorted(
        (at for at, count in counts.items() if count), key=lambda at: -counts[at]
    ) or [0]
    most = counts[speaking[0]]
    best = [at for at in speaking if counts[at] == most]
    around = (at + step for step in (1, -1, 2, -2) for at in best)
    chosen = [at for at in dict.fromkeys([*best, *around, *speaking]) if 0 <= at < len(lines)][
        :PASSAGE_LINES
    ]
    return [Line(first + at, lines[at]) for at in sorted(chosen)]


def marks_of(passage: str, why: Sequence[str]) -> list[str]:
    """What is highlighted in a passage: the words that it was found by, and other forms of them."""
    forms = words_found_by(passage, wanted_by(" ".join(why)))
    low = [word.casefold() for word in why if word.strip()]
    others = [
        form for form in forms if (form.isascii() and form.isalnum()) or not _holds(form, low)
    ]
    return [
        word
        for word in (*why, *others)
        if word.strip() and re.search(re.escape(word), passage, re.IGNORECASE)
    ]


def _holds(form: str, words: Sequence[str]) -> bool:
    return any(word in form.casefold() for word in words)


def memory_text(item: MemoryItem) -> str:
    """A memory in a terminal: its reference, and its first lines."""
    if is_secret(item):
        return f"{item.ref}\n{SECRET_NOTE}"
    lines = item.text[:100_000].split("\n")
    shown = [shortened(line) for line in lines[:PLAIN_LINES]]
    rest = max(item.line_count, len(lines)) - len(shown)
    return "\n".join((str(item.ref), *shown, *([f"… and {rest:,} more lines"] if rest > 0 else [])))


def memories_text(items: Sequence[MemoryItem]) -> str:
    """A list of memories in a terminal: their references, and the passages of hits."""
    if not items:
        return "no memories"
    more = [f"… and {len(items) - SHOWN:,} more"] if len(items) > SHOWN else []
    return "\n".join((*(line for item in items[:SHOWN] for line in _hit_lines(item)), *more))


def _hit_lines(item: MemoryItem) -> Iterator[str]:
    yield str(item.ref)
    if item.match and item.match.why and item.match.passage and not is_secret(item):
        words = marks_of(item.match.passage, item.match.why)
        yield from (
            f"  {line.number}: {shortened(line.text)}" for line in passage_lines(item.match, words)
        )
