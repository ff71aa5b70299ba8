"""The words by which a text reports an error, and where they are in it."""

from __future__ import annotations

import re

_FAULTS = "error|failed|failure|fatal|exception|traceback|panic|denied|refused|undefined"
# To fail is often no more than a possibility, but `FAIL` in capitals is the result of a test.
FAULTS = ["fail", *_FAULTS.split("|")]
_FAULT = re.compile(rf"(?<![\w/])FAIL(?![\w/])|(?i:{_FAULTS})")
# A count of none, or a field that says there is none: `0 failed`, `FAIL 0`, `"isError": false`, `error: null`. The value
# must end there, or another field follow, as in `failed=0 skipped=1`: `ERROR: null value in column "id"` does report an
# error. A test named `TestReadError` or `test_failed_login` reports none either, but `TestException: …` does.
_NONE = re.compile(
    r"""
    \b(?:0|no)\s(?:errors?|fail(?:ed|ures?)?)\b
    | \bFAIL(?=[ \t]+0(?![\w./-]))
    | \b\w*(?:error|fail)\w*+\s*["']?\s*[:=]\s*
      (?:0|false|null|none|''|""|\[\])
      (?![ \t]*(?![\w.]+[:=])[\w.-])
    | \b(?-i:Test[A-Z_]|test_)[\w/]{0,200}+(?![ \t]*[=\d]|:[^:])
    """,
    re.IGNORECASE | re.VERBOSE,
)


def reports_fault(text: str) -> bool:
    """Return whether a text reports an error, and not that there is none."""
    return _FAULT.search(_NONE.sub("", text)) is not None


def begins_fault(text: str, place: int) -> bool:
    """Return whether a word of error begins at the offset *place*."""
    return _FAULT.match(text, place) is not None
