"""Records written line by line: YAML, ``Name: value`` fields, ``NAME=value`` settings, numbered results."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise

from memory_context.text.describe.description import Description, Kind, counted, unique_names
from memory_context.text.describe.sample import COUNTED_AT_MOST, Sample, count_lines_starting

# A key with its value, perhaps behind a dash: ``- server_name: fetch``.
_YAML_KEY = re.compile(
    r"(?P<indent> *)(?P<dash>- +)?[\"']?(?P<key>[\w.$/@-]+(?: [\w.$/@-]+)?)[\"']?:(?P<value>$|\s.*$)"
)
_NAMING = re.compile(r"(?:\w*[_-])?(?:name|title|id)")
# ``Name: value`` or ``NAME=value``, with the marks that Markdown or a list put around it: ``- **Name**: value``.
_FIELD = re.compile(
    r"\s*(?:[-*•] +)?\*{0,2}(?:export )?(?P<key>[A-Za-z][\w /()'.-]{0,30}?)(?:\*{0,2} ?:\*{0,2}(?:\s|$)| ?={1,2}(?!=))"
)
_NUMBERED = re.compile(r"^ {0,3}(?:#{0,4} ?)?\**\[?(\d{1,6})[.)\]:]\s+(\S[^\n]*)", re.MULTILINE)


def describe_yaml(sample: Sample) -> Description | None:
    """Describe YAML: every line is a key, an item, or hangs below one."""
    lines = [line for line in sample.lines if not line.lstrip().startswith(("#", "---"))]
    matches = [_YAML_KEY.match(line) for line in lines]
    keys = [match for match in matches if match]
    if len(lines) < 3 or len(keys) < 2 or not matches[0] or matches[0]["indent"]:
        return None
    below = [line.startswith((" ", "- ")) for line in lines]
    if not any(below) or not all(
        match or is_below for match, is_below in zip(matches, below, strict=True)
    ):
        return None
    items = [match for match in keys if match["dash"]]
    if items:
        indent = min(match["indent"] for match in items)
        count = count_lines_starting(sample.text, f"{indent}- ")
        before = keys[: keys.index(items[0])]
        if count > 1 and len(before) <= 4:
            noun = before[-1]["key"].replace("_", " ") if before else "items"
            names = _names_of_items(keys, len(indent))
            return Description(Kind.RECORDS, f"YAML, {count:,} {noun}", names)
    # The keys of the first level; where those are few, of the second too.
    depths = sorted({len(match["indent"]) for match in keys})
    top = [match["key"] for match in keys if not match["indent"]]
    if len(top) <= 3:
        top = [match["key"] for match in keys if len(match["indent"]) in depths[:2]]
    return Description(Kind.RECORDS, "YAML", unique_names(top))


def _names_of_items(keys: list[re.Match[str]], indent: int) -> tuple[str, ...]:
    """Return what a list's items are called, or what they have.

    Of the fields that can name an item, the last is the most special: a tool's name stands behind its server's.
    """
    fields: dict[str, list[str]] = {}
    for match in keys:
        if len(match["indent"]) + (2 if match["dash"] else 0) == indent + 2:
            fields.setdefault(match["key"], []).append(match["value"].strip(" \"'"))
    for key, values in reversed(fields.items()):
        if _NAMING.fullmatch(key) and all(values) and len(set(values)) == len(values):
            return unique_names(values)
    return unique_names(fields)


def describe_records(sample: Sample) -> Description | None:
    """Describe numbered results, records of the same fields, or the fields of one record."""
    if _NUMBERED.search(sample.head[:1000]) and (numbered := _describe_numbered(sample)):
        return numbered
    lines = [line for line in sample.lines if not line.startswith(("#", ";", "["))]
    fields = Counter(match["key"].strip() for line in lines if (match := _FIELD.match(line)))
    if fields.total() < 0.3 * len(lines) or any(line.endswith((";", "{")) for line in lines):
        return None  # prose, or code
    first, count = next(((key, count) for key, count in fields.items() if count > 1), ("", 0))
    common = [key for key in fields if fields[key] >= 0.5 * count] if first else []
    if len(common) > 1:
        return Description(Kind.RECORDS, counted(count, "record"), unique_names(common))
    if len(fields) > 1 and len(fields) >= 0.8 * len(lines):
        return Description(Kind.RECORDS, counted(len(fields), "field"), unique_names(fields))
    return None


def _describe_numbered(sample: Sample) -> Description | None:
    """Describe a list whose numbers rise by one, and whose items take most of the lines or have fields in common."""
    items = _NUMBERED.findall(sample.text[:COUNTED_AT_MOST])
    steps = sum(1 for one, other in pairwise(items) if int(other[0]) == int(one[0]) + 1)
    others = [line for line in sample.lines if not _NUMBERED.match(line)]
    fields = Counter(match["key"] for line in others if (match := _FIELD.match(line)))
    common = [key for key, count in fields.items() if count >= 0.5 * min(len(items), 10)]
    is_list = len(items) > 1 and steps >= 0.8 * (len(items) - 1)
    if not is_list or (not common and len(items) < 0.3 * len(sample.lines)):
        return None
    facts = counted(len(items), "numbered item")
    if common:
        facts += f" ({', '.join(common[:3])})"
    return Description(Kind.RECORDS, facts, (items[0][1],))
