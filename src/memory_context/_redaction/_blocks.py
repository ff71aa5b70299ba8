"""Private keys in text form: whole, cut off at either end, in one line, or inside a string with escaped line breaks.

The block is that of RFC 7468 and of its relatives (RFC 1421, RFC 4880, OpenSSH, PuTTY): a line of dashes that says what
follows, then base64.
"""

from __future__ import annotations

from memory_context._redaction._rules import rule

_NAME = "[A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?"
# Between two lines stand line breaks, also escaped ones, and what programs put before lines: >, |, quotes, numbers.
_GAP = r"(?:\\+[nrt]|[^A-Za-z0-9+/=\\-]|[0-9]{1,6}[:|\t]|[+,](?=\s|\\|[\"'])){1,40}+"
_HEADER = rf"(?:{_GAP}[A-Za-z-]{{4,20}}: [^\r\n\\\"]{{0,200}}+){{0,5}}+"
_LINE = "[A-Za-z0-9+/]{16,}+={0,2}"
_LAST = "(?:[A-Za-z0-9+/]{1,15}={0,2}(?![A-Za-z0-9+/])|=[A-Za-z0-9+/]{4})"
_BODY = rf"(?:{_GAP}{_LINE})++(?:(?:{_GAP}{_LAST}){{1,2}}(?=(?:{_GAP})?-----END)|{_GAP}{_LAST}(?=\s*+(?:\\*[\"'`]|$)))?"
_FOOT = rf"-----END {_NAME}-----"

# Backwards, from an end whose beginning was cut off: a line begins behind a break, which may end with an n.
_BACK = r"(?:(?<=\\[nrt])|(?<![A-Za-z0-9+/=\\]))[A-Za-z0-9+/]{16,}={0,2}"
_CUT = rf"(?<=(?P<head>{_BACK}(?:{_GAP}{_BACK})*{_GAP}(?:{_LAST}{_GAP})?))"

BLOCKS = (
    rule(
        "private_key",
        r"-----begin [a-z0-9 ]{0,30}private",
        rf"-----BEGIN {_NAME}-----{_HEADER}{_BODY}(?:{_GAP}{_FOOT})?",
    ),
    rule("private_key", "private-lines:", rf"Private-Lines: [0-9]{{1,4}}(?P<value>{_BODY})"),
    rule("private_key", r"-----end [a-z0-9 ]{0,30}private", _CUT + _FOOT),
)
