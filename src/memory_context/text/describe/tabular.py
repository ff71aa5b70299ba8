"""Tables: CSV and its like, Markdown, and those that databases and shells print."""

from __future__ import annotations

import csv
import re

from memory_context.text.describe.description import Description, Kind, counted, unique_names
from memory_context.text.describe.sample import Sample

SAMPLED = 30
LONGEST_CELL = 60
QUOTED_AT_MOST = 5_000_000
_NOTATIONS = {"\t": "TSV", ",": "CSV", ";": "CSV", "|": "table"}
_NUMBER = re.compile(r"[-+$€£]?[\d.,:/%-]+(?:[eE][-+]?\d+)?[%a-zA-Z]{0,2}")
# Lines below a header: ``|---|:--:|`` in Markdown, ``----+----`` in psql, ``--  ----`` in sqlite.
_RULE = re.compile(r"\s*[|:]*[-=─]{2,}:?(?:[ |+:]+[-=─]{2,}:?)*[ |]*")
# The frame of a table, as mysql and sqlite's box draw it.
_FRAME = re.compile(r"\s*[+┌├╒╭┏][-=─━═+┬┼┴╤╪┳╇]+[+┐┤╕╮┓]\s*")
_BARS = re.compile(r"[|│┃]")
_ROWS_SAID = re.compile(r"^\((\d{1,12}) rows?\)|^(\d{1,12}) rows? in set", re.MULTILINE)
_TITLE = re.compile(r"[A-Z%][\w%/()+.:-]*")


def describe_table(sample: Sample) -> Description | None:
    """Describe a text that is a table."""
    if len(sample.lines) < 2:
        return None
    return _with_rule(sample) or _separated(sample) or _aligned(sample)


def _table(sample: Sample, notation: str, rows: int, columns: int, cells: list[str]) -> Description:
    """Describe a table; where it says how many rows it has, that is right."""
    if said := _ROWS_SAID.findall(sample.tail):
        rows = int("".join(said[-1]))
    if sample.hint.table:
        notation += f" of {sample.hint.table}"
    size = f"{counted(max(rows, 0), 'row')} x {counted(columns, 'column')}"
    names = unique_names(cell.strip().strip("\"'*`") for cell in cells)
    return Description(Kind.TABLE, f"{notation} {size}", names)


def _with_rule(sample: Sample) -> Description | None:
    """Describe a table with a rule below its header, in the first lines of a text."""
    rows = _filled_lines(sample.text)
    for index in range(1, min(4, len(sample.lines))):
        header, rule = sample.lines[index - 1 : index + 1]
        if _FRAME.fullmatch(header) and _BARS.search(rule):
            bar = rule.strip()[0]
            cells = _BARS.split(rule.strip())[1:-1]
            return _table(sample, "table", sample.text.count(f"\n{bar}") - 1, len(cells), cells)
        if not _RULE.fullmatch(rule):
            continue
        if "|" in header:
            notation = "Markdown table" if "|" in rule else "SQL result"
            cells = header.strip().strip("|").split("|")
            if header.startswith("|"):
                rows = sample.text.count("\n|") + index  # without the text below the table
            return _table(sample, notation, rows - index - 1, len(cells), cells)
        if len(rule.split()) > 1 and not any(map(_NUMBER.fullmatch, header.split())):
            starts = [match.start() for match in re.finditer(r"\S+", rule)]
            ends = [*starts[1:], len(header)]
            cells = [header[start:end] for start, end in zip(starts, ends, strict=True)]
            return _table(sample, "table", rows - index - 1, len(cells), cells)
    return None


def _separated(sample: Sample) -> Description | None:
    """Describe lines that all have as many tabs, commas, semicolons or bars as the first."""
    for separator, notation in _NOTATIONS.items():
        rows = _rows_of(sample.lines[: SAMPLED + 1], separator)
        if len(rows) > 3:
            rows.pop()  # it may be cut in its middle
        if not _are_rows(rows, separator):
            continue
        header = rows[0]
        has_numbers = any(_NUMBER.fullmatch(cell.strip()) for cell in header)
        is_header = not has_numbers and len(set(header)) == len(header)
        count = _filled_lines(sample.text)
        if '"' in sample.head and len(sample.text) <= QUOTED_AT_MOST:
            # Cells in quotes may have line breaks in them.
            count = len(_rows_of(sample.text.split("\n"), separator))
        cells = header if is_header else []
        return _table(sample, notation, count - is_header, len(header), cells)
    return None


def _rows_of(lines: list[str], separator: str) -> list[list[str]]:
    try:
        return [row for row in csv.reader(lines, delimiter=separator) if row]
    except csv.Error:
        return [line.split(separator) for line in lines]


def _are_rows(rows: list[list[str]], separator: str) -> bool:
    """Return whether these are rows of short cells, not sentences or code with as many commas in each line."""
    widths = [len(row) for row in rows]
    if len(rows) < 2 or widths[0] < 2 or widths.count(widths[0]) < 0.95 * len(rows):
        return False
    header = rows[0]
    if any(len(cell) > LONGEST_CELL for cell in header) or not all(map(str.strip, header[1:])):
        return separator == "\t" and len(rows) > 2
    if separator == "," and len(header) == 2 and all(row[-1].startswith(" ") for row in rows):
        return False
    code = sum(1 for row in rows if row[-1].rstrip().endswith((".", ";", "{", ":", ")", "(", ",")))
    return code < 0.5 * len(rows)


def _aligned(sample: Sample) -> Description | None:
    """Describe columns with gaps between them, below a header of titles."""
    first = sample.lines[0]
    words = first.split()
    rows = _filled_lines(sample.text) - 1
    bodies = [line.split() for line in sample.lines[1:SAMPLED]]
    names = re.split(r"\s{2,}", first.strip())
    titles = sum(1 for word in words if _TITLE.fullmatch(word))
    if len(names) < 2 or len(words) < 3 or titles < len(words) - 1:
        return None
    if len(names) == 2:
        names = words
    if any(len(body) < max(2, len(names) - 2) for body in bodies):
        return None
    return _table(sample, "table", rows, len(names), names)


def _filled_lines(text: str) -> int:
    """Return how many lines are not blank."""
    count = text.count("\n") + (not text.endswith("\n"))
    return count - len(re.findall(r"\n(?=[ \t]*\n)", text)) if "\n\n" in text else count
