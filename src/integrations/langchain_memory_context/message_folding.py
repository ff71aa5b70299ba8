"""Folding the texts of LangChain's messages."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from typing import Any, TypeAlias, TypeVar

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolCall, ToolMessage
from memory_context.conversation.text_folder import TextFolder, TextOrigin, TextPart

from langchain_memory_context.messages import (
    FACTS,
    billed,
    is_question,
    runs_of,
    source_of,
    texts_of,
    was_folded,
    with_runs,
    written,
)
from memory_context.conversation.fail_open import FailOpen
from memory_context.conversation.fold import Folded
from memory_context.conversation.settings import FoldPolicy
from memory_context.memory.manager import MemoryManager
from memory_context.text.terms import names
from memory_context.text.tokens.counter import WIDEST_CHARACTER

Redactor: TypeAlias = Callable[[str], str]
GetOrigin: TypeAlias = Callable[[], TextOrigin]
Foldable = TypeVar("Foldable", ToolMessage, HumanMessage, AIMessage)
Said = TypeVar("Said", HumanMessage, AIMessage)


@dataclass(frozen=True, slots=True)
class MessageFolder:
    """Folds messages into one user's memories.

    Attributes:
        manager: The user's memories.
        policy: When texts are folded; what redacts is callable.
        guard: Lets the store fail.
    """

    manager: MemoryManager
    policy: FoldPolicy
    fail_open: FailOpen

    def fold_result(
        self, message: ToolMessage, tool: str, origin: GetOrigin, policy: FoldPolicy | None = None
    ) -> ToolMessage:
        """A copy of a tool's message with references in place of its large texts; itself if nothing is to be done."""
        if self.policy.tool_threshold(tool) is None or was_folded(message):
            return message
        parts = [self._redacted_part(part) for part in _parts_of(message, tool)]
        folded = self._folded(message, parts, policy or self.policy, origin)
        return self._without_artifact(folded, tool)

    def fold_said(self, message: Said, source: str, origin: GetOrigin) -> Said:
        """A copy of what `source` said, large texts replaced by references; itself without any."""
        if was_folded(message):
            return message
        parts = [TextPart(place, text, source, source) for place, text in runs_of(message).items()]
        folder = TextFolder(self.manager, self.policy, self.fail_open)
        large = [self._redacted_part(part) for part in parts if folder.may_fold(part)]
        return self._folded(message, large, self.policy, origin)

    def fold_unseen(self, messages: Sequence[AnyMessage], start: int) -> dict[str, AnyMessage]:
        """By id, the messages from `start` on, which no model has seen, with their large texts folded.

        Results that answer one message of the model are looked at together, too.
        """
        folded: dict[str, AnyMessage] = {}
        for first, together in _runs(messages, start):
            before = messages[:first]
            shared = self._shared_policy(together, before)
            for message in together:
                one = self._fold_late(message, before, shared) if message.id else message
                if message.id and one is not message:
                    folded[message.id] = one
        return folded

    def _fold_late(
        self, message: AnyMessage, before: Sequence[AnyMessage], shared: FoldPolicy
    ) -> AnyMessage:
        """A message that came into the state past this folder, folded; itself if it has no large text."""
        if not any(
            len(text) * WIDEST_CHARACTER > self.policy.threshold for text in texts_of(message)
        ):
            return message
        if isinstance(message, ToolMessage):
            call = _call_of(message, before)
            tool = _tool_of(message, call)
            return self.fold_result(message, tool, partial(origin_of, before, call), shared)
        if is_question(message):
            return self.fold_said(message, source_of(message), partial(origin_of, before, None))
        return message

    def _shared_policy(
        self, together: Sequence[AnyMessage], before: Sequence[AnyMessage]
    ) -> FoldPolicy:
        """The policy for results that came together; those of tools with thresholds of their own do not count."""
        parts = list[TextPart]()
        for message in together:
            if isinstance(message, ToolMessage) and not was_folded(message):
                parts += _parts_of(message, _tool_of(message, _call_of(message, before)))
        return TextFolder(self.manager, self.policy, self.fail_open).sharing(parts).policy

    def _folded(
        self, message: Foldable, parts: Sequence[TextPart], policy: FoldPolicy, origin: GetOrigin
    ) -> Foldable:
        folder = TextFolder(self.manager, policy, self.fail_open)
        large = [
            part for part in parts if folder.is_large(part)
        ]  # what is known of a text is the dear part
        places = [part.index for part in large]
        folded = folder.fold_all(large, dict.fromkeys(places, origin())) if large else {}
        for one in folded.values():
            folder.count(one)
        texts = {part.index: part.text for part in parts} | {
            index: one.text for index, one in folded.items()
        }
        if all(runs_of(message)[index] == text for index, text in texts.items()):
            return message
        facts = {FACTS: {"references": _references(folded.values())}} if folded else {}
        metadata = {**message.response_metadata, **facts}
        return message.model_copy(
            update={"content": with_runs(message, texts), "response_metadata": metadata}
        )

    def _redacted_part(self, part: TextPart) -> TextPart:
        return replace(part, text=self._redacted(part.text))

    def _redacted(self, text: str) -> str:
        """Return *text* as it may be stored."""
        for redact in self.policy.redact:
            text = redact(text)
        return text

    def _without_artifact(self, message: ToolMessage, tool: str) -> ToolMessage:
        if self.policy.artifacts == "keep" or message.artifact is None:
            return message
        key = self.fail_open.run(self._store_artifact, message.artifact, tool)
        return message.model_copy(update={"artifact": {"memory_key": key}}) if key else message

    def _store_artifact(self, artifact: Any, tool: str) -> str | None:  # noqa: ANN401 - whatever a tool returns
        """The key of a large artifact; None where it is small, or neither text, bytes nor JSON."""
        content = _content(artifact)
        if content is None or self._is_small(content):
            return None
        safe = self._redacted(content) if isinstance(content, str) else content
        with self.fail_open.writing():
            return self.manager.store(safe, type="tool_output", source=f"{tool}_artifact")

    def _is_small(self, content: str | bytes) -> bool:
        most = self.policy.threshold
        return len(content) <= most or (
            isinstance(content, str) and not self.manager.counter.exceeds(content, most)
        )


def _parts_of(message: ToolMessage, tool: str) -> list[TextPart]:
    is_error = message.status == "error"
    return [
        TextPart(place, text, None, tool, message.tool_call_id, is_error=is_error)
        for place, text in runs_of(message).items()
    ]


def _runs(messages: Sequence[AnyMessage], start: int) -> Iterator[tuple[int, list[AnyMessage]]]:
    """The messages from `start` on with the place of the first; results of tools side by side are one run."""
    place = start
    for is_result, run in groupby(
        messages[start:], lambda message: isinstance(message, ToolMessage)
    ):
        listed = list(run)
        yield from (
            [(place, listed)] if is_result else ((place + i, [one]) for i, one in enumerate(listed))
        )
        place += len(listed)


def _call_of(message: ToolMessage, before: Sequence[AnyMessage]) -> ToolCall | None:
    called = (
        call for one in reversed(before) if isinstance(one, AIMessage) for call in one.tool_calls
    )
    return next((call for call in called if call["id"] == message.tool_call_id), None)


def _tool_of(message: ToolMessage, call: ToolCall | None) -> str:
    return message.name or (call["name"] if call else "tool")


def _references(folded: Iterable[Folded]) -> dict[str, list[list[int]]]:
    return {one.item.memory_key: [list(run) for run in one.preview.ranges] for one in folded}


def _content(artifact: Any) -> str | bytes | None:  # noqa: ANN401 - whatever a tool returns
    """An artifact as it can be stored; None for objects that JSON cannot express."""
    if isinstance(artifact, str | bytes):
        return artifact
    try:
        return json.dumps(artifact, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return None


def origin_of(messages: Sequence[AnyMessage], call: ToolCall | None) -> TextOrigin:
    """What `messages`, those before it, say about a text; `call` is the one that it answers."""
    spoken = next(
        (message for message in reversed(messages) if isinstance(message, AIMessage)), None
    )
    task = next((message for message in messages if is_question(message)), None)
    return TextOrigin(
        arguments=written(call["args"]) if call else None,
        words="\n".join(texts_of(spoken)) if spoken else "",
        task="\n".join(texts_of(task)) if task else "",
        known={name for message in messages for text in billed(message) for name in names(text)},
    )
