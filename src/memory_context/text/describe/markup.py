"""Describe markup: the title and the links of a page, the elements of XML, the headings of Markdown."""

from __future__ import annotations

import html
import re

from memory_context.model.one_line import one_line
from memory_context.text.accessibility_trees import words_of_tree
from memory_context.text.describe.description import Description, Kind, counted, unique_names
from memory_context.text.describe.sample_for_describers import Sample
from memory_context.text.html_pages import place_of_page

LONGEST_TITLE = 40
_TITLE = re.compile(r"<(?:title|h1)[^<>]{0,200}>([^<]{1,300})", re.IGNORECASE)
# Playwright tells the title above the tree; else the first heading is taken.
_TITLE_OF_TREE = re.compile(r"^- Page Title: (.+)|\bheading \"(.+?)\"", re.MULTILINE)
_LINK = re.compile(r"<a\s[^<>]{0,1000}?href", re.IGNORECASE)
# The length of an element's name is limited, so that a long word after a bracket is not read again and again.
_ELEMENT = re.compile(r"<([A-Za-z_][\w:.-]{0,80})(?=[\s/>])")
# Comments in scripts and configurations also begin with one `#`, but are directly above what they explain. So a heading
# with one `#` must have a blank line below it.
_HEADING = re.compile(
    r"^(?:#{2,6}|#(?=[^\n]*+(?:\n[ \t]*\n|\s*\Z))) +(\S(?:[^\n#]++|#++(?=[^\n#]))*+)#*$",
    re.MULTILINE,
)
# A title, and a heading that has a blank line above and below, as hardly any comment has.
_FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_CODE = re.compile(
    r"^(?:import \w+|from [\w.]+ import|(?:async )?def \w+\(|class \w+[:(]|#include|#!|set -)",
    re.MULTILINE,
)
_TITLE_ABOVE = re.compile(r"\s*#{1,3} +\S[^\n]*\n[ \t]*\n")
_SECTION = re.compile(r"(?<=\n\n)#{2,6} +\S[^\n]*\n[ \t]*$", re.MULTILINE)


def describe_markup(sample: Sample) -> Description | None:
    """Describe an HTML page, the accessibility tree of a page, or XML."""
    size = counted(sample.line_count, "line")
    if place_of_page(sample.text):
        facts = "HTML page"
        title = _TITLE.search(sample.head)
        if title:
            words = html.unescape(title[1])
            facts += f' "{one_line(words, LONGEST_TITLE)}"'
        links = len(_LINK.findall(sample.text))
        if links:
            size = counted(links, "link")
        return Description(Kind.MARKUP, f"{facts}, {size}")
    if words_of_tree(sample.head):
        title = _TITLE_OF_TREE.search(sample.head)
        name = f' "{one_line(title[title.lastindex or 0], LONGEST_TITLE)}"' if title else ""
        return Description(Kind.MARKUP, f"accessibility tree of the page{name}, {size}")
    if not sample.head.lstrip().startswith("<"):
        return None
    names = unique_names(_ELEMENT.findall(sample.head))
    # The first element is the root, which ends last: what is behind it, such as an exit code, is shorter.
    if names and 2 * sample.text.rfind(f"</{names[0]}>") > len(sample.text):
        return Description(Kind.MARKUP, f"XML, {size}", names)
    return None


def describe_document(sample: Sample) -> Description | None:
    """Describe a document in Markdown, whatever else its sections hold: tables, code, or the log of a run.

    It begins with a heading, has another one between blank lines, and is not mostly one table. Outside of fences it has no
    code, in which such lines are comments.
    """
    prose = _FENCED.sub("", sample.head)
    if not _TITLE_ABOVE.match(prose) or not _SECTION.search(prose):
        return None
    if _CODE.search(prose):
        return None
    rows = sum(1 for line in sample.lines if line.startswith("|"))
    if rows >= len(sample.lines) / 2:
        return None
    return _by_headings(sample, _HEADING.findall(prose))


def describe_markdown(sample: Sample) -> Description | None:
    """Describe Markdown by its headings, if these are frequent."""
    headings = _HEADING.findall(sample.head)
    if not headings or 20 * len(headings) < len(sample.lines):
        return None
    return _by_headings(sample, headings)


def _by_headings(sample: Sample, headings: list[str]) -> Description:
    facts = f"Markdown, {counted(sample.line_count, 'line')}"
    return Description(Kind.MARKUP, facts, unique_names(headings))
