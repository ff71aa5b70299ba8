"""What is looked at of a text, its beginning and its end, and what the tool's call says about it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, cast

HEAD = 65_536
TAIL = 16_384
LINES = 300
LONGEST_LINE = 1_000
LONGEST_ARGUMENTS = 100_000
COUNTED_AT_MOST = 8_000_000
_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_COMMAND_KEYS = ("command", "cmd", "script", "commands", "shell_command")
_PATH_KEYS = ("path", "file_path", "filepath", "filename", "file", "target_file", "uri", "url")
_QUERY_KEYS = ("sql", "query", "statement", "sql_query")
# The table of a query: FROM, perhaps a schema, and a name, each of them perhaps in quotes.
_TABLE = re.compile(
    r"\bfrom\s+[\"`\[]?(?:\w+[\"`\]]?\.[\"`\[]?)?([A-Za-z_]\w{1,40})", re.IGNORECASE
)
_PATH_IN_COMMAND = re.compile(r"(?<![\w/.~-])[\w/.~-]*\w\.[A-Za-z]\w{0,5}(?![\w/.])")


@dataclass(frozen=True, slots=True)
class CallHint:
    """What the call that made a text says about it; empty where it says nothing.

    Attributes:
        command: The command line.
        path: The file or address that was read.
        table: The table of a SQL query.
    """

    command: str = ""
    path: str = ""
    table: str = ""


@dataclass(frozen=True, slots=True)
class Sample:
    """A text, and the parts of it that are looked at closely.

    Attributes:
        text: All of it, without the escape sequences of terminals and without carriage returns at the ends of lines.
        head: Its first 64 K characters.
        tail: Its last 16 K characters.
        lines: Those of the first 300 lines that are not blank, each cut at 1,000 characters.
        hint: What the call says.
    """

    text: str
    head: str
    tail: str
    lines: list[str]
    hint: CallHint

    @property
    def line_count(self) -> int:
        """Return the number of lines, as an editor counts them."""
        return self.text.count("\n") + (not self.text.endswith("\n"))

    @property
    def first_line(self) -> str:
        """Return the first line that is not blank."""
        return self.lines[0].strip() if self.lines else self.text[:LONGEST_LINE].strip()


def sample_of(text: str, hint: CallHint | None = None) -> Sample:
    """Return the parts of `text` that are looked at."""
    if not text[:HEAD].strip():
        text = text.lstrip()
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    head = text[:HEAD]
    lines = [line[:LONGEST_LINE] for line in head.split("\n", LINES)[:LINES]]
    filled = [line for line in lines if line and not line.isspace()]
    return Sample(text, head, text[-TAIL:], filled, hint or CallHint())


def count_lines_starting(text: str, beginning: str) -> int:
    """Return how many lines of `text` start with `beginning`."""
    return text.count(f"\n{beginning}") + text.startswith(beginning)


def matches_of(pattern: re.Pattern[str], lines: list[str], share: float) -> list[re.Match[str]]:
    """Return the matches at the beginnings of `lines`; none as soon as less than the share of them can match."""
    matches: list[re.Match[str]] = []
    allowed = len(lines) - share * len(lines)
    for line in lines:
        if match := pattern.match(line):
            matches.append(match)
        else:
            allowed -= 1
            if allowed < 0:
                return []
    return matches


def hint_of(arguments: str | None) -> CallHint:
    """Return what the arguments of a tool's call, as JSON, say about its output."""
    given = _arguments_of(arguments or "")
    command = _first_text(given, _COMMAND_KEYS)
    path = _first_text(given, _PATH_KEYS)
    if not path and (match := _PATH_IN_COMMAND.search(command)):
        path = match[0]
    table = _TABLE.search(_first_text(given, _QUERY_KEYS))
    return CallHint(command, path, table[1].lower() if table else "")


def _arguments_of(arguments: str) -> dict[str, Any]:
    """Return the arguments of a call, also those one level down, as agents have them that call tools by a tool."""
    if not arguments.startswith("{") or len(arguments) > LONGEST_ARGUMENTS:
        return {}
    try:
        given: dict[str, Any] = json.loads(arguments)
    except (ValueError, RecursionError):
        return {}
    flat: dict[str, Any] = {}
    for value in given.values():
        if isinstance(value, dict):
            flat.update(cast("dict[str, Any]", value))
    return flat | given


def _first_text(given: dict[str, Any], keys: tuple[str, ...]) -> str:
    for key in keys:
        value = given.get(key)
        if isinstance(value, list):
            value = " ".join(map(str, cast("list[object]", value)[:20]))
        if isinstance(value, str) and value.strip():
            return value[:LONGEST_LINE].strip()
    return ""
