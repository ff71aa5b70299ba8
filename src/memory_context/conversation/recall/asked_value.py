"""Read from a message that it asks for what is largest, smallest or beyond a number: "the slowest test", "over 900"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from memory_context.conversation.recall.question_terms import READ_AT_MOST

_DURATIONS = "time duration seconds ms elapsed latency runtime took length"
_PRICES = "price cost total amount fee rate fare sum"
# Words in English, German, French and Spanish, and signs of Japanese and Chinese; whether they mean the largest value;
# the columns that they are about, if it is not any; and whether these are dates. An underscore stands for a space.
_SUPERLATIVES = (
    (
        "newest latest youngest most_recent neueste[nrs]? jüngste[nrs]? plus_récente?s? más_recientes? 最新",
        (True, "", True),
    ),
    (
        "oldest earliest älteste[nrs]? früheste[nrs]? plus_ancien(?:ne)?s? más_antigu[oa]s? 最古",
        (False, "", True),
    ),
    (
        "slowest longest langsamste[nrs]? längste[nrs]? plus_lente?s? plus_long(?:ue)?s? más_lent[oa]s? más_larg[oa]s?",
        (True, _DURATIONS, False),
    ),
    (
        "fastest quickest shortest schnellste[nrs]? kürzeste[nrs]? plus_rapides? plus_courte?s? más_rápid[oa]s?",
        (False, _DURATIONS, False),
    ),
    (
        "priciest most_expensive teuerste[nrs]? plus_ch(?:er|ère)s? más_car[oa]s?",
        (True, _PRICES, False),
    ),
    (
        "cheapest least_expensive billigste[nrs]? günstigste[nrs]? moins_ch(?:er|ère)s? más_barat[oa]s?",
        (False, _PRICES, False),
    ),
    (
        "least fewest lowest smallest weakest lightest coldest min(?:imum)? wenigsten kleinste[nrs]? niedrigste[nrs]? "
        "geringste[nrs]? (?:le|la|les)_moins menor mínim[oa] más_baj[oa]s? más_pequeñ[oa]s? 最小 最低 最少 最短",
        (False, "", False),
    ),
    (
        "most highest largest biggest greatest strongest heaviest hottest warmest furthest farthest widest tallest deepest max(?:imum)? meisten höchste[nrs]? "
        "größte[nrs]? schwerste[nrs]? (?:le|la|les)_plus mayor máxim[oa] más 最大 最高 最多 最長 最长 一番 最も",
        (True, "", False),
    ),
)
_ABOVE = "over above (?:more|greater|higher|larger)_than exceed(?:s|ing)? über mehr_als plus_de más_de"
_BELOW = "under below (?:less|fewer|lower|smaller)_than unter weniger_als moins_de menos_de"
_IS_SPACED = re.compile(r"[a-z(]")


def _any_of(words: str) -> str:
    """Return a pattern of any of the words; signs of scripts without spaces may stand within a word."""
    patterns = list[str]()
    for word in words.split():
        spaced = word.replace("_", r"\s+")
        patterns.append(rf"\b{spaced}\b" if _IS_SPACED.match(word.lower()) else spaced)
    return "|".join(patterns)


_BOUND = r"\s+(?P<number>[$€£]?[0-9][0-9.,]*\s?(?:[^\W\d_]{1,3}\b)?)"
_BEYOND = tuple(
    (re.compile(rf"(?:{_any_of(words)}){_BOUND}", re.IGNORECASE), is_largest)
    for words, is_largest in ((_ABOVE, True), (_BELOW, False))
)
_EXTREMES = tuple(
    (re.compile(_any_of(words), re.IGNORECASE), meant) for words, meant in _SUPERLATIVES
)


@dataclass(frozen=True, slots=True)
class AskedValue:
    """A value that a message asks for.

    Attributes:
        is_largest: Whether the largest value is meant, or all above the bound; else the smallest, or all below it.
        said: The part of the message that says so.
        columns: The names of the columns that may be meant, separated by spaces; empty if it may be any.
        is_date: Whether a date is meant.
        bound: The number that the values must be above or below, with its unit; None for the largest or smallest.
    """

    is_largest: bool
    said: str
    columns: str = ""
    is_date: bool = False
    bound: str | None = None


def asked_value(message: str) -> AskedValue | None:
    """Return the value that a message asks for; None if it asks for none."""
    return next(_asked_values(message[:READ_AT_MOST]), None)


def _asked_values(message: str) -> Iterator[AskedValue]:
    for pattern, is_largest in _BEYOND:
        if beyond := pattern.search(message):
            yield AskedValue(is_largest, beyond.group(), bound=beyond["number"])
    for pattern, (is_largest, columns, is_date) in _EXTREMES:
        if extreme := pattern.search(message):
            yield AskedValue(is_largest, extreme.group(), columns, is_date)
