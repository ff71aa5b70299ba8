"""Find private keys in text form: whole, cut off at either end, in one line, or in a string with escaped line breaks.

The block has the form of RFC 7468 or a similar one (RFC 1421, RFC 4880, OpenSSH, PuTTY): a *head*, a line with dashes
that says what follows, then a body of base64, then a *foot*. Its lines are below each other, or each is a separate
string, in a JSON list or concatenated in code. `private_keys_in_prefixed_lines` finds blocks whose lines all have a prefix.
"""

from __future__ import annotations

from memory_context.text.redact.kinds_of_rules import PatternRule

_NAME = "[A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?"
HEAD = f"-----BEGIN {_NAME}-----"
FOOT = f"-----END {_NAME}-----"
HEAD_HINT = "-----begin [a-z0-9 ]{0,30}private"
_FOOT_HINT = "-----end [a-z0-9 ]{0,30}private"
_LINE = "[A-Za-z0-9+/]{16,}+={0,2}"
# The last line of the body: a short one, or a checksum (RFC 4880, section 6.1).
_LAST_LINE = "(?:[A-Za-z0-9+/]{1,15}={0,2}(?![A-Za-z0-9+/])|=[A-Za-z0-9+/]{4})"
_BREAK = r"\\+[nrt]"
_QUOTE = r"\\{0,7}[\"'`]"

# Between two lines: line breaks, also escaped ones, and what programs put before lines, such as >, | and numbers.
_GAP = rf"(?:{_BREAK}|[^A-Za-z0-9+/=\\\-\[\]{{}}\"'`]|[0-9]{{1,6}}[:|\t]|[+,](?=\s|\\)){{1,40}}+"
# Between two lines that are strings, also a comma or a plus; but no colon, because the first must not be a name in JSON.
JOINT = rf"(?:{_BREAK}){{0,2}}{_QUOTE}(?:{_BREAK}|[^A-Za-z0-9/=\\\-\[\]{{}}\"'`:]){{0,40}}+{_QUOTE}"
_END_OF_STRING = rf"(?=(?:{_BREAK}){{0,2}}{_QUOTE}(?!\s*:))"
# A key in one line, because some tools remove the line breaks.
_ONE_LINE = rf"[A-Za-z0-9+/]{{16,}}+(?:={{1,2}}(?:=[A-Za-z0-9+/]{{4}})?)?(?:{FOOT})?"
# A line when reading backwards from the foot of a key whose beginning was cut off. It begins after a line break, which
# may be an escaped one: a backslash and a letter.
_LINE_BACKWARDS = r"(?:(?<=\\[nrt])|(?<![A-Za-z0-9+/=\\]))[A-Za-z0-9+/]{16,}={0,2}"


def _body(gap: str, line_end: str = "") -> str:
    """Return a pattern for the lines of base64. A short last line must be before the foot, a quote or the end of a line."""
    lines = f"(?:{gap}{_LINE}{line_end})++"
    last = f"{gap}{_LAST_LINE}{line_end}"
    before_foot = f"(?:{last}){{1,2}}(?=(?:{gap})?-----END)"
    at_end = rf"{last}(?=\s*+(?:\\*{_QUOTE}|$))"
    return f"{lines}(?:{before_foot}|{at_end})?"


def _after_head(gap: str, line_end: str = "") -> str:
    """Return a pattern for what follows the head: headers (RFC 1421), the body, and the foot if there is one."""
    header = rf"{gap}[A-Za-z-]{{4,20}}: [^\r\n\\\"]{{0,200}}+{line_end}"
    return rf"(?:{header}){{0,5}}+{_body(gap, line_end)}(?:{gap}{FOOT}{line_end})?"


def _headless(gap: str, line_end: str = "") -> str:
    """Return a pattern for a foot and the lines before it, without a head."""
    body = f"{_LINE_BACKWARDS}(?:{gap}{_LINE_BACKWARDS})*{gap}(?:{_LAST_LINE}{gap})?"
    return f"(?<=(?P<head>{body})){FOOT}{line_end}"


BLOCKS = (
    PatternRule(
        "private_key",
        HEAD_HINT,
        f"{HEAD}(?:{_after_head(_GAP)}|{_after_head(JOINT, _END_OF_STRING)}|{_ONE_LINE})",
    ),
    # PuTTY's format has no dashes.
    PatternRule(
        "private_key", "private-lines:", f"Private-Lines: [0-9]{{1,4}}(?P<value>{_body(_GAP)})"
    ),
    PatternRule("private_key", _FOOT_HINT, _headless(_GAP)),
    PatternRule("private_key", _FOOT_HINT, _headless(JOINT, _END_OF_STRING)),
)
