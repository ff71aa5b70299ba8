"""Tables: CSV and its like, Markdown, the tables that databases and shells print."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass

from memory_context.text.describe.kind import Kind
from memory_context.text.describe.sample import Sample
from memory_context.text.describe.wording import counted, short

SAMPLED = 30
LONGEST_CELL = 60
_SEPARATORS = {",": "CSV", "\t": "TSV", ";": "CSV", "|": "table"}
_NUMBER = re.compile(r"[-+$€£]?[\d.,:/%-]+(?:[eE][-+]?\d+)?[%a-zA-Z]{0,2}")
_MARKDOWN_RULE = re.compile(r"\s*\|?\s*:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)*\|?\s*$")
_PSQL_RULE = re.compile(r"\s*-{2,}(?:\+-{2,})+\s*$")
_GRID_RULE = re.compile(r"\s*[+┌├╒╞╭┏┡┢╔][-=─━═+┬┼┴╤╪╥┳╇╈╦╬]+[+┐┤╕╡╮┓┩╗]\s*$")
_DASHED_RULE = re.compile(r"\s*[-=─━]{2,}(?:\s+[-=─━]{2,})+\s*$")
_PSQL_ROWS = re.compile(r"^\((\d{1,12}) rows?\)", re.MULTILINE)
_MYSQL_ROWS = re.compile(r"^(\d{1,12}) rows? in set", re.MULTILINE)
_BARS = re.compile(r"[|│┃║]")
_GAP = re.compile(r"\s{2,}|\t")
_TITLE = re.compile(r"[A-Z%][\w%/()+.:-]*")
_FOOTER = re.compile(
    r"\s*(?:\(\d+ rows?\)|\d+ rows? in set.*|\[\d+ rows x \d+ columns\]|Time: .*|Query OK.*|Rows matched.*)\s*$"
)
_PANDAS = re.compile(r"^\[(\d{1,12}) rows x (\d{1,6}) columns\]", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Table(Kind):
    """Rows and columns: ``CSV 1,204 rows x 9 columns: id, name``."""

    notation: str
    rows: int
    columns: int
    names: tuple[str, ...]
    content: str = ""

    @property
    def facts(self) -> str:
        """How large it is."""
        of = f" of {self.content}" if self.content else ""
        return (
            f"{self.notation}{of} {counted(self.rows, 'row')} x {counted(self.columns, 'column')}"
        )

    @property
    def details(self) -> tuple[str, ...]:
        """The columns' names."""
        return self.names


def recognise_table(sample: Sample) -> Table | None:
    """The table that a text is."""
    return _ruled(sample) or _separated(sample) or _aligned(sample)


def _names(cells: list[str]) -> tuple[str, ...]:
    return tuple(name for cell in cells if (name := short(cell.strip().strip("\"'*`"))))


def _ruled(sample: Sample) -> Table | None:
    """A table with a rule of dashes below its header, in the first lines of a text."""
    lines = sample.filled[:4]
    for index, line in enumerate(lines):
        if index and _PSQL_RULE.match(line) and "|" in lines[index - 1]:
            return _psql(sample, lines[index - 1])
        if index and _MARKDOWN_RULE.match(line) and "|" in line and "|" in lines[index - 1]:
            return _with_bars(sample, "Markdown table", lines[index - 1], 2 + (index - 1))
        if _GRID_RULE.match(line) and index + 1 < len(lines) and _BARS.search(lines[index + 1]):
            return _grid(sample, lines[index + 1])
        if index and _DASHED_RULE.match(line) and _is_header(lines[index - 1]):
            return _columns_under(sample, line, lines[index - 1], index)
    return None


def _psql(sample: Sample, header: str) -> Table:
    names = _names(header.split("|"))
    said = _PSQL_ROWS.findall(sample.tail)
    rows = int(said[-1]) if said else max(0, sample.line_count - 2)
    return Table("SQL result", rows, len(names), names, sample.hint.table)


def _with_bars(sample: Sample, notation: str, header: str, before: int) -> Table:
    names = _names(header.strip().strip("|").split("|"))
    text = sample.text
    rows = (
        text.count("\n|") + text.startswith("|") - before
        if header.lstrip().startswith("|")
        else _filled_lines(text) - before
    )
    return Table(
        notation, max(rows, 0), header.strip().strip("|").count("|") + 1, names, sample.hint.table
    )


def _grid(sample: Sample, header: str) -> Table:
    names = _names(_BARS.split(header.strip())[1:-1])
    said = _MYSQL_ROWS.findall(sample.tail)
    mark = next((mark for mark in "|│┃║" if sample.text.count(f"\n{mark}") > 1), header.strip()[:1])
    rows = int(said[-1]) if said else sample.text.count(f"\n{mark}") - (header.strip()[:1] == mark)
    columns = len(_BARS.split(header.strip())) - 2
    return Table(
        "SQL result" if said or sample.hint.table else "table",
        max(rows, 0),
        columns,
        names,
        sample.hint.table,
    )


def _is_header(line: str) -> bool:
    words = line.split()
    return bool(words) and not any(_NUMBER.fullmatch(word) for word in words)


def _columns_under(sample: Sample, rule: str, header: str, before: int) -> Table | None:
    """A table whose columns are as wide as the dashes of its rule."""
    spans = [(match.start(), match.end()) for match in re.finditer(r"\S+", rule)]
    ends = [start for start, _ in spans[1:]] + [len(header) + LONGEST_CELL]
    names = _names([header[start:end] for (start, _), end in zip(spans, ends, strict=True)])
    rows = _filled_lines(sample.text) - before - 1
    rows -= sum(1 for line in sample.last[-3:] if _FOOTER.match(line))
    return Table("table", max(rows, 0), len(spans), names, sample.hint.table)


def _filled_lines(text: str) -> int:
    return (
        len(re.findall(r"[^\n]*[^\s][^\n]*", text))
        if "\n\n" in text
        else text.count("\n") + (not text.endswith("\n"))
    )


def _separated(sample: Sample) -> Table | None:
    """Lines that all have as many commas, tabs, semicolons or bars as the first."""
    lines = sample.filled
    for separator in ("\t", ",", ";", "|"):
        if len(lines) > 1 and separator in lines[0] and _agree(lines, separator):
            return _of_cells(sample, separator)
    return None


def _agree(lines: list[str], separator: str) -> bool:
    rows = _cells(lines[: SAMPLED + 1], separator)
    rows = (
        rows[:-1]
        if len(rows) > SAMPLED or (len(rows) > 3 and len(rows[-1]) != len(rows[0]))
        else rows
    )
    widths = [len(row) for row in rows]
    if len(widths) < 2 or widths[0] < 2 or widths.count(widths[0]) < 0.95 * len(widths):
        return False
    return _looks_tabular(rows, separator)


def _looks_tabular(rows: list[list[str]], separator: str) -> bool:
    """Whether short cells under short names stand there, and not sentences that happen to have as many commas."""
    header = rows[0]
    if not header[0].strip() and not rows[1][0].strip():
        return False
    if sum(1 for row in rows for cell in row if "   " in cell.strip()) > 0.3 * len(rows):
        return False
    if any(len(cell) > LONGEST_CELL for cell in header) or not all(
        cell.strip() for cell in header[1:]
    ):
        return separator == "\t" and len(rows) > 2
    spaced = sum(1 for row in rows for cell in row[1:] if cell.startswith(" ") and cell.strip())
    sentences = separator == "," and spaced > 0.8 * sum(len(row) - 1 for row in rows)
    ends = sum(1 for row in rows if row[-1].rstrip().endswith((".", ";", "{", ":", ")", "(", ",")))
    return (not sentences or len(header) > 2) and ends < 0.5 * len(rows)


def _cells(lines: list[str], separator: str) -> list[list[str]]:
    try:
        return [row for row in csv.reader(lines, delimiter=separator) if row]
    except csv.Error:
        return [line.split(separator) for line in lines]


def _of_cells(sample: Sample, separator: str) -> Table:
    rows = _cells(sample.filled[: SAMPLED + 1], separator)
    is_header = not any(_NUMBER.fullmatch(cell.strip()) for cell in rows[0]) and len(
        set(rows[0])
    ) == len(rows[0])
    in_quotes = '"' in sample.text and re.search(r'(?:^|[,;\t])"[^"\n]*\n', sample.head) is not None
    count = _quoted_rows(sample.text, separator) if in_quotes else _filled_lines(sample.text)
    names = _names(rows[0]) if is_header else ()
    return Table(_SEPARATORS[separator], count - is_header, len(rows[0]), names, sample.hint.table)


def _quoted_rows(text: str, separator: str) -> int:
    """The rows of a text in whose quotes line breaks stand; of a large one its lines."""
    if len(text) > 5_000_000:
        return _filled_lines(text)
    try:
        return sum(1 for row in csv.reader(text.split("\n"), delimiter=separator) if row)
    except csv.Error:
        return _filled_lines(text)


def _aligned(sample: Sample) -> Table | None:
    """Columns with two spaces or more between them, below a header of capitals or above pandas' footer."""
    lines = sample.filled
    if " columns]" in sample.tail and (said := _PANDAS.search(sample.tail)):
        return Table(
            "table", int(said[1]), int(said[2]), _names(lines[0].split()), sample.hint.table
        )
    if len(lines) < 2:
        return None
    names = [name for name in _GAP.split(lines[0].strip()) if name]
    words = lines[0].split()
    titled = sum(1 for word in words if _TITLE.fullmatch(word))
    if (
        len(words) > 2
        and titled >= len(words) - 1
        and (len(names) > 2 or lines[0].isupper())
        and not lines[0].rstrip().endswith((".", ":", ","))
    ):
        names = names if len(names) > 2 else words
        widths = [len(line.split()) for line in lines[1:SAMPLED]]
        if min(widths) >= len(names) - 2 and min(widths) > 1:
            return Table("table", _filled_lines(sample.text) - 1, len(names), _names(names))
    return _pandas_like(sample, lines, words)


def _pandas_like(sample: Sample, lines: list[str], words: list[str]) -> Table | None:
    """Rows that begin with 0, 1, 2, … below names."""
    starts = [line.split(maxsplit=1)[0] for line in lines[1:SAMPLED]]
    if (
        len(lines) < 3
        or starts != [str(number) for number in range(len(starts))]
        or not lines[0].startswith(" ")
    ):
        return None
    return Table(
        "table", _filled_lines(sample.text) - 1, len(words), _names(words), sample.hint.table
    )
