"""Find private keys whose lines all have a prefix: that of a log, a diff, a comment, or a terminal's colour.

A block without prefixes is found by `private_keys`. Here the head of the key shows the prefix of each of its lines,
except for numbers and times, which change from line to line. So nothing is guessed: a line belongs to the key if it
begins like the first one, and the rest of it is base64.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from memory_context.text.redact.kinds_of_rules import Rule
from memory_context.text.redact.private_keys import FOOT, HEAD, HEAD_HINT
from memory_context.text.spans import Span

LONGEST_LINE = 600
LONGEST_PREFIX = 300
_HEAD = re.compile(HEAD)
_FOOT = re.compile(FOOT)
# A terminal's colour: the escape character, or one of the ways to write it in a string (\u001b, \x1b, \033, \e).
_COLOUR_CODE = r"(?:u001[bB]|x1[bB]|033|e)\[[0-9;]{0,12}[mK]"
_COLOUR = re.compile(rf"(?:\x1b\[[0-9;]{{0,12}}[mK]|\\+{_COLOUR_CODE})")
# What follows the text of a line: colours, blanks, the backslashes of a quote. It must begin after another character, so
# that it is not tried again at each blank of a long run.
_TRAILING = re.compile(rf"(?<![ \t\\])(?:\x1b\[[0-9;]{{0,12}}[mK]|\\{_COLOUR_CODE}|[ \t\\])+\Z")
# A line break: itself, or escaped in a string (\n), in XML (&#10;), in a URL (%0A), in HTML (<br>).
_BREAK = r"(?:<br ?/?>)?(?:\r\n|[\r\n]|(?:\\+r)?\\+n|\\+r|&#(?:10|13|x[aAdD]);|(?:%0[dD])?%0[aA])|<br ?/?>"
# The end of a line: a line break, or a quote, which may end a JSON string.
_LINE_END = re.compile(rf"(?P<line_break>{_BREAK})|[\"'`]")
_TOKEN = re.compile(r"[A-Za-z0-9]+|\s+|.", re.DOTALL)
_BODY = re.compile("[A-Za-z0-9+/]{16,}={0,2}")
_LAST_LINE = re.compile("[A-Za-z0-9+/]{1,15}={0,2}|=[A-Za-z0-9+/]{4}")
_HEADER = re.compile("[A-Za-z-]{4,20}: .{0,200}")
_MARKS_OF_DIFFS = frozenset(" +-")
_PADDING = " \t\\"


class PrefixedKeyRule(Rule):
    """Finds a private key whose lines all have the same prefix."""

    def find(self, text: str, position: int) -> Span | None:
        """See `Rule.find`."""
        head = _HEAD.match(text, position)
        prefix = _prefix_shape(text, position)
        if head is None or prefix is None:
            return None
        # Perhaps only the first line has the prefix.
        end = _key_end(text, head.end(), prefix) or _key_end(text, head.end(), [])
        return (position, end) if end else None


def _key_end(text: str, head_end: int, prefix: list[str]) -> int | None:
    """Return where the key with this *prefix* ends; None if no line below its head is a line of a key."""
    end = None
    # The end of a short line, which belongs to the key if only blank lines or the foot follow.
    last_line_end = None
    for start, line in _lines(text, head_end):
        plain = _COLOUR.sub("", line)
        if start == head_end:
            if plain.strip(_PADDING):
                return None
            continue
        rest = _after_prefix(plain, prefix)
        # Another head begins another key, from which its lines are read, so that no line is read from many heads.
        if rest is None or _HEAD.search(rest):
            return end
        foot = _FOOT.match(rest)
        if foot and end:
            return start + line.index("-----END") + len(foot[0])
        line_end = start + len(_TRAILING.sub("", line))
        if _BODY.fullmatch(rest):
            end = line_end
            last_line_end = None
        elif end and _LAST_LINE.fullmatch(rest):
            last_line_end = line_end
        elif rest and (end or not _HEADER.fullmatch(rest)):
            return end
    return last_line_end or end


def _prefix_shape(text: str, position: int) -> list[str] | None:
    """Return the shapes of the tokens before *position* in its line; None if these have more than 300 characters."""
    start = max(0, position - LONGEST_PREFIX)
    line_ends = list(_LINE_END.finditer(text, start, position))
    if line_ends:
        start = line_ends[-1].end()
    elif start:
        return None
    before = _COLOUR.sub("", text[start:position])
    return list(map(_shape, _TOKEN.findall(before)))


def _shape(token: str) -> str:
    """Return what is the same of a token in each line: ``0`` for one with digits, a single blank for any run of blanks."""
    if token.isspace():
        return " "
    if any(map(str.isdigit, token)):
        return "0"
    return token


def _after_prefix(line: str, prefix: list[str]) -> str | None:
    """Return the rest of *line* after a prefix of these shapes; None if it does not begin with such a prefix."""
    is_of_diff = len(prefix) == 1 and prefix[0] in _MARKS_OF_DIFFS
    if is_of_diff and line[:1] in _MARKS_OF_DIFFS:
        return line[1:].strip(_PADDING)
    position = 0
    for number, shape in enumerate(prefix, 1):
        token = _TOKEN.match(line, position)
        if token is None:
            # In a blank line, an editor may have removed the blank at the end of the prefix.
            return "" if number == len(prefix) else None
        if _shape(token[0]) != shape:
            return None
        position = token.end()
    return line[position:].strip(_PADDING)


def _lines(text: str, position: int) -> Iterator[tuple[int, str]]:
    """Yield the start and text of the line at *position* and of those below, up to a quote or a line that is too long."""
    while position <= len(text):
        limit = position + LONGEST_LINE
        end = _LINE_END.search(text, position, limit)
        if end is None:
            if len(text) <= limit:
                yield position, text[position:]
            return
        yield position, text[position : end.start()]
        if not end["line_break"]:
            return
        position = end.end()


PREFIXED_KEYS = (PrefixedKeyRule("private_key", HEAD_HINT),)
