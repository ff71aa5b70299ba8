"""How turns of stored conversations read when they come back: what was said first, then what tools gave."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from memory_context.model.reference import leading_key
from memory_context.model.selection import Cost
from memory_context.text.excerpt.excerpt import ANSWER, Excerpt, excerpt
from memory_context.text.excerpt.record_around_place import ASKED, Record
from memory_context.text.index.analyzer import held_by, wanted_by
from memory_context.text.ranges import Span, joined
from memory_context.wording_for_models import GAP, GAP_AT_LINE

# How the line begins of what a tool gave.
GIVEN = '{"role": "tool"'
# Of each result in a turn, and of the arguments of a call, so many tokens are shown at most; memory holds the rest.
GIVEN_TOKENS = 200
# What is shorter is shown also where it holds no word of what is asked, and what costs next to nothing in any case.
SHORT_TOKENS = 100
SHORT_CHARACTERS = 80

_SPEAKERS: Mapping[str, str] = {"human": "user", "ai": "assistant"}


def show_turns(text: str, turns: Sequence[Record], query: str, budget: int, cost: Cost) -> Excerpt:
    """Return turns as people read them, ``user: …`` and ``assistant: …``.

    Where the budget is short, what tools gave is left out first, then long texts are cut; and of what was said the
    newest stays, because it may correct what was said before.

    Args:
        text: The conversation, as it is stored.
        turns: Its turns, the oldest first.
        query: What is wanted of them.
        budget: The most that they cost.
        cost: What a text costs, in tokens or characters.
    """
    shown, ranges = list[str](), list[Span]()
    left = budget
    for number in range(len(turns) - 1, -1, -1):
        older, newest = turns[:number], turns[number : number + 1]
        share = share_of(left, least_cost(text, newest, cost), least_cost(text, older, cost))
        turn = _within(text, turns[number], query, share, cost)
        if turn.text:
            shown.insert(0, turn.text)
            ranges += turn.ranges
            left -= cost(turn.text) + 1
    return Excerpt("\n".join(shown), tuple(sorted(ranges)))


def least_cost(text: str, turns: Sequence[Record], cost: Cost) -> int:
    """Return what turns cost with all that was said in them, and without what tools gave."""
    return sum(cost("\n".join(_least(text, turn))) + 1 for turn in turns)


def share_of(budget: int, least: int, reserved: int) -> int:
    """Return what the newest thing may cost that needs *least*, of a budget from which older ones need *reserved*."""
    # A long answer leaves a third of it to what it was given later than.
    return max(budget - reserved, min(least, budget * 2 // 3))


def as_said(text: str) -> str:
    """Return the lines of a stored conversation as people read them; a line that is cut as it is."""
    return "\n".join(spoken(line) for line in text.split("\n") if line)


def spoken(line: str, given: Callable[[str], str] = str) -> str:
    """Return who said what, of a message as it is stored: compacted, or of a chat.

    Args:
        line: The message.
        given: How a result of a tool is shown, and the arguments of a call.
    """
    try:
        message: Mapping[str, Any] = json.loads(line)
        who = message["role"]
        if "text" in message:
            return f"{_SPEAKERS.get(who, who)}: {message['text']}"
        is_tool = who == "tool"
        texts = [str(text) for text in message.get("texts", ()) if text is not None]
        texts = list(map(given, texts)) if is_tool else texts
        calls = [
            f"calls {call['name']}({given(call['arguments'])})" for call in message.get("calls", ())
        ]
        who = message["source"] if is_tool else who
    except (ValueError, LookupError, TypeError):
        return line
    return f"{who}: {' '.join([*texts, *calls])}"


def _least(text: str, turn: Record) -> list[str]:
    """Return the lines that are shown of a turn at least, the number of its first one before them."""
    gap = GAP_AT_LINE.format(line=1 + text.count("\n", 0, turn.start))
    lines = text[turn.start : turn.stop].split("\n")
    return [gap, *(spoken(line, _if_short) for line in lines)]


def _if_short(given: str) -> str:
    return given if len(given) <= SHORT_CHARACTERS else GAP


def _within(text: str, turn: Record, query: str, budget: int, cost: Cost) -> Excerpt:
    """Return a turn with as much of what tools gave as *budget* pays for; cut if it pays for less than was said."""
    shown = _least(text, turn)
    lines = text[turn.start : turn.stop].split("\n")
    left = budget - cost("\n".join(shown))
    if left < 0:
        return _cut(lines, shown, query, budget, cost)
    ranges = list[Span]()
    first = 1 + text.count("\n", 0, turn.start)
    for number, line in enumerate(lines):
        whole = spoken(line)
        fuller = whole
        if whole != shown[1 + number]:
            most = min(left + cost(shown[1 + number]), GIVEN_TOKENS)
            fuller = spoken(line, partial(_given, query=query, budget=most, cost=cost))
        added = cost(fuller) - cost(shown[1 + number])
        if added <= left:
            left -= added
            shown[1 + number] = fuller
        # Of arguments that were cut, everything is seen that was said beside them.
        if shown[1 + number] == whole or not line.startswith(GIVEN):
            ranges.append((first + number, first + number))
    return Excerpt("\n".join(shown), tuple(joined(ranges)))


def _given(text: str, query: str, budget: int, cost: Cost) -> str:
    """Return what of a tool's result is wanted; of what is kept apart the reference, for it is looked for there."""
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
    """Return what was said as far as *budget* goes: by persons, then the last answer, then what came before that."""
    gap, *texts = least
    by_persons = [number for number, line in enumerate(lines) if line.startswith(ASKED)]
    others = [number for number in range(len(lines) - 1, -1, -1) if number not in by_persons]
    left = budget - cost(gap) - 1
    shown = dict[int, str]()
    for number in (*by_persons, *others):
        part = texts[number]
        if left <= 0 or lines[number].startswith(GIVEN):
            continue
        if cost(part) > left:
            # A few words of a call tell nothing.
            is_worth = number in by_persons or cost(part) > SHORT_TOKENS
            part = excerpt(part, query, left, cost).text if is_worth else ""
        if part:
            shown[number] = part
            left -= cost(part) + 1
    if not shown:
        return Excerpt("")
    return Excerpt("\n".join([gap, *(shown[number] for number in sorted(shown))]))
