"""Take the words out of an HTML page: what a reader sees of it, without tags, programs and styles."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from memory_context.text.lines import BYTE_ORDER_MARK, lines_of
from memory_context.text.read.lines_by_number import LineNumbers
from memory_context.text.spans import Span
from memory_context.text.unwrap_mcp_json_and_fences import unwrap

# So far into a text the first tag of a page is looked for, wrapping included.
FARTHEST = 4000
_FIRST_TAG = re.compile(r"<(?:!doctype html|html|head|body|table|h[1-6])\b", re.IGNORECASE)
# How a page begins: at once, perhaps after comments and declarations; or in a line of its own, below up to three lines
# of which the last says where it is from or of what type it is, or below the head of an HTTP answer. A bare tag of a table
# or heading may also begin a part of a page, which ends in a tag. Elsewhere, programs, data and mails hold pages, too.
# Each line begins with its first sign, and white space is not given back, so that thousands of blank lines are read once.
BEGINS_PAGE = re.compile(
    r"""
    (?: \s*+ (?: <!--(?:[^-]++|-(?!->))*+-->\s*+ | <[?]xml[^>]{0,200}>\s*+ | <!doctype\s(?!html)[^>]{0,300}>\s*+ )*+
        <(?:!doctype\ html|html|head|body)\b
      | \s*+ (?P<part> <(?:h[1-6]>|table\b[^<>]{0,500}>(?=\s*<(?:tr|thead|tbody|caption|colgroup)\b)) )
      | (?P<lead> \s*+ (?:[^\s<][^\n<]{0,1000}\n\s*+){0,2}
            (?=[^\n<]{0,1000}(?:://|text/html)) [^\s<][^\n<]{0,2000}\n\s*+
          | HTTP/[\d.]+\ \d[^\n]*\n(?:[\w-]+:[^\n]*\n)*+\s*+
        )
        (?: <!--(?:[^-]++|-(?!->))*+-->\s*+ )*+
        <(?:!doctype\ html|html)\b
    )
    """,
    re.IGNORECASE | re.VERBOSE,
)
# A page that is less of its text is what one of several programs wrote.
LEAST_OF_TEXT = 0.5
# A page with fewer characters of words, and with less of them than this share, is a program that draws the page.
FEW_WORDS = 200
LEAST_WORDS = 0.01
# Each alternative consumes what it has read, closed or not, so that nothing is read twice. Programs and styles are no
# markup. A quotation mark counts only where a value begins: elsewhere it may be an apostrophe.
_TOKEN = re.compile(
    r"""
    (?i:<(?P<raw>script|style)(?=[\s/>])(?:[^<]++|<(?!/(?P=raw)))*+)
    | <!--(?:[^-]++|-(?!->))*+(?:-->)?
    | <!\[CDATA\[(?P<data>(?:[^]]++|](?!]>))*+)(?:]]>)?
    | <(?P<end>/?)(?P<name>[A-Za-z][\w:.-]{0,80}+)
      (?P<attributes>(?:[^<>=]++|=\s*+(?:"[^"]*+"|'[^']*+')?+)*+)>?
    | <[!?/][^>]*+>?
    | (?P<text>(?:[^<]++|<(?![A-Za-z/!?]))++)
    """,
    re.VERBOSE,
)
_ATTRIBUTE = re.compile(r"""([\w:-]++)\s*+=\s*+("[^"]*+"|'[^']*+'|[^\s"'>]++)""")
_BEFORE_MARKUP = re.compile(r"\s*+<[A-Za-z!/?]")
# Elements within a line of words, such as links and emphasis. All others begin and end lines.
_WITHIN_LINES = re.compile(
    r"a|abbr|b|bdi|big|cite|code|data|del|dfn|em|font|i|img|input|ins|kbd|label|mark|q|s|samp|small|span|strike|strong"
    r"|sub|sup|time|tt|u|var|wbr"
)
# Elements with a blank line around them.
_APART = re.compile("p|pre|ul|ol|dl|table|caption|blockquote|section|article")
# Other elements in a cell do not end its row.
_APART_IN_CELLS = re.compile("pre|section|article")
# Addresses within the page, programs, and data.
_NO_ADDRESS = re.compile("#|javascript:|data:", re.IGNORECASE)
_SPACE = re.compile(r"\s+")
# A bar in a cell has a backslash before it.
CELL_BAR = re.compile(r"(?<!\\)\|")
RULE_CELL = "---"


class PageWords(NamedTuple):
    """The words of a page.

    Attributes:
        text: The words. Each heading, paragraph, item of a list and row of a table is a line, as in Markdown.
        numbers: For each of these lines, the number of the line of the page in which it begins; empty if the page is in the
            wrapping of a tool's result.
    """

    text: str
    numbers: Sequence[int]


def words_of_html(text: str, least: float = LEAST_OF_TEXT) -> PageWords | None:
    """Return the words of the HTML page that *text* is, perhaps in the wrapping of a tool's result.

    None if it is no page (`place_of_page`), or one that has hardly any words because a program draws it.
    """
    if not _FIRST_TAG.search(text, 0, FARTHEST):
        return None
    page = unwrap(text).text.removeprefix(BYTE_ORDER_MARK)
    place = place_of_page(page, least)
    if place is None:
        return None
    start, end = place
    lines = _Lines()
    lines.add_as_written(page[:start], 0)
    for token in _TOKEN.finditer(page, start, end):
        if token["name"]:
            lines.add_tag(token)
        else:
            lines.add_text(token["text"] or token["data"] or "", token.start())
    lines.add_as_written(page[end:], end)
    words = lines.numbered(page)
    if len(words.text) < min(FEW_WORDS, LEAST_WORDS * len(page)) or not words.text:
        return None
    return words if len(page) >= len(text) - 1 else words._replace(numbers=[])


def place_of_page(text: str, least: float = LEAST_OF_TEXT) -> Span | None:
    """Return where the HTML page that *text* is begins and ends; None if it is none, or less than a share *least* of it."""
    beginning = BEGINS_PAGE.match(text)
    if beginning is None or (beginning["part"] and not text.rstrip().endswith(">")):
        return None
    start = len(beginning["lead"] or "")
    end = len(text)
    for token in _TOKEN.finditer(text, start):
        if token["end"] and token["name"].lower() == "html":
            end = token.end() + text.startswith("\n", token.end())
    # Another page, or what a server adds to one.
    if _BEFORE_MARKUP.match(text, end):
        end = len(text)
    if end < least * len(text):
        return None
    return start, end


@dataclass(slots=True)
class _OpenTable:
    """A table whose end has not come yet.

    Attributes:
        start: How many lines precede it.
        width: How many cells its first row has, of those with several.
        is_torn: Whether a cell of it has lines or a table, so that its rows are none of a table.
    """

    start: int = 0
    width: int = 0
    is_torn: bool = False


class _Lines:
    """Collects the lines of a page's words, and where in the page each of them begins."""

    def __init__(self) -> None:
        self._lines = list[str]()
        self._places = list[int]()
        # The line that is being written, in pieces, and where it begins; a blank line is where the line before it is.
        self._line = list[str]()
        self._place = 0
        self._is_as_written = False
        # The mark of the heading that has begun, until it has words; the address of the link that has.
        self._mark = ""
        self._address = ""
        # How many cells the row that is being written has, and how many of them are names.
        self._cells = self._names = 0
        # The tables that are open, the innermost last. Rows may be in none.
        self._tables = [_OpenTable()]

    def add_as_written(self, text: str, place: int) -> None:
        """Add the lines before the page, or behind it, as they are written; *place* is where they begin."""
        self._end_row()
        for line in lines_of(text):
            self._write(line, place)
            self._add_line()
            place += len(line) + 1

    def add_tag(self, tag: re.Match[str]) -> None:
        """Begin and end lines, cells and links as a tag says."""
        name = tag["name"].lower()
        begins = not tag["end"]
        match name:
            case "a":
                self._end_link()
                if begins:
                    self._address = _attributes(tag).get("href", "")
            case "td" | "th":
                if begins:
                    self._begin_cell(tag.start(), is_name=name == "th")
            case "tr":
                self._end_row()
            case "table":
                self._end_table(begins=begins)
            case "h1" | "h2" | "h3" | "h4" | "h5" | "h6":
                self._tear()
                self._end(apart=True)
                self._mark = "#" * int(name[1]) + " " if begins else ""
            case _ if not _WITHIN_LINES.fullmatch(name):
                self._end_block(name, tag.start())
            case _:
                pass
        if name == "pre":
            self._is_as_written = begins

    def add_text(self, text: str, place: int) -> None:
        """Add text with its entities: in `<pre>` line by line, else with single spaces.

        Args:
            text: The text, as it is in the page.
            place: Where it begins in the page.
        """
        if self._is_as_written:
            for number, line in enumerate(text.split("\n")):
                if number:
                    self._tear()
                    self._add_line()
                self._write(html.unescape(line), place)
                place += len(line) + 1
            return
        place += len(text) - len(text.lstrip())
        words = _SPACE.sub(" ", html.unescape(text))
        if not self._line or self._line[-1].endswith(" "):
            words = words.lstrip()
        if self._cells:
            words = words.replace("|", "\\|")
        self._write(words, place)

    def numbered(self, page: str) -> PageWords:
        """Return the lines, with their numbers in the page."""
        self._end_row()
        text = "\n".join(self._lines).rstrip()
        return PageWords(text, list(map(LineNumbers(page).at, self._places)))

    def _write(self, words: str, place: int) -> None:
        if not words:
            return
        if not self._line:
            self._place = place
        self._line += [self._mark, words]
        self._mark = ""

    def _end_link(self) -> None:
        # A link without words, such as a picture, says nothing; an address within the page leads nowhere.
        if self._line and self._address and not _NO_ADDRESS.match(self._address):
            address = self._address
            if self._cells:
                address = address.replace("|", "%7C")
            self._line.append(f" ({address})")
        self._address = ""

    def _begin_cell(self, place: int, *, is_name: bool) -> None:
        if self._cells:
            self._end_link()
            if self._line:
                self._line[-1] = self._line[-1].rstrip()
            self._write(" | ", place)
        self._cells += 1
        self._names += is_name

    def _end_row(self) -> None:
        """End a row of a table, as Markdown writes it; below the names of columns comes a rule.

        A row with more or fewer cells than the first one, as beside a cell that reaches across others, has no bars at its
        ends, nor has one with names once more: it is none of the table's rows.
        """
        table = self._tables[-1]
        is_head = self._names == self._cells
        is_alike = self._cells == table.width and not is_head
        is_row = self._cells > 1 and not table.is_torn and (is_alike or not table.width)
        if is_row:
            self._line = ["| ", "".join(self._line).rstrip(), " |"]
        self._end()
        if is_row and is_head:
            self._write(f"| {RULE_CELL} " * self._cells + "|", self._place)
            self._end()
        if self._cells > 1 and not table.width:
            table.width = self._cells
        self._cells = self._names = 0

    def _end_table(self, *, begins: bool) -> None:
        """End what is before the beginning or the end of a table."""
        if begins:
            self._tear()
        self._end_row()
        self._end(apart=True)
        if begins:
            self._tables.append(_OpenTable(len(self._lines)))
        elif len(self._tables) > 1:
            self._tables.pop()

    def _tear(self) -> None:
        """If a cell is open, take the bars from the ends of the table's rows: what follows ends the row within the cell."""
        table = self._tables[-1]
        if not self._cells or table.is_torn:
            return
        table.is_torn = True
        for index in range(table.start, len(self._lines)):
            self._lines[index] = self._lines[index].removeprefix("| ").removesuffix(" |")

    def _end_block(self, name: str, place: int) -> None:
        if self._cells and not _APART_IN_CELLS.fullmatch(name):
            self._end_link()
            self.add_text(" ", place)
        else:
            self._tear()
            self._end(apart=bool(_APART.fullmatch(name)))

    def _end(self, *, apart: bool = False) -> None:
        """End the line, if it has words; if what follows is *apart*, a blank line comes before it."""
        if self._line:
            self._end_link()
            self._add_line()
        if apart and self._lines and self._lines[-1]:
            self._add_line()

    def _add_line(self) -> None:
        self._lines.append("".join(self._line).rstrip())
        self._places.append(self._place)
        self._line = []


def _attributes(tag: re.Match[str]) -> dict[str, str]:
    """Return the attributes of a tag that have values, without white space around these."""
    found = _ATTRIBUTE.findall(tag["attributes"])
    return {name.lower(): html.unescape(value.strip("\"'")).strip() for name, value in found}
