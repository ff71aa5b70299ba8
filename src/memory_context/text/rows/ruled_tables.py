"""Read tables as databases and Markdown write them: with a rule of hyphens below the names, or a frame around all."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, pairwise

from memory_context.text.lines import BLANK_LINE, lines_of
from memory_context.text.rows.text_table import (
    Row,
    TextTable,
    column_names,
    evened,
    sliced,
    with_nulls,
)

LINES_TRIED = 6
LINES_OF_NAMES = 4
# Below the names: the types of DuckDB and polars, and the hyphens that polars writes above the types.
_TYPE = re.compile(
    r"(?:u?(?:tiny|small|big|huge)?int(?:eger|8|16|32|64|128)?|[iuf](?:8|16|32|64|128)|varchar|str|string|double|float"
    r"|bool(?:ean)?|date|time|timestamp|datetime|interval|duration|uuid|blob|binary|json|bit|cat|object|null"
    r"|(?:decimal|struct|map|enum|timestamp|datetime|duration|list)[\[( ].*|.*\[\]|-+)"
)
# The line below the names: `| --- |:--:|` in Markdown, `----+----` in psql, `--  ----` in sqlite; in mysql also above
# them. The corners and crossings of frames are contiguous in Unicode.
_RUN = r"[-=─━═]{2,}"
_NEXT_RUN = rf"(?:[ |+:┌-╋║-╰]+{_RUN})"
_AT_END = r"[ |+:┌-╋║-╰]*"
_RULE = re.compile(rf"[\s|:+┌-╋║-╰]*{_RUN}{_NEXT_RUN}*{_AT_END}")
# The same below or above several columns: a single run of hyphens may underline a heading. The last form is that of
# `dpkg -l`, with pluses for flags.
_RULE_OF_COLUMNS = re.compile(rf"[\s|:+┌-╋║-╰]*{_RUN}{_NEXT_RUN}+{_AT_END}|\+{{2,}}-=[-=]*")
# The rule of a Markdown table, which has at least one bar.
DELIMITER_ROW = re.compile(r"(?=.*\|)\s*+\|?\s*+:?-++:?\s*+(?:\|\s*+:?-++:?\s*+)*+\|?\s*+")
_FOOT = re.compile(r"\s*\(?\d+ rows?\b.*|[└╰╘╚┗+].*")
_BARS = "|│║┃┆"
_MAY_HOLD_RULE = re.compile(r"^[ \t|:+┌-╋║-╰]*[-=─━═]{2}", re.MULTILINE)
# A row of dots in the place of rows that were left out, or a frame within a frame: the AWS CLI prints lists in lists so.
_NO_ROWS = re.compile(
    rf"^[ \t]*+[{_BARS}]?(?:[ \t]*+(?:[·⋮…]|\.{{2,3}})[ \t]*+[{_BARS}])+[ \t·⋮….]*$|^\|+\+--",
    re.MULTILINE,
)
# A rule with one of these ends all columns: below it is the foot, or nothing.
_ENDS_COLUMNS = re.compile("[┴┷┻╧╩]")
_BAR = re.compile(rf"(?<!\\)[{_BARS}]")
_MARKDOWN_BAR = re.compile(r"(?<!\\)\|")
# A rule that begins with one of these is the top of a frame, and the names are below it.
_CORNERS = ("+", "┌", "╭", "╒", "╔", "┏")
# One run of the same sign per column: `dpkg -l` has hyphens between its columns' equals signs, and pluses before them.
_DASHES = re.compile(r"([-=─━═+])\1+")
_CROSSING = re.compile("[+|┌-╋║-╰]")


def ruled_table(text: str) -> TextTable | None:
    """Return the table whose rule is in the first lines of a text; None if there is no rule.

    There may be types between the names and the rule. Any other lines there belong to names that a frame has wrapped, and
    such a table is not read.
    """
    head = list(islice(lines_of(text), LINES_TRIED + LINES_OF_NAMES))
    below = lines_of_names(head)
    if not below:
        return None
    first = next(place for place, line in enumerate(head) if _is_rule_of_columns(line))
    # In a frame the names are between two rules, with types below them; else they are above one.
    in_frame = head[first + 1 : below - 1]
    if not _are_types(in_frame[1:]):
        return None
    names = in_frame[0] if in_frame else head[first - 1]
    read = _between_bars if _BAR.search(names.lstrip(_BARS)) else _below_dashes
    table = read(text, names, below, head[first])
    return table if len(table.columns) > 1 else None


def lines_of_names(head: Sequence[str]) -> int:
    """Return how many of the first lines of a text are the names of a ruled table, its rule, and what is above; 0 if none.

    The names are above the first rule, or in the frame that it begins, perhaps with types below them.
    """
    rules = [place for place, line in enumerate(head) if _is_rule_of_columns(line)]
    if not rules or rules[0] >= LINES_TRIED:
        return 0
    first = rules[0]
    if first and head[first - 1].strip() and not _begins_frame(head[first]):
        return first + 1
    if len(rules) > 1 and 1 < rules[1] - first <= LINES_OF_NAMES:
        return rules[1] + 1
    return 0


def _begins_frame(rule: str) -> bool:
    return rule.lstrip().startswith(_CORNERS) and not rule.startswith("++")


def _is_rule_of_columns(line: str) -> bool:
    return bool(_RULE_OF_COLUMNS.fullmatch(line) or DELIMITER_ROW.fullmatch(line))


def is_no_single_table(text: str) -> bool:
    """Return whether a text holds several tables with rules, tables within one, or a row of dots in place of other rows."""
    tables = 0
    for block in text.split(BLANK_LINE):
        if _MAY_HOLD_RULE.search(block) and lines_of_names(block.split("\n", LINES_TRIED)[:-1]):
            tables += 1
    return tables > 1 or _NO_ROWS.search(text) is not None


def begins_ruled(block: str) -> bool:
    """Return whether a rule of columns is in the first or the second line: nothing but the names is above them."""
    return any(map(_is_rule_of_columns, block.split("\n", 2)[:2]))


def _are_types(lines: Iterable[str]) -> bool:
    """Return whether the lines below the names hold types only."""
    for line in lines:
        cells = _cells(line, _BAR, is_framed=True)
        if not all(map(_TYPE.fullmatch, cells)):
            return False
    return True


def markdown_table(text: str) -> TextTable | None:
    """Return the first Markdown table: a line with bars, a line of hyphens, and the lines with bars below; or None."""
    if "|" not in text:
        return None
    for above, (names, rule) in enumerate(pairwise(lines_of(text))):
        if "|" in names and DELIMITER_ROW.fullmatch(rule):
            table = _between_bars(text, names, above + 2)
            return table if table.columns else None
    return None


def _between_bars(text: str, names: str, below: int, rule: str = "") -> TextTable:
    """Return the cells between bars, up to the first line without one.

    A *rule* is given for a table of a database, which may have further rules between its rows; for Markdown it is empty.
    """
    bar = _MARKDOWN_BAR
    name = "the Markdown table"
    if rule:
        bar = _BAR
        name = "the table"
    bars = tuple(_BARS)
    is_framed = names.lstrip().startswith(bars)
    columns = _cells(names, bar, is_framed=is_framed)
    crossings = [match.start() for match in _CROSSING.finditer(rule)]

    def rows_as_written() -> Iterator[Row]:
        """Yield the cells of each line below the names."""
        for line in islice(lines_of(text), below, None):
            if rule and _RULE.fullmatch(line):
                if _ENDS_COLUMNS.search(line):
                    return
                continue
            if not bar.search(line):
                return
            cells = _cells(line, bar, is_framed=is_framed)
            # If a cell holds a bar, the rule shows where the cells begin, unless wide characters have shifted the bars.
            has_more = rule and len(cells) > len(columns)
            if has_more and all(line.startswith(bars, place) for place in crossings):
                cells = _cells_at(line, crossings, is_framed=is_framed)
            yield cells

    def rows() -> Iterator[Row]:
        """Yield the rows, each with as many cells as there are names."""
        for row in evened(rows_as_written(), len(columns), " | "):
            yield with_nulls(row)

    return TextTable(column_names(columns), rows, name)


def _cells(line: str, bar: re.Pattern[str], *, is_framed: bool) -> Row:
    # Nearly every line is ASCII without an escaped bar; splitting it at a string takes a third of the time.
    is_plain = line.isascii() and "\\" not in line
    parts = line.split("|") if is_plain else bar.split(line)
    cells = [part.strip().replace("\\|", "|") for part in parts]
    # Without a frame, spaces before the first bar are an empty cell.
    is_outside = is_framed and not cells[0]
    if is_outside or not parts[0]:
        del cells[0]
    if cells and not cells[-1]:
        del cells[-1]
    return cells


def _cells_at(line: str, crossings: list[int], *, is_framed: bool) -> Row:
    """Return the cells of a line between the crossings of the rule."""
    bounds = crossings
    if not is_framed:
        bounds = [-1, *crossings, len(line)]
    return [line[start + 1 : end].strip() for start, end in pairwise(bounds)]


def _below_dashes(text: str, names: str, below: int, dashes: str) -> TextTable:
    """Return the cells below the dashes of each column, up to a blank line or the line with the number of rows."""
    starts = [match.start() for match in _DASHES.finditer(dashes)]

    def rows() -> Iterator[Row]:
        """Yield the rows up to the end of the table."""
        for line in islice(lines_of(text), below, None):
            if not line.strip() or _FOOT.fullmatch(line):
                return
            if _is_rule_of_columns(line):
                continue
            cells = sliced(line, starts)
            yield with_nulls([cell and cell.strip(f" {_BARS}") for cell in cells])

    columns = [(name or "").strip("|/") for name in sliced(names, starts)]
    return TextTable(column_names(columns), rows, "the table")
