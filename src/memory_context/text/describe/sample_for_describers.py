"""The sample of a text that describers look at: its beginning and end, and the path from which it was read."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

from memory_context.text.lines import without_line_numbers
from memory_context.text.python_literals import start_of_value
from memory_context.text.rows.yaml_and_toml_values import yaml_documents
from memory_context.text.terminal_output import without_colours

HEAD = 65_536
TAIL = 16_384
LINES = 300
LONGEST_LINE = 1_000
COUNTED_AT_MOST = 8_000_000
_LETTER = re.compile(r"[^\W\d_]")
# A path in the arguments of a call, which are JSON. They are not parsed, so a path with escapes is not found.
_PATH_ARGUMENT = re.compile(r'"(?:path|file_?path|file_?name|file|uri|url)": ?"([^"\\]{1,1000})"')
# A line that introduces what follows: it ends with a colon or dots, or an empty line follows it.
_LEAD = re.compile(r"[^\n]{1,300}(?:(?::|\.\.\.|…)[ \t]*\n+|\n\n+)")


@dataclass(frozen=True)
class Sample:
    """A text, and the parts of it that describers look at closely.

    Attributes:
        text: The whole text, without terminal escape sequences, carriage returns and numbers before its lines.
        head: Its first 64 K characters.
        tail: Its last 16 K characters.
        lines: Those of its first 300 lines that are not blank, each cut to 1,000 characters.
        path: The file or address that was read; empty if unknown.
    """

    text: str
    head: str
    tail: str
    lines: list[str]
    path: str

    @cached_property
    def yaml(self) -> list[Any]:
        """Return the documents of the text as `yaml_documents` does; reading a long text takes seconds."""
        return yaml_documents(self.text)

    @property
    def line_count(self) -> int:
        """Return the number of lines, as an editor counts them."""
        return self.text.count("\n") + (not self.text.endswith("\n"))

    @property
    def first_line(self) -> str:
        """Return the first line with a letter in it; if there is none, the beginning of the text."""
        for line in self.lines:
            if _LETTER.search(line):
                return line.strip()
        return self.text[:LONGEST_LINE].strip()


def path_in(arguments: str | None) -> str:
    """Return the path in *arguments*, the JSON that a tool was called with; empty if there is none."""
    path = _PATH_ARGUMENT.search(arguments or "")
    if path:
        return path[1]
    return ""


def sample_of(text: str, path: str) -> Sample:
    """Return the sample of `text`, which was read from `path`."""
    if not text[:HEAD].strip():
        text = text.lstrip()
    text = without_line_numbers(without_colours(text).replace("\r\n", "\n"))
    head = text[:HEAD]
    tail = text[-TAIL:]
    lines = list[str]()
    for line in islice(head.split("\n", LINES), LINES):
        beginning = line[:LONGEST_LINE]
        if beginning.strip():
            lines.append(beginning)
    return Sample(text, head, tail, lines, path)


def count_lines_starting(text: str, beginning: str) -> int:
    """Return how many lines of `text` start with `beginning`."""
    return text.count(f"\n{beginning}") + text.startswith(beginning)


def matches_of(pattern: re.Pattern[str], lines: list[str], share: float) -> list[re.Match[str]]:
    """Return the matches at the beginnings of `lines`; empty if less than this *share* of the lines match."""
    matches = list(filter(None, map(pattern.match, lines)))
    if len(matches) >= share * len(lines):
        return matches
    return []


def behind_lead(text: str) -> str:
    """Return the text after an introductory line such as ``Found 3 items:``; empty without such a line.

    A JSON value may have several such lines before it: the headers of an HTTP response, or a tool's warnings.
    """
    if value := start_of_value(text):
        return text[value:]
    lead = _LEAD.match(text)
    if lead:
        return text[lead.end() :]
    return ""
