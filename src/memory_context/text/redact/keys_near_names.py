"""Find keys made by a machine near a name that says what they are, in any language or notation.

Every language assigns in its own way, and a log or a table does not assign at all. So the value decides, not the sign:
it must be so random that no person wrote it, and only signs, tags, a call, and words such as "is", "string" and
"default" may be between it and the name.
"""

from __future__ import annotations

import re

import regex

from memory_context.text.redact.kinds_of_rules import PatternRule
from memory_context.text.redact.markers import MARKER_BEGINS
from memory_context.text.redact.names_of_secrets import (
    NAMED_SECRET,
    PASSWORD,
    SECRET,
    SORTS_OF_KEY,
    TOKEN,
)
from memory_context.text.redact.value_looks_secret import is_no_secret, is_surely_random

_SHORTEST = 20
_SUFFIX = "s?(?:[ _-]?[0-9]{1,2})?"
_FINGERPRINT = regex.compile("[0-9A-F]{40}")  # of an OpenPGP key
_UUID = regex.compile("(?i)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
# The name must not be the end of another word, as in "tiktoken".
_START = "(?:(?<![A-Za-z])|(?=[A-Z])|(?<=(?i:access|api|app|auth|bot|client|refresh|session|user)))"
_WORDS = (
    "a|an|as|android|body|by|class|const|data|default|from|get|is|it|key|lazy|name|new|or|secret|serializeas|set|static|str"
    "|string|td|text|the|to|token|type|u8|value|val|was|your"
)
# Signs between a name and its key. Not among them: the slash of a path, an @ ("create-token@1b64…"), and a sign with
# which a key begins. The end of a line counts only after another sign or before an indented line, because the line below a
# word may be another row. A tab or line break in JSON is an escape, whose letter is not part of the key after it.
_ESCAPE = rf"\\(?!(?:{_WORDS})(?![A-Za-z0-9_]))[bfnrt]"
_LINE_END = r"(?<=[:=({\[>\\][ \t\r\n]{0,8})\n|\n(?=[ \t])"
_SIGNS = (
    rf"(?:{_ESCAPE}|[^\w/+@\n-]|{_LINE_END}|[+-](?![A-Za-z0-9])|(?<=[+-])[+-]|(?<=<)/|//){{1,24}}+"
)
# A word without meaning here, or a call that has the key as an argument.
_STEP = rf"(?:(?:{_WORDS})(?![A-Za-z0-9_])|[A-Za-z_][A-Za-z0-9_.:]{{0,40}}(?=[({{])){_SIGNS}"
_BETWEEN = rf"{_SIGNS}(?:{_STEP}){{0,4}}"
# The same for the hint, with cheaper patterns: any words.
_ANY_SIGNS = r"(?:\\[bfnrt]|\W){1,24}+"
_ANY_STEP = rf"(?:[a-z]{{1,11}}+8?+(?![a-z0-9_.:])|[a-z_][a-z0-9_.:]{{0,40}}+(?=[({{])){_ANY_SIGNS}"
_AHEAD = rf"{_ANY_SIGNS}(?:{_ANY_STEP}){{0,4}}(?:base64:)?(?=[a-z_+/-]{{0,40}}[0-9])[a-z0-9][a-z0-9_+/-]{{{_SHORTEST - 2}}}"
# Where a key begins: not within a word, except after the letter of an escape, and not with that letter.
_BEGINS = rf"(?:(?<![\w+/.~-])|(?<={_ESCAPE}))(?<!\\(?=[bfnrt]))"
_VALUE_ENDS = r"(?=[\s\"'`,;:|&<>()\[\]{}\\.*]|\Z)"
# The id of a commit or request in a sentence: "invalid token [4f6a…]".
_NO_ID = rf"(?!(?<![_.-])\w+[\s.\[(]+(?i:[0-9a-f-]{{{_SHORTEST},}}){_VALUE_ENDS})"
# A name inside a marker is about the secret that was there, not about what follows the marker.
_NO_MARKER = rf"(?<!{re.escape(MARKER_BEGINS)}[a-z0-9_]{{0,40}})"
# A key is written in one of the alphabets of base64, or with dots.
_VALUE = r"(?P<value>(?:[A-Za-z0-9+/]{20,512}|[\w-][\w.~-]{18,511}\w)={0,2})" + _VALUE_ENDS
_SORTS = (
    f"{SORTS_OF_KEY}|app|application|client|cookie|decrypt|decryption|deploy|encrypt|fernet|functions|hmac|jwt|license"
    "|recovery|server|service|service[_-]?role|session|shared|storage|subscription|unseal|webhook"
)
# Names of keys that are not secret: keys of tables, caches and files, and public ones.
_NO_SECRETS = (
    "ARTIFACT|BLOB|BUCKET|CACHE|CLUSTERING|DEDUP|DEDUPE|DEDUPLICATION|DOCUMENT|ENTITY|ETAG|EVENT|FEATURE|FILE|FOREIGN|GROUP"
    "|HASH|HOST|IDEMPOTENCY|INDEX|ISSUE|JOB|LOCK|LOOKUP|MESSAGE|NATURAL|OBJECT|PARTITION|PRIMARY|PROJECT|PUB|PUBLIC|RANGE"
    "|RECORD|REQUEST|RESTORE|ROUTING|ROW|S3|SHA|SHARD|SORT|SSH|STATE|SURROGATE|TASK|TENANT|TRACE|UNIQUE|UPLOAD|USER|VERSION"
)


def _near(kind: str, hint: str, name: str = "", start: str = _START) -> PatternRule:
    """Make a rule for a key after *name* (by default, the hint)."""
    no_id = _NO_ID if kind in ("token", "password", "secret") else ""
    named = rf"{_NO_MARKER}{no_id}{start}(?i:{name or hint}{_SUFFIX}{_BETWEEN})"
    return PatternRule(
        kind, hint + _SUFFIX + _AHEAD, rf"{named}{_BEGINS}(?:base64:)?{_VALUE}", _is_key
    )


def _is_key(value: str) -> bool:
    if is_no_secret(value, is_cut=False) or _FINGERPRINT.fullmatch(value):
        return False
    return is_surely_random(value) or _UUID.fullmatch(value) is not None


NEAR = (
    _near("password", PASSWORD),
    _near("password", "pwd"),
    _near("secret", SECRET, NAMED_SECRET),
    _near("secret", "secret_?id"),
    _near("secret", "credential"),
    _near("token", "token(?<!page_token)", TOKEN),
    # With a scheme of any name.
    _near("token", r"authorization\W{1,8}[a-z][a-z0-9_-]{1,20}"),
    _near("token", "authorization"),
    _near("bearer_token", "bearer(?:_?auth)?"),
    _near(
        "api_key",
        "key(?<=[a-z_. -]key)(?<!public_key)",
        rf"key(?:(?<=(?:{_SORTS})[ ._-]?key)|(?-i:(?<=\b[A-Z0-9_]{{3,40}}_KEY)(?<!(?:{_NO_SECRETS})_KEY)))",
        start="",
    ),
)
