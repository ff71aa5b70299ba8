"""Show turns of stored conversations within a budget: first what was said, then as much of tools' results as fits.

A stored conversation has one message a line, as JSON. A turn is what a person said with all that answered it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from memory_context.model.reference import leading_key
from memory_context.model.selection import Cost
from memory_context.sentences_models_read import GAP, GAP_AT_LINE
from memory_context.text.excerpt.excerpt import ANSWER, excerpt
from memory_context.text.excerpt.record_around_place import Record
from memory_context.text.excerpt.shown_parts_and_gap_marks import Excerpt
from memory_context.text.excerpt.turns_of_conversations import (
    ASKED,
    TOOL_RESULT,
    is_conversation,
)
from memory_context.text.index.analyzer import held_by, wanted_by
from memory_context.text.spans import Span, joined

# At most this much of each result and of each call's arguments is shown; the rest can be read from memory.
RESULT_TOKENS = 200
# Results and arguments of up to SHORT_TOKENS are shown if they fit, even if they hold no word of the query. Those of up to
# SHORT_CHARACTERS cost next to nothing and are always shown.
SHORT_TOKENS = 100
SHORT_CHARACTERS = 80

_SPEAKERS: Mapping[str, str] = {"human": "user", "ai": "assistant"}


def show_turns(text: str, turns: Sequence[Record], query: str, budget: int, cost: Cost) -> Excerpt:
    """Return turns as people read them: ``user: …`` and ``assistant: …``.

    If the budget is short, the results of tools are left out first; then long texts are cut. The newest turn gets its
    share first, because it may correct the older ones.

    Args:
        text: The conversation, as it is stored.
        turns: The turns to show, oldest first.
        query: What is wanted from them.
        budget: The most that they may cost.
        cost: Returns what a text costs, in tokens or characters.
    """
    shown = list[str]()
    ranges = list[Span]()
    left = budget
    newer = len(text) + 1
    for number in reversed(range(len(turns))):
        older, newest = turns[:number], turns[number : number + 1]
        share = share_of(left, least_cost(text, newest, cost), least_cost(text, older, cost))
        # A brief turn is also the end of the turn before it.
        once = replace(turns[number], stop=min(turns[number].stop, newer - 1))
        newer = once.start
        turn = _within(text, once, query, share, cost)
        if turn.text:
            shown.insert(0, turn.text)
            ranges += turn.ranges
            left -= cost(turn.text) + 1
    return Excerpt("\n".join(shown), tuple(sorted(ranges)))


def least_cost(text: str, turns: Sequence[Record], cost: Cost) -> int:
    """Return what turns cost with all that was said in them, but without the results of tools."""
    return sum(cost("\n".join(_least(text, turn))) + 1 for turn in turns)


def share_of(budget: int, least: int, reserved: int) -> int:
    """Return the part of *budget* for the newest turns, which need *least*, if the older ones need *reserved*.

    It is what the older ones leave, but no less than the newest need, up to two thirds of the budget.
    """
    return max(budget - reserved, min(least, budget * 2 // 3))


def as_said(text: str) -> str:
    """Return a stored conversation as people read it. Other texts, and lines that are no complete message, stay."""
    if not is_conversation(text):
        return text
    return "\n".join(spoken(line) for line in text.split("\n") if line)


def spoken(line: str, given: Callable[[str], str] = str) -> str:
    """Return who said what in a stored message of a compacted conversation or of a chat.

    Args:
        line: The message, as JSON. Anything else is returned as it is.
        given: Returns a tool's result or a call's arguments in the form in which they are shown.
    """
    try:
        message: Mapping[str, Any] = json.loads(line)
        who = message["role"]
        if "text" in message:
            return f"{_SPEAKERS.get(who, who)}: {message['text']}"
        # A message without "texts" is another program's, such as OpenAI's, and is returned as it is.
        parts = [str(text) for text in message["texts"] if text is not None]
        if who == "tool":
            who = message["source"]
            parts = list(map(given, parts))
        for call in message.get("calls", ()):
            parts.append(f"calls {call['name']}({given(call['arguments'])})")
    except (ValueError, LookupError, TypeError, RecursionError):
        return line
    return f"{who}: {' '.join(parts)}"


def _least(text: str, turn: Record) -> list[str]:
    """Return the lines of a turn without long results and arguments, preceded by the number of the line where it begins."""
    gap = GAP_AT_LINE.format(line=_first_line(text, turn))
    lines = text[turn.start : turn.stop].split("\n")
    return [gap, *(spoken(line, _if_short) for line in lines)]


def _first_line(text: str, turn: Record) -> int:
    """Return the number of the line in which a turn begins, from 1."""
    return 1 + text.count("\n", 0, turn.start)


def _if_short(given: str) -> str:
    """Return a result or arguments if they are short; else the mark for a gap."""
    return GAP if len(given) > SHORT_CHARACTERS else given


def _within(text: str, turn: Record, query: str, budget: int, cost: Cost) -> Excerpt:
    """Return a turn with as much of tools' results as fits; if *budget* is too small for what was said, that is cut."""
    least = _least(text, turn)
    lines = text[turn.start : turn.stop].split("\n")
    left = budget - cost("\n".join(least))
    if left < 0:
        return _cut(lines, least, query, budget, cost)
    gap, *short_lines = least
    shown = [gap]
    ranges = list[Span]()
    number = _first_line(text, turn) - 1
    for line, short in zip(lines, short_lines, strict=True):
        number += 1
        whole = spoken(line)
        part = whole
        if whole != short:
            most = min(left + cost(short), RESULT_TOKENS)
            part = spoken(line, partial(_wanted_of_result, query=query, budget=most, cost=cost))
        added = cost(part) - cost(short)
        if added > left:
            part = short
        else:
            left -= added
        shown.append(part)
        # A line counts as shown if it is whole, or if only the arguments of its calls were cut, so that nothing said is lost.
        if part == whole or not line.startswith(TOOL_RESULT):
            ranges.append((number, number))
    return Excerpt("\n".join(shown), tuple(joined(ranges)))


def _wanted_of_result(text: str, query: str, budget: int, cost: Cost) -> str:
    """Return what *query* wants of a result or of arguments; for a folded result, the reference, as its text is searched."""
    if leading_key(text):
        return text.partition("\n")[0]
    if cost(text) <= min(budget, SHORT_TOKENS):
        return text
    if not held_by(text, wanted_by(query)):
        return GAP
    return excerpt(text, query, budget, cost, ranking=ANSWER).text or GAP


def _cut(
    lines: Sequence[str], least: Sequence[str], query: str, budget: int, cost: Cost
) -> Excerpt:
    """Return as much of what was said as fits into *budget*: what persons said, then the answers.

    Args:
        lines: The lines of the turn, as they are stored.
        least: The gap and the same lines, as `_least` returns them.
        query: What is wanted of the turn.
        budget: The most that the result may cost.
        cost: Returns what a text costs.
    """
    gap, *texts = least
    asked, answered = list[str](), list[str]()
    for line, text in zip(lines, texts, strict=True):
        if line.startswith(ASKED):
            asked.append(text)
        elif not line.startswith(TOOL_RESULT):
            answered.append(text)
    shown = list[str]()
    left = budget - cost(gap) - 1
    for said in ("\n".join(asked), "\n".join(answered)):
        part = excerpt(said, query, left, cost).text if left > 0 else ""
        if part:
            shown.append(part)
            left -= cost(part) + 1
    return Excerpt("\n".join([gap, *shown]) if shown else "")
