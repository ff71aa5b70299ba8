"""Find the telling words of a text, and the names among them: of files, functions, hosts, tickets, fields."""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice, pairwise

MOST_TERMS = 32
NAME_WEIGHT = 3
LEAST_DIGITS = 4
READ_AT_MOST = 100_000
MOST_OCCURRENCES = 2_000
# Scripts that are written without spaces between words: Thai, Lao, Burmese, Khmer, Japanese, Chinese, Korean.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
# A letter that JSON in ASCII, Python's default, has escaped: `\u00df`; with more backslashes in JSON inside JSON. Not a
# control character, and not half of a surrogate pair. The match begins at the first backslash of a run, so that each run
# is read only once.
ESCAPED = r"\\(?<!\\\\)\\*+u(?!00[01]|[dD][89a-fA-F])[0-9a-fA-F]{4}"
# Markdown and LaTeX escape the underscores of a name.
_ESCAPED_UNDERSCORE = "\\_"
_ESCAPED = re.compile(rf"{ESCAPED}|\\(?<=\w\\)_")
UNSPACED_RUN = re.compile(rf"([{_UNSPACED}]+)")
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
# A name has at least four characters, and among them a digit, one of _/@#, a dot inside, or a capital after a small
# letter. This sign is looked for in the first 64 characters only, otherwise `a:a:a:…` would take quadratic time. After
# the name there may be the end of a quoted key, as in JSON; the quote may be escaped, or have been (`escapes_in_place`).
NAME = re.compile(
    r"""
    (?<![A-Za-z0-9_])(?=[A-Za-z0-9_])
    (?=[A-Za-z:-]{0,64}?(?:[0-9_/@\#]|\.[A-Za-z0-9_]|[a-z][A-Z]))
    (?P<name>[A-Za-z0-9_][A-Za-z0-9_./:@\#-]{2,}[A-Za-z0-9_\#@])
    (?P<key>[\\\ ]*["']\s*:)?
    """,
    re.VERBOSE,
)
_IN_NUMBER = re.compile(r"(?<=\d)(?=\d)")
BLOB = re.compile(r"[A-Za-z0-9+/=]+")
# A value of several words behind a colon, such as a title in JSON or in a repr. A space beside a quote may have been an
# escape (`unescaped_in_place`).
_LABEL = re.compile(
    r"""(?<=:)\s{,2}(?P<quote>["'])(?P<label>[^\W\d_][^\s"']*\s(?:(?!\s?(?P=quote))[^\\\n]){1,160})\s?(?P=quote)(?=\s*(?:[,}]|$))"""
)


def terms(text: str) -> list[str]:
    """Return the words of `text` except stop words and single letters, lower-case, most frequent first, 32 at most."""
    counts = Counter[str]()
    for match in _WORD.finditer(text[:READ_AT_MOST]):
        for word in words_in(match[0].lower()):
            # A single letter means nothing, but a single Chinese character does.
            is_letter = len(word) == 1 and word.isascii()
            if not is_letter and word not in STOP_WORDS:
                counts[word] += 1
    return [word for word, _ in counts.most_common(MOST_TERMS)]


def words_in(compound: str) -> list[str]:
    """Return the words of `compound`, which has no spaces; in scripts written without spaces, each pair of characters."""
    if compound.isascii():
        return [compound]
    words = list[str]()
    for index, run in enumerate(UNSPACED_RUN.split(compound)):
        if index % 2 and len(run) > 1:
            words += map("".join, pairwise(run))
        elif run:
            words.append(run)
    return words


def unescaped(text: str) -> str:
    r"""Return *text* with the letters that JSON has escaped, such as ``\u00df``, as themselves, and ``\_`` as ``_``."""
    return _ESCAPED.sub(_plain, text)


def _plain(escaped: re.Match[str]) -> str:
    if escaped[0] == _ESCAPED_UNDERSCORE:
        return "_"
    return chr(int(escaped[0][-4:], 16))


def occurrences(text: str, words: Iterable[str]) -> Iterator[tuple[str, list[int]]]:
    """Yield each of `words` that is in `text`, whatever its case, with the offsets of its first 2,000 occurrences.

    The words must be lower-case. One that begins or ends with a number is not found where that number continues: order
    22 is not order 221.
    """
    # For each escaped letter: where it ends once all are unescaped, and by how many characters the text gets shorter up
    # to there.
    ends = list[int]()
    longer = [0]
    for match in _ESCAPED.finditer(text):
        so_far = longer[-1]
        ends.append(match.start() - so_far + 1)
        longer.append(so_far + len(match[0]) - 1)
    if ends:
        text = unescaped(text)
    lower = text.lower()
    for word in words:
        if len(lower) == len(text):
            found = _places(lower, word)
        else:  # some letter has two characters in lower case, so offsets after it are not those of `text`
            matches = re.finditer(re.escape(word), text, re.IGNORECASE)
            found = (match.start() for match in matches)
        if word[0].isdigit() or word[-1].isdigit():
            found = _without_longer_numbers(text, len(word), found)
        first = islice(found, MOST_OCCURRENCES)
        if places := [place + longer[bisect_right(ends, place)] for place in first]:
            yield word, places


def _without_longer_numbers(text: str, length: int, places: Iterable[int]) -> Iterator[int]:
    """Yield those of *places* at which no number continues before or after a word of this *length*."""
    for place in places:
        is_longer = _IN_NUMBER.match(text, place) or _IN_NUMBER.match(text, place + length)
        if not is_longer:
            yield place


def _places(text: str, word: str) -> Iterator[int]:
    place = text.find(word)
    while place >= 0:
        yield place
        place = text.find(word, place + len(word))


def is_name(word: str) -> bool:
    """Return whether `word` looks like the name of a file, host, function or ticket; a number needs four digits."""
    if word.isdigit() and len(word) < LEAST_DIGITS:
        return False
    return _TELLING.search(word) is not None


def weight(word: str) -> int:
    """Return how much `word` counts: a name counts as much as three other words."""
    if is_name(word):
        return NAME_WEIGHT
    return 1


def labels(text: str, start: int = 0, stop: int = sys.maxsize) -> set[str]:
    """Return the labels in ``text[start:stop]``: short values of several words behind a colon, as titles are in JSON."""
    return {match["label"] for match in _LABEL.finditer(text, start, stop)}


def names(text: str) -> set[str]:
    """Return the names in `text`, as `NAME` finds them."""
    return {match["name"] for match in NAME.finditer(text)}
