"""Compile regular expressions that people and models write, unless that would take too much memory.

The package `regex` expands counted repetitions: `a{10000000}` takes 2.7 GB before anything is searched (measured: 270
bytes for each repetition; nested counts multiply).
"""

from __future__ import annotations

import re

import regex

MOST_REPEATED = 100_000
# A longer count is too large anyway, and turning thousands of digits into a number takes time.
LONGEST_COUNT = 9
# An escaped character, a comment, the flag x, a set, a count in braces, a parenthesis, or any other character. In a set a
# "]" that comes first, or after "^", is a member. What is not closed is read to its end once; `regex` refuses it.
_TOKENS = (
    r"\\.|(?P<comment>\(\?#[^)]*+\)?%s)|(?P<flag_x>\(\?[A-Za-z0-9-]*x)|\[\^?\]?(?:\\.|[^\]\\])*+(?:\]|\Z)"
    r"|\{(?P<count>\d+)(?:,\d*)?\}|[()]|."
)
_TOKEN = re.compile(_TOKENS % "", re.DOTALL)
# With the flag x, blanks and the rest of a line after "#" mean nothing.
FLAG_X = "(?x)"
_TOKEN_WITH_FLAG_X = re.compile(_TOKENS % r"|\s+|#[^\n]*+", re.DOTALL)
_MISPLACED_FLAG = f"the flag x must be at its beginning, as {FLAG_X}"
_TOO_LARGE = f"its counts repeat more than {MOST_REPEATED:,} times"


def compiled(pattern: str, flags: int = 0) -> regex.Pattern[str]:
    """Compile *pattern*.

    Raises:
        regex.error: It is not a regular expression, or its counts make it too large.
    """
    if expanded_size(pattern) > MOST_REPEATED:
        raise regex.error(_TOO_LARGE)
    return regex.compile(pattern, flags)


def expanded_size(pattern: str) -> int:
    """Return how many items *pattern* has once its counts are expanded, or an estimate above that.

    Stops at the first item that is too large by itself.

    Raises:
        regex.error: The flag x does not hold for all of it, so that what is a comment is not known.
    """
    groups = [0]  # the sizes of the groups that are open, the innermost last
    last = 0  # the size of the item that a count would multiply
    tokens = _TOKEN.finditer(pattern)
    if pattern.startswith(FLAG_X):
        tokens = _TOKEN_WITH_FLAG_X.finditer(pattern, len(FLAG_X))
    for token in tokens:
        if token["comment"]:
            continue
        if token["flag_x"]:
            raise regex.error(_MISPLACED_FLAG)
        if token[0] == "(":
            groups[-1] += last
            groups.append(0)
            last = 0
        # An unbalanced parenthesis is an error that `regex` reports better.
        elif token[0] == ")" and len(groups) > 1:
            last += groups.pop()
        elif token["count"]:
            last *= max(int(token["count"][:LONGEST_COUNT]), 1)
        else:
            groups[-1] += last
            last = 1
        if last > MOST_REPEATED:
            return last
    return sum(groups) + last
