"""Lines of ``name=value`` pairs, alone or behind words that stand in each line: a record each."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from memory_context.text.lines import lines_of
from memory_context.text.rows.rows_under_columns import Row, TextTable, column_names

LEAST_PAIRS = 2
# A name, an equals sign, and a value up to the next blank, or in quotes with escaped ones in it. A name is not looked for
# in the middle of a word; a value with a second equals sign is none, as of a query string.
_PAIR = re.compile(r'(?<![\w.-])([A-Za-z_][\w.-]*+)=("(?:[^"\\]|\\.)*+"|[^\s"=]*)(?:\s+|$)')


class _WordsAndPairs(NamedTuple):
    words: list[str]
    pairs: dict[str, str]


def pair_table(text: str) -> TextTable | None:
    """Return the pairs of each line under their names, the words before them under numbered columns; else None.

    Each line has two pairs or more, as many words before them as the others, and nothing behind; the first line alone
    may stand above them. Two names are in all.
    """
    first = next(lines_of(text.lstrip()), "")
    skipped = int(_read(first) is None)
    names = Counter[str]()
    count = width = 0
    for line in _lines(text, skipped):
        if line is None or (count and len(line.words) != width):
            return None
        count, width = count + 1, len(line.words)
        names.update(line.pairs.keys())
    if count < 2 or sum(1 for number in names.values() if number == count) < LEAST_PAIRS:
        return None

    def rows() -> Iterator[Row]:
        for line in filter(None, _lines(text, skipped)):
            yield [*line.words, *(line.pairs.get(name) or None for name in names)]

    return TextTable(column_names([*[""] * width, *names]), rows, "the lines")


def _lines(text: str, skipped: int) -> Iterator[_WordsAndPairs | None]:
    filled = (line for line in lines_of(text) if line.strip())
    return map(_read, islice(filled, skipped, None))


def _read(line: str) -> _WordsAndPairs | None:
    """Return the words and the pairs of a line; None for one of another form."""
    found = _PAIR.search(line)
    if found is None:
        return None
    pairs = _PAIR.findall(line, found.start())
    if len(pairs) < LEAST_PAIRS or _PAIR.sub("", line[found.start() :]).strip():
        return None
    return _WordsAndPairs(
        line[: found.start()].split(), {name: value.strip('"') for name, value in pairs}
    )
