"""Private keys as programs print them: with the same before each line, as a log, a diff, a comment or a colour does.

A block whose lines stand below each other is found by `_blocks`. Here the line with the first dashes tells what stands
before every line of the key, but for numbers and times, which change from line to line. So nothing is guessed: a line
belongs to the key if it begins as the first one did, and the rest of it is base64.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

LONGEST_LINE = 600
LONGEST_MARGIN = 300
_NAME = "[A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?"
_HEAD = re.compile(rf"-----BEGIN {_NAME}-----")
_FOOT = re.compile(rf"-----END {_NAME}-----")
_COLOUR = re.compile(r"(?:\x1b|\\+(?:u001[bB]|x1[bB]|033|e))\[[0-9;]{0,12}[mK]")
_BREAK = r"(?:<br ?/?>)?(?:\r\n|[\r\n]|(?:\\+r)?\\+n|\\+r|&#(?:10|13|x[aAdD]);|(?:%0[dD])?%0[aA])|<br ?/?>"
_STOP = re.compile(
    rf"(?P<line_break>{_BREAK})|[\"'`]"
)  # behind a quote a string of JSON may have ended
_TOKEN = re.compile(r"[A-Za-z0-9]+|\s+|.", re.DOTALL)
_BODY = re.compile("[A-Za-z0-9+/]{16,}={0,2}")
_LAST = re.compile("[A-Za-z0-9+/]{1,15}={0,2}|=[A-Za-z0-9+/]{4}")
_HEADER = re.compile("[A-Za-z-]{4,20}: .{0,200}")
_MARKS_OF_DIFFS = frozenset(" +-")
_PADDING = " \t\\"


@dataclass(frozen=True, slots=True)
class _Line:
    text: str
    start: int

    @property
    def plain(self) -> str:
        """The line without colours."""
        return _COLOUR.sub("", self.text)

    @property
    def stop(self) -> int:
        """Where it ends, without what follows its text: colours, blanks, the backslashes of a quote."""
        stop = len(self.text.rstrip(_PADDING))
        for colour in reversed([*_COLOUR.finditer(self.text)]):
            if self.text[colour.end() : stop].strip(_PADDING):
                break
            stop = min(stop, len(self.text[: colour.start()].rstrip(_PADDING)))
        return self.start + stop


@dataclass(frozen=True, slots=True)
class Printed:
    """Finds a private key with something before each of its lines: see `Finding`."""

    kind: str
    hint: re.Pattern[bytes]

    def span(self, text: str, place: int) -> tuple[int, int] | None:
        """See `Finding`."""
        head, margin = _HEAD.match(text, place), _margin(text, place)
        if head is None or margin is None:
            return None
        stop = _end(margin, text, head.end()) or (_end((), text, head.end()) if margin else None)
        return None if stop is None else (place, stop)


def _end(margin: tuple[str, ...], text: str, place: int) -> int | None:
    """Where the key ends whose first line ends at `place`, and whose lines begin like `margin`, if there is one."""
    lines = _lines(text, place)
    first = next(lines, None)
    if first is None or first.plain.strip(_PADDING):
        return None
    stop = held = None
    for line in lines:
        rest = _behind(margin, line.plain)
        if rest is None:
            return stop
        if stop and (foot := _FOOT.match(rest)):
            return line.start + line.text.index("-----END") + len(foot[0])
        if _BODY.fullmatch(rest):
            stop, held = line.stop, None
        elif stop and _LAST.fullmatch(rest):
            held = line.stop
        elif rest and (stop or not _HEADER.fullmatch(rest)):
            return stop
    return held or stop


def _margin(text: str, place: int) -> tuple[str, ...] | None:
    """The shape of what stands before `place` in its line; None where that is long."""
    begin = max(0, place - LONGEST_MARGIN)
    stops = [stop.end() for stop in _STOP.finditer(text, begin, place)]
    if begin and not stops:
        return None
    return tuple(
        map(_shape, _TOKEN.findall(_COLOUR.sub("", text[stops[-1] if stops else begin : place])))
    )


def _shape(token: str) -> str:
    """What stays the same from line to line: not numbers and times, nor how many blanks there are."""
    if token.isspace():
        return " "
    return "0" if any(map(str.isdigit, token)) else token


def _behind(margin: tuple[str, ...], line: str) -> str | None:
    """What stands in `line` behind a margin of this shape; None if it has another one."""
    if len(margin) == 1 and margin[0] in _MARKS_OF_DIFFS and line[:1] in _MARKS_OF_DIFFS:
        return line[1:].strip(_PADDING)
    place = 0
    for number, shape in enumerate(margin):
        token = _TOKEN.match(line, place)
        if token is None or _shape(token[0]) != shape:
            return "" if number >= len(margin) - 1 and token is None else None
        place = token.end()
    return line[place:].strip(_PADDING)


def _lines(text: str, place: int) -> Iterator[_Line]:
    """The rest of the line at `place`, and the lines below, up to one that is too long or ends with a quote."""
    while place <= len(text):
        stop = _STOP.search(text, place, place + LONGEST_LINE)
        if stop is None:
            if len(text) - place <= LONGEST_LINE:
                yield _Line(text[place:], place)
            return
        yield _Line(text[place : stop.start()], place)
        if not stop["line_break"]:
            return
        place = stop.end()


PRINTED = (Printed("private_key", re.compile(rb"-----begin [a-z0-9 ]{0,30}private")),)
