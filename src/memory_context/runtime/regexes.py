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
# What stands for itself, whatever is in it: an escaped character, or a set. In a set a "]" that comes first, or after "^",
# is a member. What is not closed is read to its end once; `regex` refuses it.
_LITERAL = r"\\.|\[\^?\]?(?:\\.|[^\]\\])*+(?:\]|\Z)"
_COMMENT = r"\(\?#[^)]*+\)?"
_TOKEN = re.compile(
    rf"{_LITERAL}|(?P<comment>{_COMMENT})|\{{(?P<count>\d+)(?:,\d*)?\}}|[()]|.", re.DOTALL
)
# With the flag x, blanks and the rest of a line after "#" mean nothing, also within a count.
_IGNORED_WITH_X = re.compile(rf"({_LITERAL})|{_COMMENT}|\s+|#[^\n]*+", re.DOTALL)
_FLAG_X = re.compile(r"\(\?[\w-]*x[\w-]*\)")
# The flag x of only a part of a pattern.
_X_OF_A_PART = re.compile(rf"(?:{_LITERAL}|{_COMMENT}|(?!\(\?[\w-]*x[\w-]*:).)*+\(", re.DOTALL)
_TOO_LARGE = f"its counts repeat more than {MOST_REPEATED:,} times"


def compiled(pattern: str, flags: int = 0) -> regex.Pattern[str]:
    """Compile *pattern*.

    Raises:
        regex.error: It is not a regular expression, or its counts make it too large.
    """
    readings = [pattern]
    # From where on the flag holds is not known, so what it ignores is read, and is ignored in a second reading.
    if flags & regex.VERBOSE or _FLAG_X.search(pattern):
        readings.append(_IGNORED_WITH_X.sub(r"\1", pattern))
    if any(map(_X_OF_A_PART.match, readings)):
        raise regex.error("the flag x must hold for all of it, as in (?x)")
    if max(map(expanded_size, readings)) > MOST_REPEATED:
        raise regex.error(_TOO_LARGE)
    return regex.compile(pattern, flags)


def expanded_size(pattern: str) -> int:
    """Return how many items *pattern* has once its counts are expanded, or an estimate above that.

    Stops at the first item that is too large by itself.
    """
    groups = [0]  # the sizes of the groups that are open, the innermost last
    last = 0  # the size of the item that a count would multiply
    for token in _TOKEN.finditer(pattern):
        if token["comment"]:
            continue
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
