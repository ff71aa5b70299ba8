"""YAML, by its indentation and its keys: manifests, pipelines, specifications of an API."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from memory_context.text.describe.description import Description, Kind, counted, unique_names
from memory_context.text.describe.sample import COUNTED_AT_MOST, Sample

LEAST_PART = 0.9
_SEPARATOR = re.compile(r"---(?:\s.*)?|\.\.\.|%YAML\b.*")
# A key with one blank behind its colon, or nothing: where values are aligned by more, people are to read it.
_KEY = re.compile(r"""(?P<key>[\w$./@-]+|"[^"\n]+"|'[^'\n]+'):(?: (?=\S)|\s*$)""")
_ITEM = re.compile(r"-(?: +|$)")
# Behind it lines of text follow, as far as they are indented.
_OPENS_BLOCK = re.compile(r": [|>][+-]?\d?\s*$")


@dataclass(slots=True)
class _TopKey:
    """A key at the left margin, with the keys or the items right below it.

    Attributes:
        indent: The column that these begin at; -1 before the first one.
        below: How many there are.
    """

    indent: int = -1
    below: int = 0


@dataclass(slots=True)
class _Outline:
    """What was read of a text.

    Attributes:
        keys: The keys at the left margin of all documents.
        documents: How many documents there are.
        columns: Where the keys and items begin that are not at the left margin.
        fitting: The lines with a key or an item.
        lines: The lines that are no comments, without those of blocks of text.
    """

    keys: dict[str, _TopKey] = field(default_factory=dict[str, _TopKey])
    documents: int = 1
    columns: set[int] = field(default_factory=set[int])
    fitting: int = 0
    lines: int = 0


def describe_yaml(sample: Sample) -> Description | None:
    """Describe mappings in each other: the keys at the left margin, and how many keys or items each has below it."""
    if not any(_KEY.match(line) for line in sample.lines):
        return None
    outline = _outline_of(sample.text[:COUNTED_AT_MOST])
    if outline is None or outline.fitting < LEAST_PART * outline.lines:
        return None
    # Records below a single key, or none, are better told by their fields.
    if len(outline.columns) < 2:
        return None
    facts = "YAML"
    if outline.documents > 1:
        facts += f", {counted(outline.documents, 'document')}"
    facts += f", {counted(sample.line_count, 'line')}"
    names = list[str]()
    for name, key in outline.keys.items():
        # What is below a key of several documents is different in each.
        has_count = key.below > 1 and outline.documents == 1
        names.append(f"{name} ({key.below:,})" if has_count else name)
    return Description(Kind.YAML, facts, unique_names(names))


def _outline_of(text: str) -> _Outline | None:
    """Return the outline of a text; None if its left margin has something else than keys, each once in a document."""
    outline = _Outline()
    here = set[str]()
    current: _TopKey | None = None
    block: int | None = None
    for line in text.split("\n"):
        content = line.lstrip(" ")
        indent = len(line) - len(content)
        is_blank = not content.strip()
        if block is not None and not is_blank and indent <= block:
            block = None
        if block is not None or is_blank or content.startswith("#"):
            continue
        if not indent and _SEPARATOR.fullmatch(content):
            outline.documents += bool(here)
            here = set[str]()
            continue
        outline.lines += 1
        key, item = _KEY.match(content), _ITEM.match(content)
        if _OPENS_BLOCK.search(content):
            block = indent
        outline.fitting += bool(key or item)
        if indent or (item and current):
            if current is None:
                return None
            _count_below(current, indent)
            outline.columns.add(indent + 2 * bool(item))
        elif key is None or key["key"] in here:
            return None
        else:
            here.add(key["key"])
            current = outline.keys.setdefault(key["key"].strip("\"'"), _TopKey())
    return outline


def _count_below(key: _TopKey, indent: int) -> None:
    """Count a line if it stands right below a key, where the first line below it began."""
    if key.indent < 0:
        key.indent = indent
    if indent == key.indent:
        key.below += 1
