"""Accessibility trees of pages, as tools for browsers return them: what is shown, recalled and queried of them."""

from __future__ import annotations

from for_each import for_each
from memory_context import MemoryContext
from memory_context.text.describe import describe
from memory_context.text.excerpt.excerpt import excerpt
from memory_context.text.rows.rows_in_text import table_of
from memory_context.text.words_of_page import words_of_page
from messages import call, results, user
from test_context import fill, shown

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
        'navigation "Main" | link "Home" [ref=e5] (/) | link "Customers" [ref=e7] (/customers)',
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
    numbers = dict(zip(words.text.split("\n"), words.numbers, strict=True))
    lines = ORDERS.split("\n")
    assert 'heading "Orders"' in lines[numbers["# Orders"] - 1]
    [row] = [line for line in numbers if "#4107" in line]
    assert "row [ref=r4107]" in lines[numbers[row] - 1]


def test_fields_keep_what_they_are_set_to() -> None:
    """A field is shown with its reference and its value, but not with its label as well; short parts are one line."""
    assert _words(FIELDS).rstrip().split(" | ") == [
        'group "Billing"',
        'textbox "City" [ref=g3]: Oslo',
        'checkbox "Paper: send invoices" [checked] [ref=g5]',
        'combobox "Period" [ref=g6]',
        'option "daily"',
        'option "weekly" [selected]',
        "link [ref=g7] (/lamp)",
        "Oak lamp XL",
        "$17.00",
    ]


# What Chrome's own tools write: one without rows and cells, one with numbers in brackets.
CHROME = """\
## Latest page snapshot
uid=1_0 RootWebArea "Orders" url="https://shop.example/orders"
  uid=1_26 main
    uid=1_27 heading "Orders" level="1"
    uid=1_28 "80 orders, 14 open"
    uid=1_29 textbox "City" focusable value="Oslo"
""" + "".join(
    f"""\
    uid=1_{n} link "#{n}" url="https://shop.example/orders/{n}"
    uid=2_{n} "{NAMES[n % 4]}"
    uid=3_{n} "${n / 8:.2f}"
    uid=4_{n} button "More actions"
"""
    for n in range(4100, 4180)
)
INSPECT = """\
[142] banner
  [150] link "About us"  [url: https://aisi.example/about]
[182] heading "Our work"
  [43] StaticText "Our work"
[521] StaticText "We test systems."
[522] button "Careers"
"""


def test_texts_follow_the_link_that_they_belong_to() -> None:
    """Where a tree has no rows, the cells of one are in the line of its link, and not in that of the next row."""
    words = _words(CHROME)
    row = 'uid=1_4107 link "#4107" (https://shop.example/orders/4107) | Elif Rossi | $513.38'
    assert f"\n{row}\nuid=4_4107 button" in words
    assert '\nuid=1_29 textbox "City" value="Oslo"\n' in words


def test_numbers_in_brackets_stay_where_they_are_used() -> None:
    """A link keeps its number and address; a text needs no number."""
    words = _words(INSPECT)
    assert '[150] link "About us" (https://aisi.example/about)' in words
    assert "\nWe test systems.\n" in words
    assert "StaticText" not in words


@for_each("tree", [ORDERS, CHROME])
def test_a_description_names_the_page(tree: str) -> None:
    """A reference says that it is the tree of a page, and which."""
    assert describe(tree).startswith('accessibility tree of the page "Orders')


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
        "".join(f"- list: {n}\n" for n in range(50)),
        '# Roles\n\n- button "Save"\n- link "Home"\n- tab "One"\n\n'
        + "And so on, as is known. " * 50,
        "".join(f'[{n}] "quoted" {n}\n{n} more\n' for n in range(50)),
        '- link "a"\n' * 2,
    ],
)
def test_other_lists_are_no_trees(text: str) -> None:
    """YAML, prose and notes that hold words such as "list" and "text" are shown as they are."""
    assert words_of_page(text) is None


@for_each(
    "tree",
    [
        "".join(f'{" " * depth}- button "b{depth}"\n' for depth in range(1500)),
        '- cell "a"\n' + '  - text: "a"\n' * 100_000,
        '- button "a"\n' * 5 + "\n" * 100_000 + '- button "a"\n',
        '- button "' + "a\\" * 100_000 + '"\n' + '- link "a"\n' * 5,
        "- button " + "[" * 200_000 + '\n- link "a"' * 5,
    ],
)
def test_odd_trees_are_read_once(tree: str) -> None:
    """Depth, length and what is left open make no tree slow, and none fails; what is shown keeps within its budget."""
    found = excerpt(tree, "a", 400, len)
    assert len(found.text) <= 400
