"""Private keys as programs print them: with the same before each line, as a log, a diff, a comment or a colour has it.

A block whose lines stand below each other is found by `private_keys`. Here the line with the first dashes tells what
stands before every line of the key, but for numbers and times, which change from line to line. So nothing is guessed: a
line belongs to the key if it begins as the first one did, and the rest of it is base64.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from memory_context.text.ranges import Span
from memory_context.text.redact.kinds_of_rules import Rule
from memory_context.text.redact.private_keys import FOOT, HEAD, HEAD_HINT

LONGEST_LINE = 600
LONGEST_PREFIX = 300
_HEAD = re.compile(HEAD)
_FOOT = re.compile(FOOT)
# A terminal's colour: the escape character, or one of the ways to write it in a string (\u001b, \x1b, \033, \e).
_COLOUR_CODE = r"(?:u001[bB]|x1[bB]|033|e)\[[0-9;]{0,12}[mK]"
_COLOUR = re.compile(rf"(?:\x1b\[[0-9;]{{0,12}}[mK]|\\+{_COLOUR_CODE})")
# What is no part of a line's text behind it: colours, blanks, the backslashes of a quote. It begins behind another
# character, so that it is not tried anew at each blank of a long row of them.
_TRAILING = re.compile(rf"(?<![ \t\\])(?:\x1b\[[0-9;]{{0,12}}[mK]|\\{_COLOUR_CODE}|[ \t\\])+\Z")
# A line break: itself, or escaped in a string (\n), in XML (&#10;), in a URL (%0A), in HTML (<br>).
_BREAK = r"(?:<br ?/?>)?(?:\r\n|[\r\n]|(?:\\+r)?\\+n|\\+r|&#(?:10|13|x[aAdD]);|(?:%0[dD])?%0[aA])|<br ?/?>"
# Behind a quote a string of JSON may have ended.
_LINE_END = re.compile(rf"(?P<line_break>{_BREAK})|[\"'`]")
_TOKEN = re.compile(r"[A-Za-z0-9]+|\s+|.", re.DOTALL)
_BODY = re.compile("[A-Za-z0-9+/]{16,}={0,2}")
_LAST_LINE = re.compile("[A-Za-z0-9+/]{1,15}={0,2}|=[A-Za-z0-9+/]{4}")
_HEADER = re.compile("[A-Za-z-]{4,20}: .{0,200}")
_MARKS_OF_DIFFS = frozenset(" +-")
_PADDING = " \t\\"


@dataclass(frozen=True, slots=True)
class PrefixedKeyRule(Rule):
    """Find a private key with something before each of its lines."""

    def find(self, text: str, position: int) -> Span | None:
        """See `Rule.find`."""
        head = _HEAD.match(text, position)
        prefix = _prefix_shape(text, position)
        if head is None or prefix is None:
            return None
        end = _key_end(text, head.end(), prefix)
        if end is None and prefix:  # the prefix may stand before the first line only
            end = _key_end(text, head.end(), [])
        return None if end is None else (position, end)


def _key_end(text: str, head_end: int, prefix: list[str]) -> int | None:
    """Return where the key ends whose lines begin like *prefix*; None if no line below its head is one of a key."""
    end = None
    last_line_end = (
        None  # of a short line, which is the key's if only blank ones or the foot follow
    )
    for start, line in _lines(text, head_end):
        plain = _COLOUR.sub("", line)
        if start == head_end:
            if plain.strip(_PADDING):
                return None
            continue
        rest = _behind_prefix(plain, prefix)
        if rest is None:
            return end
        if end and (foot := _FOOT.match(rest)):
            return start + line.index("-----END") + len(foot[0])
        if _BODY.fullmatch(rest):
            end = start + len(_TRAILING.sub("", line))
            last_line_end = None
        elif end and _LAST_LINE.fullmatch(rest):
            last_line_end = start + len(_TRAILING.sub("", line))
        elif rest and (end or not _HEADER.fullmatch(rest)):
            return end
    return last_line_end or end


def _prefix_shape(text: str, position: int) -> list[str] | None:
    """Return the shapes of the tokens before *position* in its line; None where they are long."""
    start = max(0, position - LONGEST_PREFIX)
    line_ends = [end.end() for end in _LINE_END.finditer(text, start, position)]
    if line_ends:
        start = line_ends[-1]
    elif start:
        return None
    return [_shape(token) for token in _TOKEN.findall(_COLOUR.sub("", text[start:position]))]


def _shape(token: str) -> str:
    """Return what stays the same from line to line: not numbers and times, nor how many blanks there are."""
    if token.isspace():
        return " "
    return "0" if any(map(str.isdigit, token)) else token


def _behind_prefix(line: str, prefix: list[str]) -> str | None:
    """Return what stands in *line* behind a prefix of these shapes; None if it begins otherwise."""
    if len(prefix) == 1 and {prefix[0], line[:1]} <= _MARKS_OF_DIFFS:
        return line[1:].strip(_PADDING)
    position = 0
    for number, shape in enumerate(prefix, 1):
        token = _TOKEN.match(line, position)
        if token is None and number == len(prefix):
            return ""  # a blank line, whose last blank an editor took away
        if token is None or _shape(token[0]) != shape:
            return None
        position = token.end()
    return line[position:].strip(_PADDING)


def _lines(text: str, position: int) -> Iterator[tuple[int, str]]:
    """Yield the line at *position* and those below, with their starts, up to one that is too long or ends with a quote."""
    while position <= len(text):
        end = _LINE_END.search(text, position, position + LONGEST_LINE)
        if end is None:
            if len(text) - position <= LONGEST_LINE:
                yield position, text[position:]
            return
        yield position, text[position : end.start()]
        if not end["line_break"]:
            return
        position = end.end()


PREFIXED_KEYS = (PrefixedKeyRule("private_key", HEAD_HINT),)
