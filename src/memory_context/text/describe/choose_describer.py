"""Describe a text: unwrap it, then try one describer after the other, those with the surest signs first.

A *describer* returns a `Description` if the text is of its kind, otherwise None. A *lead* is a line that introduces what
follows, such as ``Found 3 items:``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from memory_context.model.item import Content
from memory_context.model.media_types_and_image_sizes import BINARY, described, media_type_of
from memory_context.text.describe.custom_describers import registered_line
from memory_context.text.describe.description import Description, Kind
from memory_context.text.describe.diffs import describe_diff
from memory_context.text.describe.file_lists import describe_listing
from memory_context.text.describe.json_shapes import describe_json
from memory_context.text.describe.logs import describe_log
from memory_context.text.describe.markup import (
    describe_document,
    describe_markdown,
    describe_markup,
)
from memory_context.text.describe.plain_text import describe_encoded, describe_error, describe_plain
from memory_context.text.describe.sample_for_describers import (
    Sample,
    behind_lead,
    path_in,
    sample_of,
)
from memory_context.text.describe.source_code import describe_source
from memory_context.text.describe.tabular import describe_records, describe_table
from memory_context.text.describe.test_runs import describe_test_run
from memory_context.text.describe.tracebacks import describe_traceback
from memory_context.text.describe.yaml_documents import describe_yaml
from memory_context.text.lines import BYTE_ORDER_MARK
from memory_context.text.unwrap_mcp_json_and_fences import unwrap

_Describers: TypeAlias = tuple[Callable[[Sample], Description | None], ...]

# The order matters: a test run holds tracebacks, a log may hold both, and a listing has columns like a table.
_SURE: _Describers = (
    describe_json,
    describe_encoded,
    describe_markup,
    describe_diff,
    describe_test_run,
    describe_log,
    describe_traceback,
    describe_listing,
    describe_table,
    describe_source,
)
# The signs that these look for also occur in other kinds of text, so they are tried last.
_UNSURE = (describe_error, describe_yaml, describe_records, describe_markdown)


def describe(content: Content, *, source: str = "", arguments: str | None = None) -> str:
    """Return a line that describes `content`, such as ``JSON list of 81 packages: name, version``.

    It has at most 80 characters and no square brackets, and is never empty, whatever the content is.

    Args:
        content: The text or bytes to describe.
        source: The name of the tool that returned it.
        arguments: The JSON that the tool was called with. A path in it is taken for the file that was read.
    """
    if isinstance(content, bytes):
        if b"\0" in content[:4096] or media_type_of(content) != BINARY:
            return described(content, BINARY)
        try:
            text = content.decode()
        except UnicodeDecodeError:
            return described(content, BINARY)
    else:
        text = content
    line = registered_line(source, text)
    if line:
        return line
    unwrapped = unwrap(text)
    description = identify(unwrapped.text, path_in(arguments), may_be_document=True)
    return replace(description, is_cut=description.is_cut or unwrapped.is_cut).line()


def identify(text: str, path: str = "", *, may_be_document: bool = False) -> Description:
    """Return the description of `text`, which must be unwrapped; `path` is where it was read, or empty.

    A document may hold any other kind of text in one of its sections. Without *may_be_document* it is described as that.
    """
    if not text.strip():
        return Description(Kind.TEXT, "blank text" if text else "empty text")
    sample = sample_of(text.removeprefix(BYTE_ORDER_MARK), path)
    description = (
        _first_of(_SURE, sample)
        or _behind_lead(sample)
        or _first_of(_UNSURE, sample)
        or describe_plain(sample)
    )
    if may_be_document and description.kind is not Kind.RECORDS:
        return describe_document(sample) or description
    return description


def _first_of(describers: _Describers, sample: Sample) -> Description | None:
    for describe_kind in describers:
        description = describe_kind(sample)
        if description:
            return description
    return None


def _behind_lead(sample: Sample) -> Description | None:
    rest = behind_lead(sample.text)
    if rest:
        return _first_of(_SURE, sample_of(rest, sample.path))
    return None
