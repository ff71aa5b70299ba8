"""Write a text as one short printable line, as descriptions are."""

from __future__ import annotations

import unicodedata

import regex

MAX_DESCRIPTION = 80
_IGNORABLE = regex.compile(r"\p{Default_Ignorable_Code_Point}")


def one_line(text: str, limit: int = MAX_DESCRIPTION) -> str:
    """Return *text* as one printable line of at most *limit* characters without square brackets; idempotent."""
    start = text[: limit * 16].replace("[", "(").replace("]", ")")
    if not (start.isascii() and start.isprintable()):
        start = "".join(map(_printable, _IGNORABLE.sub(" ", start)))
    line = " ".join(start.split())
    if len(line) <= limit:
        return line
    return line[: limit - 1].rstrip() + "…"


def _printable(char: str) -> str:
    is_control_or_space = unicodedata.category(char)[0] in "CZ"
    return " " if is_control_or_space else char
