"""Markup: the title and the links of a page, the elements of XML, the headings of Markdown."""

from __future__ import annotations

import html
import re
from collections import Counter

from memory_context.model.reference import one_line
from memory_context.text.describe.description import Description, Kind, counted, unique_names
from memory_context.text.describe.sample import Sample

LONGEST_TITLE = 40
# A page may begin with a comment, of a licence or a generator.
_PAGE = re.compile(
    r"\s*(?:<!--.{0,2000}?-->\s*)?<(?:!doctype html|html|head|body)\b", re.IGNORECASE | re.DOTALL
)
# A part of a page, without its frame.
_PAGE_ELEMENT = re.compile(
    r"<(?:div|p|span|a|ul|li|table|tr|td|h[1-6]|br|img|section|script|form)\b[^<>]*>", re.IGNORECASE
)
_TITLE = re.compile(r"<(?:title|h1)[^<>]{0,200}>([^<]{1,300})", re.IGNORECASE)
_LINK = re.compile(r"<a\s[^<>]{0,1000}?href", re.IGNORECASE)
# The root element of XML, behind its declaration and comments. Possessive: none of these is tried again.
_ROOT = re.compile(
    r"\s*(?:<\?[^<>]{0,300}\?>\s*|<!--.{0,2000}?-->\s*|<!DOCTYPE[^<>]{0,500}>\s*)*+<([A-Za-z_][\w:.-]{0,80})(?=[\s/>])",
    re.DOTALL,
)
_ELEMENT = re.compile(r"<([A-Za-z_][\w:.-]{0,80})(?=[\s/>])")
_HEADING = re.compile(r"^ {0,3}#{1,6} +(\S[^\n]*?)#*$", re.MULTILINE)
_MARKDOWN_LINK = re.compile(r"\[([^\[\]\n]{0,300})\]\([^()\s]{1,500}[^()\n]{0,200}\)")
_EMPHASIS = re.compile(r"\*\*[^*\n]{1,200}\*\*|`[^`\n]{1,200}`|^ {0,3}```", re.MULTILINE)


def describe_markup(sample: Sample) -> Description | None:
    """Describe a page of HTML, or XML."""
    if not sample.head.lstrip().startswith("<"):
        return None
    is_part = len(_PAGE_ELEMENT.findall(sample.head[:8000])) >= 3
    if _PAGE.match(sample.head) or (is_part and _PAGE_ELEMENT.match(sample.head.lstrip())):
        title = _TITLE.search(sample.head)
        facts = "HTML page"
        if title:
            facts += _quoted(html.unescape(title[1]))
        links = len(_LINK.findall(sample.text))
        size = counted(links, "link") if links else counted(sample.line_count, "line")
        return Description(Kind.MARKUP, f"{facts}, {size}")
    root = _ROOT.match(sample.head)
    if root is None:
        return None
    elements = Counter(_ELEMENT.findall(sample.head, root.end()))
    if not elements and f"</{root[1]}>" not in sample.tail:
        return None
    facts = f"XML {root[1]}"
    most = max(elements.values(), default=0)
    # Of elements that are about as frequent, the first is the one around the others.
    child = next((name for name, count in elements.items() if count > most / 2), "")
    if child:
        count = len(re.findall(rf"<{re.escape(child)}(?=[\s/>])", sample.text))
        facts += f", {counted(count, f'{child} element')}"
    return Description(Kind.MARKUP, facts, unique_names(name for name in elements if name != child))


def describe_markdown(sample: Sample) -> Description | None:
    """Describe Markdown: headings, or many of its other marks."""
    head = sample.head
    headings = _HEADING.findall(head) if "# " in head else []
    links = len(_MARKDOWN_LINK.findall(head)) if "](" in head else 0
    others = len(_EMPHASIS.findall(head)) if "**" in head or "`" in head else 0
    marks = 3 * len(headings) + links + others
    if marks < max(3, 0.15 * len(sample.lines)) or not (headings or links > 2 or others > 5):
        return None
    facts = "Markdown"
    names = unique_names(map(_without_marks, headings))
    if names:
        facts += _quoted(names[0])
    facts += f", {counted(sample.line_count, 'line')}"
    if len(headings) > 1:
        facts += f", {counted(len(headings), 'heading')}"
    return Description(Kind.MARKUP, facts, names[1:] or (_without_marks(sample.first_line),))


def _without_marks(heading: str) -> str:
    text = _MARKDOWN_LINK.sub(r"\1", heading)
    return text.replace("**", "").replace("`", "").strip("# ")


def _quoted(title: str) -> str:
    title = one_line(title, LONGEST_TITLE)
    return f' "{title}"' if title else ""
