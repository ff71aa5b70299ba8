"""Describe encoded bytes, error messages, and text of no particular kind."""

from __future__ import annotations

import re

from memory_context.model.media import described, embedded_bytes
from memory_context.text.describe.closing_line import closing_line
from memory_context.text.describe.description import Description, Kind, counted
from memory_context.text.describe.logs import failures_in
from memory_context.text.describe.sample import Sample

LONGEST_ERROR = 40
FAILING_PART = 0.02
# A first line such as `Error: …`, `fatal: …`, `Unable to …`, `KeyError: …`, `make: not found`.
_ERROR = re.compile(
    r"(?:an? )?(?:\w+ )?(?:error|exception|failure|failed)\b|(?:fatal:|cannot |could not |unable to )"
    r"|\w+(?:Error|Exception)\b"
    r"|.{0,200}(?:command not found|: not found$|No such file or directory|Permission denied)",
    re.IGNORECASE,
)


def describe_encoded(sample: Sample) -> Description | None:
    """Describe base64, also in a data URL."""
    encoded = embedded_bytes(sample.text)
    if encoded is None:
        return None
    return Description(Kind.ENCODED, f"base64 of {described(encoded.data, encoded.media_type)}")


def describe_error(sample: Sample) -> Description | None:
    """Describe a short text whose first line reports an error."""
    if sample.line_count > LONGEST_ERROR or not _ERROR.match(sample.first_line):
        return None
    return Description(Kind.ERROR, "error message", (sample.first_line,))


def describe_plain(sample: Sample) -> Description:
    """Describe any other text by its number of lines and its first line.

    If a few of many lines report a failure, it is the first of these instead; in a list, the closing line.
    """
    facts = f"text, {counted(sample.line_count, 'line')}"
    failures, first = failures_in(sample.text)
    if 0 < failures <= FAILING_PART * sample.line_count:
        return Description(Kind.TEXT, f"{facts}, {counted(failures, 'failure')}", (first.strip(),))
    closing = closing_line(sample.tail)
    if closing:
        start, stop = closing
        return Description(Kind.TEXT, f"{facts}, at its end", (sample.tail[start:stop],))
    return Description(Kind.TEXT, facts, (sample.first_line,))
