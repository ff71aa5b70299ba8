"""Read from a message that it asks for what is largest, smallest or beyond a number: "the slowest test", "over 900"."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from memory_context.text.relevance.question_terms import READ_AT_MOST

_DURATION = "time duration seconds ms elapsed latency runtime took length"
_PRICE = "price cost total amount fee rate fare sum"
# Superlatives of English, German, French and Spanish, Japanese and Chinese. An underscore stands for a space.
_NEWEST = """
newest latest youngest most_recent neueste[nrs]? jüngste[nrs]? plus_récente?s? más_recientes? 最新
"""
_OLDEST = """
oldest earliest älteste[nrs]? früheste[nrs]? plus_ancien(?:ne)?s? más_antigu[oa]s? 最古
"""
_LONGEST = """
longest slowest längste[nrs]? langsamste[nrs]? plus_long(?:ue)?s? plus_lente?s? más_larg[oa]s? más_lent[oa]s?
"""
_SHORTEST = """
shortest fastest quickest kürzeste[nrs]? schnellste[nrs]? plus_courte?s? plus_rapides? más_cort[oa]s? más_rápid[oa]s?
"""
_DEAREST = """
priciest dearest most_expensive teuerste[nrs]? plus_ch(?:er|ère)s? más_car[oa]s?
"""
_CHEAPEST = """
cheapest least_expensive billigste[nrs]? günstigste[nrs]? moins_ch(?:er|ère)s? más_barat[oa]s?
"""
_SMALLEST = r"""
(?<!at\s)least fewest lowest smallest lightest weakest coldest min(?:imum)? wenigsten kleinste[nrs]? niedrigste[nrs]?
geringste[nrs]? (?:le|la|les)_moins (?:le|la|les)_plus_(?:petite?|bas|basse|faible)s? menor mínim[oa] más_baj[oa]s?
más_pequeñ[oa]s? 最小 最低 最少 最短
"""
_LARGEST = r"""
(?<!at\s)most highest largest biggest greatest heaviest strongest hottest warmest furthest farthest widest tallest deepest
(?-i:max|^Max)(?:imum)? meisten höchste[nrs]? größte[nrs]? schwerste[nrs]? (?:le|la|les)_plus mayor máxim[oa] más 最大 最高
最多 最長 最长 一番 最も
"""
_ABOVE = "over above (?<!not\\s)(?<!no\\s)(?:more|greater|higher|larger)_than exceed(?:s|ing)? über mehr_als plus_de más_de"
_BELOW = "under below (?<!not\\s)(?<!no\\s)(?:less|fewer|lower|smaller)_than unter weniger_als moins_de menos_de"
# Bounds that include the number itself.
_FROM = "at_least (?:no|not)_(?:less|fewer|lower)_than mindestens au_moins al_menos por_lo_menos"
_UP_TO = "at_most (?:no|not)_(?:more|greater|higher)_than höchstens au_plus como_máximo"
_UNIT = r"(?:(?:second|minute|hour|day|week|month|year)s?\b|[^\W\d_]{1,3}\b)"
_NUMBER = rf"\s+(?P<number>[$€£]?[0-9][0-9.,]*\s?{_UNIT}?)(?!\s*(?:million|billion|thousand))"
# "The second largest" and "the three largest" are not the largest one.
_IS_RANKED = re.compile(r"\b(?:second|third|two|three|four|five|ten|[0-9]+)\s+$", re.IGNORECASE)
# A question that begins like this asks for no row: "Is it the fastest?", "Why does it matter most?".
_ASKS_OTHERWISE = re.compile(
    r"\W*(?:why|how\s+(?:do|does|can|is|are)|(?:is|are|was|were)\b(?!\s+there)|do|does|did|can|could|should|warum|pourquoi)\b",
    re.IGNORECASE,
)
# Not the adverbs of "most often" and "most recently".
_NEXT_WORD = re.compile(r"\s*(?!often\b|\w+ly\b)([^\W\d_]{4,})")


@dataclass(frozen=True, slots=True)
class AskedValue:
    """A value that a message asks for.

    Attributes:
        is_largest: Whether the largest value is meant, or all above the bound; else the smallest, or all below it.
        columns: Words that may name the column, separated by spaces; empty if any may.
        is_date: Whether a date is meant.
        said: The part of the message that asks for it.
        bound: The number that the values must be above or below, perhaps with a unit; empty for the largest or smallest.
        has_bound: Whether the bound itself is meant, too.
        counted: The word after a bound, "most" or "least", which must be in the column's name: "more than 10 restarts".
        before: The two words before a bound that no word follows. A column that they name is meant: "with a rating over 7".
    """

    is_largest: bool
    columns: str = ""
    is_date: bool = False
    said: str = ""
    bound: str = ""
    has_bound: bool = False
    counted: str = ""
    before: str = ""

    @property
    def is_duration(self) -> bool:
        """Return whether a duration is meant, as with "slowest"."""
        return self.columns == _DURATION


def _any_of(words: str, after: str = "") -> re.Pattern[str]:
    """Return a pattern of any of the words before *after*; in scripts without spaces they may be within a run of letters."""
    patterns = list[str]()
    for word in words.split():
        pattern = word.replace("_", r"\s+")
        has_spaces = word[0] < "\u3000"
        patterns.append(rf"\b{pattern}\b" if has_spaces else pattern)
    return re.compile(rf"(?:{'|'.join(patterns)}){after}", re.IGNORECASE)


_COUNTING = frozenset(("most", "least", "fewest"))
# The first meaning that is found counts: "most recent" before "most", "more than 9" before "most".
_MEANINGS = (
    (_any_of(_FROM, _NUMBER), AskedValue(is_largest=True, has_bound=True)),
    (_any_of(_UP_TO, _NUMBER), AskedValue(is_largest=False, has_bound=True)),
    (_any_of(_ABOVE, _NUMBER), AskedValue(is_largest=True)),
    (_any_of(_BELOW, _NUMBER), AskedValue(is_largest=False)),
    (_any_of(_NEWEST), AskedValue(is_largest=True, is_date=True)),
    (_any_of(_OLDEST), AskedValue(is_largest=False, is_date=True)),
    (_any_of(_LONGEST), AskedValue(is_largest=True, columns=_DURATION)),
    (_any_of(_SHORTEST), AskedValue(is_largest=False, columns=_DURATION)),
    (_any_of(_DEAREST), AskedValue(is_largest=True, columns=_PRICE)),
    (_any_of(_CHEAPEST), AskedValue(is_largest=False, columns=_PRICE)),
    (_any_of(_SMALLEST), AskedValue(is_largest=False)),
    (_any_of(_LARGEST), AskedValue(is_largest=True)),
)


def asked_value(message: str) -> AskedValue | None:
    """Return the value that a message asks for; None if it asks for none."""
    text = message[:READ_AT_MOST]
    if _ASKS_OTHERWISE.match(text):
        return None
    for pattern, meaning in _MEANINGS:
        match = pattern.search(text)
        if match is None:
            continue
        said = match.group()
        start = match.start()
        if _IS_RANKED.search(text, 0, start):
            return None
        bound = match.groupdict().get("number", "")
        word = None
        if bound or said.lower() in _COUNTING:
            word = _NEXT_WORD.match(text, match.end())
        counted = word[1] if word else ""
        before = " ".join(text[:start].split()[-2:]) if bound and not counted else ""
        return replace(meaning, said=said, bound=bound, counted=counted, before=before)
    return None
