"""Read records that are blocks of ``key: value`` lines, separated by headings, blank lines or a recurring first field.

A *field* is such a line; the *opener* is the field with which most records begin; a *body* is free text after a blank
line below the fields, as in a mail.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain, islice, pairwise
from typing import Any, TypeAlias

from memory_context.text.lines import lines_of
from memory_context.text.rows.text_table import Row, TextTable, column_names
from memory_context.text.rows.values_as_rows import KEY, LEAST_COMMON, PAIRS
from memory_context.text.rows.yaml_and_toml_values import OPEN_VALUE, configuration_table

_Match: TypeAlias = re.Match[str]

HEADING = "heading"
TEXT = "text"
MOST_COLUMNS = 200
# A line of this length may have been wrapped, so that the next line continues it.
LONG_LINE = 60
# Text below a blank line that is indented by this much is shown as it is, as in Markdown.
LITERAL = 4
# `Name: value`, `NAME=value` or `- **Name**: value`. A name has one or a few words, or parts between dots; the value may
# be missing. A sign in parentheses makes no field: `Limit (cost=0.29`.
FIELD = re.compile(
    r"(?P<indent>[ \t]*)(?P<dash>[-*•] +)?\*{0,2}(?![^():=]*\([^():=]*[:=])"
    r"(?P<name>[A-Za-z_](?:[\w-]{0,40}(?:\.[\w-]{1,40}){1,9}|[\w /()'.-]{0,40}?))\*{0,2}"
    r" ?(?P<sign>:\*{0,2}(?:\s+|$)|=(?!=)\s*)(?:\*\*)?(?P<value>.*)"
)
# `GET /a status=200 ms=3` is a line of several pairs, as logs have them. `OPTS="-Da=b c=d"`, a comment, and the values in
# `Limits: cpu=1 memory=2` and psql's `limits | cpu=1 memory=2` are not.
_SEVERAL_PAIRS = re.compile(
    r"""^(?![ \t]*[#;])(?:[^=:|\n]|:(?!\s))*[^\s=]=(?:"[^"\n]*"|'[^'\n]*'|(?!["'])\S*)(?=[ \t]).*?[ \t][A-Za-z_][\w.-]*=""",
    re.MULTILINE,
)
# How `git log` begins a commit.
_COMMIT = re.compile(r"^commit (?=[0-9a-f]{40}\b)")
# psql writes this above a wide row, as `name | value`. In other texts, a bar may separate a service from what it said.
_ABOVE_WIDE = "-[ RECORD"
_FIRST_BAR = re.compile(r"^([^|\n]++)\|", re.MULTILINE)
# In psql with hyphens around it: `-[ RECORD 1 ]-+----`.
_SECTION = re.compile(r"\s*-?\[{1,2}(?P<title>[^\[\]]+)\]{1,2}[-+]*\s*")
# A title of Markdown, or one between hyphens or equals signs. A long line is none, and is not read from each of its signs.
_TITLE = re.compile(
    r"(?!.{500})\s*(?:#{1,6} +(?P<title>[^#\s].*?)#*|[=-]{2,} *(?P<ruled>\S.*?) *[=-]{2,})\s*"
)
# A name with a number, as in "Order 1042: open".
_NUMBERED = re.compile(r"[A-Za-z][\w -]* #?\d+")
_ITEM = re.compile(r"\s*[-*•] +(?P<item>.*)")
_RULE = re.compile(r"\s*[-=_*]{3,}\s*")
_COMMENT = re.compile(r"\s*[#;]")
_PARTS = re.compile(r"\s*[,|;]\s+|\s+[-–—]\s+")  # noqa: RUF001 - dashes as people write them


@dataclass(frozen=True, slots=True)
class _FieldLine:
    """A line, the match if it is a field, and the match of the next line if that is one."""

    text: str
    field: _Match | None
    below: _Match | None


@dataclass(slots=True)
class _Block:
    """A record while its lines are read.

    Attributes:
        heading: The heading above it.
        fields: The parts of each field's value, by name; they are joined at the end, as there may be thousands.
        text: The lines that neither are a field nor belong to one.
        last: The name of the last field, to which further lines belong.
        indent: How far the last field is indented.
        sign_at: Where the sign of the last field is; names that are aligned to the right have their signs at one place.
        is_open: Whether the last field had no value on its own line.
        is_wrapped: Whether the last line of the last field is so long that the next line may continue it.
        again: How often a field of the record came again below another field.
        has_body: Whether a body has begun after a blank line; what looks like a field in it is part of its text.
    """

    heading: str | None = None
    fields: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    text: list[str] = field(default_factory=list[str])
    last: str = ""
    indent: int = 0
    sign_at: int = 0
    is_open: bool = False
    is_wrapped: bool = False
    has_body: bool = False
    again: int = 0

    def add(self, name: str, value: str) -> None:
        """Add a field, or another value of a field that the record already has."""
        if name not in self.fields:
            self.fields[name] = []
        elif name != self.last:
            self.again += 1
        self.last = name
        self.is_open = not value
        self.extend(value, ", ")

    def extend(self, text: str, joint: str) -> None:
        """Add a text to the value of the last field."""
        self.is_wrapped = len(text) >= LONG_LINE
        parts = self.fields[self.last]
        if text:
            parts += [joint, text] if parts else [text]

    def value(self, name: str) -> str | None:
        """Return the value of a field; None if it is missing or empty."""
        return "".join(self.fields.get(name, ())) or None


@dataclass(frozen=True, slots=True)
class _Form:
    """The form that the records of a text have in common.

    Attributes:
        opener: The field with which most records begin; empty if no two begin with the same one.
        indent: How far the opener is indented, or else the first field of the text; a field indented further does not
            begin a record.
        sign: The sign after the name of the first field: a colon or an equals sign.
        has_sections: Whether lines in brackets are headings, so that lines with ``#`` are comments.
    """

    opener: str
    indent: int
    sign: str
    has_sections: bool


def record_table(text: str, documents: list[Any]) -> TextTable | None:
    """Return the records of a text under the names of their fields; None for other texts.

    *documents* are what `yaml_documents` returns for the text.

    The column ``heading`` holds the heading above a record; fields in a heading, as in ``## Order: 1042, Status: open``,
    become columns. The column ``text`` holds what is below the fields of a record, such as the body of a mail. A title
    above the records, such as ``Found 3 items:``, is not one of them. If no two fields occur in several records, the rows
    are keys and values. A text whose fields are lines of several pairs has no records.
    """
    table = configuration_table(text, documents)
    if table or OPEN_VALUE.search(text) or _is_log_of_pairs(text):
        return table
    if _ABOVE_WIDE in text:
        text = _FIRST_BAR.sub(r"\1:", text)
    form = _form_of(text)
    names = Counter[str]()
    again = 0
    has_headings = has_texts = False
    for block in _blocks(text, form):
        has_headings |= block.heading is not None
        has_texts |= bool(block.text)
        again += block.again
        # A name that never has a value is a title above other fields.
        names.update(name for name, value in block.fields.items() if value)
    recurring = [name for name, count in names.items() if count > 1]
    if len(recurring) < LEAST_COMMON:
        return TextTable((KEY, "value"), lambda: _pairs(text, form), PAIRS)
    # A field is seldom in a record twice; a speaker recurs again and again, in any order.
    if len(names) > MOST_COLUMNS or 10 * again > names.total():
        return None

    begun = next(_blocks(text, form))
    is_title = not (begun.heading or begun.text or any(begun.fields.values()))
    first_record = 1 if is_title else 0
    first = [HEADING] if has_headings else []
    last = [TEXT] if has_texts else []

    def rows() -> Iterator[Row]:
        """Yield a row for each record."""
        for block in islice(_blocks(text, form), first_record, None):
            row: Row = list(map(block.value, names))
            if has_headings:
                row.insert(0, block.heading)
            if has_texts:
                row.append("\n".join(block.text) or None)
            yield row

    return TextTable(column_names([*first, *names, *last]), rows, "the records")


def _is_log_of_pairs(text: str) -> bool:
    """Return whether most of a text's fields are lines of several pairs, of which the first would be the only name."""
    several = len(_SEVERAL_PAIRS.findall(text))
    if not several:
        return False
    fields = [line for line in _read(text) if line.field]
    return 2 * several > len(fields)


def _pairs(text: str, form: _Form) -> Iterator[Row]:
    for block in _blocks(text, form):
        before = f"{block.heading}." if block.heading else ""
        for name in block.fields:
            yield [before + name, block.value(name)]
        if block.text:
            yield [before + TEXT, "\n".join(block.text)]


def _read(text: str) -> Iterator[_FieldLine]:
    """Yield the lines, each with the field in it and in the line below."""
    after_last = ("", None)
    lines = chain(map(_matched, lines_of(text)), [after_last])
    for (line, match), (_, below) in pairwise(lines):
        yield _FieldLine(line, match, below)


def _matched(line: str) -> tuple[str, _Match | None]:
    """Return a line and the match if it is a field; the first line of a commit as if it were written as one."""
    line = _COMMIT.sub("commit: ", line)
    # Most lines of prose have neither sign, and need not be matched.
    if ":" not in line and "=" not in line:
        return line, None
    return line, FIELD.fullmatch(line)


def _form_of(text: str) -> _Form:
    """Return the form of a text's records."""
    openers = Counter[str]()
    deeper = Counter[tuple[int, str]]()
    indent = -1
    sign = ""
    has_sections = False
    is_first = True
    for line in _read(text):
        match = line.field
        is_heading = _is_heading(line, is_first=is_first)
        if match and not is_heading:
            depth = len(match["indent"])
            if indent < 0:
                indent = depth
                sign = match["sign"][0]
            if is_first and depth <= indent:
                openers[_name_of(match)] += 1
            elif is_first:
                deeper[depth, _name_of(match)] += 1
            is_first = False
        elif _SECTION.fullmatch(line.text):
            is_first = has_sections = True
        else:
            is_title = _TITLE.fullmatch(line.text) is not None
            is_first = is_heading or is_title or _ends_block(line.text)
    has_sections = has_sections or sign == "="
    opener = max(openers, key=openers.__getitem__, default="")
    if openers[opener] > 1:
        return _Form(opener, indent, sign, has_sections)
    # Facts above records may be indented less than these are, all of which then begin with one field.
    openers_at = Counter(depth for depth, _ in deeper)
    recurring = [
        (depth, name)
        for (depth, name), count in deeper.items()
        if count > 1 and openers_at[depth] == 1
    ]
    indent, opener = min(recurring, default=(indent, ""))
    return _Form(opener, indent, sign, has_sections)


def _blocks(text: str, form: _Form) -> Iterator[_Block]:
    """Yield the records; text before the first field belongs to none."""
    block = _Block()
    is_first = True
    is_below_rule = False
    for line in _read(text):
        if _ends_block(line.text):
            is_first = True
            is_below_rule = is_below_rule or bool(line.text.strip())
            continue
        heading = _heading_in(line, form, block, is_first=is_first)
        match = _field_in(line, form, block, is_first=is_first)
        begun = None
        if heading is not None:
            begun = _with_heading(heading)
            match = None
        elif match and (is_below_rule or _begins_record(match, block, form, is_first=is_first)):
            begun = _Block(block.heading)
        if begun:
            if block.fields:
                yield block
            block = begun
        if match and not block.has_body:
            _add_field(block, match)
        elif begun is None and not _is_comment(line.text, block, is_first=is_first):
            _continue(block, line.text, is_first=is_first)
        is_first = is_below_rule = False
    if block.fields:
        yield block


def _indent_of(line: str) -> int:
    return len(line) - len(line.lstrip())


def _is_comment(line: str, block: _Block, *, is_first: bool) -> bool:
    # In a body, `#100` at the beginning of a line is the number of an issue.
    is_body = block.has_body or (is_first and _indent_of(line) >= LITERAL)
    return not is_body and _COMMENT.match(line) is not None


def _ends_block(line: str) -> bool:
    return not line.strip() or _RULE.fullmatch(line) is not None


def _is_heading(line: _FieldLine, *, is_first: bool) -> bool:
    """Return whether a line is a heading without marks: a title, or a numbered name, right above the fields of a record."""
    match = line.field
    below = line.below
    if below is None or not line.text.strip():
        return False
    if match is None:
        is_above = _indent_of(line.text) < len(below["indent"])
        return (is_first or is_above) and not _COMMENT.match(line.text)
    if not is_first or not match["value"]:
        return False
    # Of several numbered names in a row, each is a field: `Track 1: …` above `Track 2: …`.
    is_numbered = _NUMBERED.fullmatch(match["name"]) is not None
    return is_numbered and not _NUMBERED.fullmatch(below["name"])


def _heading_in(line: _FieldLine, form: _Form, block: _Block, *, is_first: bool) -> str | None:
    """Return the text of a heading; None if the line is not one."""
    title = _SECTION.fullmatch(line.text)
    if title is None and not form.has_sections:
        title = _TITLE.fullmatch(line.text)
    # In the body of a record without a heading, titles belong to the body.
    if title and not (block.has_body and block.heading is None):
        return title[title.lastindex or 0].strip()
    # A heading without marks must be right above the opener.
    if line.below is None or _name_of(line.below) != form.opener:
        return None
    if _is_heading(line, is_first=is_first):
        return line.text.strip()
    return None


def _field_in(line: _FieldLine, form: _Form, block: _Block, *, is_first: bool) -> _Match | None:
    """Return the match of a line that is a field; None if it is no field, continues the value above, or begins the body.

    A continuation is indented by one more space, as in mails, or is indented and has the other sign: an equals sign
    where fields have colons. A body is indented below a blank line, as the message of a commit: ``fix: empty carts``.
    """
    match = line.field
    if match is None or not block.last:
        return match
    if match.start("sign") == block.sign_at:
        return match
    deeper = len(match["indent"]) - block.indent
    if deeper == 1:
        return None
    if deeper >= LITERAL and is_first:
        return None
    if deeper > 0 and match["sign"][0] != form.sign:
        return None
    return match


def _begins_record(match: _Match, block: _Block, form: _Form, *, is_first: bool) -> bool:
    """Return whether a field is the first of the next record."""
    if len(match["indent"]) > form.indent:
        return False
    name = _name_of(match)
    is_there = name in block.fields
    first = next(iter(block.fields), "")
    is_opener = name == (form.opener or first)
    if is_opener and (is_there or is_first):
        return True
    if not is_first or block.has_body:
        return False
    # After a blank line, a record that lacks the opener begins with another field that the current record already has.
    # If no field is the opener, any field there begins a record, except below a heading, which marks where records begin.
    return is_there or not (form.opener or block.heading)


def _name_of(match: _Match) -> str:
    return match["name"].strip()


def _add_field(block: _Block, match: _Match) -> None:
    block.add(_name_of(match), _plain(match["value"]))
    block.indent = len(match["indent"])
    block.sign_at = match.start("sign")


def _with_heading(text: str) -> _Block:
    """Return a new record below a heading, with the fields that the heading itself holds."""
    block = _Block(text)
    for match in filter(None, map(FIELD.fullmatch, _PARTS.split(text))):
        if match["value"] and not _NUMBERED.fullmatch(match["name"]):
            block.add(_name_of(match), _plain(match["value"]))
    block.last = ""
    return block


def _continue(block: _Block, line: str, *, is_first: bool) -> None:
    """Add a line that is not a field: to the value of the field above if it continues that, else to the text."""
    if not block.fields:
        return
    # What is below a blank line is the body.
    block.has_body |= is_first
    is_indented = _indent_of(line) >= max(1, block.indent)
    continues = is_indented or block.is_open or block.is_wrapped
    if block.has_body or not block.last or not continues:
        block.text.append(line.strip())
    elif item := _ITEM.fullmatch(line):
        block.extend(_plain(item["item"]), ", ")
    else:
        block.extend(line.strip(), " ")


def _plain(value: str) -> str:
    """Return a value without the white space, quotes and Markdown marks around it."""
    value = value.strip().removesuffix("**").strip()
    for quote in "\"'`":
        if len(value) > 1 and value.startswith(quote) and value.endswith(quote):
            return value[1:-1]
    return value
