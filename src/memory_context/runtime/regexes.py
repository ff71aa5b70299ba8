"""Regular expressions of people and models: compiled, if that does not take all memory.

The package `regex` writes a counted repetition out: `a{10000000}` takes 2.7 GB before anything is searched (measured,
270 bytes for each repetition; nested counts multiply).
"""

from __future__ import annotations

import re

import regex

MOST_REPEATED = 100_000
LONGEST_COUNT = 9
_TOKEN = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\{(\d+)(?:,\d*)?\}|[()]|.", re.DOTALL)
_TOO_LARGE = f"its counts repeat more than {MOST_REPEATED:,} times"


def compiled(pattern: str, flags: int = 0) -> regex.Pattern[str]:
    """The compiled `pattern`.

    Raises:
        regex.error: It is none, or its counts make it too large.
    """
    if size_of(pattern) > MOST_REPEATED:
        raise regex.error(_TOO_LARGE)
    return regex.compile(pattern, flags)


def size_of(pattern: str) -> int:
    """How many items `pattern` has when its counted repetitions are written out; never fewer than it really has."""
    groups, last = [0], 0
    for token in _TOKEN.finditer(pattern):
        if token[0] == "(":
            groups[-1] += last
            groups.append(0)
            last = 0
        elif token[0] == ")" and len(groups) > 1:
            last += groups.pop()
        elif token[1]:
            last *= max(int(token[1][:LONGEST_COUNT]), 1)
        else:
            groups[-1] += last
            last = 1
        if last > MOST_REPEATED:
            return last
    return sum(groups) + last
