"""Replace references in code by names of files, which hold their texts in the working directory of the tool that runs it."""

from __future__ import annotations

import mimetypes
import os
from collections.abc import Collection
from pathlib import Path
from typing import Any
from uuid import uuid4

from memory_context import sentences_models_read as prompts
from memory_context.conversation.references.pass_by_reference import (
    NotPassedError,
    PassingPolicy,
    items_of,
    with_passed_texts,
)
from memory_context.conversation.texts_in_json_and_its_schema import (
    Schema,
    strings_in,
    with_strings,
)
from memory_context.memory.manager import MemoryManager
from memory_context.model.item import TEXT, MemoryItem, encoded
from memory_context.model.reference import referenced_keys, with_references_as
from memory_context.runtime.files_replaced_safely import replace_in

# On every common file system, a file's name may have up to 255 bytes with its extension.
LONGEST_STEM = 200
MODE = 0o600


def with_references_filled(
    arguments: Any,  # noqa: ANN401 - whatever JSON holds
    tool: str,
    policy: PassingPolicy,
    manager: MemoryManager,
    trusted: Collection[str],
    schema: Schema,
) -> Any:  # noqa: ANN401 - whatever JSON holds
    """Return the *arguments* of a call as *tool* gets them: with texts or names of files in place of references.

    The parameters are those of `with_passed_texts`.

    Raises:
        NotPassedError: The tool must not be called. The message is the entire result that the model gets.
    """
    if not policy.passes_to(tool):
        return arguments
    directory = policy.directories.get(tool)
    try:
        if directory is None:
            return with_passed_texts(arguments, tool, policy, manager, trusted, schema)
        return with_files(arguments, tool, policy, manager, trusted, Path(directory))
    except NotPassedError as refused:
        raise NotPassedError(prompts.NOT_CALLED.format(tool=tool, reason=refused)) from None


def with_files(
    arguments: Any,  # noqa: ANN401 - whatever JSON holds
    tool: str,
    policy: PassingPolicy,
    manager: MemoryManager,
    trusted: Collection[str],
    directory: Path,
) -> Any:  # noqa: ANN401 - whatever JSON holds
    """Write the texts of references to files, and return *arguments* with the files' names in place of the references.

    References inside longer strings are replaced, too.

    Args:
        arguments: The arguments, as the model wrote them: code, and further arguments.
        tool: The name of the tool that runs the code.
        policy: What the tool may get.
        manager: The user's memories.
        trusted: The keys that may be passed on to tools.
        directory: The working directory of the tool.

    Raises:
        NotPassedError: The code must not run.
    """
    keys = referenced_keys(*strings_in(arguments))
    if not keys:
        return arguments
    items = items_of(list(dict.fromkeys(keys)), tool, policy, manager, trusted)
    names = {key: file_name(item) for key, item in items.items()}
    for key, item in items.items():
        _write(directory, names[key], encoded(item.content))
    manager.audit("passed", *items)

    def with_names(text: str, _: Schema) -> str:
        return with_references_as(text, lambda ref: names[ref.key])

    return with_strings(arguments, with_names)


def file_name(item: MemoryItem) -> str:
    """Return the name of the file for a memory: its key, cut if it is long, with the extension of its media type."""
    ending = mimetypes.guess_extension(item.media_type) or ".bin"
    if item.media_type == TEXT:
        ending = ".json" if item.text.startswith(("{", "[")) else ".txt"
    stem = item.memory_key[:LONGEST_STEM]
    return stem if stem.endswith(ending) else f"{stem}{ending}"


def _write(directory: Path, name: str, content: bytes) -> None:
    """Write a file atomically. A symbolic link in its place is replaced, not followed.

    Raises:
        NotPassedError: It cannot be written.
    """
    try:
        handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            replace_in(handle, name, content, MODE, f".{uuid4().hex}.tmp")
        finally:
            os.close(handle)
    except OSError as error:
        message = prompts.FILE_NOT_WRITTEN.format(name=name, problem=error.strerror)
        raise NotPassedError(message) from error
