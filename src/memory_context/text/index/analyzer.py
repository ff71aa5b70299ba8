"""Analyze a text into *lexemes*, by which it is found; the same for every database, in the index and in a query.

A word has its English stem (Porter2) as its lexeme. An identifier has itself, its segments and its words (``getUserName``
also has ``get``, ``user`` and ``name``). A script without spaces has its characters and pairs of characters. A date, however
it is written, has its day and its month (``2023-05-08`` and ``2023-05``). Letters are normalised by NFKC and case folding,
without accents. The time is linear in the length of the text.
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

from memory_context.text.terminal_output import blanked_colours
from memory_context.text.words_and_names import ESCAPED, STOP_WORDS, UNSPACED_RUN, unescaped

# Increased with every change of the lexemes: an index of another version is rebuilt.
VERSION = 5
# Longer lexemes are cut in the index and in a query alike, so they are still found by their beginning.
LONGEST = 64
# A word with more parts, or with shorter ones, is probably base64. Its parts would fill the index and find nothing.
MOST_PARTS = 8
LEAST_LETTERS_PER_PART = 2.5
# Words repeat within a text and between texts; analysing one costs far more than looking it up.
_CACHED_WORDS = 1 << 15
# `\w` does not match combining marks, with which Indian and Thai vowels are written.
_MARKS = (
    "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0900-\u0963\u0966-\u0dff\u0e00-\u0eff"
    "\u1000-\u109f\u1780-\u17ff"
)
# Without a possessive quantifier around the group: Python 3.11.2 reads that wrongly.
_LETTERS = rf"(?:[\w{_MARKS}]|{ESCAPED})[\w{_MARKS}]*(?:{ESCAPED}[\w{_MARKS}]*)*"
# A line break, tab or carriage return as JSON and `repr` write it: a word ends before it. If a small letter follows, it may
# as well be a folder ("C:\new"), so the backslash stays with the word, which is read in both ways (`lexemes_of`).
_BREAK = r"\\[nrt]"
_MAY_BE_FOLDER = r"\\(?=[nrt][a-z])"
_IN_BREAK = r"(?<=\\)[nrt](?![a-z])"
# Up to three signs between words, as in "://" and "../"; a longer run is a rule or a border.
COMPOUND = re.compile(
    rf"(?!{_IN_BREAK})(?:{_MAY_BE_FOLDER})?{_LETTERS}(?:(?:(?!{_BREAK})[./:@#\\-]){{1,3}}{_LETTERS})*"
)
_SEGMENT = re.compile(r"[^/:@#\\]+")
_WORD = re.compile(rf"(?:[^\W_]|[{_MARKS}])+")
_PART = re.compile(rf"(?:[^\W\d_]|[{_MARKS}])+|\d+")
# Between "user" and "Name", and in "HTMLParser" before "Parser".
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_ACCENT = re.compile("[\u0300-\u036f]+")
_MONTHS = "january february march april may june july august september october november december"
_MONTH_FORMS = dict[str, int]()
for _number, _name in enumerate(_MONTHS.split(), 1):
    for _form in (_name, _name[:3], _name[:4]):
        _MONTH_FORMS[_form] = _number
_MONTH_NAMES = frozenset(
    form for month in _MONTH_FORMS for form in (month, month.title(), month.upper())
)
_ANY_MONTH = "|".join(sorted(_MONTH_FORMS, key=len, reverse=True))
_MONTH = rf"({_ANY_MONTH})\.?"
# 8 May 2023, 8th of May 2023, May 8, 2023, May 8th 2023, May 2023: the day may be before or after the month, or missing.
_DATE = re.compile(
    rf"(?:\b|(?<={_BREAK}))(?:(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? )?{_MONTH}(?: (\d{{1,2}})(?:st|nd|rd|th)?)?,? (\d{{4}})\b",
    re.IGNORECASE,
)
# With the same separator twice and no further digit: 1.2.3 and 2023-05-0812 are not dates.
_ISO_DATE = re.compile(r"(\d{4})([-/.])(\d{1,2})\2(\d{1,2})(?!\d)")
_stem: Callable[[str], str] = Stemmer.Stemmer("english", 0).stemWord  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType] # ships no types


@dataclass(frozen=True, slots=True)
class Analysis:
    """The lexemes of a text.

    Attributes:
        counts: How often each lexeme occurs in it.
        length: How many words it has. An identifier counts as one word, however many lexemes it has: when lexemes were
            counted, chunks full of identifiers ranked too low (recall@10 on recordings 0.47 against 0.53).
    """

    counts: Mapping[str, int]
    length: int


def analyze(text: str) -> Analysis:
    """Return the lexemes of `text`; stop words (``the``, ``of``) and a terminal's colours have none."""
    text = blanked_colours(text)
    words = Counter(COMPOUND.findall(text))
    counts: dict[str, int] = {}
    get = counts.get  # this is the inner loop of indexing
    # Each different word is analysed once: a log repeats its words thousands of times.
    for word, count in words.items():
        for lexeme in lexemes_of(word):
            counts[lexeme] = get(lexeme, 0) + count
    for lexeme in _dates(text, words):
        counts[lexeme] = get(lexeme, 0) + 1
    return Analysis(counts, words.total())


def wanted_by(query: str) -> list[str]:
    """Return the lexemes that a query searches for.

    Of scripts without spaces these are the pairs of characters; a single character only if it stands alone.
    """
    # Single characters of a longer run occur in most texts; pairs distinguish texts.
    alone = {run for run in UNSPACED_RUN.findall(query) if len(run) == 1}
    return [
        lexeme
        for lexeme in analyze(query).counts
        if len(lexeme) > 1 or lexeme in alone or not UNSPACED_RUN.match(lexeme)
    ]


def held_by(text: str, wanted: Iterable[str]) -> set[str]:
    """Return those of the lexemes `wanted` that `text` has."""
    return set(wanted).intersection(analyze(text).counts)


def words_found_by(text: str, lexemes: Iterable[str]) -> list[str]:
    """Return the words of `text`, as they are written, that have one of `lexemes`; each once, in order."""
    wanted = frozenset(lexemes)
    words = dict.fromkeys(COMPOUND.findall(blanked_colours(text)))
    return [word for word in words if not wanted.isdisjoint(lexemes_of(word))]


@lru_cache(_CACHED_WORDS)
def lexemes_of(word: str) -> tuple[str, ...]:
    """Return the lexemes of a compound: a run of letters and digits, and the signs that join them."""
    if word.startswith(("\\n", "\\r", "\\t")):
        after_break = lexemes_of(word[2:])
        in_folder = lexemes_of(word[1:])
        return tuple(dict.fromkeys(after_break + in_folder))
    if "\\u" in word:
        word = unescaped(word)
    if not word.isascii():
        return tuple(dict.fromkeys(_of_any_script(word)))
    # Most words are plain words or numbers, which need no regular expression.
    has_one_part = word.islower() or word[1:].islower() or word.isupper()
    if has_one_part and word.isalpha():
        return _stemmed(word.lower())
    # Numbers match whole, and have no stem.
    if word.isdigit():
        return (word[:LONGEST],)
    return tuple(dict.fromkeys(_of_compound(word)))


def _stemmed(word: str) -> tuple[str, ...]:
    if word in STOP_WORDS:
        return ()
    return (_stem(word[:LONGEST]),)


def _of_any_script(word: str) -> Iterator[str]:
    # Decomposed, an accent is a separate character, which is removed. Indian and Thai marks are not accents, and stay.
    letters = _ACCENT.sub("", unicodedata.normalize("NFKD", word))
    runs = UNSPACED_RUN.split(unicodedata.normalize("NFKC", letters))
    for index, run in enumerate(runs):
        # At odd indexes split() returns the pattern's group: a run of a script without spaces.
        if index % 2:
            yield from run
            yield from map("".join, pairwise(run))
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
        words = _WORD.findall(segment)
        if len(words) > 1:
            for part in (segment, *segment.split(".")):
                name = part.strip("_-")
                if name:
                    yield _folded(name)
        for part in words:
            yield from _of_word(part)


def _of_word(word: str) -> Iterator[str]:
    """Yield the word, and its parts divided at capitals and digits; hashes and encoded bytes have no parts."""
    parts = _PART.findall(_CAMEL.sub(" ", word))
    if len(parts) == 1 and not word[0].isdigit():
        yield from _stemmed(_folded(word))
        return
    yield _folded(word)
    are_long = len(word) >= LEAST_LETTERS_PER_PART * len(parts)
    if len(parts) > MOST_PARTS or not are_long:
        return
    for part in parts:
        if len(part) > 1:
            yield from _stemmed(_folded(part))


def _folded(word: str) -> str:
    return word.casefold()[:LONGEST]


def _dates(text: str, words: Iterable[str]) -> Iterator[str]:
    """Yield the lexemes of the dates in `text`, which has these `words`."""
    # Most texts name no month, and need not be searched with the long expression.
    if _MONTH_NAMES.isdisjoint(words):
        return
    for match in _DATE.finditer(text):
        before, month, after, year = match.groups()
        yield from _day(year, _MONTH_FORMS[month.lower()], before or after)


def _day(year: str, month: int, day: str | None) -> Iterator[str]:
    yield f"{year}-{month:02}"
    if day:
        yield f"{year}-{month:02}-{int(day):02}"
