"""Read lines of ``name=value`` pairs as records; each line may have words before its pairs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from memory_context.text.lines import lines_of
from memory_context.text.rows.rows_under_columns import Row, TextTable, column_names

LEAST_PAIRS = 2
# A name, an equals sign, and a value up to the next space or in quotes, in which quotes may be escaped. A name cannot
# begin in the middle of a word, and a value cannot hold a second equals sign, as a query string does.
_PAIR = re.compile(r'(?<![\w.-])([A-Za-z_][\w.-]*+)=("(?:[^"\\]|\\.)*+"|[^\s"=]*)(?:\s+|$)')


class _WordsAndPairs(NamedTuple):
    words: list[str]
    pairs: dict[str, str]


def pair_table(text: str) -> TextTable | None:
    """Return the pairs of each line under their names, and the words before them under numbered columns; or None.

    Every line, except perhaps the first, must have at least two pairs, the same number of words before them, and nothing
    after them. At least two names must occur in all lines.
    """
    first = next(lines_of(text.lstrip()), "")
    skipped = int(_read(first) is None)
    names = Counter[str]()
    count = width = 0
    for line in _lines(text, skipped):
        if line is None:
            return None
        if count == 0:
            width = len(line.words)
        if len(line.words) != width:
            return None
        count += 1
        names.update(line.pairs.keys())
    in_all = list(names.values()).count(count)
    if count < 2 or in_all < LEAST_PAIRS:
        return None

    def rows() -> Iterator[Row]:
        for line in filter(None, _lines(text, skipped)):
            values = (line.pairs.get(name) or None for name in names)
            yield [*line.words, *values]

    unnamed = [""] * width
    return TextTable(column_names([*unnamed, *names]), rows, "the lines")


def _lines(text: str, skipped: int) -> Iterator[_WordsAndPairs | None]:
    filled = (line for line in lines_of(text) if line.strip())
    return map(_read, islice(filled, skipped, None))


def _read(line: str) -> _WordsAndPairs | None:
    """Return the words and the pairs of a line; None for a line of another form."""
    found = _PAIR.search(line)
    if found is None:
        return None
    before = line[: found.start()]
    behind = line[found.start() :]
    pairs = _PAIR.findall(behind)
    if len(pairs) < LEAST_PAIRS or _PAIR.sub("", behind).strip():
        return None
    words = before.split()
    values = {name: value.strip('"') for name, value in pairs}
    return _WordsAndPairs(words, values)
