"""Find out what a text is: take off its wrappings, then ask for one kind after the other, the surest first."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from memory_context.model.item import Content
from memory_context.model.media import BINARY, described, media_type_of
from memory_context.text.describe.custom_describers import registered_line
from memory_context.text.describe.description import Description, Kind
from memory_context.text.describe.file_lists import describe_listing, describe_matches
from memory_context.text.describe.json_shapes import describe_json
from memory_context.text.describe.key_values import describe_records, describe_yaml
from memory_context.text.describe.logs import describe_log
from memory_context.text.describe.markup import describe_markdown, describe_markup
from memory_context.text.describe.plain_text import (
    describe_encoded,
    describe_error,
    describe_plain,
    error_message,
)
from memory_context.text.describe.sample import CallHint, Sample, hint_of, sample_of
from memory_context.text.describe.source_code import (
    describe_changes,
    describe_source,
    without_line_numbers,
)
from memory_context.text.describe.tabular import describe_table
from memory_context.text.describe.test_runs import describe_test_run
from memory_context.text.describe.tracebacks import describe_traceback
from memory_context.text.describe.unwrap import unwrap

# The order matters: a test run holds tracebacks, a log holds both, and a listing has columns as a table does.
_SURE: tuple[Callable[[Sample], Description | None], ...] = (
    describe_json,
    describe_encoded,
    describe_markup,
    describe_changes,
    describe_test_run,
    describe_log,
    describe_traceback,
    describe_listing,
    describe_table,
    describe_matches,
    describe_yaml,
    describe_source,
)
# Their marks stand in many texts: asked for when nothing else is left.
_UNSURE = (describe_error, describe_records, describe_markdown)
_SAYS_LITTLE = (Kind.TEXT, Kind.MARKUP, Kind.RECORDS)
# A line that introduces what follows: it ends with a colon or dots, or an empty line stands behind it.
_LEAD = re.compile(r"[^\n]{1,300}(?:(?::|\.\.\.|…)[ \t]*\n+|\n\n+)")
LONGEST_LEAD = 3
_MARK = "\ufeff"  # that of UTF-8


def describe(content: Content, *, source: str = "", arguments: str | None = None) -> str:
    """Return one line on `content`, as in ``JSON list of 81 packages: name, version``.

    It has at most 80 characters and no square brackets, and whatever the content is, there is a line.

    Args:
        content: Text or bytes.
        source: The name of the tool that gave them.
        arguments: What it was called with, as JSON: a command, a path or a query there makes the line more telling.
    """
    hint = hint_of(arguments)
    if isinstance(content, bytes):
        if b"\0" in content[:4096] or media_type_of(content) != BINARY:
            return described(content, BINARY)
        try:
            text = content.decode()
        except UnicodeDecodeError:
            return described(content, BINARY)
    else:
        text = content
    if line := registered_line(source, text):
        return line
    unwrapped = unwrap(text)
    description = identify(unwrapped.text, hint, unwrapped.language)
    if unwrapped.is_error and description.kind in _SAYS_LITTLE:
        description = error_message(sample_of(unwrapped.text))
    is_cut = description.is_cut or unwrapped.is_cut
    return replace(description, is_cut=is_cut, exit_code=unwrapped.exit_code).line()


def identify(text: str, hint: CallHint | None = None, language: str = "") -> Description:
    """Return what `text` is, which is wrapped in nothing; `language` is what a fence calls it."""
    if not text.strip():
        return Description(Kind.TEXT, "blank text" if text else "empty text")
    sample = sample_of(text.removeprefix(_MARK), hint)
    if language and (source := describe_source(sample, language)):
        return source
    if numbered := without_line_numbers(sample):
        code, path = numbered
        hint = replace(sample.hint, path=path or sample.hint.path)
        if code.strip() and (source := describe_source(sample_of(code, hint))):
            return source
    return (
        _first_of(_SURE, sample)
        or _behind_lead(sample)
        or _first_of(_UNSURE, sample)
        or describe_plain(sample)
    )


def _first_of(
    describers: tuple[Callable[[Sample], Description | None], ...], sample: Sample
) -> Description | None:
    for describer in describers:
        if description := describer(sample):
            return description
    return None


def _behind_lead(sample: Sample) -> Description | None:
    """Return what stands behind an introduction of up to three lines: ``Found 3 items:``."""
    text = sample.text
    for _ in range(LONGEST_LEAD):
        lead = _LEAD.match(text)
        if lead is None or lead.end() == len(text):
            return None
        text = text[lead.end() :]
        if description := _first_of(_SURE, sample_of(text, sample.hint)):
            return description
    return None
