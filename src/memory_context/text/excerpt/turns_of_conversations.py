"""Find the turns of a stored conversation, and the words that somebody said in them.

A stored conversation has one message a line, as JSON. A *turn* is what a person said with all that answered it.
"""

from __future__ import annotations

import re

from memory_context.text.lines import line_end, line_spans
from memory_context.text.spans import Span

# The lines of compacted messages and of stored chats begin like this. Those of messages that another program wrote, such as
# OpenAI's, have "content" as their second key, and records of users or rights may have a "source", but no "texts".
_SAID = re.compile(r'\{"role": "[^"\\]*", "(?:text": "|source": "(?:[^"\\]|\\.)*", "texts": \[)')
# How the line of a person's message begins, in compacted messages and in a stored chat.
ASKED = ('{"role": "user", "source": "', '{"role": "human", "text": "')
# How a message that this library itself added begins, such as the reference to an earlier compaction.
NOTED = '{"role": "user", "source": "memory_context"'
# How the line of a tool's result begins.
TOOL_RESULT = '{"role": "tool"'
LONGEST_TURN = 2400
# What nobody said is known by how it begins, which is looked for so far from a place.
LONGEST_UNSAID = 8000
# How far from a place the ends of its turn are looked for: that of an agent that works alone may have megabytes.
REACH = 64_000
# A short turn that begins with so few words depends on the turn before it: "No, on Tuesday."
FOLLOW_UP_CHARACTERS = 400
FOLLOW_UP_WORDS = 5

# What nobody said. Quotes within what was said are escaped.
_UNSAID = re.compile(
    rf"^{re.escape(NOTED)}[^\n]*"
    # A folded text: a reference, with or without a preview. The text is a memory of its own, and is searched there.
    r'|(?<!\\)"\[MemoryRef: (?:[^"\\]|\\.)*? tokens\](?:\\n(?:[^"\\]|\\.)*)?"'
    # The data that a host keeps with a chat's message.
    r'|(?<=", )"data": \{[^\n]*'
    # A key of the line's JSON.
    r'|(?<!\\)"\w+": ',
    re.MULTILINE,
)


def is_conversation(text: str) -> bool:
    """Return whether *text* is a stored conversation: one message a line, as JSON."""
    return _SAID.match(text) is not None


def blanked_unsaid(lines: str) -> str:
    """Return lines of a stored conversation with spaces in place of what nobody said, so that words keep their offsets."""
    return _UNSAID.sub(lambda found: " " * len(found[0]), lines)


def turn_at(text: str, start: int, stop: int) -> Span:
    """Return the turn of the line ``text[start:stop]``, with the next one if that is brief: "No, on Tuesday.".

    If what was said in it is too long, or if the line is a tool's result and all of the turn is, return the line alone.
    The end of a turn that the line begins is looked for however far it is, as the answer may be there.
    """
    farthest = max(0, start - REACH)
    reach = len(text) if text.startswith(ASKED, start) else REACH
    begin = 1 + max(text.rfind(f"\n{asked}", farthest, start + len(asked)) for asked in ASKED)
    end = _end_of_turn(text, stop, reach)
    if begin == 0 < farthest or end - stop > reach:
        return start, stop
    length = end - begin
    if not text.startswith(TOOL_RESULT, start):
        length = _said_length(text, begin, end)
    if length > LONGEST_TURN:
        return start, stop
    below = end + 1
    said = _SAID.match(text, below)
    if said and text.startswith(ASKED, below) and not text.startswith(NOTED, below):
        words = blanked_unsaid(text[said.end() : line_end(text, below)]).split()
        if len(words) > FOLLOW_UP_WORDS:
            return begin, end
        end_of_next = _end_of_turn(text, below, REACH)
        # A stored chat keeps much with each message.
        lines = [text[slice(*line)] for line in said_lines(text, below, end_of_next)]
        words = " ".join(map(blanked_unsaid, lines)).split()
        if len(" ".join(words)) <= FOLLOW_UP_CHARACTERS:
            return begin, end_of_next
    return begin, end


def said_lines(text: str, start: int, stop: int) -> list[Span]:
    """Return the lines in a part of a conversation that are not results of tools."""
    lines = line_spans(text, start, stop)
    return [line for line in lines if not text.startswith(TOOL_RESULT, line[0])]


def _end_of_turn(text: str, place: int, reach: int) -> int:
    """Return where the turn at a place ends: before the next message of a person, with the text, or out of reach."""
    ends = [text.find(f"\n{asked}", place, place + reach) for asked in ASKED]
    out_of_reach = min(place + reach + 1, len(text))
    return min((end for end in ends if end >= 0), default=out_of_reach)


def _said_length(text: str, start: int, stop: int) -> int:
    """Return the number of characters in a part of a conversation without the results of tools."""
    return sum(end - begin for begin, end in said_lines(text, start, stop))
