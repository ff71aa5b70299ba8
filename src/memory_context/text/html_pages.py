"""Take the words out of an HTML page: what a reader sees of it, without tags, programs and styles."""

from __future__ import annotations

import html
import re
from typing import NamedTuple

from memory_context.text.read.lines_by_number import LineNumbers
from memory_context.text.unwrap import unwrap

_FIRST_TAG = r"<(?:!doctype html|html|head|body|table|h[1-6])\b"
# How a page begins, perhaps after what a tool says about it (its address, or the head of the answer), and after comments
# and declarations.
BEGINS_PAGE = re.compile(
    rf"(?:(?=[^<]{{0,1000}}(?:://|text/html))[^<]{{0,2000}}|\s*)(?:<(?!!doctype html)[!?][^>]{{0,300}}>\s*)*+{_FIRST_TAG}",
    re.IGNORECASE,
)
# So far into a text a page is looked for, wrapping included.
FARTHEST = 3000
_ANY_FIRST_TAG = re.compile(_FIRST_TAG, re.IGNORECASE)
# Each alternative consumes what it has read, closed or not, so that nothing is read twice. Programs and styles are no markup.
_TOKEN = re.compile(
    r"""
    (?i:<(?P<raw>script|style)\b(?:[^<]++|<(?!/(?P=raw)))*+)
    | <!--(?:[^-]++|-(?!->))*+(?:-->)?
    | <!\[CDATA\[(?P<data>(?:[^]]++|](?!]>))*+)(?:]]>)?
    | <(?P<end>/?)(?P<name>[A-Za-z_][\w:.-]{0,80}+)(?P<attributes>(?:[^<>"']++|"[^"]*+"|'[^']*+')*+)>?
    | <[!?][^>]*+>?
    | (?P<text>[^<]++)
    """,
    re.VERBOSE,
)
# Elements within a line of words, such as links and emphasis. All others begin and end lines.
_WITHIN_LINES = re.compile(
    r"a|abbr|b|bdi|big|button|cite|code|data|del|dfn|em|font|i|img|input|ins|kbd|label|mark|q|s|samp|small|span"
    r"|strike|strong|sub|sup|time|tt|u|var|wbr"
)
# Elements with a blank line around them.
_APART = re.compile("p|pre|ul|ol|dl|table|blockquote|section|article")
# Other elements in a cell do not end its row.
_APART_IN_CELLS = re.compile("pre|section|article")
# An address that is not within the page, or a program.
_ADDRESS = re.compile(r"""\bhref\s*=\s*["']?((?!#|javascript:)[^\s"'<>]{1,300})""", re.IGNORECASE)
_SPACE = re.compile(r"\s+")


class PageWords(NamedTuple):
    """The words of a page.

    Attributes:
        text: The words. Each heading, paragraph, item of a list and row of a table is a line, as in Markdown.
        numbers: For each of these lines, the number of the line of the page in which it begins; empty if the page is in the
            wrapping of a tool's result.
    """

    text: str
    numbers: list[int]


def words_of_page(text: str) -> PageWords | None:
    """Return the words of the HTML page that *text* is, perhaps in the wrapping of a tool's result; None if it is no page."""
    if not _ANY_FIRST_TAG.search(text, 0, FARTHEST):
        return None
    page = unwrap(text).text
    if not BEGINS_PAGE.match(page):
        return None
    lines = _Lines()
    for token in _TOKEN.finditer(page):
        if token["name"]:
            lines.add_tag(token)
        else:
            lines.add_text(html.unescape(token["text"] or token["data"] or ""), token.start())
    words = lines.numbered(page)
    return words if page == text else words._replace(numbers=[])


class _Lines:
    """Collects the lines of a page's words, and where in the page each of them begins; the last line is being written."""

    def __init__(self) -> None:
        self._lines = [""]
        self._places = [0]
        self._is_as_written = False
        # The address of the link that has begun.
        self._address = ""
        # Of the row that is being written: how many cells it has, and how many of them are names of columns.
        self._cells = self._names = 0

    def add_tag(self, tag: re.Match[str]) -> None:
        """Begin and end lines, cells and links as a tag says."""
        name = tag["name"].lower()
        begins = not tag["end"]
        match name:
            case "a":
                self._end_link()
                found = _ADDRESS.search(tag["attributes"]) if begins else None
                self._address = html.unescape(found[1]) if found else ""
            case "td" | "th":
                if begins:
                    self._begin_cell(is_name=name == "th")
            case "tr" | "table":
                self._end_row()
            case "h1" | "h2" | "h3" | "h4" | "h5" | "h6":
                self._end(apart=True)
                if begins:
                    self._write("#" * int(name[1]) + " ", tag.start())
            case _ if not _WITHIN_LINES.fullmatch(name):
                self._end_block(name, tag.start())
            case _:
                pass
        if name == "pre":
            self._is_as_written = begins

    def add_text(self, text: str, place: int) -> None:
        """Add text that begins at the offset *place* of the page: in `<pre>` as it is written, else with single spaces."""
        if self._is_as_written:
            first, *others = text.split("\n")
            self._write(first, place)
            place += len(first) + 1
            for line in others:
                self._begin(line, place)
                place += len(line) + 1
            return
        place += len(text) - len(text.lstrip())
        words = _SPACE.sub(" ", text)
        if not self._lines[-1] or self._lines[-1].endswith(" "):
            words = words.lstrip()
        if self._cells:
            words = words.replace("|", "\\|")
        if words:
            self._write(words, place)

    def numbered(self, page: str) -> PageWords:
        """Return the lines, with their numbers in the page."""
        numbers = map(LineNumbers(page).at, self._places)
        return PageWords("\n".join(self._lines).rstrip(), list(numbers))

    def _end_block(self, name: str, place: int) -> None:
        if self._cells and not _APART_IN_CELLS.fullmatch(name):
            self.add_text(" ", place)
        else:
            self._end(apart=bool(_APART.fullmatch(name)))

    def _end_link(self) -> None:
        # A link without words, such as a picture, says nothing.
        if self._address and self._lines[-1]:
            self._lines[-1] += f" ({self._address})"

    def _begin_cell(self, *, is_name: bool) -> None:
        if self._cells:
            self._lines[-1] = self._lines[-1].rstrip() + " | "
        self._cells += 1
        self._names += is_name

    def _end_row(self) -> None:
        """End a row of a table, as Markdown writes it; below the names of columns comes a rule."""
        if self._cells > 1:
            self._lines[-1] = f"| {self._lines[-1].rstrip()} |"
        self._end()
        if self._names == self._cells > 1:
            self._write("| --- " * self._cells + "|", self._places[-2])
            self._end()
        self._cells = self._names = 0

    def _end(self, *, apart: bool = False) -> None:
        """End the line, if it has words; if what follows is *apart*, a blank line comes before it."""
        if self._lines[-1]:
            self._begin("", 0)
        if apart and self._lines[-2:-1] not in ([], [""]):
            self._begin("", 0)

    def _write(self, words: str, place: int) -> None:
        if not self._lines[-1]:
            self._places[-1] = place
        self._lines[-1] += words

    def _begin(self, line: str, place: int) -> None:
        self._lines[-1] = self._lines[-1].rstrip()
        self._lines.append(line)
        self._places.append(place)
