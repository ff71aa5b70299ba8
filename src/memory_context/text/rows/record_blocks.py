"""Records in blocks, ``key: value`` on each line: below headings, between blank lines, as INI or simple YAML."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from memory_context.text.lines import lines_of
from memory_context.text.rows.rows_under_columns import Row, TextTable, column_names

HEADING: Final = "heading"
RECORDS: Final = "the records"
MOST_COLUMNS = 200
LEAST_COMMON = 2
# Name: value, NAME=value or - **Name**: value; a name is a word or a few, a value may be missing.
FIELD = re.compile(
    r"(?P<indent>[ \t]*)(?P<dash>[-*•] +)?\*{0,2}(?P<name>[A-Za-z_][\w /()'.-]{0,40}?)\*{0,2}"
    r" ?(?::\*{0,2}(?:\s+|$)|=(?!=)\s*)\*{0,2}(?P<value>.*)"
)
# A section of INI in brackets, a title of Markdown, or one between hyphens or equals signs.
_TITLE = re.compile(
    r"\s*(?:\[(?P<section>[^\]]+)\]|#{1,6} +(?P<title>[^#\s].*?)#*|[=-]{2,} *(?P<ruled>\S.*?) *[=-]{2,})\s*"
)
# As in "Order 1042: open".
_NUMBERED = re.compile(r"[A-Za-z][\w -]* #?\d+")
_ITEM = re.compile(r"\s*[-*•] +(?P<item>.*)")
_RULE = re.compile(r"\s*[-=_*]{3,}\s*")
_COMMENT = re.compile(r"\s*[#;]")
_PARTS = re.compile(r"\s*[,|;]\s+|\s+[-–—]\s+")  # noqa: RUF001 - dashes as people write them


@dataclass(slots=True)
class _Block:
    """A record while its lines are read."""

    heading: str | None = None
    fields: dict[str, str] = field(default_factory=dict[str, str])
    last: str = ""
    indent: int = 0
    is_item: bool = False

    def add(self, name: str, value: str) -> None:
        """Add a field; its name is the last one, to which further lines belong."""
        self.fields[name] = value
        self.last = name

    def extend(self, text: str, joint: str) -> None:
        """Add a further line to the last field."""
        if self.last:
            self.fields[self.last] = f"{self.fields[self.last]}{joint}{text}".strip(joint)


def record_table(text: str) -> TextTable | None:
    """Return the records of a text under the names of their fields, missing ones None; None for other texts.

    What a heading says belongs to the records below it, as the column ``heading``, and as fields where it has the form
    of some: ``## Order: 1042, Status: open``. Where no two records have a field in common, rows are names and values.
    """
    names = Counter[str]()
    has_headings = False
    for block in _blocks(text):
        has_headings = has_headings or block.heading is not None
        names.update(block.fields.keys())
        if len(names) > MOST_COLUMNS:
            return None
    if not names:
        return None
    # One name in common is chance: a configuration has several sections with a port.
    if sum(1 for count in names.values() if count > 1) < LEAST_COMMON:
        return TextTable(("key", "value"), lambda: _pairs(text), "the fields")
    columns = [*([HEADING] if has_headings else []), *names]
    return TextTable(column_names(columns), lambda: _rows(text, columns), RECORDS)


def _pairs(text: str) -> Iterator[Row]:
    for block in _blocks(text):
        before = f"{block.heading}." if block.heading else ""
        yield from ([before + name, value or None] for name, value in block.fields.items())


def _rows(text: str, columns: list[str]) -> Iterator[Row]:
    for block in _blocks(text):
        cells = {HEADING: block.heading, **block.fields}
        yield [cells.get(name) or None for name in columns]


def _blocks(text: str) -> Iterator[_Block]:
    """Yield the records; a text before the first field belongs to none."""
    block, is_below_blank = _Block(), True
    for line in lines_of(text):
        if not line.strip() or _RULE.fullmatch(line):
            is_below_blank = True
            continue
        heading = _heading_in(line, is_below_blank=is_below_blank)
        if heading is not None:
            if block.fields:
                yield block
            block, is_below_blank = _with_heading(heading), False
            continue
        match = FIELD.fullmatch(line)
        if match is None:
            if not _COMMENT.match(line):
                _continue(block, line)
            continue
        if block.fields and _begins_record(match, block, is_below_blank=is_below_blank):
            yield block
            block = _Block(block.heading, indent=block.indent)
        if not (match["value"] or block.fields or match["dash"]):
            # A mapping of mappings: its key stands above each.
            block = _Block(match["name"].strip(), indent=len(match["indent"]))
        else:
            # A list of YAML has its hyphen before the first field of an item alone, Markdown before each.
            block.is_item = bool(block.fields) and not match["dash"]
            block.add(match["name"].strip(), _plain(match["value"]))
        is_below_blank = False
    if block.fields:
        yield block


def _heading_in(line: str, *, is_below_blank: bool) -> str | None:
    """Return the heading that a line is; None if it is none."""
    title = _TITLE.fullmatch(line)
    if title:
        return (title["section"] or title["title"] or title["ruled"]).strip()
    match = FIELD.fullmatch(line)
    if match and is_below_blank and match["value"] and _NUMBERED.fullmatch(match["name"]):
        return line.strip()
    return None


def _begins_record(match: re.Match[str], block: _Block, *, is_below_blank: bool) -> bool:
    """Return whether a field is the first of the next record."""
    is_named_already = match["name"].strip() in block.fields
    if is_named_already or (match["dash"] and block.is_item):
        return True
    # A blank line inside of what a heading begins is none between records.
    if block.heading is None:
        return is_below_blank
    # The key of the next mapping has no value, and stands as far left as the key before.
    is_bare = not match["value"] and not match["dash"]
    return is_bare and len(match["indent"]) <= block.indent


def _with_heading(text: str) -> _Block:
    """Return an empty record below a heading, with the fields that the heading itself has."""
    block = _Block(text)
    parts = [FIELD.fullmatch(part) for part in _PARTS.split(text)]
    for part in parts:
        if part and part["value"] and not _NUMBERED.fullmatch(part["name"]):
            block.add(part["name"].strip(), _plain(part["value"]))
    block.last = ""
    return block


def _continue(block: _Block, line: str) -> None:
    """Add a line without a name to the field before: an item of a list, or more of its text."""
    item = _ITEM.fullmatch(line)
    if item:
        block.extend(_plain(item["item"]), ", ")
    else:
        block.extend(line.strip(), " ")


def _plain(value: str) -> str:
    """Return a value without blanks, quotes and Markdown's marks around it."""
    value = value.strip().removesuffix("**").strip()
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'`":
        return value[1:-1]
    return value
