"""Values below a column's name: exports of password managers and clouds, tables of databases and Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import regex

from memory_context.text.lines import line_end, line_spans
from memory_context.text.ranges import Span
from memory_context.text.redact.assigned_secrets import PASSWORD, SECRET, SORTS_OF_KEY, TOKEN
from memory_context.text.redact.plausibility import is_made_up, is_no_secret, is_random
from memory_context.text.redact.rules import Rule, SecretSpan, compiled_hint

# A cell that is such a name alone, perhaps with a word or two before it, between signs that part cells.
_CELL = regex.compile(
    rf"(?<=(?:^|[,;|\t])[ \"]*)(?:[A-Za-z]+[ _-]){{0,2}}"
    rf"(?P<name>(?P<password>(?i:{PASSWORD}|pwd))|(?i:{SECRET}|{TOKEN}|(?:{SORTS_OF_KEY})[ _-]?key))"
    rf"(?=[ \"]*(?P<after>[,;|\t]|\r?$))",
    regex.MULTILINE,
)
_PARTS = {
    sign: re.compile(rf'[ \t]*"(?:[^"]|"")*"[ \t]*|[^{re.escape(sign)}\r\n]*') for sign in ",;\t|"
}
# Such a name where a cell may end. Each begins with a literal, which is found much faster than one of several.
_HINTS = tuple(
    rf'{name}[ "]{{0,40}}(?:[,;|\t]|\r?\n)'
    for name in ("password", "passwd", "passphrase", "passcode", "pwd", "secret", "token", "key")
)
LONGEST_HEADER = 1000
# A line of code may list such names, too.
_NO_HEADER = re.compile(r"[(){}=<>:]")
_RULE = re.compile(r"[\s|:+=-]+")
_BESIDE_VALUE = " \t\"'`"


@dataclass(frozen=True, slots=True)
class ColumnRule(Rule):
    """Find what looks like a secret in the cells below a name."""

    def find_all(self, text: str, flat: bytes) -> Iterator[SecretSpan]:
        """See `Rule.find_all`."""
        looked_at = set[int]()
        for hint in _HINTS:
            for match in compiled_hint(hint).finditer(flat):
                start = text.rfind("\n", 0, match.start()) + 1
                if start not in looked_at:
                    looked_at.add(start)
                    yield from self._below(text, (start, line_end(text, match.start())))

    def _below(self, text: str, header: Span) -> Iterator[SecretSpan]:
        """Yield the secrets below a line that may name columns."""
        if header[1] - header[0] > LONGEST_HEADER or _NO_HEADER.search(text, *header):
            return
        for name in _CELL.finditer(text, *header):
            before = text[header[0] : name.start()].rstrip(' "')[-1:]
            sign = before or name["after"]
            if sign in _PARTS:
                kind = "password" if name["password"] else self.kind
                yield from _cells_below(text, header, sign, name.start(), kind)


def _cells_below(text: str, header: Span, sign: str, place: int, kind: str) -> Iterator[SecretSpan]:
    """Yield the secrets of the column that a place of the header is in, from the rows with as many cells as it."""
    header_cells = _cells(text, header, sign)
    rule = header[1] + 1, line_end(text, header[1] + 1)
    is_table = (
        bool(_RULE.fullmatch(text, *rule)) if sign == "|" else _count_filled(text, header_cells) > 1
    )
    if not is_table:
        return
    column = sum(1 for _, stop in header_cells if stop < place)
    is_secret = is_made_up if kind == "password" else is_random
    in_quotes = False
    for line in line_spans(text, header[1] + 1, len(text)):
        # A cell in quotes may go on in the next line.
        begun_in_quotes = in_quotes
        in_quotes ^= text.count('"', *line) % 2 == 1
        if begun_in_quotes or _RULE.fullmatch(text, *line):
            continue
        cells = _cells(text, line, sign)
        if len(cells) != len(header_cells):
            return
        start, stop = cells[column]
        value = text[start:stop].strip(_BESIDE_VALUE)
        if is_secret(value) and not is_no_secret(value, is_cut=False):
            start = text.index(value, start)
            yield SecretSpan(start, start + len(value), kind)


def _count_filled(text: str, cells: Iterable[Span]) -> int:
    return sum(1 for start, stop in cells if text[start:stop].strip(_BESIDE_VALUE))


def _cells(text: str, line: Span, sign: str) -> list[Span]:
    """Return where the cells of a line stand; a sign in quotes parts none."""
    start, stop = line
    cells = list[Span]()
    while start <= stop:
        match = _PARTS[sign].match(text, start, stop)
        end = match.end() if match else start
        cells.append((start, end))
        start = end + 1
    return cells


COLUMNS = (ColumnRule("secret", _HINTS[0]),)
