"""HTML, XML and Markdown: title, root, headings, links."""

from __future__ import annotations

import html
import re
from collections import Counter
from dataclasses import dataclass

from memory_context.text.describe.kind import Kind
from memory_context.text.describe.sample import Sample
from memory_context.text.describe.wording import counted, quoted, short, unique

_HTML = re.compile(
    r"\s*(?:<!--.{0,2000}?-->\s*)?<(?:!doctype html|html|head|body)\b", re.IGNORECASE | re.DOTALL
)
_HTML_TAG = re.compile(
    r"<(?:div|p|span|a|ul|li|table|tr|td|h[1-6]|br|img|section|article|script|form|button)\b[^<>]*>",
    re.IGNORECASE,
)
_HTML_START = re.compile(
    r"\s*<(?:div|p|span|a|ul|ol|table|h[1-6]|tr|td|th|section|article|main|nav|header|form|script|style|meta|link)\b",
    re.IGNORECASE,
)
_TITLE = re.compile(r"<title[^<>]{0,200}>([^<]{1,300})", re.IGNORECASE)
_H1 = re.compile(r"<h1[^<>]{0,300}>(.{1,300}?)</h1", re.IGNORECASE | re.DOTALL)
_LINK = re.compile(r"<a\s[^<>]{0,1000}?href", re.IGNORECASE)
_XML = re.compile(
    r"\s*(?:<\?xml[^<>]{0,300}\?>\s*)?(?:(?><!--.{0,2000}?-->)\s*|<!DOCTYPE[^<>]{0,500}>\s*|<\?[^<>]{0,300}\?>\s*)*+<([A-Za-z_][\w:.-]{0,80})(?=[\s/>])",
    re.DOTALL,
)
_ELEMENT = re.compile(r"<([A-Za-z_][\w:.-]{0,80})(?=[\s/>])")
_HEADING = re.compile(r"^ {0,3}(#{1,6}) +(\S[^\n]*?)#*$", re.MULTILINE)
_UNDERLINED = re.compile(r"^(\S[^\n|]{1,100})\n(?:={4,}|-{4,})$", re.MULTILINE)
_BULLET = re.compile(r"[ \t]*(?:[-*+] |\d{1,3}[.)] )\S")
_MARKDOWN_LINK = re.compile(r"\[[^\[\]\n]{0,300}\]\([^()\s]{1,500}[^()\n]{0,200}\)")
_EMPHASIS = re.compile(r"\*\*[^*\n]{1,200}\*\*|`[^`\n]{1,200}`")
_FENCE = re.compile(r"^ {0,3}```", re.MULTILINE)
_TAGS = re.compile(r"<[^<>]{0,500}>")
_FEEDS = {
    "rss": "RSS feed",
    "feed": "Atom feed",
    "urlset": "sitemap",
    "sitemapindex": "sitemap",
    "svg": "SVG image",
    "testsuites": "JUnit report",
    "testsuite": "JUnit report",
    "project": "XML project",
    "plist": "property list",
}


@dataclass(frozen=True, slots=True)
class Page(Kind):
    """A page: ``HTML page "Orders", 14 links``."""

    title: str
    links: int
    lines: int

    @property
    def facts(self) -> str:
        """Its title and how many links."""
        title = f" {quoted(self.title)}" if self.title else ""
        links = counted(self.links, "link") if self.links else counted(self.lines, "line")
        return f"HTML page{title}, {links}"


@dataclass(frozen=True, slots=True)
class Xml(Kind):
    """A tree: ``XML catalog, 120 book elements: title, author``."""

    root: str
    child: str
    count: int
    title: str
    names: tuple[str, ...]

    @property
    def facts(self) -> str:
        """The root, and what it has most of."""
        notation = _FEEDS.get(self.root, f"XML {self.root}")
        title = f" {quoted(self.title, 40)}" if self.title else ""
        elements = f", {counted(self.count, f'{self.child} element')}" if self.child else ""
        return f"{notation}{title}{elements}"

    @property
    def details(self) -> tuple[str, ...]:
        """The other elements."""
        return self.names


@dataclass(frozen=True, slots=True)
class Markdown(Kind):
    """Headings and what stands below them: ``Markdown "Install", 120 lines, 8 headings: Usage, …``."""

    title: str
    lines: int
    headings: tuple[str, ...]
    heading_count: int
    links: int

    @property
    def facts(self) -> str:
        """The title and the size."""
        title = f" {quoted(self.title, 40)}" if self.title else ""
        links = f", {counted(self.links, 'link')}" if self.links > 4 else ""
        headings = f", {counted(self.heading_count, 'heading')}" if self.heading_count > 1 else ""
        return f"Markdown{title}, {counted(self.lines, 'line')}{headings or links}"

    @property
    def details(self) -> tuple[str, ...]:
        """The other headings."""
        return self.headings


def recognise_markup(sample: Sample) -> Kind | None:
    """HTML or XML."""
    if not sample.head.lstrip().startswith("<"):
        return None
    return _html(sample) or _xml(sample)


def _html(sample: Sample) -> Page | None:
    is_page = _HTML.match(sample.head)
    if not is_page and (
        not _HTML_START.match(sample.head) or len(_HTML_TAG.findall(sample.head[:8000])) < 3
    ):
        return None
    found = _TITLE.search(sample.head) or _H1.search(sample.head)
    title = html.unescape(_TAGS.sub(" ", found[1])) if found else ""
    return Page(title, len(_LINK.findall(sample.text)), sample.line_count)


def _xml(sample: Sample) -> Xml | None:
    match = _XML.match(sample.head)
    if match is None:
        return None
    root = match[1].rsplit(":", 1)[-1]
    elements = Counter(_ELEMENT.findall(sample.head, match.end()))
    if not elements and f"</{match[1]}>" not in sample.tail and "<?xml" not in sample.head[:200]:
        return None
    child, count = elements.most_common(1)[0] if elements else ("", 0)
    first_most = next(
        (name for name in elements if elements[name] > 0.5 * count and elements[name] > 1), child
    )
    count = (
        len(re.findall(rf"<{re.escape(first_most)}(?=[\s/>])", sample.text)) if first_most else 0
    )
    title = _TITLE.search(sample.head) if root in _FEEDS else None
    names = unique(name for name in elements if name != first_most)
    return Xml(root, first_most, count, html.unescape(title[1]).strip() if title else "", names)


def recognise_markdown(sample: Sample) -> Markdown | None:
    """Markdown: headings, or many of its other marks."""
    head = sample.head
    headings = _headings(head)
    links = len(_MARKDOWN_LINK.findall(head)) if "](" in head else 0
    marks = 3 * len(headings) + links + _emphasised(head) + 2 * _fences(head)
    if not headings and links <= 2 and marks <= 5:
        return None
    if marks + 0.5 * sum(1 for line in sample.filled if _BULLET.match(line)) < max(
        3, 0.15 * len(sample.filled)
    ):
        return None
    names = unique(short(_plain(heading), 60) for heading in headings)
    is_whole = len(sample.text) <= len(head)
    count = len(headings) if is_whole else _heading_count(sample)
    total = links if is_whole or not links else len(_MARKDOWN_LINK.findall(sample.text))
    first = "" if names else short(_plain(sample.first), 60)
    return Markdown(
        names[0] if names else "",
        sample.line_count,
        names[1:] or ((first,) if first else ()),
        count,
        total,
    )


def _headings(text: str) -> list[str]:
    """Those with signs before them, then those with a line below them."""
    signed = [match[2].strip() for match in _HEADING.finditer(text)] if "# " in text else []
    underlined = _UNDERLINED.findall(text) if "\n====" in text or "\n----" in text else []
    return signed + underlined


def _heading_count(sample: Sample) -> int:
    """How many headings a text has that is longer than its head."""
    underlined = len(_headings(sample.head)) - len(_HEADING.findall(sample.head))
    return len(_HEADING.findall(sample.text)) + underlined


def _emphasised(text: str) -> int:
    return len(_EMPHASIS.findall(text)) if "**" in text or "`" in text else 0


def _fences(text: str) -> int:
    return len(_FENCE.findall(text)) if "```" in text else 0


def _plain(heading: str) -> str:
    """A heading without the marks in it."""
    return (
        re.sub(r"\[([^\[\]\n]*)\]\([^()\n]*\)", r"\1", heading)
        .replace("**", "")
        .replace("`", "")
        .strip("# ")
    )
