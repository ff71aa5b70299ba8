"""Write a text as one short printable line, as descriptions are."""

from __future__ import annotations

import unicodedata

import regex

MAX_DESCRIPTION = 80
_IGNORABLE = regex.compile(r"\p{Default_Ignorable_Code_Point}")


def one_line(text: str, limit: int = MAX_DESCRIPTION) -> str:
    """Return *text* as one printable line of at most *limit* characters without square brackets; idempotent."""
    # A long text is not read to its end; what is read is longer than the limit, since blanks are joined.
    start = text[: limit * 16]
    start = start.replace("[", "(").replace("]", ")")
    if not (start.isascii() and start.isprintable()):
        visible = _IGNORABLE.sub(" ", start)
        start = "".join(map(_printable, visible))
    line = " ".join(start.split())
    if len(line) <= limit:
        return line
    return line[: limit - 1].rstrip() + "…"


def _printable(char: str) -> str:
    is_control_or_space = unicodedata.category(char).startswith(("C", "Z"))
    return " " if is_control_or_space else char
