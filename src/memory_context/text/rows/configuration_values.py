"""The value that a configuration writes down: TOML, and YAML as people and tools write it."""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any

from memory_context.text.json_and_repr import PARSED_AT_MOST, REPR_AT_MOST, is_list, is_object
from memory_context.text.lines import lines_of
from memory_context.text.read.json_values import plain
from memory_context.text.rows.rows_under_columns import TextTable
from memory_context.text.rows.values_as_rows import KEY, pairs_of, records_in

MOST_DOTS = 200
_TOML_TABLE = re.compile(r"^\[{1,2}[\w.\"'-]+\]{1,2}\s*$", re.MULTILINE)
_COMMENT = re.compile(r"(?:^|\s)#.*")
_DOCUMENT = re.compile(r"---(?:\s.*)?|\.\.\.\s*")
# A key, in quotes or not, and what stands behind its colon. An asterisk, a bar and the like do not begin one.
_PAIR = re.compile(
    r"""(?P<key>"[^"\n]*"|'[^'\n]*'|[^\s"'#*&!|>%@`?\[\]{},-](?:[^:\n]|:(?=\S))*?):(?:\s+(?P<value>.*)|$)"""
)
_DASH = re.compile(r"-(?:\s+(?P<item>.*)|$)")
# A label or a type before a value says nothing of it.
_LABEL = re.compile(r"[&!]\S*\s*")
_BLOCK = re.compile(r"[|>][+\-\d]{0,2}(?:\s+#.*)?")
_QUOTED = re.compile(r"""("(?:[^"\\]|\\.)*+"|'(?:[^']|'')*+')(?:\s+#.*)?""")


class _NoYamlError(Exception):
    """The text is something else."""


def configuration_table(text: str) -> TextTable | None:
    """Return the records in a text of TOML or YAML, or its values under their paths; None for other texts."""
    value = toml_value(text)
    notation = "TOML"
    if value is None:
        value, notation = yaml_value(text), "YAML"
    table = None
    if is_object(value) or (is_list(value) and all(map(is_object, value))):
        table = records_in(value, notation)
    if table and _are_records(table):
        return table
    return pairs_of(value) if is_object(value) else None


def _are_records(table: TextTable) -> bool:
    """Return whether there are two rows at least, and half of them have a name in common.

    A service with one port is no table of ports, and lines of a person's, ``- Ann: at noon``, are no records.
    """
    rows = list(table.rows())
    filled = [sum(1 for row in rows if row[number]) for number in range(len(table.columns))]
    if table.columns[:1] == (KEY,):
        del filled[0]
    return len(rows) > 1 and 2 * max(filled, default=0) >= len(rows)


def toml_value(text: str) -> dict[str, Any] | None:
    """Return what a text of TOML with tables in it says, up to 1 MB; None for other texts."""
    if len(text) > REPR_AT_MOST or not _TOML_TABLE.search(text):
        return None
    # The parser's time for a key grows with the square of its parts.
    if any(line.count(".") > MOST_DOTS for line in lines_of(text)):
        return None
    try:
        value: dict[str, Any] = plain(tomllib.loads(text))
    except (ValueError, RecursionError):
        return None
    return value


def yaml_value(text: str) -> Any:  # noqa: ANN401 - whatever YAML holds
    """Return what a text of YAML says, its scalars as texts, several documents as a list; None for other texts.

    Lines of names and values alone, none within another, are not taken for YAML. What people hardly write is not read:
    keys that are no scalars, lists over several lines in brackets.
    """
    if len(text) > PARSED_AT_MOST or "\n" not in text or "\t" in text:
        return None
    documents = list[Any]()
    lines = list[str]()
    try:
        for line in lines_of(text):
            if _DOCUMENT.fullmatch(line):
                documents += _document(lines)
                lines = []
            else:
                lines.append(line)
        documents += _document(lines)
    except (_NoYamlError, RecursionError):
        return None
    return documents[0] if len(documents) == 1 else documents or None


def _document(lines: list[str]) -> list[Any]:
    """Return a list of the one value that lines write down; an empty one for comments alone."""
    reader = _YamlReader(lines)
    if reader.indent() is None:
        return []
    value = reader.block()
    if reader.indent() is not None or not reader.is_nested:
        raise _NoYamlError
    return [value]


class _YamlReader:
    """Reads lines from the first on, a block of one indentation at a time."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._place = 0
        self.is_nested = False

    def indent(self) -> int | None:
        """Return the indentation of the next line that says something; None behind the last one."""
        while self._place < len(self._lines):
            line = self._lines[self._place]
            plain = line.lstrip(" ")
            if plain and not plain.startswith("#"):
                return len(line) - len(plain)
            self._place += 1
        return None

    def block(self) -> Any:  # noqa: ANN401 - whatever YAML holds
        """Read a list or an object that begins with the next line."""
        indent = self.indent()
        line = self._lines[self._place].lstrip(" ")
        if indent is None:
            raise _NoYamlError
        return self._list(indent) if _DASH.fullmatch(line) else self._object(indent)

    def _object(self, indent: int) -> dict[str, Any]:
        members: dict[str, Any] = {}
        while self.indent() == indent:
            match = _PAIR.fullmatch(self._lines[self._place].strip())
            if match is None:
                break
            self._place += 1
            key = str(_scalar(match["key"].strip()))
            if key in members:
                raise _NoYamlError
            members[key] = self._value(match["value"] or "", indent)
        if not members:
            raise _NoYamlError
        return members

    def _list(self, indent: int) -> list[Any]:
        items = list[Any]()
        self.is_nested = True
        while self.indent() == indent:
            line = self._lines[self._place].strip()
            match = _DASH.fullmatch(line)
            if match is None:
                break
            item = match["item"] or ""
            if _PAIR.fullmatch(item) or _DASH.fullmatch(item):
                # What stands behind the dash is the first line of a block.
                deeper = indent + len(line) - len(item)
                self._lines[self._place] = " " * deeper + item
                items.append(self.block())
            else:
                self._place += 1
                items.append(self._value(item, indent))
        return items

    def _value(self, text: str, indent: int) -> Any:  # noqa: ANN401 - whatever YAML holds
        """Read what belongs to a key or a dash at *indent*: what stands behind it, or is indented below it."""
        if _BLOCK.fullmatch(text):
            return self._block_scalar(indent)
        text = _LABEL.sub("", text, count=1) if _LABEL.match(text) else text
        below = self.indent()
        if text and not text.startswith("#"):
            parts = [text]
            while below is not None and below > indent:
                line = self._lines[self._place].strip()
                if _PAIR.fullmatch(line) or _DASH.fullmatch(line):
                    raise _NoYamlError
                parts.append(line)
                self._place += 1
                below = self.indent()
            return _scalar(" ".join(parts))
        is_list = below == indent and bool(_DASH.fullmatch(self._lines[self._place].strip()))
        if below is None or (below <= indent and not is_list):
            return None
        self.is_nested = True
        return self.block()

    def _block_scalar(self, indent: int) -> str:
        """Read lines that are indented more than *indent*, as they stand."""
        lines = list[str]()
        while self._place < len(self._lines):
            line = self._lines[self._place]
            if line.strip() and len(line) - len(line.lstrip(" ")) <= indent:
                break
            lines.append(line)
            self._place += 1
        margin = min(
            (len(line) - len(line.lstrip(" ")) for line in lines if line.strip()), default=0
        )
        return "\n".join(line[margin:] for line in lines).strip("\n")


def _scalar(text: str) -> Any:  # noqa: ANN401 - whatever YAML holds
    """Return a value on one line: without its quotes or a comment; a list or an object in brackets."""
    quoted = _QUOTED.fullmatch(text)
    if quoted:
        return _unquoted(quoted[1])
    text = _COMMENT.sub("", text, count=1).strip()
    if text[:1] in ("[", "{"):
        return _in_brackets(text)
    if text[:1] in ('"', "'") or ": " in text:
        raise _NoYamlError
    return None if text in ("", "~", "null") else text


def _unquoted(text: str) -> str:
    if text[0] == "'":
        return text[1:-1].replace("''", "'")
    try:
        return str(json.loads(text))
    except ValueError:
        return text[1:-1]


def _in_brackets(text: str) -> Any:  # noqa: ANN401 - whatever YAML holds
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    inner = text[1:-1].strip()
    if text[-1:] != {"[": "]", "{": "}"}[text[0]]:
        raise _NoYamlError
    if text[0] == "[" and not re.search(r"[\[\]{}\"':]", inner):
        return [part.strip() for part in inner.split(",")] if inner else []
    return text
