"""Take the escapes out of the text of a string, as JSON and Python write it, without moving any character."""

from __future__ import annotations

import re

# In JSON within JSON within JSON, a sign has seven backslashes. A run of thousands would be read for each segment in it.
LONGEST = 31
# A run of backslashes and the sign after it: each pair stands for a backslash, and one left over escapes the sign.
_ESCAPED = re.compile(r"(\\+)(.)", re.DOTALL)
_SIGNS = {"n": "\n", "t": "\t", "r": " ", '"': '"', "'": "'", "/": "/"}


def unescaped_in_place(raw: str) -> str:
    r"""Return a string with each escape replaced by its sign, after as many spaces as keep its length.

    Escapes of letters by their numbers (``\u00df``) stay; `words_and_names.occurrences` reads them.
    """
    return _ESCAPED.sub(_in_place, raw)


def _in_place(escape: re.Match[str]) -> str:
    run, sign = escape.groups()
    pairs, is_escaped = divmod(len(run), 2)
    if is_escaped:
        if sign not in _SIGNS:
            return escape[0]
        sign = _SIGNS[sign]
    return ("\\" * pairs + sign).rjust(len(escape[0]))


def start_of_escape(raw: str, place: int) -> int:
    """Return where the escape of the sign at `place` begins; `place` itself if the sign is not escaped."""
    before = raw[max(0, place - LONGEST) : place]
    return place - len(before) + len(before.rstrip("\\"))
