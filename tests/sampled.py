"""Texts by chance that a regular expression matches: for keys whose form is known."""

from __future__ import annotations

import random
import re
import string
from functools import cache
from re import _constants as op  # type: ignore[attr-defined] # the parser of `re` has no public name
from re import _parser  # type: ignore[attr-defined]
from typing import Any

MIXED = string.ascii_letters + string.digits
PRINTED = MIXED + "_-+/=.~%:|!@#$&*;,?"
_CLASSES = {op.CATEGORY_WORD: MIXED + "_", op.CATEGORY_DIGIT: string.digits, op.CATEGORY_SPACE: " "}
_MOST_REPEATED = 60
_TRIES = 200


def sampled(pattern: str, chosen: random.Random, group: int = 0) -> str:
    """Return a text that *pattern* matches, or its *group*; a count without end is a small one."""
    expression, tree = _parsed(pattern)
    for _ in range(_TRIES):
        texts = dict[int, str]()
        whole = _made(tree, chosen, texts, bool(tree.state.flags & re.IGNORECASE))
        if expression.fullmatch(whole):
            return texts.get(group, whole)
    message = f"nothing matches {pattern}"
    raise ValueError(message)


@cache
def _parsed(pattern: str) -> tuple[re.Pattern[str], Any]:
    written = _for_re(pattern)
    return re.compile(written), _parser.parse(written)


def _for_re(pattern: str) -> str:
    """Return a pattern of other engines: flags in its middle hold for all of it, names of sets are written out."""
    for flag in ("i", "s"):
        if f"(?{flag})" in pattern:
            pattern = f"(?{flag}:{pattern.replace(f'(?{flag})', '')})"
    pattern = pattern.replace("[[:alnum:]]", "[A-Za-z0-9]").replace(r"\z", r"\Z")
    return pattern.replace("(?x)", "")


def _made(items: Any, chosen: random.Random, texts: dict[int, str], ignores_case: bool) -> str:
    parts = list[str]()
    for code, value in items:
        if code is op.LITERAL:
            parts.append(chr(value))
        elif code is op.ANY:
            parts.append(chosen.choice(PRINTED))
        elif code in (op.IN, op.NOT_LITERAL):
            members = tuple(value) if code is op.IN else value
            parts.append(chosen.choice(_members(code, members, ignores_case)))
        elif code is op.BRANCH:
            parts.append(_made(chosen.choice(value[1]), chosen, texts, ignores_case))
        elif code is op.SUBPATTERN:
            number, added, _, inner = value
            ignores = ignores_case or bool(added & re.IGNORECASE)
            text = _made(inner, chosen, texts, ignores)
            parts.append(text)
            if number is not None:
                texts[number] = text
        elif code is op.ATOMIC_GROUP:
            parts.append(_made(value, chosen, texts, ignores_case))
        elif code in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
            least, most, inner = value
            count = chosen.randint(least, max(least, min(int(most), least + _MOST_REPEATED)))
            parts += (_made(inner, chosen, texts, ignores_case) for _ in range(count))
    return "".join(parts)


@cache
def _members(code: Any, value: Any, ignores_case: bool) -> str:
    if code is op.NOT_LITERAL:
        return "".join(one for one in PRINTED if ord(one) != value)
    found = ""
    for kind, member in value:
        if kind is op.LITERAL:
            found += chr(member)
        elif kind is op.RANGE:
            found += "".join(map(chr, range(member[0], member[1] + 1)))
        elif kind is op.CATEGORY:
            found += _CLASSES.get(member, PRINTED)
    if value[0][0] is op.NEGATE:
        return "".join(one for one in PRINTED if one not in found)
    letters = found if len(found) >= len(string.ascii_lowercase) and ignores_case else ""
    return found + letters.swapcase()
