"""The middleware of one agent run: change the prompts of model calls, and the arguments and results of tools."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, cast

from agent_framework import (
    ChatContext,
    ChatMiddleware,
    ChatResponse,
    CompactionStrategy,
    Content,
    FunctionInvocationContext,
    FunctionMiddleware,
    ResponseStream,
    SessionContext,
    annotate_message_groups,
)
from agent_framework import Message as FrameworkMessage
from agent_framework.exceptions import (
    MiddlewareException,
    ToolExecutionException,
    UserInputRequiredException,
)
from pydantic import TypeAdapter

from memory_context.agent_framework.messages import (
    copied,
    failure,
    held_by,
    inserted_message,
    joined_texts,
    neutral_result,
    show,
    with_texts,
)
from memory_context.agent_framework.tools import MemoryFunctionTool
from memory_context.conversation.conversation import Conversation
from memory_context.conversation.decisions_beside_messages import (
    DecisionNote,
    FoldedMessage,
    as_shown,
    note_of,
)
from memory_context.conversation.message import Edits, Message, edits_between, trusted_keys
from memory_context.conversation.references.key_trust import RunningCall
from memory_context.conversation.references.pass_by_reference import (
    NotPassedError,
    PassingPolicy,
    with_references_again,
)
from memory_context.conversation.references.texts_as_files_for_tools import with_references_filled
from memory_context.memory.scoped_memory import ScopedMemory
from memory_context.model.json_object import JsonObject
from memory_context.runtime.threads import off_loop

# The metadata in which the framework looks for the arguments of a call as they were before a middleware changed them.
SHOWN_ARGUMENTS = "original_arguments_for_messages"
_MESSAGES = TypeAdapter(list[Message])


@dataclass
class RunningAgent:
    """One run of an agent, and the decisions that are made in it.

    Attributes:
        name: The author name that the framework gives the agent's messages.
        conversation: Decides what is folded and recalled.
        passing: Which tools get stored texts in place of references.
        context: The framework's context of the run.
        kept: The part of the session's state that keeps the decisions.
        begin: Puts *kept* into the session's state, and records whose session it is.
        notes: The notes of the run; None if the agent keeps no notes.
    """

    name: str
    conversation: Conversation
    passing: PassingPolicy
    context: SessionContext
    kept: JsonObject
    begin: Callable[[], None]
    notes: ScopedMemory | None = None
    _shown: list[Message] = field(default_factory=list[Message])

    @property
    def note(self) -> DecisionNote:
        """Return the decisions made so far."""
        return DecisionNote.from_json(self.kept.get("note")) or DecisionNote()

    @note.setter
    def note(self, note: DecisionNote) -> None:
        self.kept["note"] = note.to_json()

    async def prepare(self, messages: list[FrameworkMessage]) -> None:
        """Change *messages*, which are copies, into the prompt, in place."""
        for message in messages:
            # The framework adds the author's name after the model has seen the message without it.
            if message.role == "assistant" and message.author_name == self.name:
                message.author_name = None
        parts = held_by(messages)
        sent = self._sent()
        known = {one.id for one in sent}
        held = [part for part in chain.from_iterable(parts) if part.id not in known]
        shown, seen = self._as_shown(held, sent)
        prompt, facts = await self.conversation.before_model(
            shown, self.note.facts, seen, self.notes
        )
        unsent = [one for one in prompt if one.id not in known]
        edits = edits_between(held, unsent)
        self.note = note_of(facts, edits, held)
        self.kept["seen"] = held[-1].id if held else None
        self._shown = prompt
        for given in self.context.input_messages:
            if changed := edits.changed.get(given.message_id or ""):
                show(given, [changed])
        messages[:] = _edited(messages, parts, edits)

    async def hear(self, response: ChatResponse) -> None:
        """Take the model's answer into the conversation.

        Raises:
            StateOwnerError: Meanwhile, a model has answered another user in this session.
        """
        self.begin()
        for answer in chain.from_iterable(held_by(response.messages)):
            await self.conversation.hear(answer, self._shown, self.note.facts)
            self._shown.append(answer)
        # A service that keeps the history is sent new messages only, and the ones that it has cannot be changed.
        if response.conversation_id and not response.has_internal_conversation_id():
            self.kept["sent"] = _MESSAGES.dump_python(self._shown, mode="json")

    def before(self) -> list[Message]:
        """Return the messages so far; if a tool runs before any model call, those of the session."""
        if not self._shown:
            parts = held_by(self.context.get_messages(include_input=True))
            held = list(chain.from_iterable(parts))
            self._shown, _ = self._as_shown(held, self._sent())
        return self._shown

    @property
    def trusted(self) -> list[str]:
        """Return the keys that may be passed to tools."""
        return trusted_keys(self.before(), self.note.facts.trusted)

    async def fold_result(self, result: Message, keys: Sequence[str] | None = None) -> Message:
        """Return a tool's result as a model is shown it.

        Args:
            result: The tool's result.
            keys: The memories that the answer of a memory tool is about; or those that an agent, called as a tool,
                lets its caller pass on. None for other tools.
        """
        [taken] = await off_loop(self.conversation.folder.take_in, [result], self.before())
        # No decision is noted for a small result, so that the session stays small.
        if taken.known.folded or keys is not None:
            trusted = (*taken.known.trusted, *(keys or ()))
            message = FoldedMessage({}, replace(taken.known, trusted=trusted))
            folded = {**self.note.folded, taken.id: message}
            self.note = replace(self.note, folded=folded)
        return taken

    def _sent(self) -> list[Message]:
        """Return the messages that the model's service keeps; none if the session keeps the history."""
        return _MESSAGES.validate_python(self.kept.get("sent", []))

    def _as_shown(
        self, held: Sequence[Message], sent: Sequence[Message]
    ) -> tuple[list[Message], int]:
        """Return the messages as a model sees them, those *sent* to a service first, and how many it has seen already."""
        if sent:
            shown, _ = as_shown(held, replace(self.note, inserted=()), None)
            return [*sent, *shown], len(sent)
        first_unseen = None
        for index, message in enumerate(held, 1):
            if message.id == self.kept.get("seen"):
                first_unseen = index
        return as_shown(held, self.note, first_unseen)


@dataclass(eq=False, repr=False)
class PromptMiddleware(ChatMiddleware):
    """Makes the prompts of one run, and takes the model's answers into the conversation."""

    run: RunningAgent

    async def process(self, context: ChatContext, call_next: Callable[[], Awaitable[None]]) -> None:
        """See `ChatMiddleware`."""
        users_strategy: CompactionStrategy | None = getattr(
            context.client, "compaction_strategy", None
        )
        users_strategy = context.kwargs.get("compaction_strategy", users_strategy)

        async def strategy(messages: list[FrameworkMessage]) -> bool:
            """Make the prompt, as the last step before the client, and return whether the user's strategy changed it."""
            await self.run.prepare(messages)
            if users_strategy is None:
                return False
            annotate_message_groups(messages)
            is_changed: bool = await users_strategy(messages)
            return is_changed

        context.kwargs["compaction_strategy"] = strategy
        context.messages = [
            context.record_message_replacement(copied(message), message)
            for message in context.messages
        ]
        await call_next()
        if isinstance(context.result, ResponseStream):
            context.result = context.result.with_result_hook(self.run.hear)
        elif context.result is not None:
            await self.run.hear(context.result)


@dataclass(eq=False, repr=False)
class FoldingMiddleware(FunctionMiddleware):
    """Gives the tools of one run stored texts in place of references, and folds their results."""

    run: RunningAgent

    async def process(
        self, context: FunctionInvocationContext, call_next: Callable[[], Awaitable[None]]
    ) -> None:
        """See `FunctionMiddleware`."""
        run = self.run
        tool = context.function
        arguments = cast("Mapping[str, Any]", context.arguments)
        if isinstance(tool, MemoryFunctionTool):
            items, keys = await tool.answered(arguments)
            taken = await run.fold_result(_neutral(context, items), keys)
            context.result = with_texts(items, taken.texts)
            return
        try:
            filled: Mapping[str, Any] = await off_loop(
                with_references_filled,
                arguments,
                tool.name,
                run.passing,
                run.conversation.manager,
                run.trusted,
                tool.parameters(),
            )
        except NotPassedError as refused:
            context.result = failure(str(refused))
            return
        if filled != arguments:
            # The person's approval and the session keep the arguments with references, not those with the stored texts.
            context.metadata.setdefault(SHOWN_ARGUMENTS, arguments)
        context.arguments = filled
        user_id = run.conversation.manager.scope.user_id
        call = RunningCall(user_id, frozenset(run.trusted), arguments)
        try:
            with call.running():
                await call_next()
        except (MiddlewareException, UserInputRequiredException):
            raise  # the framework or another middleware wants it; the tool has not failed
        except Exception as error:
            text = with_references_again(str(error), arguments, filled)
            text = run.conversation.settings.fold.redacted(text)
            if text == str(error):
                raise
            # With `include_detailed_errors`, the framework quotes it to the model, and the session keeps that.
            raise ToolExecutionException(text) from None
        if isinstance(context.result, Content):
            return
        items = joined_texts(tool.parse_result(context.result))
        result = _neutral(context, items)
        taken = await run.fold_result(result, call.told_in(result.text) or None)
        # It is folded, or at least redacted; most results stay as the tool returned them.
        if taken.texts != result.texts:
            context.result = with_texts(items, taken.texts)


def _neutral(context: FunctionInvocationContext, items: Sequence[Content]) -> Message:
    call_id = str(context.metadata["call_id"])
    occurrence = context.metadata.get("function_call_occurrence_id", call_id)
    return neutral_result(call_id, occurrence, context.function.name, items)


def _edited(
    messages: Sequence[FrameworkMessage], held: Sequence[Sequence[Message]], edits: Edits
) -> list[FrameworkMessage]:
    """Return *messages* with *edits*; *held* has the library's own messages for each of them."""
    prompt = list[FrameworkMessage]()
    for message, parts in zip(messages, held, strict=True):
        for part in parts:
            prompt += map(inserted_message, edits.inserted.get(part.id, ()))
        if any(part.id in edits.removed for part in parts):
            continue
        if any(part.id in edits.changed for part in parts):
            shown = [edits.changed.get(part.id, part) for part in parts]
            show(message, shown)
        prompt.append(message)
    return prompt
