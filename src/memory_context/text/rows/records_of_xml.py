"""Read XML as JSON has it: attributes and elements are members, and elements of one name are a list."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree as ET

from memory_context.text.python_literals import REPR_AT_MOST
from memory_context.text.rows.rows_under_columns import TextTable
from memory_context.text.rows.values_as_rows import records_in

# Deeper elements count as text: they are more likely the paragraphs of a document than facts of a record.
DEEPEST = 20
TEXT = "text"
_BEGINNING = re.compile(r"\s*<[\w?!]")
# The first element of a document whose elements are no records: a drawing, or a part of a page.
_DRAWING_OR_PAGE = frozenset(
    (
        "svg",
        "html",
        "head",
        "body",
        "main",
        "section",
        "article",
        "header",
        "nav",
        "div",
        "p",
        "span",
        "ul",
        "ol",
    )
)
# An element's name begins with the address of its namespace, if it has one.
_NAMESPACE = re.compile(r"\{([^}]*)\}")
_PREFIX = re.compile(r"""\bxmlns:([\w.-]+)\s*=\s*["']([^"']*)["']""")


def xml_table(text: str) -> TextTable | None:
    """Return the largest records in well-formed XML up to 1 MB; None for other texts."""
    if len(text) > REPR_AT_MOST or not _BEGINNING.match(text):
        return None
    try:
        # Expat limits what the entities of a document may expand to, and reads no other files.
        root = ET.fromstring(text.lstrip())  # noqa: S314 - see above
    except ET.ParseError:
        return None
    prefixes = {address: f"{prefix}:" for prefix, address in _PREFIX.findall(text)}

    def name_of(name: str) -> str:
        """Return a name as it is written, with the prefix of its namespace."""
        return _NAMESPACE.sub(lambda address: prefixes.get(address[1], ""), name)

    if name_of(root.tag) in _DRAWING_OR_PAGE:
        return None
    return records_in(_value_of(root, name_of), "XML")


def _value_of(element: ET.Element, name_of: Callable[[str], str], depth: int = 0) -> Any:  # noqa: ANN401 - as JSON holds it
    """Return an element as JSON has it: with attributes or elements an object, else its text.

    An attribute with the name of an element beside it has an ``@`` before it.
    """
    parts = [element.text, *(inner.tail for inner in element)]
    words = "".join(part.strip() for part in parts if part)
    # Elements amid words, such as the links of a paragraph, are part of a text.
    if depth > DEEPEST or (words and len(element)):
        words = " ".join("".join(element.itertext()).split())
        elements = []
    else:
        elements = list(element)
    groups = defaultdict[str, list[Any]](list)
    for inner in elements:
        groups[name_of(inner.tag)].append(_value_of(inner, name_of, depth + 1))
    members = dict[str, Any]()
    for name, value in element.attrib.items():
        own = name_of(name)
        is_taken = own in groups or (own == TEXT and words)
        members[f"@{own}" if is_taken else own] = value
    for name, values in groups.items():
        members[name] = values if len(values) > 1 else values[0]
    if not members:
        return words
    if words:
        members[TEXT] = words
    return members
