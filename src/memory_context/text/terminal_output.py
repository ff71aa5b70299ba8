"""Read a text as a terminal shows it: without colours, and without what carriage returns overwrite."""

from __future__ import annotations

import re

# A terminal's colours and movements, such as ESC [32m; what `tput` ends them with, ESC ( B; titles, such as ESC ]0;… BEL.
# Links, ESC ]8;…, stay: they hold an address.
_ESCAPE_SEQUENCE = re.compile(
    r"\x1b(?:\[[0-?]*[@-~]|[()][0-9A-Z]|\](?!8;)\d{1,4};[^\x07\x1b\r\n]*(?:\x07|\x1b\\))"
)
# How much is done: `45%` or `3/12`, but not a date.
_PROGRESS = re.compile(r"\d ?%|(?<![\d/])\d+/\d+(?![\d/])")


def without_colours(text: str) -> str:
    """Return *text* without a terminal's colours, movements and titles; it has as many lines."""
    if "\x1b" not in text:
        return text
    return _ESCAPE_SEQUENCE.sub("", text)


def blanked_colours(text: str) -> str:
    """Return *text* with spaces in place of what `without_colours` removes: words stand alone, at the same offsets."""
    if "\x1b" not in text:
        return text
    return _ESCAPE_SEQUENCE.sub(lambda found: " " * len(found[0]), text)


def as_on_terminal(text: str) -> str:
    """Return *text* without what a terminal would overwrite, as in a progress bar; the number of lines stays the same."""
    if "\r" not in text:
        return text
    if "\n" not in text.strip():
        # On old Macs, each line ends with a carriage return. A line feed at the end was added when the text was printed.
        states = list(filter(str.strip, text.split("\r")))
        if len(list(filter(_PROGRESS.search, states))) < len(states) / 2:
            return text
    shown = list[str]()
    for line in text.split("\n"):
        states = line.rstrip("\r").split("\r")
        # A single carriage return may be part of a table's cell.
        shown.append(states[-1] if len(states) > 2 else line)
    return "\n".join(shown)
