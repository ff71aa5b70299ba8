"""How facts are put into words: numbers with their nouns, and as many details as a line of 80 characters holds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from memory_context.model.reference import MAX_DESCRIPTION, one_line

LONGEST_NAME = 40
_SIBILANT = re.compile(r"(?:s|x|z|ch|sh)$")
_SYLLABLES = re.compile(r"(?:ss|x|z|ch|sh)es$")
_NO_PLURAL = re.compile(r"(?:ss|us|is)$")


def counted(number: int, noun: str) -> str:
    """``1 line``, ``1,204 rows``."""
    return f"{number:,} {noun if number == 1 else plural(noun)}"


def plural(noun: str) -> str:
    """The regular English plural."""
    if len(noun) > 1 and noun[-1] == "y" and noun[-2] not in "aeiou":
        return f"{noun[:-1]}ies"
    return f"{noun}es" if _SIBILANT.search(noun) else f"{noun}s"


def singular(noun: str) -> str | None:
    """The noun whose regular plural `noun` looks like; None if it looks like none."""
    if len(noun) < 3 or not noun.endswith("s") or _NO_PLURAL.search(noun):
        return None
    if noun.endswith("ies"):
        return f"{noun[:-3]}y"
    return noun[:-2] if _SYLLABLES.search(noun) else noun[:-1]


def short(name: object, limit: int = LONGEST_NAME) -> str:
    """A name or a value on one line, of at most `limit` characters."""
    return one_line(name if isinstance(name, str) else _written(name), limit)


def _written(value: object) -> str:
    """A plain value in few characters: Python refuses to write very large integers."""
    if isinstance(value, int) and value.bit_length() > 512:
        return "a large number"
    return str(value)


def quoted(text: str, limit: int = 50) -> str:
    """A title between quotes."""
    return f'"{short(text.strip(), limit)}"'


def tail_of_path(path: str) -> str:
    """A path of which the last three parts are enough to find the file."""
    parts = path.replace("\\", "/").split("/")
    return path if len(path) <= LONGEST_NAME else "/".join(parts[-3:])


def unique(names: Iterable[str], most: int = 20) -> tuple[str, ...]:
    """The first `most` different names, in order."""
    kept: dict[str, None] = {}
    for name in names:
        kept[name] = None
        if len(kept) >= most:
            break
    return tuple(kept)[:most]


def written(facts: str, details: Sequence[str], *, in_brackets: bool = False) -> str:
    """``facts: detail, detail, …`` on one line, with as many whole details as fit."""
    opening, closing = (" (", ")") if in_brackets else (": ", "")
    known = [one_line(detail) for detail in details[:20]]
    known = [detail for detail in known if detail]
    room = MAX_DESCRIPTION - len(one_line(facts)) - len(opening) - len(closing)
    for count in range(len(known), 0, -1):
        joined = ", ".join([*known[:count], *(["…"] if count < len(details) else [])])
        if len(joined) <= room:
            return one_line(f"{facts}{opening}{joined}{closing}")
    return one_line(
        facts if not known or room < 8 else f"{facts}{opening}{_cut(known[0], room)}{closing}"
    )


def _cut(text: str, room: int) -> str:
    """`text` cut between words where that costs little."""
    if len(text) <= room:
        return text
    piece = text[: room - 1]
    between = piece.rfind(" ")
    return f"{piece[:between] if between > room * 2 // 3 else piece}…"
