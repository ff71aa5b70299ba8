"""The description of a text, and its form as one line: numbers with their nouns, then as many names as fit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from memory_context.model.one_line import MAX_DESCRIPTION, one_line

MOST_NAMES = 20
LONGEST_NAME = 40
LEAST_ROOM = 8  # for the beginning of a name


class Kind(StrEnum):
    """The kind of a text."""

    JSON = "json"
    TABLE = "table"
    RECORDS = "records"
    YAML = "yaml"
    LOG = "log"
    TEST_RUN = "test run"
    TRACEBACK = "traceback"
    DIFF = "diff"
    FILES = "files"
    SOURCE = "source"
    MARKUP = "markup"
    ENCODED = "encoded"
    ERROR = "error"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class Description:
    """The description of a text.

    Attributes:
        kind: The kind of text.
        facts: The kind in words, and its numbers.
        names: What the text holds, most telling first; the last ones may not fit into the line.
        in_parentheses: Whether the names are put in parentheses, because the facts already have a colon.
        is_cut: Whether the text was cut off.
    """

    kind: Kind
    facts: str
    names: tuple[str, ...] = ()
    in_parentheses: bool = False
    is_cut: bool = False

    def line(self) -> str:
        """Return the description as a line of at most 80 characters without square brackets."""
        facts = one_line(self.facts)
        cut = ", cut"
        has_room = len(facts + cut) < MAX_DESCRIPTION
        if self.is_cut and has_room and cut not in facts:
            facts += cut
        opening, closing = ": ", ""
        if self.in_parentheses:
            opening, closing = " (", ")"
        room = MAX_DESCRIPTION - len(facts + opening + closing)
        names = [name for name in map(one_line, self.names) if name]
        shown = facts
        if names and room >= LEAST_ROOM:
            shown = f"{facts}{opening}{one_line(names[0], room)}{closing}"
        for count in range(1, len(names) + 1):
            joined = ", ".join(names[:count])
            if count < len(names):
                joined += ", …"
            if len(joined) <= room:
                shown = f"{facts}{opening}{joined}{closing}"
        return shown


def counted(number: int, noun: str) -> str:
    """Return the number with its noun: ``1 line``, ``1,204 rows``."""
    if number == 1:
        return f"1 {noun}"
    return f"{number:,} {plural(noun)}"


def plural(noun: str) -> str:
    """Return the regular English plural."""
    if noun.endswith("y") and not noun.endswith(("ay", "ey", "iy", "oy", "uy")):
        return f"{noun[:-1]}ies"
    if noun.endswith(("s", "x", "z", "ch", "sh")):
        return f"{noun}es"
    return f"{noun}s"


def singular(noun: str) -> str:
    """Return the singular of which `noun` looks like the regular plural; empty if it does not look like a plural."""
    if len(noun) < 3 or not noun.endswith("s"):
        return ""
    if noun.endswith(("ss", "us", "is")):
        return ""
    if noun.endswith("ies"):
        return f"{noun[:-3]}y"
    if noun.endswith(("sses", "xes", "zes", "ches", "shes")):
        return noun[:-2]
    return noun[:-1]


def shortened(name: object) -> str:
    """Return a name or a value cut to 40 characters; a long path is cut to its last three parts."""
    text = str(name)
    if len(text) > LONGEST_NAME and " " not in text:
        parts = text.replace("\\", "/").split("/")
        text = "/".join(parts[-3:])
    return one_line(text, LONGEST_NAME)


def unique_names(names: Iterable[object]) -> tuple[str, ...]:
    """Return the first twenty different names, each shortened, in order."""
    kept: dict[str, None] = {}
    for name in names:
        kept[shortened(name)] = None
        if len(kept) == MOST_NAMES:
            break
    return tuple(kept)
