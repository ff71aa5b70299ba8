"""The rows of HTML tables."""

from __future__ import annotations

from typing import Any

import pytest

from for_each import for_each
from memory_context.text.html_pages import BEGINS_PAGE
from memory_context.text.rows.rows_in_text import table_of

LINES = ("line", "text")
HEADS = "<tr><th>city<th>n"


def rows_of(text: str) -> tuple[tuple[str, ...], list[list[Any]]]:
    """The names and the rows of a text."""
    table = table_of(text)
    return table.columns, [list(row) for row in table.rows()]


@for_each(
    "text, columns, rows",
    [
        (f"<html><table>{HEADS}<tr><td>Rome<td>1<tr><td>Oslo<br>Nord</td><td></table>", ("city", "n"), [["Rome", "1"], ["Oslo Nord", None]]),
        ("<TR><TH>city</TH></TR>" + "<TR><TD>Rome</TD></TR>" * 2, LINES, 1),
        ("<table><tr><td>city</td><td>n</td></tr><tr><td>Rome</td><td>1</td></tr><tr><td>Oslo</td><td>2</td></tr></table>", ("city", "n"), [["Rome", "1"], ["Oslo", "2"]]),
        ("<table><tr><td>name</td><td>of the city</td></tr><tr><td>size</td><td>in km</td></tr></table>", ("column1", "column2"), [["name", "of the city"], ["size", "in km"]]),
        ("<table><tr><th>city<th colspan='2'>sold<tr><th><th>May<th>June<tr><td>Rome<td>1<td>2<tr><td>Oslo<td>3<td>4</table>", LINES, 1),
        (f"<html><h2>Cities</h2>Two:<table><caption>By size</caption>{HEADS}<tr><td>Rome<td>1<tr><td>Oslo<td>2</table><table><tr><th>a<th>b<tr><td>3<td>4</table>More.</html>", ("city", "n"), [["Rome", "1"], ["Oslo", "2"]]),
        (f"<table>{HEADS}<tr><td>Rome<td>1<tr><td>Oslo<td>2<tr><th>Sum<th>3</table>", LINES, 1),
        (f"<table>{HEADS}<th>m<tr><td>Rome<td>1<td>2<tr><td colspan='2'>Oslo<td>3</table>", LINES, 1),
        (f"<table>{HEADS}<tr><td>Rome<td>1<tr><td><h4>Oslo</h4><td>2<tr><td>Bonn<td>3<tr><td>Kiel<td>4</table>", LINES, 1),
        (f"<table>{HEADS}<tr><td>Rome<td>1<tr><td>Oslo<td>2<tr><td>Bonn<td><table><tr><td>3<td>4</table><tr><td>Kiel<td>5<tr><td>Nice<td>6</table>", LINES, 1),
        (f"<table class='x'>{HEADS}<tr><td colspan='1'>Rome<td>1<tr><td>Oslo<td rowspan='1'>2</table>", ("city", "n"), [["Rome", "1"], ["Oslo", "2"]]),
        (f"<table>{HEADS}<tr><td>Rome<td>1<tr><td>Oslo<td>2<td>3<tr><td>Bonn<td>4</table>", LINES, 1),
        (f"<html><pre><table>{HEADS}<tr><td>Rome<td>1<tr><td>\nOslo<td>2<tr><td>Bonn<td>3<tr><td>Kiel<td>4<tr><td>Nice<td>5</table></pre></html>", LINES, 2),
        ("<table><tr><td>a,b<td>1,2<tr><td>c,d<td>3,4</table>", ("column1", "column2"), [["a,b", "1,2"], ["c,d", "3,4"]]),
        (f"<html><table>{HEADS}<tr><td>Rome<td>1<tr><td>Oslo<td>2</table>" + "<p>Said at length.</p>" * 600 + "</html>", LINES, 1),
        ("<table><tr><th><p>city</p><th><div>n</div><tr><td><p>a|b</p><p>c</p><td>1<tr><td><td>2</table>", ("city", "n"), [["a|b c", "1"], [None, "2"]]),
        (f"<table><tr><td>Menu<td><table>{HEADS}<tr><td>Rome<td>&lt;1<tr><td>Oslo<td>2</table></table>", ("city", "n"), [["Rome", "<1"], ["Oslo", "2"]]),
        (f"<table>{HEADS}<tr><td rowspan='2'>Rome<td>1<tr><td>2</table>", LINES, 1),
        ("<html><body>" + "<a href='x' title='y'>z</a>" * 9 + "</html>", LINES, 1),
        ("<!-- 1 -->\n# Cities\n<ul><li><a href='x'>Rome</a></li><li><a href='y'>Oslo</a></li></ul>\nThat is all.", LINES, 4),
        (f"<html><SCRIPT>x = '<table>{HEADS}<tr><td>Bonn<td>9<tr><td>Kiel<td>8</table>'</SCRIPT><table>{HEADS}<tr><td>Rome<td>1<tr><td>Oslo<td>2</table></html>", ("city", "n"), [["Rome", "1"], ["Oslo", "2"]]),
        (f"<table><tr><th colspan='2'>Cities{HEADS}<tr><td>Rome<td>1<tr><td>Oslo<td>2<tr><td colspan='2'>Source: a census</table>", LINES, 1),
        ("<a>\n<b n='1' m='2'/>\n<b n='3' m='4'/>\n</a>", LINES, 4),
        ("<div><ul><li><a href='x' title='Rome'>r</a></li><li><a href='y' title='Oslo'>o</a></li></ul></div>", LINES, 1),
    ],
)  # fmt: skip
def test_rows(text: str, columns: tuple[str, ...], rows: list[list[Any]] | int) -> None:
    """Rows of tables are rows; links, pages and layouts are not, and XML has only its lines."""
    found = rows_of(text)
    if isinstance(rows, int):
        assert (found[0], len(found[1])) == (columns, rows)
    else:
        assert found == (columns, rows)


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "part",
    [
        "<!-- -",
        "<![CDATA[ ]",
        "<a '",
        '<a b="',
        "<a b ",
        "<td>",
        "</a>",
        "<a><b>",
        "<x a='1' b='2'>",
    ],
)
def test_hostile_markup(part: str) -> None:
    """What nothing closes is read once, and has no rows."""
    for root in ("r", "html"):
        text = f"<{root}>" + part * (400_000 // len(part)) + f"</{root}>"
        assert LINES == table_of(text).columns


@pytest.mark.timeout(20)
@for_each("line", ["\n", " \n", "a \n", "a: b\n", "https://example.org\n", "HTTP/2 200\n"])
def test_lines_before_no_page_are_read_once(line: str) -> None:
    """Whether a page follows is found without reading the lines before it again and again."""
    assert BEGINS_PAGE.match("a\n" + line * 40_000) is None


@pytest.mark.long
@pytest.mark.timeout(60)
@for_each(
    "part",
    [
        "<a>" * 18 + "<b>1</b><c>2</c>" * 20 + "</a>" * 18,
        "<table>" + "<tr><td>1<td>2" * 3 + "</table>",
        "<tr><td colspan='99'>1<td>2",
        "".join(f"<i{number} n='1'/>" for number in range(90)),
    ],
)
def test_large_markup_is_read_in_seconds(part: str) -> None:
    """A page of 1 MB with many small parts is read in seconds."""
    inside = part * (1_000_000 // len(part))
    assert table_of(f"<html>{inside}</html>").columns
