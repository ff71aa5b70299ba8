"""The words by which a text reports an error, and where they are in it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

FAULTS = "error fail fatal exception traceback panic denied refused undefined".split()  # noqa: SIM905 - more readable
# A word of error begins or ends what it stands in: `NameError` and `errorMessage`, but not `TestFlagErrorFunc`. To fail is
# often no more than a possibility, but not in capitals.
_FAULT = re.compile(
    r"""
    \bFAIL\b
    | (?:(?<!\w)|(?P<goes_on>))
      (?i:error|failed|failure|fatal|exception|traceback|panic|denied|refused|undefined)
      (?(goes_on)s?(?!\w))
    """,
    re.VERBOSE,
)
# A count of none, or a field that says there is none: `0 failed`, `"isError": false`, `error: null`. The value must end
# there, or another field follow, as in `failed=0 skipped=1`: `ERROR: null value in column "id"` does report an error.
_NONE = re.compile(
    r"""
    \b(?:0|no)\s(?:errors?|fail(?:ed|ures?))\b
    | \w*(?:error|fail(?:ed|ures?))\w*\s*["']?\s*[:=]\s*
      (?:0|false|null|none|''|""|\[\])
      (?![ \t]*(?![\w.]+[:=])[\w.-])
    """,
    re.IGNORECASE | re.VERBOSE,
)


def reports_fault(text: str) -> bool:
    """Return whether a text reports an error, and not that there is none."""
    return _FAULT.search(_NONE.sub("", text)) is not None


def places_of_faults(places_of: Mapping[str, Iterable[int]]) -> list[int]:
    """Return the places where a text reports an error, in order, given the places of each word."""
    places = set[int]()
    for fault in FAULTS:
        places.update(places_of.get(fault, ()))
    return sorted(places)
