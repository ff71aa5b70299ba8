"""Read the output of commands as rows: columns below a line of names, and listings of files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice, pairwise

from memory_context.text.lines import lines_of
from memory_context.text.rows.names_in_first_row import SAMPLED, has_names
from memory_context.text.rows.text_table import (
    MOST_COLUMNS,
    Row,
    TextTable,
    column_names,
    evened,
    sliced,
)
from memory_context.text.spans import Span

TRIED = 50
LEAST_COLUMNS = 3
LEAST_CAPITALS = 0.6
# A line of `ls -l`, whose groups are the columns. Without owner or group, which some options leave out, it does not match.
_LONG = re.compile(
    r"(?P<mode>[-dlcbps][-rwxsStT]{9}[.+@]?) +(?P<links>\d+) +(?P<owner>\S+) +(?P<group>\S+) +"
    r"(?P<size>[\d,.]+[KMGTP]?|\d+, +\d+) +"
    r"(?P<modified>[A-Z][a-z]{2} +\d{1,2} +[\d:]{4,5}|\d{4}-\d\d-\d\d(?: \d\d:\d\d\S*)?(?: [+-]\d{4})?)"
    r" (?P<name>.*)"
)
# Between the entries of a listing: a blank line, the size of the folder, and what could not be read.
_BETWEEN = re.compile(r"\s*|total [\d,.]+[KMGTP]?|ls: .*")
_WORD = re.compile(r"\S+")
_BLANK = re.compile(rb"\0+")
# What names of columns do not have: characters of sentences and code, dates as numbers, and hashes of commits. `PORT(S)` and
# `MAJ:MIN` are names.
_NOT_IN_NAMES = re.compile(r":(?!\S)|\b(?=[a-f]*\d)[0-9a-f]{6,}\b|[=.,;\[\]{}<>\"'|\\]")
# What is left of the names of a DataFrame's columns, such as a name of all of them together.
_LEFT_OF_NAMES = re.compile(r"\S*\s+(?=\S)")
_HAS_DIGIT = re.compile(r"\d")
# The line that pandas writes below a table.
_SIZE = re.compile(r"\[\d+ rows x \d+ columns\]")


def command_table(text: str) -> TextTable | None:
    """Return the rows of `ls -l`, or of columns below a line of names; None for other texts."""
    text = _with_index_in_rows(text)
    lines = [line for line in islice(lines_of(text), TRIED) if line.strip()]
    if len(lines) < 2:
        return None
    if any(map(_LONG.fullmatch, lines)) and _is_listing(text):
        return TextTable(tuple(_LONG.groupindex), lambda: _entries(text), "the listing")
    return _below_names(text, lines)


def certain_columns(text: str) -> TextTable | None:
    """Return the rows of a command's output if there are three columns, and one before the last has digits in each row.

    Without such a column, words below capitalised words may be a title and its text.
    """
    table = command_table(text)
    if table is None or len(table.columns) < LEAST_COLUMNS:
        return None
    columns = list(zip(*islice(table.rows(), TRIED), strict=True))
    for cells in columns[:-1]:
        if all(cell and _HAS_DIGIT.search(cell) for cell in cells):
            return table
    return None


def _with_index_in_rows(text: str) -> str:
    """Return a printed DataFrame with a named index as one whose index is a part of its rows; other texts as they are.

    The names of the index are in a line of their own, filled with blanks, and move up to the others. A name in the index is
    left out below an equal one, and is written again.
    """
    head, index, rows = f"{text}\n\n".split("\n", 2)
    left = _LEFT_OF_NAMES.match(head)
    if left is None or len(index) != len(head) or not index[left.end() - 1 :].isspace():
        return text
    filled = [index[: left.end()] + head[left.end() :]]
    starts = [name.start() for name in _WORD.finditer(index)]
    for row in rows.split("\n"):
        blanks = len(row) - len(row.lstrip())
        # Only whole levels are repeated: other blanks align a number, or are a label that is empty.
        level = max((start for start in starts if start <= blanks), default=0)
        filled.append(filled[-1][:level] + row[level:])
    return "\n".join(filled)


def _is_listing(text: str) -> bool:
    """Return whether each line is an entry or may be between entries, so that none would be lost."""
    return all(_LONG.fullmatch(line) or _BETWEEN.fullmatch(line) for line in lines_of(text))


def _entries(text: str) -> Iterator[Row]:
    for line in lines_of(text):
        if match := _LONG.fullmatch(line):
            yield list(match.groups())


def _below_names(text: str, lines: list[str]) -> TextTable | None:
    """Return the columns below a line of names, cut at the gaps that all lines share or else at every space.

    None if it is not certain which cells are below which name.
    """
    head = lines[0]
    words = list(_WORD.finditer(head))
    if not 2 <= len(words) <= MOST_COLUMNS:
        return None
    if _NOT_IN_NAMES.search(head) or _has_more_than_rows(text):
        return None
    starts = _starts_of_columns(text, head, words)
    width = 0
    # Cutting at every space may give more columns: a cell that is longer than its name can fill the gap after it.
    if len(starts) < len(words):
        width = _columns_of_words(text, head, words)
    by_words = len(starts) < width
    if by_words:
        head = " ".join(head.split())
    elif not starts:
        return None

    def cells(line: str) -> Row:
        """Return the cells of a line."""
        if by_words:
            return line.split(maxsplit=width - 1)
        return sliced(line, starts)

    def rows() -> Iterator[Row]:
        """Yield the rows below the names, each with as many cells as there are names."""
        return evened(map(cells, _lines_below(text)), len(columns))

    names = [cell or "" for cell in cells(head)]
    columns = column_names(names)
    # A printed DataFrame may have numbers as names. They are to the right of its index, which has no name.
    below = [[cell or "" for cell in row] for row in islice(rows(), SAMPLED)]
    if names[0] and not has_names([names, *below]):
        return None
    return TextTable(columns, rows, "the columns")


def _starts_of_columns(text: str, head: str, words: list[re.Match[str]]) -> list[int]:
    """Return where columns begin: after a gap between two words of the names that is blank in all lines.

    Empty if no two names are several spaces apart; or if two are, and all lines have no gap between them, or several that
    are equally good.
    """
    if "  " not in head:
        return []
    filled = _filled_places(text, len(head))
    starts = [0]
    # Rows may have numbers or names of their own, to the left of the first name.
    gap = _BLANK.search(filled, 0, words[0].start())
    if gap:
        cells = [row[: gap.start()].strip() for row in _lines_below(text)]
        # A word that only some rows have, with a single space after it, is the first one of `New York`.
        may_be_part = len(gap[0]) == 1 and any(map(str.isalnum, cells))
        is_column = all(cells) or not may_be_part
        if any(cells) and is_column:
            starts.append(gap.start())
    ends = [word.start() for word in words[2:]]
    ends.append(len(filled))
    for (word, following), stop in zip(pairwise(words), ends, strict=True):
        end = word.end()
        start = following.start()
        is_far = start - end > 1
        gaps = [gap.span() for gap in _BLANK.finditer(filled, end, start)]
        if not gaps:
            if is_far:
                return []
            continue
        before = filled[starts[-1] : end]
        after = filled[start:stop]
        has_cells = any(before) and any(after)
        # After the single space in a name such as `NOMINATED NODE`, with `<none>` below it, no column begins.
        if is_far or has_cells:
            place = _widest(gaps, end, start)
            if place is None:
                return []
            starts.append(place)
    if len(starts) == 1:
        return []
    return starts


def _widest(gaps: list[Span], end: int, start: int) -> int | None:
    """Return where the gap begins that separates two columns; None if several are equally good.

    It is the widest one: that after ``10 months ago``, not those within it. Of equally wide ones it is the one beside a
    name, which ends at *end* or begins at *start*: ``New York`` below a right-aligned name has a gap, too.
    """
    ranks = list[tuple[int, bool]]()
    for left, right in gaps:
        is_beside_name = left == end or right == start
        ranks.append((right - left, is_beside_name))
    best = max(ranks)
    if ranks.count(best) > 1:
        return None
    place, _ = gaps[ranks.index(best)]
    return place


def _filled_places(text: str, width: int) -> bytearray:
    """Return, for each position up to *width* or the longest row, whether any row has a word there."""
    filled = bytearray(width)
    for row in _lines_below(text):
        filled = filled.ljust(len(row), b"\0")
        for word in _WORD.finditer(row):
            filled[word.start() : word.end()] = b"\1" * len(word[0])
    return filled


def _columns_of_words(text: str, head: str, words: list[re.Match[str]]) -> int:
    """Return the number of columns if each has one word of a row, and the last has the rest of it; 0 if not certain.

    It is certain if most names are capitalised, every row has enough words, and one column has digits in each row; and,
    if the names are aligned, if each word is near its name.
    """
    initials = [word[0][0] for word in words]
    small = [initial for initial in initials if initial.isalpha() and not initial.isupper()]
    capitals = len(words) - len(small)
    if len(words) < 3 or capitals < LEAST_CAPITALS * len(words):
        return 0
    narrowest = min(len(row.split()) for row in _lines_below(text))
    if narrowest < len(words) - 1:
        return 0
    width = min(len(words), narrowest)
    is_aligned = "  " in head
    with_digits = set(range(width - 1))
    for row in _lines_below(text):
        cells = islice(_WORD.finditer(row), width - 1)
        for number, cell in enumerate(cells):
            if not any(map(str.isdigit, cell[0])):
                with_digits.discard(number)
            if not is_aligned:
                continue
            is_left = number > 0 and cell.end() <= words[number - 1].end()
            is_right = cell.start() >= words[number + 1].start()
            if is_left or is_right:
                return 0
    if with_digits:
        return width
    return 0


def _lines_below(text: str) -> Iterator[str]:
    """Yield the lines below the names, without blank ones and the size that pandas writes below a table."""
    lines = (line for line in lines_of(text) if line.strip() and not _SIZE.fullmatch(line))
    return islice(lines, 1, None)


def _has_more_than_rows(text: str) -> bool:
    """Return whether a blank line or the repeated names divide the rows, or dots stand for rows that were left out."""
    is_below_blank = False
    lines = lines_of(text.strip("\n"))
    names = next(lines, "")
    for line in lines:
        if not line.strip():
            is_below_blank = True
            continue
        if line == names or not line.strip(" ."):
            return True
        if is_below_blank and not _SIZE.fullmatch(line):
            return True
    return False
