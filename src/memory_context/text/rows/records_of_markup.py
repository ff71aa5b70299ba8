"""Read the records of markup: elements of one path in XML, and rows of HTML tables.

Markup is read token by token, whatever is missing or malformed; entities that a document declares are left as they are.
"""

from __future__ import annotations

import html
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import chain
from sys import intern

from memory_context.exceptions import InvalidSelectionError
from memory_context.text.python_literals import REPR_AT_MOST
from memory_context.text.rows.names_in_first_row import has_names, names_numbers
from memory_context.text.rows.rows_under_columns import Row, TextTable, with_nulls
from memory_context.text.rows.values_as_rows import LEAST_COMMON, rows_of_values

# A text with deeper elements, with more parts (beginnings and ends of elements, and attributes) or with more cells is not
# read, because it would take more than two seconds.
DEEPEST = 20
MOST_PARTS = 240_000
MOST_CELLS = 300_000
# More names than these are ids, and not the names of columns.
MOST_NAMES = 10_000
# If an element around records has more facts than these, they are not repeated in each record.
MOST_FACTS = 20
BEGINNING = 2000
LEAST_COLUMNS = 3
# A table that is a smaller share of a page is not what the page is about.
LEAST_OF_PAGE = 0.01
TEXT = "text"
# Each alternative consumes what it has read, closed or not, so that nothing is read twice.
_XML = (
    r"<!--(?:[^-]++|-(?!->))*+(?:-->)?"
    r"|<!\[CDATA\[(?P<data>(?:[^]]++|](?!]>))*+)(?:]]>)?"
    r"|<(?P<end>/?)(?P<name>[A-Za-z_][\w:.-]{0,80}+)(?P<attributes>(?:[^<>\"']++|\"[^\"]*+\"|'[^']*+')*+)>?"
    r"|<[!?][^>]*+>?"
    r"|(?P<text>[^<]++)"
)
_TOKEN = re.compile(_XML)
# Programs and styles of a page are no markup; in XML, ordinary elements may have these names.
TOKEN_OF_HTML = re.compile(rf"(?i:<(?P<raw>script|style)\b(?:[^<]++|<(?!/(?P=raw)))*+)|{_XML}")
_ATTRIBUTE = re.compile(r"([A-Za-z_][\w:.-]*+)(?:\s*+=\s*+(\"[^\"]*+\"|'[^']*+'|[^\s\"'>]++))?")
_CELL = re.compile(r"<t[dh]\b", re.IGNORECASE)
# The elements of HTML that are read, and those that each may be in: so `<td>` closes the cell before it.
_AROUND = {
    "table": (),
    "tr": ("", "table"),
    "td": ("", "table", "tr"),
    "th": ("", "table", "tr"),
}
_SPAN = re.compile("[1-9][0-9]?")
# The first element of a document whose elements are no records: a drawing, a page or a part of one.
_DRAWING_OR_PAGE = re.compile(
    r"(?:<!--(?s:.*?)-->|<\?[^>]*>|<!(?!doctype html)[^>]*>|\s)*+"
    r"<(?:!doctype html|svg|html|head|body|main|section|article|header|nav|div|p|span|ul|ol|form|template)\b",
    re.IGNORECASE,
)


@dataclass(slots=True, eq=False)
class _Element:
    """An element.

    Attributes:
        name: Its name.
        path: The names of the elements around it and its own, as a JSONPath.
        around: The elements around it, the outermost first.
        begin: How many pieces of text precede its content.
        outermost: The depth of the outermost element that may be a record and that its facts belong to.
        attributes: Its attributes.
        children: The elements in it.
        text: Its content, if it has words of its own or no children.
        has_words: Whether it has words of its own.
    """

    name: str
    path: str
    around: tuple[_Element, ...]
    begin: int
    outermost: int
    attributes: dict[str, str]
    children: list[_Element] = field(default_factory=list["_Element"])
    text: str = ""
    has_words: bool = False

    def facts(self) -> Iterator[tuple[str, str]]:
        """Yield its attributes, each by its path, and its own text by its own path."""
        for name, value in self.attributes.items():
            yield f"{self.path}.{name}", value
        if self.is_leaf:
            yield self.path, self.text

    @property
    def is_leaf(self) -> bool:
        """Return whether it has a text, perhaps an empty one, so that the elements in it do not count by themselves."""
        return bool(self.text) or not (self.children or self.attributes)

    def leaves(self, before: str = "") -> Iterator[tuple[str, str]]:
        """Yield the attributes and texts in it, each with its path."""
        for name, value in self.attributes.items():
            yield f"{before}{name}", value
        if self.is_leaf:
            yield before.rstrip(".") or TEXT, self.text
            return
        for child in self.children:
            yield from child.leaves(f"{before}{child.name}.")


def markup_table(text: str) -> TextTable | None:
    """Return the records in XML or HTML up to 1 MB; None for other texts.

    The records of XML are the elements of the one path that says most. The names of their columns are the paths of what is
    in them; the facts of an element around them come first, if it is one of several.
    """
    beginning = text[:BEGINNING].lstrip()
    if len(text) > REPR_AT_MOST:
        return None
    # Markdown may begin with an element, too.
    if not (beginning.startswith("<") and text[-BEGINNING:].rstrip().endswith(">")):
        return None
    table = _html_table(text) if _CELL.search(text) else None
    if table or _DRAWING_OR_PAGE.match(beginning):
        return table
    return _largest_records(text)


def _largest_records(text: str) -> TextTable | None:
    """Return the elements of the path that says most, each with the facts of those around it that are one of several."""
    groups = defaultdict[str, list[_Element]](list)
    elements = _elements(text, {})
    for element in elements:
        parent = element.around[-1]
        # Links amid the words of a paragraph are no records.
        if parent.text:
            element.outermost = len(element.around) + 1
        else:
            element.outermost = parent.outermost
            groups[element.path].append(element)
    said = _said_in_common(elements, groups)
    path = max(groups, key=lambda path: said[path], default="")
    if not said[path]:
        return None

    @cache
    def facts(outer: _Element) -> list[tuple[str, str]]:
        """Return the attributes and plain texts of an element, if it is one of several and has few of them."""
        if len(groups[outer.path]) < 2:
            return []
        plain = [child for child in outer.children if not (child.attributes or child.children)]
        leaves = replace(outer, children=plain).leaves(f"{outer.name}.")
        said = [(name, value) for name, value in leaves if value]
        return said if len(said) <= MOST_FACTS else []

    records = list[dict[str, str]]()
    cells = 0
    for element in groups[path]:
        said_around = chain.from_iterable(map(facts, element.around))
        values = defaultdict[str, list[str]](list)
        for name, value in chain(said_around, element.leaves()):
            values[name].append(value)
        cells += len(values)
        if cells > MOST_CELLS:
            return None
        records.append({name: ", ".join(parts) for name, parts in values.items()})
    with suppress(InvalidSelectionError):  # they have more names than a table may have
        return rows_of_values(records, f"the XML list {path}")
    return None


def _said_in_common(
    elements: Iterable[_Element], groups: Mapping[str, Sequence[_Element]]
) -> Counter[str]:
    """Return how much text the elements of each path have under the names that half of them have once.

    It is 0 for a single element, and without two such names. Facts of the same place are counted together, because each
    belongs to all elements around it.
    """
    lengths = defaultdict[tuple[str, str, int], list[int]](list)
    holders = dict[tuple[str, str, int], _Element]()
    for element in elements:
        for path, value in element.facts():
            place = (path, element.path, element.outermost)
            lengths[place].append(len(value))
            holders[place] = element
    if len(holders) > MOST_NAMES:
        return Counter()
    numbers = defaultdict[str, Counter[str]](Counter)
    totals = defaultdict[str, Counter[str]](Counter)
    for place, element in holders.items():
        said = lengths[place]
        fact_path = place[0]
        for outer in (*element.around, element)[element.outermost :]:
            if len(groups[outer.path]) > 1:
                name = fact_path[len(outer.path) + 1 :] or TEXT
                numbers[outer.path][name] += len(said)
                totals[outer.path][name] += sum(said)
    in_common = Counter[str]()
    for path, number_of in numbers.items():
        most = len(groups[path])
        common = [name for name, number in number_of.items() if most / 2 <= number <= most]
        if len(common) >= LEAST_COMMON:
            in_common[path] = sum(totals[path][name] for name in common)
    return in_common


def _elements(text: str, around: Mapping[str, Sequence[str]]) -> list[_Element]:
    """Return the elements of a text, each before those in it; none if they are nested too deeply, or are too many.

    Args:
        text: The text.
        around: For HTML, the names of the elements that each element may be in; it closes any other that it is in.
    """
    opened: tuple[_Element, ...] = (_Element("", "$", (), 0, 1, {}),)
    elements = list[_Element]()
    pieces = list[str]()
    remaining = MOST_PARTS
    tokens = TOKEN_OF_HTML if around else _TOKEN
    for token in tokens.finditer(text):
        name = token["name"] or ""
        if around:
            name = name.lower()
        is_read = name in around if around else name
        if not is_read:
            said = token["data"] or token["text"] or " "
            if not said.isspace():
                opened[-1].has_words = True
                pieces += html.unescape(said).split()
            continue
        wanted = (name,) if token["end"] else around.get(name, ())
        kept = _kept(opened, wanted, is_end=bool(token["end"]))
        if kept < len(opened):
            _close(opened[kept:], pieces)
            # The same object as for the elements before, since there may be 100,000 of them.
            opened = opened[kept].around
        if token["end"]:
            continue
        found = _ATTRIBUTE.findall(token["attributes"])
        attributes = {key: html.unescape(value.strip("\"'")) for key, value in found if value}
        path = intern(f"{opened[-1].path}.{name}")
        element = _Element(name, path, opened, len(pieces), 1, attributes)
        opened[-1].children.append(element)
        elements.append(element)
        if not token["attributes"].endswith("/"):
            opened = (*opened, element)
        remaining -= 2 + len(attributes)
        if len(opened) > DEEPEST or remaining < 0:
            return []
    _close(opened, pieces)
    return elements


def _kept(opened: Sequence[_Element], names: Collection[str], *, is_end: bool) -> int:
    """Return how many elements stay open at a tag: those up to the innermost with one of *names*, without it if it ends."""
    for element in reversed(opened):
        if element.name in names:
            depth = len(element.around)
            return depth if is_end else depth + 1
    return len(opened)


def _close(elements: Iterable[_Element], pieces: Sequence[str]) -> None:
    for element in elements:
        if element.has_words or not element.children:
            element.text = " ".join(pieces[element.begin :])


def _html_table(text: str) -> TextTable | None:
    """Return the largest table of a page; None if it has none."""
    tables = defaultdict[int, list[_Element]](list)
    for element in _elements(text, _AROUND):
        if element.name == "tr":
            tables[id(element.around[-1])].append(element)
    read = map(_names_and_rows, [[], *tables.values()])
    names, rows = max(read, key=lambda table: len(str(table[1])))
    if len(rows) < 2 or len(str(rows)) < LEAST_OF_PAGE * len(text):
        return None
    return rows_of_values(rows, "the largest HTML table", names)


def _names_and_rows(table: list[_Element]) -> tuple[Row, list[Row]]:
    """Return the names above an HTML table, if it has some, and its rows; nothing if rows differ in their number of cells.

    A cell that spans columns is repeated, and one with a table in it is blank. Names further down are left out, as are
    titles, which are one cell across all columns.
    """
    above = list[Row]()
    below = list[Row]()
    remaining = MOST_CELLS
    for row in table:
        cells: Row = []
        for cell in row.children:
            span = cell.attributes.get("colspan", "")
            width = int(span) if _SPAN.fullmatch(span) else 1
            said = "" if cell.children else cell.text
            cells += [said] * width
        remaining -= len(cells)
        if remaining < 0:
            return [], []
        is_title = len(row.children) == 1 and len(cells) > 1
        is_header = all(cell.name == "th" for cell in row.children)
        if is_title or not any(cells):
            continue
        if not is_header:
            below.append(cells)
        elif not below:
            above.append(cells)
    widths = set(map(len, above + below))
    if not below or len(widths) > 1 or 1 in widths:
        return [], []
    names = [" ".join(dict.fromkeys(column)).strip() for column in zip(*above, strict=True)]
    # A table of two columns may describe a term in each row, and have no names.
    may_have_names = len(below[0]) >= LEAST_COLUMNS and has_names(below)
    if not names and (may_have_names or names_numbers(below)):
        names = below.pop(0)
    return names, [with_nulls(row) for row in below]
