"""The words of a text that say something, and the names among them: of files, functions, hosts, tickets, fields."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice

MAX_TERMS = 32
NAME_WEIGHT = 3
LEAST_DIGITS = 4
READ_AT_MOST = 100_000
PLACES = 2_000
_WORD = re.compile(r"[^\W_][\w./:@#-]*[^\W_]|[^\W_]")
_TELLING = re.compile(r"[\d_./:@#-]")
_ENGLISH_STOP_WORDS = """
a about above after again all also am an and any are as at be because been before being below between both but by can
could did do does doing down during each few for from further get give had has have having he her here hers him his
how i if in into is it its just let me more most my no nor not now of off on once only or other our out over own
please same she should show so some such tell than that the their them then there these they this those through to
too under until up use very was we were what when where which while who whom why will with would you your
"""
STOP_WORDS = frozenset(_ENGLISH_STOP_WORDS.split())
# What makes it a name is looked for among its first 64 characters: `a:a:a:…` would take quadratic time otherwise.
NAME = re.compile(
    r"(?<![A-Za-z0-9_])(?=[A-Za-z0-9_])(?=[A-Za-z:-]{0,64}?(?:[0-9_/@#]|\.[A-Za-z0-9_]|[a-z][A-Z]))"
    r"(?P<name>[A-Za-z0-9_][A-Za-z0-9_./:@#-]{2,}[A-Za-z0-9_#@])(?P<key>\\*[\"']\s*:)?"
)

FAULTS = (
    "error",
    "failed",
    "failure",
    "fatal",
    "exception",
    "traceback",
    "panic",
    "denied",
    "refused",
    "undefined",
)
BLOB = re.compile(r"[A-Za-z0-9+/=]+")


def terms(text: str) -> list[str]:
    """The words of `text` that say something, lower-case, most frequent first, at most 32."""
    words = (match.group().lower() for match in _WORD.finditer(text[:READ_AT_MOST]))
    counts = Counter(
        word for word in words if word not in STOP_WORDS and (len(word) > 1 or not word.isascii())
    )
    return [word for word, _ in counts.most_common(MAX_TERMS)]


def occurrences(
    text: str, words: Iterable[str], most: int = PLACES
) -> Iterator[tuple[str, list[int]]]:
    """Where each of `words`, which are lower-case, stands in `text` in any case; the first `most` places."""
    lower = text.lower()
    for word in words:
        if len(lower) == len(text):
            places = list(islice(_places(lower, word), most))
        else:  # a letter whose lower-case form is two characters has moved everything behind it
            places = [
                match.start()
                for match, _ in zip(
                    re.finditer(re.escape(word), text, re.IGNORECASE), range(most), strict=False
                )
            ]
        if places:
            yield word, places


def _places(text: str, word: str) -> Iterator[int]:
    place = text.find(word)
    while place >= 0:
        yield place
        place = text.find(word, place + len(word))


def is_name(word: str) -> bool:
    """Whether `word` looks like a name: of a file, a host, a function, a ticket; a number needs four digits."""
    return _TELLING.search(word) is not None and not (word.isdigit() and len(word) < LEAST_DIGITS)


def weight(word: str) -> int:
    """How much `word` says: a name as much as three other words."""
    return NAME_WEIGHT if is_name(word) else 1


def names(text: str) -> set[str]:
    """The names in `text`: four characters or more, and among them a digit, ``_/@#.`` or a capital inside."""
    return {match["name"] for match in NAME.finditer(text)}
