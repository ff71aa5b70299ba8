"""Find private keys in text form: whole, cut off at either end, in one line, or in a string with escaped line breaks.

The block has the form of RFC 7468 or a similar one (RFC 1421, RFC 4880, OpenSSH, PuTTY): a *head*, a line with dashes
that says what follows, then a body of base64, then a *foot*. Its lines are below each other, or each is a separate
string, in a JSON list or concatenated in code, or each has a prefix: that of a log, a diff, a comment, a colour. There is
no quote between two lines, except in a *joint* of two strings, which stays where it is. So JSON stays JSON.
"""

from __future__ import annotations

from memory_context.text.redact.kinds_of_rules import PatternRule

_NAME = "[A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?"
_HEAD = f"-----BEGIN {_NAME}-----"
_FOOT = f"-----END {_NAME}-----"
_QUOTE = r"\\{0,7}[\"'`]"
# A line break: itself, or escaped in a string (\n), in XML (&#10;), in a URL (%0A), in HTML (<br>). So is a tab.
_BREAK = r"(?:[\r\n]|\\++[nrt]|&#(?:10|13|x[aAdD]);|%0[aAdD]|<br ?/?>)"
_STRING_END = rf"(?=(?:\\+[nrt]){{0,2}}{_QUOTE}(?!\s*:))"
_TEXT_END = rf"(?=\s*+(?:\\*{_QUOTE}(?!\s*:)|\Z))"
_LINE_END = r"(?=[ \t]*+(?:[\r\n\\\x1b<&%\"'`]|\Z))"

_RUN = "[A-Za-z0-9+/]{16,}+={0,2}+"
# A run often follows an escaped line break: a backslash and a letter.
_BEGIN = rf"(?:(?<![A-Za-z0-9+/\\])|(?<={_BREAK}))"
# The last line of the body: a short one, or a checksum (RFC 4880, section 6.1).
_SHORT_RUN = "(?:[A-Za-z0-9+/]{1,15}={0,2}(?![A-Za-z0-9+/])|=[A-Za-z0-9+/]{4})"

# Between two lines: line breaks, also escaped ones, and what programs put before lines, such as >, | and numbers.
_GAP = r"(?:\\+[nrt]|[^A-Za-z0-9+/=\\\-\[\]{}\"'`]|[0-9]{1,6}[:|\t]|[+,](?=\s|\\)){1,40}+"
# Between two lines that are strings, also a comma or a plus; but no colon, because the first must not be a name in JSON.
JOINT = rf"(?:\\+[nrt]){{0,2}}{_QUOTE}(?:\\+[nrt]|[^A-Za-z0-9/=\\\-\[\]{{}}\"'`:]){{0,40}}+{_QUOTE}"
_GAP_OR_JOINT = f"(?:{_GAP}|{JOINT})"
# A character in the rest of a line, such as that of a colour, or in a line that is not of base64.
_OTHER = r"(?:\\++(?![\"'`])|(?!-----(?:BEGIN|END))[^\"'`{}\\])"
_REST = rf"(?:(?!{_BREAK}){_OTHER}){{0,300}}?"
_ANY = rf"(?>{JOINT}|{_OTHER}){{0,400}}?"
# A prefix changes from line to line, except for its end, the *mark*: a sign, the end of a word, or that of a colour.
_MARK = r"(?<=(?P<mark>(?:[^\w\s\"'`\\]|\w[ \t]|[0-9]m)[ \t]{0,9})|)"
_PREFIX = rf"{_REST}{_BREAK}{{1,9}}+(?:[+-]?|{_REST}(?P=mark))"
_PREFIXED_LINE = f"{_PREFIX}{_RUN}{_LINE_END}"
# In a diff, another key may follow the short last line of one.
_PREFIXED_SHORT_LINE = f"{_PREFIX}{_SHORT_RUN}{_LINE_END}(?={_PREFIXED_LINE})"

_LINE = f"(?:{_GAP}{_RUN}|{JOINT}{_RUN}{_STRING_END}|{_PREFIXED_LINE}|{_PREFIXED_SHORT_LINE})"
_LAST_LINE = f"{_GAP_OR_JOINT}{_SHORT_RUN}{_TEXT_END}"
# The base64 begins after the head, or in the next line, or below headers (RFC 1421), where a full line is wanted.
_FIRST_LINE = f"(?:{_RUN}|{_LINE}|{_ANY}{_BEGIN}[A-Za-z0-9+/]{{40,}}+={{0,2}}+)"
_KEY = f"{_MARK}{_HEAD}{_FIRST_LINE}{_LINE}*+(?:{_ANY}{_FOOT}|{_LAST_LINE})?"

# A foot and the lines before it, without a head.
_RUN_BACKWARDS = f"{_BEGIN}[A-Za-z0-9+/]{{16,}}={{0,2}}"
_REST_OF_KEY = (
    f"(?<=(?P<head>{_RUN_BACKWARDS}(?:{_GAP_OR_JOINT}{_RUN_BACKWARDS})*"
    f"{_GAP_OR_JOINT}(?:{_SHORT_RUN}{_GAP_OR_JOINT})?)){_FOOT}"
)

BLOCKS = (
    PatternRule("private_key", "-----begin [a-z0-9 ]{0,30}private", _KEY),
    # PuTTY's format has no dashes.
    PatternRule(
        "private_key",
        "private-lines:",
        f"{_MARK}Private-Lines: [0-9]{{1,4}}(?P<value>{_LINE}++(?:{_LAST_LINE})?)",
    ),
    PatternRule("private_key", "-----end [a-z0-9 ]{0,30}private", _REST_OF_KEY),
)
