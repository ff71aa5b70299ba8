"""Describe encoded bytes, error messages, and text of no particular kind."""

from __future__ import annotations

import re

from memory_context.model.media_types_and_image_sizes import described, embedded_bytes
from memory_context.text.describe.description import Description, Kind, counted, unique_names
from memory_context.text.describe.logs import FAILURE_MARKS, lines_with
from memory_context.text.describe.sample_for_describers import COUNTED_AT_MOST, Sample

LONGEST_ERROR = 40
FAILING_PART = 0.02
# A first line such as `Error: …`, `fatal: …`, `Unable to …`, `KeyError: …`, `make: not found`.
_ERROR = re.compile(
    r"(?:an? )?(?:\w+ )?(?:error|exception|failure|failed)\b|(?:fatal:|cannot |could not |unable to )"
    r"|\w+(?:Error|Exception)\b"
    r"|.{0,200}(?:command not found|: not found$|No such file or directory|Permission denied)",
    re.IGNORECASE,
)
# A compiler's message: `main.c:4:9: error: …`, `C:\a b.ts(4,9): error TS2322: …`, `error[E0425]: …`; not a last one that
# only counts them.
_MESSAGE = re.compile(
    r"^(?P<place>(?:[A-Za-z]:)?[^\n:]{1,200}?[:(]\d+(?:[:,]\d+)?\)?: )?(?:fatal )?(?P<level>error|warning)"
    r"(?:\[\w+\]| [A-Z]+\d+)?: (?!aborting|could not compile)(?P<message>.*)",
    re.MULTILINE,
)
# The file of a line, as grep and linters write it: `app/auth.py:88:    return session`.
_FOUND_IN = re.compile(
    r"^(?=(?:[A-Za-z]:)?[^\s:]{0,200}?[/\\])((?:[A-Za-z]:)?[^\s:]{1,300}+):\d+:", re.MULTILINE
)
# `Found 12 errors.`, `✖ 12 problems (2 errors, 10 warnings)`, `3 errors`.
_SUM = re.compile(r"\W*(?:Found )?\d[\d,]* (?:error|problem|failure|issue|warning|offense)s?\b")
# How many of the last lines may hold such a sum.
LINES_OF_SUM = 3


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
    """Describe any other text by its number of lines and its most telling line.

    That is one at the end that sums up errors, or else a compiler's first error; or the files in which grep found the
    lines; or, if a few of many lines report a failure, the first of these; or the first line.
    """
    facts = f"text, {counted(sample.line_count, 'line')}"
    last_lines = sample.tail.rstrip().rsplit("\n", LINES_OF_SUM)[-LINES_OF_SUM:]
    if sums := list(filter(_SUM.match, last_lines)):
        return Description(Kind.TEXT, f"{facts}, at its end", (sums[0],))
    messages = list(_MESSAGE.finditer(sample.text[:COUNTED_AT_MOST]))
    errors = [message for message in messages if message["level"] == "error"]
    if errors:
        facts += f", {counted(len(errors), 'error')}"
        if len(errors) < len(messages):
            facts += f", {counted(len(messages) - len(errors), 'warning')}"
        first_error = errors[0]
        place = first_error["place"] or ""
        return Description(Kind.TEXT, facts, (place + first_error["message"],))
    paths = _FOUND_IN.findall(sample.text[:COUNTED_AT_MOST])
    if len(paths) >= sample.line_count / 2:
        facts += f" from {counted(len(set(paths)), 'file')}"
        return Description(Kind.TEXT, facts, unique_names(paths))
    failures, first = lines_with(sample.text, FAILURE_MARKS)
    if 0 < failures <= FAILING_PART * sample.line_count:
        facts += f", {counted(failures, 'failure')}"
        return Description(Kind.TEXT, facts, (first.strip(),))
    return Description(Kind.TEXT, facts, (sample.first_line,))
