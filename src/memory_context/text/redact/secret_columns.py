"""Find secrets below the name of a column: in exports of password managers and clouds, in tables, in Markdown."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import NamedTuple, TypeAlias

import regex

from memory_context.text.lines import line_end, line_spans, line_start
from memory_context.text.redact.kinds_of_rules import Rule, SecretSpan, compiled_hint
from memory_context.text.redact.names_of_secrets import (
    PASSWORD,
    PASSWORD_ELSEWHERE,
    PASSWORD_NOT_IN_ASCII,
    SECRET,
    SORTS_OF_KEY,
    TOKEN,
    names_password,
)
from memory_context.text.redact.value_looks_secret import is_made_up, is_no_secret, is_random
from memory_context.text.spans import Span

_PASSWORD = "|".join((PASSWORD, "pwd", *PASSWORD_ELSEWHERE, PASSWORD_NOT_IN_ASCII))
# A cell with only the name of a secret, perhaps after a word or two, between signs that separate cells.
_CELL = regex.compile(
    rf"(?<=(?:^|[,;|\t])[ \"]*)(?:[A-Za-z]+[ _-]){{0,2}}"
    rf"(?P<name>(?P<password>(?i:{_PASSWORD}))|(?i:{SECRET}|{TOKEN}|(?:{SORTS_OF_KEY})[ _-]?key))"
    rf"(?=[ \"]*(?P<after>[,;|\t]|\r?$))",
    regex.MULTILINE,
)
_PARTS = {
    sign: re.compile(rf'[ \t]*"(?:[^"]|"")*"[ \t]*|[^{re.escape(sign)}\r\n]*') for sign in ",;\t|"
}
# Such a name where a cell may end. Each hint begins with a literal, which is found much faster than alternatives.
_HINTS = tuple(
    rf'{name}[ "]{{0,40}}(?:[,;|\t]|\r?\n)'
    for name in (PASSWORD, "pwd", "secret", "token", "key", *PASSWORD_ELSEWHERE)
)
_NOT_IN_ASCII = re.compile(PASSWORD_NOT_IN_ASCII)
LONGEST_HEADER = 1000
# A line with these signs is code, which may list such names too; one with five words and blanks after a comma is prose.
# The name of a column may have many words too: "What is your full name please".
_NO_HEADER = re.compile(r"[(){}=<>:]|, (?:\w+ ){5}")
_RULE = re.compile(r"[\s|:+=-]+")
_BESIDE_VALUE = " \t\"'`"

_Headers: TypeAlias = "dict[Span, list[_Name]]"


class _Name(NamedTuple):
    """A cell that names a column of secrets: its offset, the sign that separates cells, and the kind of secret."""

    start: int
    sign: str
    kind: str


class ColumnRule(Rule):
    """Finds values that look like secrets in the cells below a name."""

    def find_all(self, text: str, flat: bytes) -> Iterator[SecretSpan]:
        """See `Rule.find_all`."""
        headers = self._headers(text, flat)
        for sign in _PARTS:
            end = 0
            for header, names in headers.items():
                is_of_sign = any(name.sign == sign for name in names)
                # A row of the table may itself look like a header, but the table is read only once.
                if is_of_sign and header[0] >= end:
                    spans, end = _below(text, header, sign, headers)
                    yield from spans

    def _headers(self, text: str, flat: bytes) -> _Headers:
        """Return the lines that may be headers, in order, each with the names in it."""
        found = [compiled_hint(hint).finditer(flat) for hint in _HINTS]
        places = [match.start() for match in chain(*found)]
        if names_password(text):
            places += [match.start() for match in _NOT_IN_ASCII.finditer(text)]
        headers: _Headers = {}
        end = -1
        for place in sorted(places):
            # Once for each line: a single line of code, a megabyte long, may hold thousands of names.
            if place > end:
                end = line_end(text, place)
                line = line_start(text, place), end
                headers[line] = self._names_in(text, line)
        return headers

    def _names_in(self, text: str, line: Span) -> list[_Name]:
        """Return the names of secrets in a line; empty if it is no header: too long, code or prose."""
        start, stop = line
        if stop - start > LONGEST_HEADER:
            return []
        if _NO_HEADER.search(text, start, stop):
            return []
        names = list[_Name]()
        for cell in _CELL.finditer(text, start, stop):
            before = text[start : cell.start()].rstrip(' "')
            sign = before[-1:] or cell["after"]
            kind = "password" if cell["password"] else self.kind
            names.append(_Name(cell.start(), sign, kind))
        return names


def _below(text: str, header: Span, sign: str, headers: _Headers) -> tuple[list[SecretSpan], int]:
    """Return the secrets in the rows below a header, and where the table ends: at a row with another number of cells.

    A row that is itself a header adds its columns for the rows below it.
    """
    kinds = _kinds_of_columns(text, header, sign, headers[header])
    if not kinds:
        return [], header[1]
    width = len(_cells(text, header, sign))
    spans = list[SecretSpan]()
    in_quotes = False
    for line in line_spans(text, header[1] + 1, len(text)):
        # A cell in quotes may continue in the next line.
        begun_in_quotes = in_quotes
        if text.count('"', *line) % 2:
            in_quotes = not in_quotes
        if begun_in_quotes or _RULE.fullmatch(text, *line):
            continue
        cells = _cells(text, line, sign)
        if len(cells) != width:
            return spans, line[0]
        for column, kind in kinds.items():
            spans += _secret_in(text, cells[column], kind)
        if line in headers:
            kinds |= _kinds_of_columns(text, line, sign, headers[line])
    return spans, len(text)


def _kinds_of_columns(text: str, header: Span, sign: str, names: Iterable[_Name]) -> dict[int, str]:
    """Return the kind of secret in each column that the line names; empty if the line is not a header of a table."""
    cells = _cells(text, header, sign)
    if sign == "|":
        below = header[1] + 1
        is_table = _RULE.fullmatch(text, below, line_end(text, below)) is not None
    else:
        is_table = len([cell for cell in cells if _value_in(text, cell)]) > 1
    if not is_table:
        return {}
    stops = [stop for _, stop in cells]
    return {bisect_left(stops, name.start): name.kind for name in names if name.sign == sign}


def _secret_in(text: str, cell: Span, kind: str) -> Iterator[SecretSpan]:
    """Yield the span of the value in a cell, if it looks like a secret."""
    value = _value_in(text, cell)
    is_secret = is_made_up if kind == "password" else is_random
    if is_secret(value) and not is_no_secret(value, is_cut=False):
        start = text.index(value, cell[0])
        yield SecretSpan(start, start + len(value), kind)


def _value_in(text: str, cell: Span) -> str:
    start, stop = cell
    return text[start:stop].strip(_BESIDE_VALUE)


def _cells(text: str, line: Span, sign: str) -> list[Span]:
    """Return the spans of the cells of a line; a sign in quotes does not separate cells."""
    start, stop = line
    cells = list[Span]()
    while start <= stop:
        end = _PARTS[sign].match(text, start, stop).end()  # type: ignore[union-attr] # it always matches
        cells.append((start, end))
        start = end + 1
    return cells


COLUMNS = (ColumnRule("secret", _HINTS[0]),)
