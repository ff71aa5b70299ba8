"""Take the words out of an HTML page: what a reader sees of it, without tags, programs and styles."""

from __future__ import annotations

import html
import re
from bisect import bisect_right
from itertools import accumulate
from typing import NamedTuple

from memory_context.text.lines import line_spans
from memory_context.text.read.lines_by_number import LineNumbers
from memory_context.text.rows.records_of_markup import TOKEN_OF_HTML
from memory_context.text.unwrap import unwrap

_FIRST_TAG = r"<(?:!doctype html|html|head|body)\b"
# How a page begins, perhaps after what a tool says about it (its address, or the head of the answer), and after comments
# and declarations.
BEGINS_PAGE = re.compile(
    rf"(?:(?=[^<]{{0,1000}}(?:://|text/html))[^<]{{0,2000}}|\s*)(?:<(?!!doctype html)[!?][^>]{{0,300}}>\s*)*+{_FIRST_TAG}",
    re.IGNORECASE,
)
# So far into a text a page is looked for, wrapping included.
FARTHEST = 3000
_ANY_FIRST_TAG = re.compile(_FIRST_TAG, re.IGNORECASE)
# Elements within a line of words, such as links and emphasis. All others begin and end lines.
_WITHIN_LINES = re.compile(
    r"a|abbr|b|bdi|big|button|cite|code|data|del|dfn|em|font|i|img|input|ins|kbd|label|mark|q|s|samp|small|span"
    r"|strike|strong|sub|sup|time|tt|u|var|wbr"
)
_HEADING = re.compile("h([1-6])")
# An address that is not within the page, or a program.
_ADDRESS = re.compile(r"""\bhref\s*=\s*["']?((?!#|javascript:)[^\s"'<>]{1,300})""", re.IGNORECASE)
_SPACE = re.compile(r"\s+")


class PageWords(NamedTuple):
    """The words of a page.

    Attributes:
        text: The words. Each heading (marked as in Markdown), paragraph, item of a list and row of a table is a line, and
            no line is blank.
        numbers: For each of these lines, the number of the line of the page in which it begins; empty if the page is in the
            wrapping of a tool's result.
    """

    text: str
    numbers: list[int]


def is_html_page(text: str) -> bool:
    """Return whether a text is an HTML page, perhaps in the wrapping of a tool's result."""
    return _page_of(text) is not None


def words_of_page(text: str) -> PageWords | None:
    """Return the words of the HTML page that *text* is, perhaps in the wrapping of a tool's result; None if it is no page."""
    page = _page_of(text)
    if page is None:
        return None
    words = words_of_markup(page)
    return words if page == text else words._replace(numbers=[])


def words_of_markup(markup: str, *, keeps_lines: bool = False) -> PageWords:
    """Return the words of HTML.

    Args:
        markup: A page or a part of one.
        keeps_lines: Whether the lines of a paragraph stay, as they do within `<pre>`.
    """
    # The first line break belongs to no token, so that what begins a line follows one.
    shown = ["\n"]
    places = [0]
    stays = keeps_lines
    address = ""
    for token in TOKEN_OF_HTML.finditer(markup):
        name = (token["name"] or "").lower()
        begins = not token["end"]
        place = token.start()
        words = html.unescape(token["text"] or token["data"] or "")
        if not stays:
            place = token.end() - len(token[0].lstrip())
            words = _SPACE.sub(" ", words)
            if shown[-1].endswith("\n"):
                words = words.lstrip()
        if name == "pre":
            stays = keeps_lines or begins
        if name == "a":
            # A link without words, such as a drawing, says nothing.
            words = address if shown[-1] != "\n" else ""
            found = _ADDRESS.search(token["attributes"]) if begins else None
            address = f" ({html.unescape(found[1])})" if found else ""
        elif name in ("td", "th"):
            words = " | " if begins and shown[-1] != "\n" else ""
        elif name and not _WITHIN_LINES.fullmatch(name):
            words = "\n"
        heading = _HEADING.fullmatch(name)
        if heading and begins:
            words = "\n" + "#" * int(heading[1]) + " "
        if words:
            shown.append(words)
            places.append(place)
    return _without_blank_lines(markup, shown, places)


def _without_blank_lines(markup: str, shown: list[str], places: list[int]) -> PageWords:
    """Join the pieces that are *shown*, each of which begins at one of *places*, without blank lines."""
    text = "".join(shown)
    ends = list(accumulate(map(len, shown)))
    page = LineNumbers(markup)
    lines = list[str]()
    numbers = list[int]()
    for start, stop in line_spans(text, 0, len(text)):
        line = text[start:stop].rstrip()
        if not line:
            continue
        lines.append(line)
        piece = bisect_right(ends, start)
        before = ends[piece] - len(shown[piece])
        numbers.append(page.at(places[piece] + start - before))
    return PageWords("\n".join(lines), numbers)


def _page_of(text: str) -> str | None:
    """Return the page without its wrapping; None if the text is no page."""
    if not _ANY_FIRST_TAG.search(text, 0, FARTHEST):
        return None
    page = unwrap(text).text
    return page if BEGINS_PAGE.match(page) else None
