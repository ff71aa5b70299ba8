"""Draw memories: one with its content, a table of several, or the hits of a search with their passages."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from math import fsum

from memory_context.display.drawn_contents import SECRET_NOTE, content_of
from memory_context.display.escaped_html import (
    Html,
    and_more,
    folded,
    joined,
    key_name,
    soft,
    table,
    tag,
)
from memory_context.display.log_diff_and_numbered_lines import (
    NumberedLine,
    marked_line,
    numbered,
    shortened,
)
from memory_context.model.item import Match, MemoryItem, is_secret
from memory_context.model.scope import DETAIL
from memory_context.text.index.analyzer import wanted_by, words_found_by

SHOWN = 50
OPEN = 5
PASSAGE_LINES = 10
# How many lines before and after a line are shown with it.
AROUND = 2


def memory(item: MemoryItem) -> Html:
    """Draw a memory: its title, its content, and its other facts."""
    head = tag("div", _title(item, key_name(item.memory_key)), cls="head")
    facts = table(("", ""), _facts(item))
    return joined(head, content_of(item), folded("facts", facts))


def _title(item: MemoryItem, key: Html) -> Html:
    if isinstance(item.content, bytes):
        length = item.char_count or len(item.content)
        size = f"{length:,} bytes"
    else:
        size = f"{item.token_count:,} tokens"
        if item.line_count > 1:
            size = f"{size}, {item.line_count:,} lines"
    about = f"· {item.memory_type} · {size}"
    if not item.is_active:
        about = f"{about} · evicted"
    return joined(key, f" {item.summary} ", soft(about))


def _facts(item: MemoryItem) -> list[tuple[str, str]]:
    """Return the names and values of a memory's facts; a fact that it does not have is left out."""
    tier = item.tier
    if item.tier_id is not None:
        tier = f"{tier} {item.tier_id}"
    facts = {
        "user": item.user_id,
        "tier": tier,
        "category": item.category,
        "tags": ", ".join(item.tags),
        "importance": f"{item.importance:g}",
        "origin": item.origin,
        "agent": item.agent_id,
        "thread": item.thread_id,
        "media type": item.media_type,
    }
    if item.content_metadata and not is_secret(item):
        facts["metadata"] = json.dumps(dict(item.content_metadata), ensure_ascii=False)
    facts["stored"] = f"{item.created_at:%Y-%m-%d %H:%M} UTC"
    if item.expires_at:
        facts["expires"] = f"{item.expires_at:%Y-%m-%d %H:%M} UTC"
    if item.access_count:
        facts["reads"] = f"{item.access_count:,}"
    return [(name, shortened(value)) for name, value in facts.items() if value]


def memories(items: Sequence[MemoryItem]) -> Html:
    """Draw the hits of a search by words with their passages; other records as a table."""
    if not items:
        return soft("no memories")
    shown = items[:SHOWN]
    if any(item.match and item.match.why for item in shown):
        parts = [
            hit(item, key_name(item.memory_key), is_open=rank < OPEN)
            for rank, item in enumerate(shown)
        ]
    else:
        parts = [_table(shown)]
    return and_more(joined(*parts), len(items) - SHOWN)


def _table(items: Sequence[MemoryItem]) -> Html:
    """Draw a row for each record; a column that is empty for all of them is left out."""
    columns: dict[str, Callable[[MemoryItem], str]] = {
        "key": lambda item: key_name(item.memory_key),
        "type": lambda item: item.memory_type,
        # Most records of a list are folded outputs, so their tier tells nothing.
        "tier": lambda item: "" if item.tier == DETAIL else item.tier,
        "category": lambda item: item.category or "",
        "tags": lambda item: ", ".join(item.tags),
        "tokens": lambda item: f"{item.token_count:,}",
        "summary": lambda item: item.summary,
    }
    filled = dict[str, list[str]]()
    for name, cell in columns.items():
        cells = [cell(item) for item in items]
        if any(cells):
            filled[name] = cells
    rows = zip(*filled.values(), strict=True)
    numbers = [list(filled).index("tokens")]
    return table(filled, rows, numbers)


def hit(item: MemoryItem, key: Html, *, is_open: bool) -> Html:
    """Draw a hit: its title with the *key*, and below it the passage."""
    match = item.match
    facts = "".join(f" · {fact}" for fact in found_by(match))
    title = joined(_title(item, key), soft(facts))
    if is_secret(item):
        return folded(title, soft(SECRET_NOTE), is_open=is_open)
    if match and match.passage:
        return folded(title, passage(match), is_open=is_open)
    return tag("div", title)


def found_by(match: Match | None) -> list[str]:
    """Return where in a memory, and by which words, it was found."""
    facts = list[str]()
    if match and match.lines:
        first, last = match.lines
        place = f"lines {first}-{last}" if last > first else f"line {first}"
        facts.append(place)
    if match and match.why:
        facts.append(f"found by {', '.join(match.why)}")
    return facts


def passage(match: Match) -> Html:
    """Draw the lines of the passage that contain words of the query, and the lines around them."""
    words = marks_of(match.passage, match.why)
    lines = passage_lines(match, words)
    return numbered(lines, marked_line(words), lines[-1].number, lines[0].number)


def passage_lines(match: Match, words: Sequence[str]) -> list[NumberedLine]:
    """Return at most `PASSAGE_LINES` lines of a passage: the best ones, each with the two before and after it.

    A word is worth more if fewer lines hold it. A line is worth the words that it and the lines around it hold.
    """
    lines = match.passage.replace("\r\n", "\n").removesuffix("\n").split("\n")
    weights = {word.casefold(): 0.5 for word in words}
    # A word of the query counts more than another form of it.
    weights |= {word.casefold(): 1.0 for word in match.why}
    words_by_line = list[set[str]]()
    line_counts = Counter[str]()
    for line in lines:
        folded_line = line.casefold()
        in_line = {word for word in weights if word in folded_line}
        words_by_line.append(in_line)
        line_counts.update(in_line)

    def worth_of(words_there: Iterable[str]) -> float:
        # fsum is exact, so the result does not depend on the order of a set, which varies between processes.
        return fsum(weights[word] / line_counts[word] for word in words_there)

    worths = list[tuple[float, float]]()
    for index, in_line in enumerate(words_by_line):
        start = max(0, index - AROUND)
        around = words_by_line[start : index + AROUND + 1]
        words_around = in_line.union(*around)
        # Of lines with equal surroundings, the one that holds more itself is worth more.
        worths.append((worth_of(words_around), worth_of(in_line)))
    most = max(worths)
    best = [index for index, worth in enumerate(worths) if worth == most]
    # The best lines come first, then their neighbours, so that the limit leaves out the farthest.
    steps = sorted(range(-AROUND, AROUND + 1), key=abs)
    wanted = dict.fromkeys(index + step for step in steps for index in best)
    existing = [index for index in wanted if 0 <= index < len(lines)]
    nearest = sorted(existing[:PASSAGE_LINES])
    first = 1
    if match.lines:
        first = match.lines[0]
    return [NumberedLine(first + index, lines[index]) for index in nearest]


def marks_of(passage: str, why: Sequence[str]) -> list[str]:
    """Return the words to highlight in a passage: those it was found by, and other forms of them."""
    folded_words = [word.casefold() for word in why if word.strip()]
    words = [*why]
    for form in words_found_by(passage, wanted_by(" ".join(why))):
        # A form in a script without spaces may hold a word that is highlighted already.
        is_plain_word = form.isascii() and form.isalnum()
        if is_plain_word or not any(word in form.casefold() for word in folded_words):
            words.append(form)

    def occurs(word: str) -> bool:
        # As `marked_line` looks for words: a casefolded passage could match where that function marks nothing.
        return re.search(re.escape(word), passage, re.IGNORECASE) is not None

    return [word for word in words if word.strip() and occurs(word)]
