"""`MemoryContextMemory`: a LangChain chain's memory in a store, which recalls what the newest input needs."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self
from uuid import uuid4

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    get_buffer_string,
)
from pydantic import ConfigDict, Field, PrivateAttr

from langchain_memory_context.chat_model_judge import ChatModelJudge
from langchain_memory_context.messages import neutral_of, plain_texts
from langchain_memory_context.stored_turns_as_messages import append, messages_of
from memory_context.conversation.context_stats import ContextStats
from memory_context.conversation.conversation import Conversation, ConversationSettings
from memory_context.conversation.conversations_of_many_users import HostedConversations
from memory_context.conversation.fold_recall_notes_policies import (
    fold_at_once_policy,
    recall_policy_of,
)
from memory_context.conversation.message import MEMORY_SOURCE, FunctionCall, Message
from memory_context.conversation.recall.recall_request_from_messages import recall_request
from memory_context.conversation.recording_to_call_log import Decisions
from memory_context.exceptions import InvalidArgumentError
from memory_context.memory.chat_history import ChatTurn, ConversationMemory
from memory_context.memory.manager import MemoryManager
from memory_context.model.scope import UserId
from memory_context.runtime.threads import off_loop, wait_for
from memory_context.text.json_documents import json_of_any

if TYPE_CHECKING:
    from langchain_classic.base_memory import BaseMemory
else:
    try:
        from langchain_classic.base_memory import BaseMemory
    except ModuleNotFoundError:  # before LangChain 1.0 it was in langchain-core
        from langchain_core.memory import BaseMemory

KEPT = 100
STOP = "stop"
OUTPUT = "output"


class MemoryContextMemory(BaseMemory):
    """The memory of a chain: the conversation in a store, with large texts folded.

    Replaces `ConversationBufferMemory`. Before each run, the folded texts that the new input needs are inserted after
    the history. The history keeps them, so that messages a model has seen do not change. The same user and `thread_id`
    on the same store continue the conversation.

    Attributes:
        user_id: The user whose memories these are. Other users' memories cannot be reached.
        thread_id: The id of the conversation; by default a new UUID.
        store: A database URL, a SQLAlchemy engine or pool, or a `MemoryStore`. None: the environment variable
            ``MEMORY_CONTEXT_STORE``, else ``sqlite:///memory.db`` in the working directory.
        agent_id: Recorded with each stored memory.
        memory_key: The prompt's variable for the history.
        input_key: The chain's input that a person fills; by default the only one that is not a memory variable.
        output_key: The chain's output that is the answer; by default the only one, or ``output``.
        return_messages: Whether the history is returned as messages, not as text.
        human_prefix: The prefix of a person's messages in a text.
        ai_prefix: The prefix of the model's messages in a text.
        threshold: Texts with more tokens than this are folded; 50 or more, 500 by default. Shorthand for a `FoldPolicy`
            with this threshold.
        fold: ``at_once``, or a `FoldPolicy`. In its `source_thresholds`, ``assistant`` stands for the model.
        recall: Whether stored texts are brought back; or a `RecallPolicy`.
        model: A lightweight chat model that decides what is brought back, or its name as `create_agent` takes it.
            Shorthand for a `RecallPolicy` with ``judge=ChatModelJudge(model)``.
        max_turns: The most messages in the history, the newest; None for all. Older messages stay in the store. Note
            that a limit changes, at each run, the messages that the model has seen.
        idle_timeout: The history starts again empty after so many seconds without a run; None for never.
        audit: The audit trail, which records who did what with which memory: see `MemoryManager`.

    Raises:
        InvalidScopeError: The user is missing.
        InvalidThresholdError: The threshold is below 50.
        InvalidArgumentError: `max_turns` is below 1, `idle_timeout` is not above 0, or there is both a threshold and a
            `FoldPolicy`, or both a model and a judge.
        UnsupportedDatabaseError: The URL is neither one of SQLite nor one of PostgreSQL.
    """

    # By default, pydantic ignores unknown settings silently.
    # LangChain's tracers show reprs and errors, and a URL may hold a password.
    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    # What the constructor reads is frozen: after assigning another user, one would go on with the memories of the first.
    user_id: UserId = Field(frozen=True)
    thread_id: str = Field(default_factory=lambda: str(uuid4()), frozen=True)
    store: Any = Field(default=None, exclude=True, frozen=True, repr=False)
    agent_id: str | None = Field(default=None, frozen=True)
    memory_key: str = "history"
    input_key: str | None = None
    output_key: str | None = None
    return_messages: bool = False
    human_prefix: str = "Human"
    ai_prefix: str = "AI"
    threshold: int | None = Field(default=None, frozen=True)
    fold: Any = Field(default="at_once", exclude=True, frozen=True)
    recall: Any = Field(default=True, exclude=True, frozen=True)
    model: Any = Field(default=None, exclude=True, frozen=True)
    max_turns: int | None = Field(default=None, frozen=True)
    idle_timeout: float | None = Field(default=None, frozen=True)
    audit: Any = Field(default=None, exclude=True, frozen=True, repr=False)
    _manager: MemoryManager = PrivateAttr()
    _conversation: ConversationMemory = PrivateAttr()
    _decides: Conversation = PrivateAttr()
    _recalled: OrderedDict[str, str] = PrivateAttr(default_factory=OrderedDict[str, str])
    _steps: OrderedDict[tuple[str, str], str] = PrivateAttr(
        default_factory=OrderedDict[tuple[str, str], str]
    )

    def __init__(self, **settings: Any) -> None:  # noqa: ANN401 - the attributes
        super().__init__(**settings)
        fold = fold_at_once_policy(self.fold, self.threshold, type(self).__name__)
        recall = recall_policy_of(self.recall, self.model, ChatModelJudge, "model")
        kept = ConversationSettings(fold, recall)
        hosted = HostedConversations(self.store, kept, audit=self.audit)
        memories = hosted.memories(self.user_id, self.thread_id, self.agent_id)
        self._manager = memories.within({("session", self.thread_id)})
        self._decides = hosted.conversation(self._manager)
        self._conversation = ConversationMemory(
            self.max_turns, self.idle_timeout, manager=self._manager
        )

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy on the same conversation.

        Raises:
            InvalidArgumentError: *update* names a setting that a copy shares, such as the user, whose memories the copy
                would not have.
        """
        fields = type(self).model_fields
        for name in update or {}:
            if name in fields and fields[name].frozen:
                raise InvalidArgumentError(f"a copy keeps its {name}; make another memory")
        return super().model_copy(update=update, deep=deep)

    def copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:  # type: ignore[override] # without pydantic's include and exclude
        """As `model_copy`: pydantic's deprecated method would go on with another user's memories."""
        return self.model_copy(update=update, deep=deep)

    @property
    def memory_variables(self) -> list[str]:
        """Return the prompt's variable for the history."""
        return [self.memory_key]

    @property
    def manager(self) -> MemoryManager:
        """Return the manager of the same memories."""
        return self._manager

    def stats(self) -> ContextStats:
        """Return the figures of what this memory has done so far."""
        return self._decides.fail_open.stats.snapshot()

    def decisions(self) -> Decisions:
        """Return the newest 1,000 recall decisions: what was brought back for which input, who decided it and why."""
        return self._decides.log.of_thread(self._manager)

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Return the history, followed by the memories that the input needs.

        Raises:
            StoreError: The conversation cannot be read.
        """
        turns = self._conversation.get_turns(self.thread_id)
        return wait_for(self._loaded(inputs, turns))

    async def aload_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """As `load_memory_variables`, off the event loop."""
        turns = await off_loop(self._conversation.get_turns, self.thread_id)
        return await self._loaded(inputs, turns)

    def save_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        """Store the input and the output, with large texts folded, and the memories that were recalled for them.

        Raises:
            ValueError: It is not clear which input or output is meant.
            StoreError: The store failed; nothing was saved.
        """
        asked = self._asked(inputs)
        output = self.output_key or OUTPUT
        if self.output_key is None and len(outputs) == 1:
            output = next(iter(outputs))
        if output not in outputs:
            raise InvalidArgumentError(
                f"Got the output keys {sorted(outputs)}: set output_key to the output that is the answer"
            )
        messages = asked + _messages(outputs[output], AIMessage)
        question = _text(asked)
        if question in self._recalled:
            recalled = HumanMessage(self._recalled[question], name=MEMORY_SOURCE)
            messages.insert(0, recalled)
        append(self._conversation, self.thread_id, self._decides.folder, messages)
        self._recalled.pop(question, None)

    async def asave_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        """As `save_context`, off the event loop."""
        await off_loop(self.save_context, inputs, outputs)

    def clear(self) -> None:
        """Forget the conversation. The memories of folded texts stay in the store.

        Raises:
            StoreError: The store failed.
        """
        self._conversation.clear(self.thread_id)

    async def aclear(self) -> None:
        """As `clear`, off the event loop."""
        await off_loop(self.clear)

    def trim_intermediate_steps(self, steps: Sequence[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
        """Return the steps of an agent's run with references in place of large observations.

        For ``AgentExecutor(trim_intermediate_steps=memory.trim_intermediate_steps)``: the agent reads the references,
        while the steps that the executor returns keep the whole texts. An observation is shown in the same way at every
        call. Errors of the store are not raised.
        """
        return [(action, self._observed(action, observation)) for action, observation in steps]

    def _observed(self, action: Any, observation: Any) -> Any:  # noqa: ANN401 - whatever a tool returns
        tool = str(getattr(action, "tool", "tool"))
        text = str(observation)
        step = (tool, text)
        if step not in self._steps:
            arguments = str(getattr(action, "tool_input", ""))
            call = FunctionCall("", tool, arguments)
            asked = Message("", "assistant", "", {}, (call,))
            result = Message("", "tool", tool, {0: text}, answers="")
            [taken] = self._decides.folder.take_in([result], [asked])
            if taken.text == text:
                return observation
            _remember(self._steps, step, taken.text)
        return self._steps[step]

    async def _loaded(self, inputs: Mapping[str, Any], turns: Sequence[ChatTurn]) -> dict[str, Any]:
        """Return the prompt's variable: the history, followed by the memories that the input needs."""
        messages = messages_of(turns)
        question = ""
        if self._decides.recaller().shown.budget > 0:
            # Without a single input there is nothing to recall for.
            with suppress(InvalidArgumentError):
                question = _text(self._asked(inputs))
        if question:
            recalled = await self._recalled_for(question, messages, turns)
            # The run that an earlier recall was made for may have failed.
            self._recalled.pop(question, None)
            if recalled:
                _remember(self._recalled, question, recalled)
                messages.append(HumanMessage(recalled, name=MEMORY_SOURCE))
        if self.return_messages:
            return {self.memory_key: messages}
        lines = map(self._as_line, messages)
        return {self.memory_key: "\n".join(lines)}

    async def _recalled_for(
        self, question: str, messages: Sequence[BaseMessage], turns: Sequence[ChatTurn]
    ) -> str:
        """Return the memories that a question after these messages needs, as a model reads them; "" for none."""
        asked = [neutral_of(message) for message in (*messages, HumanMessage(question))]
        conversation = self._decides.folder.take_in_all(asked, len(messages))
        request = recall_request(conversation[-1], conversation)
        # The turns are memories themselves, and are in the history already.
        mentioned = request.mentioned | {turn.key for turn in turns}
        recall = await self._decides.recaller().recall(replace(request, mentioned=mentioned))
        return recall.text if recall else ""

    def _as_line(self, message: BaseMessage) -> str:
        """Return a message as a part of a history that is one text."""
        if message.name == MEMORY_SOURCE:
            return str(message.content)
        return get_buffer_string(
            [message], human_prefix=self.human_prefix, ai_prefix=self.ai_prefix
        )

    def _asked(self, inputs: Mapping[str, Any]) -> list[BaseMessage]:
        """Return the input that a person fills, as messages.

        Raises:
            InvalidArgumentError: It is not clear which input that is.
        """
        keys = sorted(set(inputs) - {self.memory_key, STOP})
        if self.input_key:
            keys = [self.input_key]
        if len(keys) != 1 or keys[0] not in inputs:
            raise InvalidArgumentError(
                f"One input key expected got {keys}: set input_key to the input that a person fills"
            )
        return _messages(inputs[keys[0]], HumanMessage)


def _messages(value: Any, kind: type[HumanMessage | AIMessage]) -> list[BaseMessage]:  # noqa: ANN401 - whatever a chain has
    """Return an input or output as messages: its own if it consists of messages, else one with its text or its JSON."""
    values: list[Any] = value if isinstance(value, list) else [value]  # pyright: ignore[reportUnknownVariableType] # any
    if values and all(isinstance(part, BaseMessage) for part in values):
        return [*values]
    if not isinstance(value, str):
        value = json_of_any(value)
    return [kind(value)]


def _text(messages: Sequence[BaseMessage]) -> str:
    texts = list[str]()
    for message in messages:
        texts += plain_texts(message)
    return "\n".join(texts)


def _remember(texts: OrderedDict[Any, str], key: Any, text: str) -> None:  # noqa: ANN401 - any key
    """Keep *text* under *key*, and forget the oldest text if there are more than `KEPT`."""
    texts[key] = text
    if len(texts) > KEPT:
        texts.popitem(last=False)
