"""Private keys in text form: whole, cut off at either end, in one line, or inside a string with escaped line breaks.

The block is that of RFC 7468 and of its relatives (RFC 1421, RFC 4880, OpenSSH, PuTTY): a line of dashes that says what
follows, then base64. Its lines stand below each other, or each is a string of its own: in a list of JSON, or added up
in code.
"""

from __future__ import annotations

from memory_context.text.redact.rules import rule

_NAME = "[A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?"
_LINE = "[A-Za-z0-9+/]{16,}+={0,2}"
_LAST = "(?:[A-Za-z0-9+/]{1,15}={0,2}(?![A-Za-z0-9+/])|=[A-Za-z0-9+/]{4})"
_FOOT = rf"-----END {_NAME}-----"
_BREAK = r"\\+[nrt]"
_QUOTE = r"\\{0,7}[\"'`]"

# Between two lines stand line breaks, also escaped ones, and what programs put before lines: >, |, numbers.
_GAP = rf"(?:{_BREAK}|[^A-Za-z0-9+/=\\\-\[\]{{}}\"'`]|[0-9]{{1,6}}[:|\t]|[+,](?=\s|\\)){{1,40}}+"
# Between two strings also a comma or a plus. None of them may be the name of something in JSON.
JOINT = rf"(?:{_BREAK}){{0,2}}{_QUOTE}(?:{_BREAK}|[^A-Za-z0-9/=\\\-\[\]{{}}\"'`:]){{0,40}}+{_QUOTE}"
# Some tools take the line breaks away.
_IN_ONE = rf"[A-Za-z0-9+/]{{16,}}+(?:={{1,2}}(?:=[A-Za-z0-9+/]{{4}})?)?(?:{_FOOT})?"
_CLOSED = rf"(?=(?:{_BREAK}){{0,2}}{_QUOTE}(?!\s*:))"

# Backwards, from an end whose beginning was cut off: a line begins behind a break, which may end with an n.
_BACK = r"(?:(?<=\\[nrt])|(?<![A-Za-z0-9+/=\\]))[A-Za-z0-9+/]{16,}={0,2}"


def _body(gap: str, closed: str = "") -> str:
    last = rf"(?:{gap}{_LAST}{closed}){{1,2}}(?=(?:{gap})?-----END)|{gap}{_LAST}{closed}(?=\s*+(?:\\*{_QUOTE}|$))"
    return rf"(?:{gap}{_LINE}{closed})++(?:{last})?"


def _begun(gap: str, closed: str = "") -> str:
    header = rf"(?:{gap}[A-Za-z-]{{4,20}}: [^\r\n\\\"]{{0,200}}+{closed}){{0,5}}+"
    return rf"{header}{_body(gap, closed)}(?:{gap}{_FOOT}{closed})?"


def _cut(gap: str, closed: str = "") -> str:
    return rf"(?<=(?P<head>{_BACK}(?:{gap}{_BACK})*{gap}(?:{_LAST}{gap})?)){_FOOT}{closed}"


BLOCKS = (
    rule(
        "private_key",
        r"-----begin [a-z0-9 ]{0,30}private",
        rf"-----BEGIN {_NAME}-----(?:{_begun(_GAP)}|{_begun(JOINT, _CLOSED)}|{_IN_ONE})",
    ),
    rule("private_key", "private-lines:", rf"Private-Lines: [0-9]{{1,4}}(?P<value>{_body(_GAP)})"),
    rule("private_key", r"-----end [a-z0-9 ]{0,30}private", _cut(_GAP)),
    rule("private_key", r"-----end [a-z0-9 ]{0,30}private", _cut(JOINT, _CLOSED)),
)
