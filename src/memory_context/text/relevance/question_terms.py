"""Split a message into terms (words, names, numbers and phrases of these), and tell how it asks with them.

A text holds a term only as a whole. What a message means by a term is read from the grammar around it: "the sky" is one
thing that is taken as known, "a prime number" is any of a kind.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from memory_context.text.index.analyzer import COMPOUND, lexemes_of
from memory_context.text.words_and_names import words_in

READ_AT_MOST = 20_000
MOST_TERMS = 60
SHORT_NUMBER = 4
SMALL_WORD = 3
# In "#304" it stands for any noun.
NUMBER_SIGN = "#"
MOST_IN_PHRASE = 6
MOST_CLAUSES = 5
# Straight and typographic quotes of several languages, and backticks; not an apostrophe, which has a letter on both sides.
_OPENING, _CLOSING = "\"'`\u201c\u201e\u00ab\u2018", "\"'`\u201d\u201c\u00bb\u2019"
_QUOTED = re.compile(
    rf"(?<!\w)[{_OPENING}](?P<text>[^{_OPENING}{_CLOSING}\n]{{2,80}})[{_CLOSING}](?!\w)"
)
# Words of courtesy, which ask for nothing.
_POLITE = """
afternoon ahead bye evening fine go good great hello hey hi morning much nice night ok okay perfect please sorry thank
thanks welcome wonderful work yes
"""
_PLEASANTRIES = frozenset(_POLITE.split())
_BEGINS_POLITELY = re.compile(rf"\W*(?:{'|'.join(_POLITE.split())})\b", re.IGNORECASE)
# Words that ask for something without saying what: a text need not have them.
_VAGUE_WORDS = """
another anybody anyone anything deal deals else get gets goes going got happen happens many much name need needs number
one ones other others somebody someone something take takes thing things want wants
"""
# Nor need it have the grammatical words of German, French and Spanish; those of English are no terms at all.
_GRAMMAR_WORDS = """
aber als am an auch auf aus bei bin bis da das dass dem den der des die du ein eine einem einen einer eines er es für gibt
habe haben hat hier ich ihr im in ist ja kann kein keine man mein meine mich mir mit muss nach nicht noch nur ob oder sein
sich sie sind so um und uns unser von war was welche welcher wenn wer wie wir wo zu zum zur über
ai as au aux avec ce cette ces comment combien dans de des du elle en est et eu il ils je la le les leur lui ma mais me mes
mon nous on ont ou où par pas peut pour puis quand que quel quelle qui sa se ses si son sont sous sur ta te tu un une vous
al algo con cómo cuál cuándo cuánto de del donde dónde el ella en eres es esta está este hay la las lo los me mi muy nos o
para pero por puede puedo que qué quién se si sin sobre son su sus te tengo tiene tu un una uno y ya yo
"""
_VAGUE = frozenset((_VAGUE_WORDS + _GRAMMAR_WORDS).split())
# "May I?" does not mention a month.
_MODALS = frozenset(("may", "might", "must", "shall"))
# A message with a verb of reporting is about something that was said before; one in the past tense usually is.
_REPORTS = re.compile(
    r"\b(?:discuss|said|mention|decide|decision|agree|summar|recap|conclu|according to|presented|presentation)",
    re.IGNORECASE,
)
_PAST = re.compile(r"\b(?:did|was|were|had|been)\b", re.IGNORECASE)
# "How many days" asks for days, not for "many".
_MEASURE = re.compile(r"\bhow\s+(big|far|large|long|many|often|old)\b", re.IGNORECASE)
# Frequent words of German that are rare in other languages.
_GERMAN = re.compile(
    r"\b(?:eine?[mnrs]?|für|ist|kein|nicht|und|wann|warum|welche[mnrs]?|wie|wieso|wo|zum|zur)\b",
    re.IGNORECASE,
)
# Signs around a word are removed. But an underscore before a word stays, because `_name` and `name` are different names
# in a program, unless there is one after it, too: `_name_` is emphasis.
_OUTER_SIGNS = re.compile(r"^[./:@#\\-]+|[./:@#\\-]+$|^_+(?=.*_$)|_+$|^_+$")
# "don't" is not about a Don.
_CONTRACTED_NOT = re.compile(r"['\u2019]t\b")
# A message that only names something is a line of this many characters at most.
LONGEST_NAMING = 200
# Full stops of several scripts, perhaps with closing signs after them.
_ENDS_STATEMENT = re.compile(r"[.!\u2026\u3002\uff01\u0964\u06d4\u0589]\W*$")
# Words that a statement begins with, or has as its verb. A message with a question word may ask in spite of these.
_STATES = re.compile(
    r"(?:i|we|he|she|it|they|let|see)\b|.*\b(?:is|are|was|were|has|have|had|will|works)\b",
    re.IGNORECASE,
)
_QUESTION_WORD = re.compile(r"\b(?:what|which|whose|whom?|when|where|why|how)\b", re.IGNORECASE)
QUESTION_MARKS = ("?", "\uff1f", "\u061f")
# Japanese and Chinese questions end with a particle, and need no question mark.
_ASKS_AT_ITS_END = re.compile(r"[\u304b\u5417\u5462][\u3002.!]?\s*$")
# Question words of English, German, French and Spanish that ask for a fact.
_FACT_WORDS = """
who whose whom which when where any wer wen wem wann wo wohin woher welche welcher welches welchen
quand où combien qui quel quelle quels quelles quién cuándo cuánto cuántos cuánta cuántas dónde cuál
"""
# "How many" and "how heavy" ask for one, too; "how do I" and "how is" ask for an explanation.
_ASKS_FOR_FACT = re.compile(
    rf"\b(?:{'|'.join(_FACT_WORDS.split())}|wie\s+(?:viele?|lange|hoch|oft)|"
    r"how\s+(?!(?:about|am|are|can|come|could|did|do|does|had|has|have|is|may|might|shall|should|to|was|were|will|would)\b)\w+)\b",
    re.IGNORECASE,
)
# All question words and auxiliaries, perhaps after a short word such as "and" or "until".
_ASKING_WORDS = f"""
{_FACT_WORDS} what why how show tell give anything anyone anybody
is are am was were do does did has have had can could may will would should
wie warum was ist sind hat haben kann darf muss gibt
comment pourquoi peut est-ce puis-je
qué que cómo puedo puede hay
"""
_LINKED = r"\W*(?:(?:and|but|so|with|for|until|since|by|in|at|on|to|from)\s+)?"
_BEGINS_TO_ASK = re.compile(rf"{_LINKED}(?:{'|'.join(_ASKING_WORDS.split())})\b", re.IGNORECASE)
# "What date", "what did it cost", "has the bill been paid", "how do we get in": a question with "what" and a noun, about
# the past, or with "what", "how" or "why" about persons mostly asks for a fact, and not for general knowledge. The German
# "was" may ask for anything.
_ASKS_OF_OURS = re.compile(
    rf"{_LINKED}(?:what\s+(?!(?:an?|about|are|can|causes?|did|do|does|had|happens?|has|have|if|is|makes?|must|should|"
    r"was|were|will|would)\b)\w+|(?:(?:what|how|why)\s+)?(?:did|had|has|have|was|were)\b(?!\s+"
    r"(?:bedeutet|hat|haben|heißt|ist|kann|macht|man|sind|wird)\b)|"
    r"(?:what|how|why)\s+\w+\s+(?:he|her|his|my|our|she|their|they|we)\b)",
    re.IGNORECASE,
)
# Where a clause of a question ends: after its mark, and before "and" with a question word, perhaps after another word.
_BETWEEN_CLAUSES = re.compile(
    r"(?<=[?\uff1f;])\s++|(?<!\s),?\s++(?:and|e|et|sowie|und|y)\s++"
    rf"(?=(?:\w+\s+)?(?:{'|'.join(_ASKING_WORDS.split())})\b)",
    re.IGNORECASE,
)
# Question words of Japanese, which may be anywhere in a sentence.
_ASKS_IN_JAPANESE = re.compile(
    "\u4f55|\u8ab0|\u3044\u3064|\u3069\u3053|\u3069\u3046|\u306a\u305c|\u3044\u304f\u3089|\u3044\u304f\u3064"
)
# In Chinese, Japanese and Korean, a number and its noun are written together, the number first: no. 58 is "58\u53f7".
_COUNTED = re.compile(
    "((?<!\\d)\\d++)([\u53f7\u865f\u756a\u6761\u689d\u7ae0\u8282\u7bc0\u9875\u9801\u6708\u65e5\u697c\u6a13\u5c42\u5c64\u5ba4\u671f\u6279\u9879\u9805\u884c\ud638\ubc88\uc870\uc7a5\uc6d4\uc77c])"
)
# Words that refer to what was named before; in English also "that" before a noun.
_POINTING_WORDS = """
he she it they him her them his hers its their theirs there
er ihm ihn ihr ihre ihrem ihren ihrer sein seine seinem seinen seiner dort davon
elle lui leur leurs son sa ses là
él ella su sus ahí allí
"""
_POINTS_AT_NAMED = re.compile(
    rf"\b(?:{'|'.join(_POINTING_WORDS.split())}|(?:this|that|these|those)\s+\w+)\b", re.IGNORECASE
)
# What an answer names last is what the next message points at.
ANSWER_CHARACTERS = 400
TIME = re.compile(r"\d{1,2}:\d\d(?::\d\d)?")
_DEFINITE = "the|this|that|my|our|your|his|her|their"
_TAKEN_AS_KNOWN = rf"\b(?:{_DEFINITE}|which)\s+(?:[\w-]+\s+)?{{word}}\b"
# In nearly every language, a question begins with its question word or with a preposition before it: "\u00e0 quelle heure".
_BEGINS_SENTENCE = re.compile(r"(?:^|[.!?:\n])[\W_]*(?:\w{1,2}\s+)?$")
# So far that a line of thousands of words is not read to its end from each of them.
_IS_ASKED = re.compile(r"[^\n?\uff1f\u061f]{0,2000}[?\uff1f\u061f]")
# French puts the pronoun of a question after the verb: "ferme-t-il" is the verb "ferme".
_INVERTED = re.compile(r"(?<=[^\W\d_])-(?:t-)?(?:je|tu|ce|on|ils?|elles?|nous|vous)$")
_HIRAGANA = re.compile("[\u3041-\u309f]")
_SENTENCE_START = re.compile(r"(?:^|[.!?:\n])\W*$")


@dataclass(frozen=True, slots=True)
class AskedTerm:
    """A term of a message.

    Attributes:
        text: The term, as the message writes it.
        words: Its words, which must be side by side in a text; several for a phrase.
        is_name: Whether it is written like a name: with a digit, a sign or a capital inside, in quotes, as a phrase of
            names, or in a script without capitals in a message whose script has them.
        is_capitalised: Whether it begins with a capital in the middle of a sentence.
        may_only_ask: Whether it may be a question word in some language, such as "combien", because a question begins
            with it.
    """

    text: str
    words: tuple[str, ...]
    is_name: bool = False
    is_capitalised: bool = False
    may_only_ask: bool = False

    @property
    def is_phrase(self) -> bool:
        """Return whether it has several words."""
        return len(self.words) > 1

    @property
    def is_time(self) -> bool:
        """Return whether it is a time of day, such as 14:05 or 14:05:12."""
        return TIME.fullmatch(self.text) is not None

    @property
    def is_short_number(self) -> bool:
        """Return whether it is a number of at most three digits, which means something only together with another word."""
        return not self.is_phrase and self.text.isdigit() and len(self.text) < SHORT_NUMBER

    @property
    def is_plain(self) -> bool:
        """Return whether it is an ordinary word: neither a name nor a number."""
        return not (self.is_name or self.is_capitalised or self.text.isdigit())

    @property
    def is_vague(self) -> bool:
        """Return whether it asks for something without saying what, as "anything" and "number" do."""
        return self.text.lower() in _VAGUE

    @property
    def is_small(self) -> bool:
        """Return whether it is a number or a word of at most three characters, and not a name.

        Every language has many such words. In scripts without capitals a short word may say much, and is not small.
        """
        if self.is_name or self.is_capitalised or not _has_case(self.text):
            return self.is_short_number
        return len(self.text) <= SMALL_WORD


def asks(message: str) -> bool:
    """Return whether a message ends as a question, or begins as one or with "show", "tell" or "give"."""
    return bool(
        message.rstrip().endswith(QUESTION_MARKS)
        or _BEGINS_TO_ASK.match(message)
        or _ASKS_AT_ITS_END.search(message[-8:])
        or _ASKS_IN_JAPANESE.search(message[:READ_AT_MOST])
    )


def names_alone(message: str) -> bool:
    """Return whether a message only names something, without a sentence, as people in a hurry ask for it.

    "email address of Matteo Brancati" does. A statement, an order that begins with a word of courtesy, and the output of
    a tool, which is mostly longer than a line, do not.
    """
    line = message.strip()
    if "\n" in line or not 0 < len(line) <= LONGEST_NAMING:
        return False
    if _BEGINS_POLITELY.match(line) or _ENDS_STATEMENT.search(line):
        return False
    return not _STATES.match(line) or _QUESTION_WORD.search(line) is not None


def refers_back(message: str) -> int:
    """Return how surely a message is about something that was said before, from 0 to 2.

    The surer, the fewer terms it needs to have in common with a text.
    """
    text = message[:READ_AT_MOST]
    if _REPORTS.search(text):
        return 2
    return 1 if _PAST.search(text) else 0


def asks_for_fact(message: str) -> bool:
    """Return whether a question asks for a fact, or only names one: "Who drives the van?", "cost of the booklets".

    Others may be about anything: "What is a prime number?", "Do plants sleep?", "How do I write a report?".
    """
    if not _BEGINS_TO_ASK.match(message) or _ASKS_OF_OURS.match(message):
        return True
    return _ASKS_FOR_FACT.search(message[:READ_AT_MOST]) is not None


def clauses(message: str) -> list[str]:
    """Return the clauses of a question with several; ``[]`` for one with a single clause, or with a pasted text."""
    if not asks(message):
        return []
    parts = _BETWEEN_CLAUSES.split(message[:READ_AT_MOST].strip())
    return parts if 1 < len(parts) <= MOST_CLAUSES else []


def is_pointed_at(message: str, term: AskedTerm, *, in_orders: bool = False) -> bool:
    """Return whether *term* alone means something in a message: it is a name, or a question takes it as known.

    "The server" and "our old server" are taken as known, and so is the server in "which server"; *in_orders*, too, if a
    message need not ask.
    """
    if (term.is_name or term.is_capitalised) and not term.is_short_number:
        return True
    known = _TAKEN_AS_KNOWN.format(word=re.escape(term.text))
    if in_orders:
        # "Use bullet points in your answers" is about what is yet to be said.
        known = known.replace("|your|", "|")
    elif not _BEGINS_TO_ASK.match(message):
        known += r".*\?"
    return re.search(known, message[:READ_AT_MOST], re.IGNORECASE | re.DOTALL) is not None


def asks_about_kind(message: str, term: AskedTerm) -> bool:
    """Return whether a message asks about any thing of a kind, *term*: "What is a prime number?", "¿Qué es una alergia?"."""
    article = r"(?:an?|une?|una|eine?[mnrs]?)"
    pattern = rf"\W*(?:(?!there\b)\w+\s+){{1,2}}{article}\s+(?:[\w-]+\s+)?{re.escape(term.text)}\b"
    return asks(message) and re.match(pattern, message, re.IGNORECASE) is not None


def may_be_noun(message: str, term: AskedTerm) -> bool:
    """Return whether a capital may say only that *term* is a noun, because the message seems to be German."""
    return term.is_capitalised and _GERMAN.search(message[:READ_AT_MOST]) is not None


def content_terms(message: str, terms: Sequence[AskedTerm]) -> set[int]:
    """Return the terms of a message that are single words, without "many" in "how many"."""
    measures = {match[1] for match in _MEASURE.finditer(message[:READ_AT_MOST])}
    return {
        number for number, term in enumerate(terms) if not (term.is_phrase or term.text in measures)
    }


def asked_terms(message: str) -> list[AskedTerm]:
    """Return the terms of a message, each once: phrases first, then words, both in their order; at most 60."""
    text = message[:READ_AT_MOST]
    foreign = _foreign_words(text)
    terms = dict[tuple[str, ...], AskedTerm]()
    for term in chain(_phrases(text, foreign), _words(text, foreign)):
        terms.setdefault(tuple(map(str.casefold, term.words)), term)
    return list(terms.values())[:MOST_TERMS]


def names_pointed_at(message: str, asked: Sequence[AskedTerm], answer: str) -> list[AskedTerm]:
    """Return the names at the end of the answer before a message, if it may mean one of them: "her number", "that host".

    Terms of the message itself, which are *asked*, are left out.
    """
    if not _POINTS_AT_NAMED.search(message[:READ_AT_MOST]):
        return []
    own = {term.words for term in asked}
    return [
        term
        for term in asked_terms(answer[-ANSWER_CHARACTERS:])
        if (term.is_name or term.is_capitalised)
        and not term.is_short_number
        and term.words not in own
    ]


def _foreign_words(text: str) -> frozenset[str]:
    """Return the words in a script without capitals, if most letters of *text* are of a script with capitals."""
    letters = [letter for letter in text if letter.isalpha()]
    if 2 * sum(map(_has_case, letters)) <= len(letters):
        return frozenset()
    words = COMPOUND.findall(text)
    return frozenset(word for word in words if word[0].isalpha() and not _has_case(word))


def _has_case(text: str) -> bool:
    return text.lower() != text.upper()


def _words(text: str, foreign: Collection[str]) -> Iterator[AskedTerm]:
    """Yield the single words of a text that may mean something: no stop words, courtesies or single letters."""
    quoted = {match["text"].strip() for match in _QUOTED.finditer(text)}
    for match in COMPOUND.finditer(text):
        compound = match.group()
        is_whole = (compound.isalpha() and compound in foreign) or compound in quoted
        # In a script without spaces, one compound may be a whole sentence.
        words = [compound] if is_whole else words_in(compound)
        content = [word for word in words if not _HIRAGANA.search(word)]
        # Japanese writes endings, particles and question words in hiragana, and words of content in other letters.
        is_japanese = 0 < len(content) < len(words)
        begins_question = not is_japanese and _begins_question(text, match)
        is_capitalised = _is_capitalised(text, match)
        meaning_nothing = _PLEASANTRIES if is_capitalised else _PLEASANTRIES | _MODALS
        if is_japanese:
            words = content
        for written in words:
            word = _INVERTED.sub("", _OUTER_SIGNS.sub("", written))
            is_letter = len(word) == 1 and word.isascii() and not word.isdigit()
            is_negation = _CONTRACTED_NOT.match(text, match.end()) is not None
            if not lexemes_of(word) or word.lower() in meaning_nothing or is_letter or is_negation:
                continue
            is_usual = word[1:].islower() or word.isupper() or not _has_case(word)
            is_name = is_whole or not word.isalpha() or not (is_usual or len(word) == 1)
            is_plain = not (is_name or is_capitalised)
            may_only_ask = is_plain and begins_question
            yield AskedTerm(word, (word,), is_name, is_capitalised, may_only_ask)


def _begins_question(text: str, match: re.Match[str]) -> bool:
    """Return whether a word begins a sentence that ends with a question mark, perhaps after a word of two letters."""
    begins = _BEGINS_SENTENCE.search(_before(text, match))
    return bool(begins and _IS_ASKED.match(text, match.end()))


def _is_capitalised(text: str, match: re.Match[str]) -> bool:
    """Return whether a word has a capital that is not that of a sentence's first word."""
    return match.group()[0].isupper() and _SENTENCE_START.search(_before(text, match)) is None


def _before(text: str, match: re.Match[str]) -> str:
    return text[max(0, match.start() - 20) : match.start()]


def _phrases(text: str, foreign: Collection[str]) -> Iterator[AskedTerm]:
    """Yield quoted phrases, runs of words that are written as names, and numbers with the noun or "#" beside them."""
    for match in _QUOTED.finditer(text):
        words = tuple(COMPOUND.findall(match["text"]))
        if 1 < len(words) <= MOST_IN_PHRASE:
            yield AskedTerm(match["text"], words, is_name=True)
    for match in _COUNTED.finditer(text):
        yield AskedTerm(match[0], (match[1], match[2]), is_name=True)
    run = list[re.Match[str]]()
    previous: re.Match[str] | None = None
    for match in COMPOUND.finditer(text):
        word = match.group()
        follows = previous is not None and text[previous.end() : match.start()] in (" ", " #")
        begins_name = (word[0].isupper() and word != "I") or word in foreign
        if not (begins_name and follows and run):
            yield from _phrase_of(text, run)
            run = []
        if begins_name:
            run.append(match)
        before = previous.group() if previous and follows else ""
        if word.isdigit() and before.isalpha() and lexemes_of(before):
            yield AskedTerm(f"{before} {word}", (before, word), is_name=True)
        if word.isdigit() and text[match.start() - 1 : match.start()] == NUMBER_SIGN:
            yield AskedTerm(f"{NUMBER_SIGN}{word}", (NUMBER_SIGN, word), is_name=True)
        previous = match
    yield from _phrase_of(text, run)


def _phrase_of(text: str, run: list[re.Match[str]]) -> Iterator[AskedTerm]:
    """Yield the phrase of a run of words that are written as names, if it has from two to six words."""
    if len(run) > 1 and not _is_capitalised(text, run[0]) and not lexemes_of(run[0].group()):
        # A stop word that begins a sentence has a capital, and is not part of the name: "Is Mara Lind in Graz?".
        run = run[1:]
    words = [match.group() for match in run]
    if 1 < len(words) <= MOST_IN_PHRASE:
        yield AskedTerm(text[run[0].start() : run[-1].end()], tuple(words), is_name=True)
