"""What is looked at of a text: all of it only where counting is fast, else its beginning and its end."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

HEAD = 65_536
TAIL = 16_384
LINES = 300
LONGEST_LINE = 1_000
LONGEST_ARGUMENTS = 100_000
_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07\x1b]{0,500}(?:\x07|\x1b\\)")
_COMMAND_KEYS = ("command", "cmd", "script", "commands", "shell_command")
_PATH_KEYS = (
    "path",
    "file_path",
    "filepath",
    "filename",
    "file",
    "target_file",
    "abs_path",
    "uri",
    "url",
)
_QUERY_KEYS = ("sql", "query", "statement", "sql_query")
_TABLE = re.compile(
    r"\bfrom\s+[\"`\[]?(?:\w+[\"`\]]?\.[\"`\[]?)?([A-Za-z_]\w{1,40})", re.IGNORECASE
)
_PATH_WORD = re.compile(r"(?<![\w/.~-])[\w/.~-]*\w\.[A-Za-z]\w{0,5}(?![\w/.])")
_SELECT = re.compile(r"\s*(?:select|with)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Hint:
    """What the call that made a text says about it: what is not known is empty.

    Attributes:
        tool: The tool's name.
        command: The command line.
        path: The file or address that was read.
        table: The table of a query.
    """

    tool: str = ""
    command: str = ""
    path: str = ""
    table: str = ""


@dataclass(frozen=True, slots=True)
class Sample:
    """A text, and the parts of it that are looked at closely.

    Attributes:
        text: All of it, without escape sequences for terminals and without carriage returns at the ends of lines.
        head: Its first 64 K characters.
        tail: Its last 16 K characters.
        lines: The first 300 lines of the head, the blank ones too, each cut at 1,000 characters.
        filled: The lines that are not blank.
        hint: What the call says.
    """

    text: str
    head: str
    tail: str
    lines: tuple[str, ...]
    filled: list[str]
    hint: Hint = field(default_factory=Hint)

    @property
    def line_count(self) -> int:
        """Lines, as an editor counts them."""
        return self.text.count("\n") + (not self.text.endswith("\n"))

    @property
    def last(self) -> list[str]:
        """The last 300 lines of the tail, without those that are blank."""
        return [
            line[:LONGEST_LINE] for line in self.tail.rsplit("\n", LINES)[-LINES:] if line.strip()
        ]

    @property
    def first(self) -> str:
        """The first line that is not blank."""
        return next(
            (line.strip() for line in self.lines if line.strip()), self.text[:LONGEST_LINE].strip()
        )

    def mentions(self, marks: tuple[str, ...]) -> bool:
        """Whether one of `marks` stands in the head or the tail: far cheaper than the search for a pattern."""
        start = f"\n{self.head[:40]}"
        parts = (start, self.tail, self.head) if len(self.text) > HEAD else (start, self.head)
        return any(mark in part for part in parts for mark in marks)


def sample_of(text: str, hint: Hint | None = None) -> Sample:
    """The parts of `text` that are looked at."""
    text = text.lstrip() if text[:1].isspace() and not text[:HEAD].strip() else text
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    head, tail = text[:HEAD], text[-TAIL:]
    lines = [line[:LONGEST_LINE] for line in head.split("\n", LINES)[:LINES]]
    filled = [line for line in lines if line and not line.isspace()]
    return Sample(text, head, tail, tuple(lines), filled, hint or Hint())


def starts(text: str, beginning: str) -> int:
    """How many lines of `text` begin so."""
    return text.count(f"\n{beginning}") + text.startswith(beginning)


def most(pattern: re.Pattern[str], lines: list[str], least: float) -> list[re.Match[str]]:
    """The matches of `pattern` at the beginnings of `lines`; none as soon as less than the share `least` can match."""
    found: list[re.Match[str]] = []
    missing = len(lines) - least * len(lines)
    for line in lines:
        if match := pattern.match(line):
            found.append(match)
            continue
        missing -= 1
        if missing < 0:
            return []
    return found


def hint_of(source: str, arguments: str | None) -> Hint:
    """What a tool's name and the arguments of its call say."""
    given = _arguments(arguments or "")
    first = partial(_first, given)
    command, query = first(_COMMAND_KEYS), first(_QUERY_KEYS)
    table = _TABLE.search(query) if _SELECT.match(query) else None
    path = first(_PATH_KEYS) or next(iter(_PATH_WORD.findall(command[:500])), "")
    return Hint(source, command.strip(), path.strip(), table[1].lower() if table else "")


def _arguments(arguments: str) -> dict[str, Any]:
    """The arguments of a call, those one level down too, as agents that call tools by a tool have them."""
    if not arguments.startswith("{") or len(arguments) > LONGEST_ARGUMENTS:
        return {}
    try:
        given = json.loads(arguments)
    except (ValueError, RecursionError):
        return {}
    nested = [cast("dict[str, Any]", value) for value in given.values() if isinstance(value, dict)]
    return {name: value for values in (*nested, given) for name, value in values.items()}


def _first(given: dict[str, Any], names: tuple[str, ...]) -> str:
    """The first text that is given under one of `names`."""
    values = (given.get(name) for name in names)
    texts = (
        " ".join(map(str, cast("list[object]", one)[:20])) if isinstance(one, list) else one
        for one in values
    )
    return next(
        (text[:LONGEST_LINE] for text in texts if isinstance(text, str) and text.strip()), ""
    )
