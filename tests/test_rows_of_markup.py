"""The rows of markup, of calendars and address books, and of the dumps of databases."""

from __future__ import annotations

from typing import Any

import pytest

from for_each import for_each
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
        ("<table><tr><th>city<th colspan='2'>sold<tr><th><th>May<th>June<tr><td>Rome<td>1<td>2<tr><td>Oslo<td>3<td>4</table>", ("city", "sold May", "sold June"), [["Rome", "1", "2"], ["Oslo", "3", "4"]]),
        (f"<table><tr><td>Menu<td><table>{HEADS}<tr><td>Rome<td>&lt;1<tr><td>Oslo<td>2</table></table>", ("city", "n"), [["Rome", "<1"], ["Oslo", "2"]]),
        (f"<table>{HEADS}<tr><td rowspan='2'>Rome<td>1<tr><td>2</table>", LINES, 1),
        ("<html><body>" + "<a href='x' title='y'>z</a>" * 9 + "</html>", LINES, 1),
        ("<svg><path id='a' d='M1 1'/><path id='b' d='M2 2'/></svg>", LINES, 1),
        (
            "<run><file name='a.py'><fault line='1' text='x &amp; y'/><fault line='2' text='z'><at>f</at></fault></file><file name='b.py'><fault line='3' text='w'/></file></run>",
            ("file.name", "line", "text", "at"),
            [["a.py", "1", "x & y", None], ["a.py", "2", "z", "f"], ["b.py", "3", "w", None]],
        ),
        (
            "<?xml version='1.0'?>\n<!-- <item/> -->\n<rss><item><title><![CDATA[a <b>]]></title><tag>x</tag><tag>y</tag><link/></item>\n<item><title>c</title><link>d</link></item></rss>",
            ("title", "tag", "link"),
            [["a <b>", "x, y", ""], ["c", None, "d"]],
        ),
        ("<doc><p>See <a id='1' href='x'>this</a> or <a id='2' href='y'>that</a>.</p><p>No.</p></doc>", LINES, 1),
        ("<!-- 1 -->\n# Cities\n<ul><li><a href='x'>Rome</a></li><li><a href='y'>Oslo</a></li></ul>\nThat is all.", LINES, 4),
        ("<a><b><c><d n='1' m='2'/></c></b><b><c><d n='3' m='4'/><d n='5' m='6'/></c></b></a>", ("n", "m"), [["1", "2"], ["3", "4"], ["5", "6"]]),
        ("<doc>" + "<a>" * 200 + "<b x='1' y='2'/>" * 3 + "</doc>", LINES, 1),
        (
            'BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nSUMMARY:Tea & a\r\n  cake\r\nDTSTART;TZID="Europe/Rome":20260514T130000\r\nEND:VEVENT\r\nBEGIN:VEVENT\r\nSUMMARY:Walk\r\nDTSTART;TZID=Europe/Oslo:20260515T130000\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n',
            ("SUMMARY", "DTSTART.TZID", "DTSTART"),
            [["Tea & a cake", "Europe/Rome", "20260514T130000"], ["Walk", "Europe/Oslo", "20260515T130000"]],
        ),
        (
            "BEGIN:VCARD\nFN:Ann\nitem1.EMAIL;HOME:a@x.example\nTEL:1\nTEL:2\nEND:VCARD\nBEGIN:VCARD\nFN:Bo\nTEL:3\nEND:VCARD\n",
            ("FN", "EMAIL", "TEL"),
            [["Ann", "a@x.example", "1, 2"], ["Bo", None, "3"]],
        ),
        ("INSERT INTO \"t\" (id, name) VALUES (1, 'a, (b)'), (2, 'it''s'),\n(3, NULL);\n", ("id", "name"), [["1", "a, (b)"], ["2", "it's"], ["3", None]]),
        (
            "-- Dump\nCREATE TABLE `t` (\n  `id` int NOT NULL,\n  `sum` decimal(10,2),\n  KEY (`id`)\n);\nINSERT INTO `t` VALUES (1,'2\\';2');\nINSERT INTO `t` VALUES (2,now()), (3,'as long as all of that together, more than half of the text; 7, 8');\nINSERT INTO `u` VALUES (1);\n",
            ("id", "sum"),
            [["1", "2';2"], ["2", "now()"], ["3", "as long as all of that together, more than half of the text; 7, 8"]],
        ),
        ("INSERT INTO t VALUES (1, 'a');\nINSERT INTO t VALUES (2, 'b);\n", LINES, 2),
        ("INSERT INTO t VALUES (1,\n2);\nINSERT INTO t VALUES (3, 4);\n", LINES, 3),
        ("INSERT INTO t VALUES (1, 'a');\nINSERT INTO t VALUES (2);\n", LINES, 2),
        ("To add a city, run\nINSERT INTO t VALUES (1);\nand then ask for the cities again, as said in the manual above.\n", LINES, 3),
    ],
)  # fmt: skip
def test_rows(text: str, columns: tuple[str, ...], rows: list[list[Any]] | int) -> None:
    """Elements of one path, rows of tables, events, cards and inserted rows are rows; links and layouts are not."""
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
        "<g>" + "<x>1</x>" * 9_000 + "<i a='1' b='2'/>" * 9_000 + "</g>",
    ],
)
def test_hostile_markup(part: str) -> None:
    """What nothing closes is read once."""
    assert table_of("<r>" + part * (200_000 // len(part)) + "</r>").columns


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "part", ["INSERT INTO a ('\n", "INSERT INTO a VALUES ((", "CREATE TABLE a (`\n"]
)
def test_hostile_statements(part: str) -> None:
    """Statements that nothing closes are no rows, and are read once."""
    assert table_of(part * 20_000).columns == LINES
