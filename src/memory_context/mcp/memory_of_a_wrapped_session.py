"""The memory of a session with wrapped servers.

Large tool results are stored and *folded*: a reference and a preview take their place. In the arguments of a later call,
references are replaced by the stored texts.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from memory_context.conversation.context_stats import ContextStats
from memory_context.conversation.conversation import (
    Conversation,
    ConversationSettings,
    new_message_id,
)
from memory_context.conversation.fail_open import FailOpen
from memory_context.conversation.message import NO_FACTS, FunctionCall, Message, trusted_keys
from memory_context.conversation.recording_to_call_log import model_call
from memory_context.conversation.references.pass_by_reference import (
    PassingPolicy,
    with_passed_texts,
)
from memory_context.mcp.memory_tools_over_mcp import Tools
from memory_context.mcp.wire_types_and_errors import Wire, member
from memory_context.memory.manager import MemoryManager
from memory_context.model.item import encodable
from memory_context.model.reference import KEPT_REFERENCES
from memory_context.runtime.threads import off_loop
from memory_context.tools.query_memory import QUERYING
from memory_context.tools.retrieve_search_store import RETRIEVING, SEARCHING

# Earlier messages hardly influence a preview, and the client may have dropped them.
KEPT_MESSAGES = 400
# The texts of a result, by the index of their first part: the number of parts that the text spans, and the text.
# Structured content that no text repeats has the index after the last part, and spans none.
Places: TypeAlias = dict[int, tuple[int, str]]


class WrappedMemory:
    """The results that one session of a client has seen, and the tools by which it reads them again.

    Args:
        manager: The user's memories.
        settings: When results are folded.
        passing: Which tools may get stored texts in place of references.
    """

    def __init__(
        self, manager: MemoryManager, settings: ConversationSettings, passing: PassingPolicy
    ) -> None:
        cache = settings.new_cache(manager)
        self._conversation = Conversation(manager, settings, FailOpen(ContextStats()), cache)
        self._manager = manager
        self._passing = passing
        reading = replace(RETRIEVING, description=passing.told_in(RETRIEVING.description))
        verbs = (reading, SEARCHING, QUERYING)
        self.names = frozenset(verb.name for verb in verbs)
        self._tools = Tools(dict.fromkeys(verbs, manager), None)
        self._messages = list[Message]()
        self._shown = tuple[str, ...]()
        self._folding = asyncio.Lock()

    def listed(self) -> list[Wire]:
        """Return the memory's tools."""
        tools: list[Wire] = self._tools.listed({})["tools"]
        return tools

    def called(self, params: Wire) -> Wire:
        """Return the answer of a memory tool, as text only: structured content would repeat it.

        References that it names may be used in arguments of other tools from then on.

        Raises:
            RequestError: There is no such tool.
        """
        result = self._tools.called(params)
        keys = result.pop("structuredContent", {}).get("keys", [])
        self._shown = (*self._shown, *keys)[-KEPT_REFERENCES:]
        return result

    async def filled(self, tool: str, arguments: Wire, schema: Mapping[str, Any]) -> Wire:
        """Return the arguments of a call, with stored texts in place of references.

        Raises:
            NotPassedError: The tool must not be called; the message says why.
        """
        shown = trusted_keys(self._messages, self._shown)
        filled = await off_loop(
            with_passed_texts, arguments, tool, self._passing, self._manager, shown, schema
        )
        # A stored text may hold lone surrogates, which UTF-8 cannot encode.
        sendable: Wire = json.loads(encodable(json.dumps(filled, ensure_ascii=False)))
        return sendable

    async def folded(self, tool: str, arguments: Wire, result: Wire) -> Wire:
        """Return a tool's result, with references and previews in place of large texts."""
        content: list[Wire] = result.get("content") or []
        given: object = content
        # Content that is not in MCP's form, but in a server's own, is passed on as it is.
        if not isinstance(given, list) or not all(isinstance(part, dict) for part in content):
            return result
        places = _texts_in(content)
        structured = member(result, "structuredContent")
        if structured and not _repeats_texts(structured, content):
            places[len(content)] = 0, json.dumps(structured, ensure_ascii=False)
        is_error = bool(result.get("isError"))
        # Results may arrive at the same time, but a preview depends on the results before it.
        async with self._folding:
            shown = await self._taken_in(tool, arguments, places, is_error=is_error)
        folded = {place: shown.texts[place] for place in shown.known.folded}
        if folded:
            return _with_folds(result, places, folded)
        return result

    async def _taken_in(
        self, tool: str, arguments: Wire, places: Places, *, is_error: bool
    ) -> Message:
        """Add a call and its result to the conversation; return the result as the conversation shows it."""
        conversation = self._conversation
        written = json.dumps(arguments, ensure_ascii=False)
        call = FunctionCall(new_message_id(), tool, written)
        asked = Message(new_message_id(), "assistant", "", {}, (call,), facts=NO_FACTS)
        texts = {place: text for place, (_, text) in places.items()}
        output = Message(new_message_id(), "tool", tool, texts, answers=call.id, is_error=is_error)
        before = [*self._messages, asked][-KEPT_MESSAGES:]
        taken = await off_loop(conversation.folder.take_in, [output], before)
        after = conversation.with_instructions([*before, *taken], len(before))
        record = await off_loop(model_call, self._messages, after, conversation.cache.ledger)
        self._manager.note_call(record)
        self._messages = after
        return after[-1]


def _texts_in(content: list[Wire]) -> Places:
    """Return the texts of a result, with those that follow each other joined; a resource stands by itself."""
    texts = dict[int, list[str]]()
    start = 0
    for index, part in enumerate(content):
        match part:
            case {"annotations": {"audience": ["user"]}}:
                pass  # it is not sent to the model, and so costs no tokens
            case {"type": "text", "text": str(text)}:
                texts.setdefault(start, []).append(text)
                continue
            case {"type": "resource", "resource": {"text": str(text)}}:
                texts[index] = [text]
            case _:
                pass
        start = index + 1
    return {first: (len(parts), "\n".join(parts)) for first, parts in texts.items()}


def _repeats_texts(structured: Wire, content: list[Wire]) -> bool:
    """Return whether structured content only repeats the texts.

    SDKs send a structured result also as JSON in a text. They wrap a result that is not an object in one with a single
    member, such as ``result``.
    """
    texts = [part["text"] for part in content if isinstance(part.get("text"), str)]
    values: list[Any] = [structured]
    if len(structured) == 1:
        values += structured.values()
    parsed = [_parsed(text) for text in texts]
    forms: list[Any] = [texts, parsed, "\n".join(texts)]
    if len(parsed) == 1:
        forms += parsed
    return any(value in forms for value in values)


def _parsed(text: str) -> Any:  # noqa: ANN401 - whatever JSON holds
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _with_folds(result: Wire, places: Places, folded: Mapping[int, str]) -> Wire:
    """Return *result* with the texts at the indexes of *folded* replaced.

    Structured content is left out if it, or the text that repeats it, was folded, because a client may show it to the
    model. No schema asks for it, since `Wrapper` lists the tools without their output schemas.
    """
    content: list[Wire] = result.get("content") or []
    # Of a text that spans several parts, the first one has the reference, and the others are left out.
    covered = set[int]()
    for place in folded:
        span, _ = places[place]
        covered.update(range(place + 1, place + span))
    shown = list[Wire]()
    for place, part in enumerate(content):
        if place in folded:
            text = folded[place]
            if part["type"] == "text":
                shown.append({**part, "text": text})
            else:
                resource = {**part["resource"], "text": text, "mimeType": "text/plain"}
                shown.append({**part, "resource": resource})
        elif place not in covered:
            shown.append(part)
    changed = {**result, "content": shown}
    at_end = len(content)
    if at_end in folded:
        shown.append({"type": "text", "text": folded[at_end]})
    if at_end in folded or at_end not in places:
        changed.pop("structuredContent", None)
    return changed
