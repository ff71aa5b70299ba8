"""Secrets in what carries them: headers of HTTP, URLs, command lines."""

from __future__ import annotations

import base64
import binascii

from memory_context.text.redact.plausibility import is_random, stands_for_another
from memory_context.text.redact.rules import Match, rule

_USED_AS_EXAMPLES = frozenset(
    (
        "password",
        "passwd",
        "pass",
        "pwd",
        "pw",
        "secret",
        "token",
        "xxx",
        "xxxx",
        "xxxxx",
        "yourpassword",
        "mypassword",
        "redacted",
    )
)


def _is_token(match: Match) -> bool:
    return is_random(match["value"].rstrip("."))


def _is_user_and_password(match: Match) -> bool:
    value = match["value"].rstrip("=")
    try:
        plain = base64.b64decode(value + "=" * (-len(value) % 4), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return False
    user, colon, password = plain.partition(":")
    return bool(colon and password) and (user + password).isprintable()


def _is_password(match: Match) -> bool:
    """Not what documentation writes in its place."""
    value = match["value"]
    return value.strip("<>{}[]()$%*").lower() not in _USED_AS_EXAMPLES and not stands_for_another(
        value
    )


# A backslash before a quote escapes it: in JSON that ends the argument's string, or is its end.
_ARGUMENT = r"(?:[^\s\"'\\]|\\++[^\s\"'\\]){1,256}"

CARRIED = (
    rule(
        "bearer_token",
        r"bearer[\s%+]",
        r"(?i:bearer)(?:\s{1,8}|%20|\+)(?P<value>[A-Za-z0-9._~+/-]{16,}+={0,2})",
        _is_token,
    ),
    rule(
        "basic_auth",
        r"basic[\s%]",
        r"(?i:basic)(?:\s{1,8}|%20)(?P<value>[A-Za-z0-9+/]{6,}+={0,2})",
        _is_user_and_password,
    ),
    rule(
        "url_password",
        r":\\?/\\?/[^\s/]{0,200}@",
        r":\\?/\\?/[^\s/?#:@\"'<>`\\]{0,128}:(?![0-9]{1,5}[/?#])"
        r"(?P<value>(?:[!#-&(-.0-;=?A-\[\]-_a-~]|\\u[0-9a-f]{4}|@(?=[^\s/@\"'<>`\\?#]{0,200}@)){1,256})@(?=[\w\[.%-])",
        _is_password,
    ),
    rule(
        "password",
        r"-u(?:ser)?[ =]",
        rf"(?<=\bcurl\b[^\n|;]{{0,300}}?\s-?)-u(?:ser)?[ =]?[\"']?[^\s:\"']{{1,64}}:(?P<value>{_ARGUMENT})",
        _is_password,
    ),
    rule(
        "password",
        r"sshpass\s",
        rf"sshpass\s{{1,4}}-p[ =]?[\"']?(?P<value>{_ARGUMENT})",
        _is_password,
    ),
)
