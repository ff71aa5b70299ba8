"""Replace references that are argument values of a tool call by their texts, or refuse the call."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from os import PathLike
from pathlib import Path
from typing import Any, cast

from memory_context import sentences_models_read as prompts
from memory_context.conversation.fold_recall_notes_policies import policy_of
from memory_context.conversation.texts_in_json_and_its_schema import (
    Schema,
    strings_in,
    takes_text,
    with_strings,
)
from memory_context.exceptions import (
    InvalidArgumentError,
    InvalidReferenceError,
    MemoryDeletedError,
    MemoryNotFoundError,
    StoreError,
)
from memory_context.memory.manager import MemoryManager
from memory_context.model.checked_arguments import check_arguments
from memory_context.model.checked_numbers import check_whole
from memory_context.model.item import MemoryItem, bytes_of, is_secret
from memory_context.model.reference import MemoryRef
from memory_context.runtime.telemetry import operation
from memory_context.text.python_literals import only_objects_in, parse_literal

DEFAULT_ARGUMENT_BYTES = 10_000_000
MAX_NEAR_KEYS = 3
_OPENING = "[MemoryRef:"
LEAST_QUOTED = 4


class NotPassedError(Exception):
    """A tool must not be called. The message tells the model why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PassingPolicy:
    """Which tools get a text if a model passes its reference as an argument, and how large the texts may be.

    Attributes:
        tools: The names of the tools; None for every tool.
        secrets_for: The names of the tools that get texts of the type ``secret``, too. Hosts log the arguments of tools.
        max_argument_bytes: The most bytes (UTF-8) that all texts of one call may have together: one number for all
            tools, or a mapping from names of tools to numbers. Tools that the mapping leaves out get up to 10 MB.
        directories: The working directories of tools that run code, by the tools' names. Their arguments may contain a
            reference anywhere, even inside code: its text becomes a file in the directory, and the file's name replaces
            the reference.

    Raises:
        InvalidArgumentError: Names are not a list of strings, a directory does not exist, or a size is not a number of
            bytes.
    """

    tools: Collection[str] | None = None
    secrets_for: Collection[str] = ()
    max_argument_bytes: int | Mapping[str, int] = DEFAULT_ARGUMENT_BYTES
    directories: Mapping[str, str | Path] = field(default_factory=dict[str, str | Path])

    def __post_init__(self) -> None:
        """Check every setting."""
        tools = () if self.tools is None else self.tools
        check_arguments(tools=tools, secrets_for=self.secrets_for, directories=self.directories)
        for tool in (*tools, *self.secrets_for):
            check_arguments(tool=tool)
        for tool, directory in self.directories.items():
            if not isinstance(directory, PathLike | str) or not Path(directory).is_dir():  # type: ignore[redundant-expr] # whatever is given
                raise InvalidArgumentError(
                    f"directories= names {directory} for {tool}, which is not a directory"
                )
        most = self.max_argument_bytes
        sizes = most.values() if isinstance(most, Mapping) else [most]
        for size in sizes:
            check_whole(
                "max_argument_bytes",
                size,
                unit=" of bytes, or a mapping from tools to such numbers",
            )

    @classmethod
    def of(cls, setting: bool | PassingPolicy) -> PassingPolicy:  # noqa: FBT001 - True for every tool
        """Return the policy that a constructor's parameter `pass_by_reference` describes.

        Raises:
            InvalidArgumentError: It is neither a policy nor a bool.
        """
        policy = policy_of(setting, cls, "pass_by_reference")
        return cls(tools=()) if setting is False else policy

    @property
    def passes(self) -> bool:
        """Return whether there may be a tool that gets texts in place of references."""
        return self.tools is None or bool(self.tools)

    def passes_to(self, tool: str) -> bool:
        """Return whether references in the arguments of *tool* are replaced."""
        return self.tools is None or tool in self.tools

    def told_in(self, description: str) -> str:
        """Return a tool's *description*, followed by which tools a model may pass references to."""
        if not self.passes:
            return description
        tools = ", ".join(sorted(self.tools)) if self.tools else prompts.ANY_TOOL
        full = f"{description} {prompts.PASS_REFERENCES.format(tools=tools)}"
        if self.directories:
            runners = ", ".join(sorted(self.directories))
            full += f" {prompts.FILES_FOR_CODE.format(tools=runners)}"
        return full

    def limit_for(self, tool: str) -> int:
        """Return the most bytes that the texts of one call of *tool* may have together."""
        if isinstance(self.max_argument_bytes, Mapping):
            return self.max_argument_bytes.get(tool, DEFAULT_ARGUMENT_BYTES)
        return self.max_argument_bytes


def with_passed_texts(
    arguments: Any,  # noqa: ANN401 - whatever JSON holds
    tool: str,
    policy: PassingPolicy,
    manager: MemoryManager,
    trusted: Collection[str],
    schema: Schema,
) -> Any:  # noqa: ANN401 - whatever JSON holds
    """Return the *arguments* of a call with texts in place of references; the same object if it contains none.

    Args:
        arguments: The arguments, as the model wrote them.
        tool: The name of the tool that is called.
        policy: What the tool may get.
        manager: The user's memories.
        trusted: The keys that may be passed on to tools.
        schema: The JSON schema of the tool's arguments.

    Raises:
        NotPassedError: The tool must not be called.
    """
    keys = passed_keys(arguments)
    if not keys:
        return arguments
    items = items_of(keys, tool, policy, manager, trusted, texts_only=True)
    texts = {key: item.text for key, item in items.items()}
    try:
        filled = with_texts(arguments, texts, schema)
    except RecursionError:
        raise NotPassedError(prompts.TOO_DEEP_TO_PASS) from None
    manager.audit("passed", *items)
    return filled


def passed_keys(arguments: Any) -> list[str]:  # noqa: ANN401 - whatever JSON holds
    """Return the keys of the references in *arguments* that are entire values, each as often as it occurs.

    Raises:
        NotPassedError: A value looks like a reference, but cannot be parsed as one.
    """
    return list(filter(None, map(_key, strings_in(arguments))))


def _key(text: str) -> str | None:
    """Return the key of the reference that *text* consists of; None for any other text.

    Raises:
        NotPassedError: *text* looks like a reference, but cannot be parsed as one.
    """
    value = text.strip()
    if not value.startswith(_OPENING) or not value.endswith("]"):
        return None
    # Two references are not one reference, nor is a reference with lines of its preview below it.
    if "[" in value[1:] or "\n" in value:
        return None
    try:
        return MemoryRef.parse(value).key
    except InvalidReferenceError:
        raise NotPassedError(prompts.UNREADABLE_REFERENCE.format(text=value[:80])) from None


def items_of(
    keys: Sequence[str],
    tool: str,
    policy: PassingPolicy,
    manager: MemoryManager,
    shown: Collection[str],
    *,
    texts_only: bool = False,
) -> dict[str, MemoryItem]:
    """Return the memory under each key.

    Args:
        keys: The keys in the arguments, each as often as it occurs there.
        tool: The name of the tool that gets the texts.
        policy: What the tool may get.
        manager: The user's memories.
        shown: The keys that the conversation has shown. No others are redeemed.
        texts_only: Whether a binary memory is refused.

    Raises:
        NotPassedError: The tool must not be called.
    """
    with operation("pass", tool=tool) as passing:
        items = dict[str, MemoryItem]()
        for key in dict.fromkeys(keys):
            item = _read(key, manager, shown)
            if is_secret(item) and tool not in policy.secrets_for:
                raise NotPassedError(prompts.SECRET_NOT_PASSED.format(key=key, tool=tool))
            if texts_only and isinstance(item.content, bytes):
                raise NotPassedError(
                    prompts.BINARY_NOT_PASSED.format(key=key, media_type=item.media_type)
                )
            items[key] = item
        sizes = {key: bytes_of(item.content) for key, item in items.items()}
        size = sum(sizes[key] for key in keys)
        limit = policy.limit_for(tool)
        passing.note(keys=tuple(items), bytes=size)
        if size > limit:
            raise NotPassedError(
                prompts.TOO_LARGE_TO_PASS.format(tool=tool, size=size, limit=limit)
            )
    return items


def _read(key: str, manager: MemoryManager, shown: Collection[str]) -> MemoryItem:
    """Return the memory under *key*, which must be among the keys that were *shown*.

    Raises:
        NotPassedError: It was not shown, it is gone, or the store failed.
    """
    refusal = prompts.UNKNOWN_REFERENCE
    try:
        if key in shown:
            return manager.fetch(key)
    except MemoryDeletedError as error:
        raise NotPassedError(prompts.DELETED.format(message=error)) from None
    except StoreError as error:
        raise NotPassedError(prompts.STORE_FAILED.format(message=error)) from error
    except MemoryNotFoundError:
        # The text that showed it was planted, or the conversation was loaded onto another store.
        refusal = prompts.MISSING_REFERENCE
        shown = [other for other in shown if other != key]
    near = ", ".join(get_close_matches(key, shown, MAX_NEAR_KEYS))
    advice = prompts.NEAR_KEYS.format(keys=near) if near else ""
    raise NotPassedError(refusal.format(key=key, near=advice))


def with_texts(arguments: Any, texts: Mapping[str, str], schema: Schema) -> Any:  # noqa: ANN401 - whatever JSON holds
    """Return a copy of *arguments* with texts in place of references. References within these texts are not replaced.

    Where *schema* takes no string, the text is parsed: as JSON, or as the Python repr that AutoGen makes of dicts and
    lists.

    Raises:
        NotPassedError: A text is neither JSON nor such a repr where *schema* takes no string.
    """

    def changed(text: str, schema: Schema) -> Any:  # noqa: ANN401 - as above
        key = _key(text)
        if key is None:
            return text
        return _as_wanted(texts[key], key, schema)

    return with_strings(arguments, changed, schema)


def with_references_again(text: str, written: Any, filled: Any) -> str:  # noqa: ANN401 - whatever JSON holds
    """Return *text*, an error about a call, with references in place of quotations of the texts that replaced them.

    Texts of fewer than four characters stay, since the error may contain them for another reason.

    Args:
        text: The error.
        written: The arguments as the model wrote them.
        filled: The arguments as the tool got them.
    """
    match written, filled:
        case str(), str() if filled != written and len(filled) >= LEAST_QUOTED:
            return text.replace(filled, written.strip())
        case Mapping(), Mapping():
            members = cast("Mapping[str, Any]", filled)
            named = cast("Mapping[str, Any]", written).items()
            pairs = [(part, members.get(name)) for name, part in named]
        case [*parts], [*filled_parts]:
            pairs = list(zip(parts, filled_parts, strict=False))
        case _:
            return text
    for part, filled_part in pairs:
        text = with_references_again(text, part, filled_part)
    return text


def _as_wanted(text: str, key: str, schema: Schema) -> Any:  # noqa: ANN401 - whatever JSON holds
    """Return the text under *key* as *schema* takes it: itself, or the value that it represents.

    Raises:
        NotPassedError: *schema* takes no string, and the text represents no JSON value.
    """
    if takes_text(schema):
        return text
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        value = parse_literal(text.strip())
    if value is None:
        value = only_objects_in(text) or None
    not_json = NotPassedError(prompts.NO_JSON_TO_PASS.format(key=key))
    if value is None:
        raise not_json
    try:
        # The round trip refuses values that a Python repr may have and JSON may not.
        return json.loads(json.dumps(value, allow_nan=False))
    except (ValueError, TypeError, RecursionError):
        raise not_json from None


def _refuse_constant(text: str) -> None:
    """Refuse NaN and Infinity, which Python's parser accepts although they are not JSON."""
    raise ValueError(text)
