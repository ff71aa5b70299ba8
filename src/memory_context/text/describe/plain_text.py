"""What is left: prose, error messages, and text of no kind."""

from __future__ import annotations

import re

from memory_context.model.media import described, embedded_bytes
from memory_context.text.describe.description import Description, Kind, counted
from memory_context.text.describe.sample import COUNTED_AT_MOST, Sample

READ_AT_MOST = 8_000
LEAST_WORDS = 40
LONGEST_ERROR = 40
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_SENTENCE_END = re.compile(r"\w[.!?](?:\s|$|[\"”'’)])")
# A first line such as ``Error: …``, ``fatal: …``, ``Unable to …``, ``KeyError: …``, ``sh: 1: make: not found``.
_ERROR = re.compile(
    r"(?:an? )?(?:\w+ )?(?:error|exception|failure|failed)\b|(?:fatal:|cannot |could not |unable to )"
    r"|\w+(?:Error|Exception)\b"
    r"|.{0,200}(?:command not found|: not found$|No such file or directory|Permission denied)",
    re.IGNORECASE,
)
# Led by plain characters, because a search for a word boundary is slow.
_ERROR_LINE = re.compile(r"(?:rror|xception|ailed|atal)\b[^\n]*")


def describe_encoded(sample: Sample) -> Description | None:
    """Describe base64, and the URL of data."""
    encoded = embedded_bytes(sample.text)
    if encoded is None:
        return None
    return Description(Kind.ENCODED, f"base64 of {described(encoded.data, encoded.media_type)}")


def describe_error(sample: Sample) -> Description | None:
    """Describe a short text whose first line says that something failed."""
    if sample.line_count > LONGEST_ERROR or not _ERROR.match(sample.first_line):
        return None
    return error_message(sample)


def error_message(sample: Sample) -> Description:
    """Describe a text that is known to be an error message."""
    facts = "error message"
    if sample.line_count > 3:
        facts += f", {counted(sample.line_count, 'line')}"
    return Description(Kind.ERROR, facts, (sample.first_line,))


def describe_plain(sample: Sample) -> Description:
    """Describe prose by its words, any other text by its lines; then how it begins."""
    start = sample.head[:READ_AT_MOST]
    words = len(_WORD.findall(start))
    filled = sum(1 for line in start.split("\n") if line.strip())
    sentences = len(_SENTENCE_END.findall(start))
    if words >= LEAST_WORDS and words > 6 * filled and sentences >= 2 and words < 80 * sentences:
        text = sample.text
        count = len(text.split()) if len(text) < COUNTED_AT_MOST else len(text) // 6
        return Description(Kind.TEXT, f"prose, {counted(count, 'word')}", (sample.first_line,))
    facts = f"text, {counted(sample.line_count, 'line')}"
    errors = len(_ERROR_LINE.findall(sample.text[:COUNTED_AT_MOST]))
    if errors:
        facts += f", {counted(errors, 'line')} with errors"
    return Description(Kind.TEXT, facts, (sample.first_line,))
