"""Accessibility trees of pages, as tools for browsers return them: what is shown, recalled and queried of them."""

from __future__ import annotations

import json

import pytest

from for_each import for_each
from memory_context import MemoryContext
from memory_context.text.describe import describe
from memory_context.text.excerpt.excerpt import excerpt
from memory_context.text.rows.rows_in_text import table_of
from memory_context.text.words_of_page import words_of_page
from messages import call, results, user
from test_context import fill, shown

LINKS = '- link "a" [ref=e1]\n' * 5
NAMES = ("Ann Ito", "Bob Lund", "Carla Novak", "Elif Rossi")


def _row(number: int) -> str:
    return f"""\
        - row [ref=r{number}]:
          - cell [ref=a{number}]:
            - 'checkbox "Select order #{number}" [ref=b{number}]'
          - cell [ref=c{number}]:
            - link "#{number}" [ref=d{number}] [cursor=pointer]:
              - /url: /orders/{number}
          - cell "{NAMES[number % 4]}" [ref=e{number}]
          - cell "${number / 8:.2f}" [ref=f{number}]
"""


# What Playwright's MCP server returns.
ORDERS = (
    """\
### Page
- Page URL: https://shop.example/orders
- Page Title: Orders | Shop
### Snapshot
```yaml
- generic [active] [ref=e1]:
  - navigation "Main" [ref=e2]:
    - list [ref=e3]:
      - listitem [ref=e4]:
        - link "Home" [ref=e5] [cursor=pointer]:
          - /url: /
      - listitem [ref=e6]:
        - link "Customers" [ref=e7] [cursor=pointer]:
          - /url: /customers
  - main [ref=e8]:
    - heading "Orders" [level=1] [ref=e9]
    - paragraph [ref=e10]: 80 orders, 14 open
    - button "Export" [disabled] [ref=e11]
    - table [ref=e12]:
      - rowgroup [ref=e13]:
        - row [ref=e14]:
          - columnheader [ref=e15]
          - columnheader "Order" [ref=e16]
          - columnheader "Customer" [ref=e17]
          - columnheader "Total" [ref=e18]
      - rowgroup [ref=e19]:
"""
    + "".join(map(_row, range(4100, 4180)))
    + """\
  - contentinfo [ref=e99]:
    - paragraph [ref=e100]:
      - text: See our
      - link "terms" [ref=e101] [cursor=pointer]:
        - /url: /terms
      - text: for returns.
```
"""
)
FIELDS = """\
- group "Billing" [ref=g1]:
  - generic [ref=g2]:
    - text: City
    - textbox "City" [ref=g3]: Oslo
  - generic [ref=g4]:
    - checkbox "Paper: send invoices" [checked] [ref=g5]
    - text: "Paper: send invoices"
  - combobox "Period" [ref=g6]:
    - option "daily"
    - option "weekly" [selected]
  - article:
    - link [ref=g7] [cursor=pointer]:
      - /url: /lamp
      - img "Oak lamp"
      - heading "Oak lamp XL" [level=3]
    - paragraph: $17.00
"""


def _words(tree: str) -> str:
    words = words_of_page(tree)
    assert words
    assert len(words.numbers) == 1 + words.text.count("\n")
    return words.text


def test_rows_and_headings_are_lines_as_in_markdown() -> None:
    """A row is one line with what it takes to click in it; a heading has its mark, and links of a navigation are a line."""
    words = _words(ORDERS)
    for line in (
        'Main | link "Home" [ref=e5] (/) | link "Customers" [ref=e7] (/customers)',
        "# Orders",
        'button "Export" [disabled] [ref=e11]',
        "|  | Order | Customer | Total |",
        "| --- | --- | --- | --- |",
        '| checkbox "Select order #4107" [ref=b4107] | link "#4107" [ref=d4107] (/orders/4107) | Elif Rossi | $513.38 |',
        'See our link "terms" [ref=e101] (/terms) for returns.',
        "- Page Title: Orders | Shop",
    ):
        assert f"\n{line}\n" in words


def test_lines_have_the_numbers_of_the_tree() -> None:
    """Each line of the words knows the line of the tree in which it begins, so that more can be read there."""
    words = words_of_page(ORDERS)
    assert words
    assert list(words.numbers) == sorted(words.numbers)
    numbers = dict(zip(words.text.split("\n"), words.numbers, strict=True))
    lines = ORDERS.split("\n")
    assert 'heading "Orders"' in lines[numbers["# Orders"] - 1]
    [row] = [line for line in numbers if "#4107" in line]
    assert "row [ref=r4107]" in lines[numbers[row] - 1]


def test_fields_keep_what_they_are_set_to() -> None:
    """A field is shown with its reference and its value, beside its label; short parts are one line."""
    assert _words(FIELDS).rstrip().split("\n") == [
        "Billing",
        'City textbox "City" [ref=g3]: Oslo',
        'checkbox "Paper: send invoices" [checked] [ref=g5] Paper: send invoices',
        'combobox "Period" [ref=g6] | option "daily" | option "weekly" [selected]',
        "link [ref=g7] (/lamp) Oak lamp Oak lamp XL $17.00",
    ]


# A form without labels that are bound to its fields, a table that is named, rows that are clicked, and a change.
MAIL = """\
- main [ref=m1]:
  - heading "Shipping" [level=2] [ref=m2]
  - text: First name
  - textbox [ref=m3]
  - text: Last name
  - textbox [ref=m4]
  - listitem [ref=m5]:
    - img "Fail" [ref=m6]
    - generic [ref=m7]: Failover test
  - grid "Mails" [ref=m8]:
    - row "Ann Ito Invoice 1" [ref=m9] [cursor=pointer]:
      - gridcell "Ann Ito" [ref=m10]
      - gridcell "Invoice | 1" [ref=m11]
    - row "Bob Lund Invoice 2" [selected] [ref=m12] [cursor=pointer]:
      - gridcell "Bob Lund" [ref=m13]
      - gridcell "Invoice 2" [ref=m14]
    - row "Day" [ref=m16]:
      - gridcell "3" [selected] [ref=m17]
      - gridcell "4" [ref=m18]
  - text: 2 of 80 mails
  - group [ref=m19]:
    - generic "More options" [ref=m20]
... [12000 characters left out] ...
- <changed> button "Undo" [ref=m15]
"""


def test_a_row_that_is_clicked_keeps_its_reference() -> None:
    """The reference of a row stands in its first cell; bars in cells are escaped; what is around the rows is no row."""
    table = "Mails\n\n| row [ref=m9] Ann Ito | Invoice \\| 1 |\n| row [selected] [ref=m12] Bob Lund | Invoice 2 |\n"
    assert table in _words(MAIL)
    assert "\n2 of 80 mails\n" in _words(MAIL)


def test_states_and_summaries_keep_their_references() -> None:
    """The day that is selected, and what opens more of the page, can be used as they are shown."""
    words = _words(MAIL)
    assert '| gridcell "3" [selected] [ref=m17] | 4 |' in words
    assert 'generic "More options" [ref=m20]' in words


def test_no_text_stands_beside_the_reference_of_another_element() -> None:
    """Labels that are bound to no field stay in their order."""
    words = _words(MAIL)
    assert "First name\ntextbox [ref=m3]\nLast name\ntextbox [ref=m4]\n" in words
    assert "Fail | Failover test" in words


def test_lines_that_are_no_elements_stay() -> None:
    """What a tool puts between elements is shown, and so is an element that is marked as changed."""
    words = _words(MAIL)
    assert "... [12000 characters left out] ..." in words
    assert 'button "Undo" [ref=m15]' in words


def test_a_tree_in_the_result_of_a_server_is_rendered_too() -> None:
    """The wrapping of an MCP result is taken off, as it is around HTML."""
    wrapped = words_of_page(json.dumps([{"type": "text", "text": ORDERS}]))
    assert wrapped
    assert "| Order | Customer | Total |" in wrapped.text
    assert not wrapped.numbers


@for_each("tree, name", [(ORDERS, "Orders | Shop"), (MAIL, "Shipping")])
def test_a_description_names_the_page(tree: str, name: str) -> None:
    """A reference says that it is the tree of a page, and which."""
    assert describe(tree).startswith(f'accessibility tree of the page "{name}"')


def test_a_table_in_a_tree_can_be_queried() -> None:
    """Rows have the columns of the page's table."""
    table = table_of(ORDERS)
    assert table.columns[1:] == ("Order", "Customer", "Total")
    assert len(list(table.rows())) == 80


async def test_the_row_that_is_meant_comes_with_what_it_takes_to_click() -> None:
    """An order that a person names brings its row, with the columns' names and its references; another one stays quiet."""
    context = MemoryContext("ann", store="sqlite://")
    asked = user("What's on this page?")
    prompt = await fill(context, asked, call("browser_snapshot"), results(ORDERS))
    assert 'page "Orders' in shown(prompt[-1])
    prompt = await fill(context, user("Open order 4131, please."))
    recalled = shown(prompt[-2])
    assert 'link "#4131" [ref=d4131] (/orders/4131) | Elif Rossi | $516.38 |' in recalled
    assert "Order | Customer | Total" in recalled
    assert "#4132" not in recalled
    await context.aclose()


@for_each(
    "text",
    [
        "".join(f"- text: line {n}\n- name: x{n}\n" for n in range(50)),
        "".join(f'- link: src="{n}"\n- button "b" saves [ref]\n' for n in range(50)),
        "".join(f'[{n}] "alpha" "beta" [ref={n}]\n' for n in range(50)),
        "# Roles\n\n" + '- button "Save" [ref=e1]\n' * 9 + "And so on, as is known. " * 50,
        '- link "a" [ref=e1]\n' * 4,
        ORDERS.replace("- ", "* "),
    ],
)
def test_other_lists_are_no_trees(text: str) -> None:
    """YAML, prose and notes that hold words such as "list" and "text" are shown as they are."""
    assert words_of_page(text) is None


@pytest.mark.long
@for_each(
    "tree",
    [
        "".join(f'{" " * depth}- button "b{depth}" [ref=e1]\n' for depth in range(1500)),
        LINKS + '- cell "a"\n' + '  - text: "a"\n' * 100_000,
        LINKS + "\n" * 100_000 + LINKS,
        LINKS + '- button "' + "a\\" * 100_000 + '"\n' + LINKS,
        LINKS + "- button " + "[" * 200_000 + "\n" + LINKS,
    ],
)
def test_odd_trees_are_read_once(tree: str) -> None:
    """Depth, length and what is left open make no tree fail; what is shown keeps within its budget, and is not nothing."""
    assert 0 < len(excerpt(tree, "a", 400, len).text) <= 400
