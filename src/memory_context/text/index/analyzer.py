"""What a text is found by: its *lexemes*, the same for every database, in the index and in a query.

A word is found by its English stem (Porter2); an identifier whole, by its segments and by its words (``getUserName`` is
``get``, ``user`` and ``name`` too); scripts without spaces by their characters and pairs of characters; a date, however
it is written, by its day and its month (``2023-05-08`` and ``2023-05``). Letters are compared by NFKC and case folding,
without accents. Time is linear in the text.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import Stemmer

from memory_context.text.terms import STOP_WORDS

VERSION = 2
LONGEST = 64
MOST_PARTS = 8
LEAST_LETTERS_PER_PART = 2.5
_REMEMBERED = 1 << 15
# `\w` knows no combining marks, of which the vowels of Indian and Thai writing are made.
_MARKS = (
    "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0900-\u0963\u0966-\u0dff\u0e00-\u0eff"
    "\u1000-\u109f\u1780-\u17ff"
)
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
_COMPOUND = re.compile(rf"[\w{_MARKS}]+(?:[./:@#\\-]{{1,3}}[\w{_MARKS}]+)*")
_SEGMENT = re.compile(r"[^/:@#\\]+")
_WORD = re.compile(rf"(?:[^\W_]|[{_MARKS}])+")
_PART = re.compile(rf"(?:[^\W\d_]|[{_MARKS}])+|\d+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_RUN = re.compile(rf"([{_UNSPACED}]+)")
_ACCENT = re.compile("[\u0300-\u036f]+")
_MONTHS = "january february march april may june july august september october november december"
_MONTH_FORMS = {
    form: number
    for number, name in enumerate(_MONTHS.split(), 1)
    for form in (name, name[:3], name[:4])
}
_MONTH_NAMES = frozenset(
    form for month in _MONTH_FORMS for form in (month, month.title(), month.upper())
)
_MONTH = rf"({'|'.join(sorted(_MONTH_FORMS, key=len, reverse=True))})\.?"
_DATE = re.compile(
    rf"\b(?:(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? )?{_MONTH}(?: (\d{{1,2}})(?:st|nd|rd|th)?)?,? (\d{{4}})\b",
    re.IGNORECASE,
)
_ISO_DATE = re.compile(r"(\d{4})([-/.])(\d{1,2})\2(\d{1,2})(?!\d)")
_stem: Callable[[str], str] = Stemmer.Stemmer("english", 0).stemWord  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType] # ships no types


@dataclass(frozen=True, slots=True)
class Analysis:
    """What a text is found by.

    Attributes:
        counts: How often each lexeme stands in it.
        length: How many words it has. An identifier is one, however many lexemes it is found by: counting those made
            passages full of identifiers rank too low (recall@10 on recordings 0.47 against 0.53).
    """

    counts: Mapping[str, int]
    length: int


def analyze(text: str) -> Analysis:
    """The lexemes of `text`; words that say nothing (``the``, ``of``) have none."""
    words = Counter(_COMPOUND.findall(text))
    found: dict[str, int] = {}
    get = found.get
    for word, count in words.items():
        for lexeme in _lexemes_of(word):
            found[lexeme] = get(lexeme, 0) + count
    for lexeme in () if _MONTH_NAMES.isdisjoint(words) else _dates(text):
        found[lexeme] = get(lexeme, 0) + 1
    return Analysis(found, words.total())


def wanted_by(query: str) -> list[str]:
    """The lexemes that a query asks for: of scripts without spaces the pairs of characters, single ones if alone."""
    alone = {run for run in _RUN.findall(query) if len(run) == 1}
    return [
        lexeme
        for lexeme in analyze(query).counts
        if len(lexeme) > 1 or lexeme in alone or not _RUN.match(lexeme)
    ]


def held_by(text: str, wanted: Iterable[str]) -> set[str]:
    """Those of the lexemes `wanted` that `text` is found by."""
    missing, found = set(wanted), set[str]()
    words = dict.fromkeys(_COMPOUND.findall(text))
    for lexemes in (
        *map(_lexemes_of, words),
        *(() if _MONTH_NAMES.isdisjoint(words) else (_dates(text),)),
    ):
        found.update(missing.intersection(lexemes))
        missing -= found
        if not missing:
            break
    return found


def words_of(text: str, wanted: Iterable[str]) -> list[str]:
    """The words of `text`, as they are written, that are found by one of the lexemes `wanted`; each once, in order."""
    keys = frozenset(wanted)
    return [
        word
        for word in dict.fromkeys(_COMPOUND.findall(text))
        if not keys.isdisjoint(_lexemes_of(word))
    ]


@lru_cache(_REMEMBERED)
def _lexemes_of(word: str) -> tuple[str, ...]:
    """The lexemes of a run of letters, digits and what joins them."""
    if not word.isascii():
        return tuple(dict.fromkeys(_of_any_script(word)))
    if word.isalpha() and (word.islower() or word[1:].islower() or word.isupper()):
        return _plain(word.lower())
    return (word[:LONGEST],) if word.isdigit() else tuple(dict.fromkeys(_of_compound(word)))


def _plain(word: str) -> tuple[str, ...]:
    return () if word in STOP_WORDS else (_stem(word[:LONGEST]),)


def _of_any_script(word: str) -> Iterator[str]:
    letters = _ACCENT.sub("", unicodedata.normalize("NFKD", word))
    for index, run in enumerate(_RUN.split(unicodedata.normalize("NFKC", letters))):
        if index % 2:
            yield from run
            yield from (first + second for first, second in pairwise(run))
        elif run:
            yield from _of_compound(run)


def _of_compound(word: str) -> Iterator[str]:
    word = word.strip("./:@#\\-_")
    segments = _SEGMENT.findall(word)
    if len(segments) > 1:
        yield _folded(word)
    if match := _ISO_DATE.match(word):
        yield from _day(match[1], int(match[3]), match[4])
    for segment in segments:
        yield from _of_segment(segment)


def _of_segment(segment: str) -> Iterator[str]:
    words = _WORD.findall(segment)
    if len(words) > 1:
        yield from (
            _folded(name) for piece in (segment, *segment.split(".")) if (name := piece.strip("_-"))
        )
    for word in words:
        yield from _of_word(word)


def _of_word(word: str) -> Iterator[str]:
    """The word, and its parts by capitals and digits; hashes and encoded bytes, all capitals and digits, have none."""
    parts = [part for piece in _CAMEL.split(word) for part in _PART.findall(piece)]
    if len(parts) == 1 and not word[0].isdigit():
        yield from _plain(_folded(word))
        return
    yield _folded(word)
    if len(parts) <= MOST_PARTS and len(word) >= LEAST_LETTERS_PER_PART * len(parts):
        yield from (lexeme for part in parts if len(part) > 1 for lexeme in _plain(_folded(part)))


def _folded(word: str) -> str:
    return word.casefold()[:LONGEST]


def _dates(text: str) -> Iterator[str]:
    for match in _DATE.finditer(text):
        before, month, behind, year = match.groups()
        yield from _day(year, _MONTH_FORMS[month.lower()], before or behind)


def _day(year: str, month: int, day: str | None) -> Iterator[str]:
    yield f"{year}-{month:02}"
    if day:
        yield f"{year}-{month:02}-{int(day):02}"
