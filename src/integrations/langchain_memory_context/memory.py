"""LangChain's memory of a chain, in a store: the conversation, and what its newest input needs from it."""

from __future__ import annotations

import json
import warnings
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast
from uuid import uuid4

from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    get_buffer_string,
)
from pydantic import Field, PrivateAttr

from langchain_memory_context.chat_model_judge import ChatModelJudge
from langchain_memory_context.conversation_facts import recall_request_of
from langchain_memory_context.message_folding import MessageFolder, origin_of
from langchain_memory_context.messages import MEMORY_NAME, texts_of
from langchain_memory_context.turns import append, messages_of
from memory_context.conversation.context_stats import ContextStats
from memory_context.conversation.fail_open import FailOpen
from memory_context.conversation.judge import BoundedJudge, Decisions, LexicalJudge
from memory_context.conversation.recall import Recall, Recaller, RecallRequest
from memory_context.conversation.settings import (
    FoldPolicy,
    RecallPolicy,
    fold_at_once_policy,
    recall_policy_of,
    refuse_middleware_settings,
)
from memory_context.conversation.text_folder import TextFolder, TextPart
from memory_context.exceptions import InvalidArgumentError
from memory_context.memory.chat_history import ChatTurn, ConversationMemory
from memory_context.memory.manager import MemoryManager
from memory_context.runtime.threads import off_loop, wait_for

if TYPE_CHECKING:
    from langchain_classic.base_memory import BaseMemory
else:
    try:
        from langchain_classic.base_memory import BaseMemory
    except ModuleNotFoundError:  # before LangChain 1.0 it was at home in the core
        from langchain_core.memory import BaseMemory

KEPT = 100
STOP = "stop"
OUTPUT = "output"


class MemoryContextMemory(BaseMemory):
    """The memory of a chain: what was said in a conversation, large texts folded, in a store.

    Takes the place of `ConversationBufferMemory`. Before each run what the new input needs from the folded texts is put
    behind the history; the history keeps it, so that what a model saw does not change. Whoever opens the same
    `thread_id` of the same user on the same store goes on with the conversation.

    Attributes:
        user_id: Whose memories these are. Nobody else's can be reached.
        thread_id: The conversation. Without one a UUID is made.
        store: A database URL, a SQLAlchemy engine or pool, or a `MemoryStore`. None: the variable
            ``MEMORY_CONTEXT_STORE``, else ``sqlite:///memory.db`` in the working directory.
        agent_id: Noted on what is stored.
        memory_key: The prompt's variable that gets the history.
        input_key: Which input is the person's; the only one that is no memory variable, without it.
        output_key: Which output is the answer; the only one, or ``output``, without it.
        return_messages: Whether the history comes as messages, and not as text.
        human_prefix: What stands before a person's words in a text.
        ai_prefix: What stands before the model's words in a text.
        threshold: Texts with more tokens are folded; 50 or more, 500 by default. Short for a `FoldPolicy`'s.
        fold: ``at_once``, or a `FoldPolicy`. In its `source_thresholds`, ``assistant`` is the model.
        recall: Whether anything is brought back; or a `RecallPolicy`.
        model: A lightweight chat model that decides what is. Short for a `RecallPolicy` with
            ``judge=ChatModelJudge(model)``.
        max_turns: How many messages the history has at most, the newest; None for all. A window that moves at each run
            changes what a model has seen; what leaves it stays in the store.
        idle_timeout: After so many seconds without a run the history begins anew; None for never.
        audit: Where it is written who did what with which memory: see `MemoryManager`.

    Raises:
        InvalidScopeError: No user.
        InvalidThresholdError: A threshold below 50.
        InvalidArgumentError: A `max_turns` below 1, an `idle_timeout` that is not above 0, a threshold beside a
            `FoldPolicy`, or a model beside a judge.
        UnsupportedDatabaseError: A URL of another database than SQLite and PostgreSQL.
    """

    user_id: str | int
    thread_id: str = Field(default_factory=lambda: str(uuid4()))
    store: Any = Field(default=None, exclude=True)
    agent_id: str | None = None
    memory_key: str = "history"
    input_key: str | None = None
    output_key: str | None = None
    return_messages: bool = False
    human_prefix: str = "Human"
    ai_prefix: str = "AI"
    threshold: int | None = None
    fold: Any = Field(default="at_once", exclude=True)
    recall: Any = Field(default=True, exclude=True)
    model: Any = Field(default=None, exclude=True)
    max_turns: int | None = None
    idle_timeout: float | None = None
    audit: Any = Field(default=None, exclude=True)
    _fold_policy: FoldPolicy = PrivateAttr()
    _manager: MemoryManager = PrivateAttr()
    _conversation: ConversationMemory = PrivateAttr()
    _recaller: Recaller = PrivateAttr()
    _recalls: bool = PrivateAttr()
    _fail_open: FailOpen = PrivateAttr(default_factory=lambda: FailOpen(ContextStats()))
    _recalled: OrderedDict[str, str] = PrivateAttr(default_factory=OrderedDict[str, str])
    _steps: OrderedDict[tuple[str, str], str] = PrivateAttr(
        default_factory=OrderedDict[tuple[str, str], str]
    )

    def __init__(self, **settings: Any) -> None:  # noqa: ANN401 - the attributes
        super().__init__(**settings)
        self._fold_policy = fold_at_once_policy(self.fold, self.threshold)
        refuse_middleware_settings(self._fold_policy, type(self).__name__)
        judge = None if self.model is None else ChatModelJudge(self.model)
        recall = recall_policy_of(self.recall, judge, "model")
        self._manager = MemoryManager(
            self.store,
            user_id=self.user_id,
            agent_id=self.agent_id,
            thread_id=self.thread_id,
            counter=self._fold_policy.counter,
            summarizer=self._fold_policy.summarizer,
            audit=self.audit,
        ).within({("session", self.thread_id)})
        self._conversation = ConversationMemory(
            self.max_turns, self.idle_timeout, manager=self._manager
        )
        recall = recall or RecallPolicy(expansion_budget=0)
        self._recalls = recall.expansion_budget > 0
        bounded_judge = BoundedJudge(recall.judge or LexicalJudge(), recall.judge_limits)
        self._recaller = Recaller(
            self._manager, self._fail_open, bounded_judge, recall.expansion_budget
        )

    @property
    def memory_variables(self) -> list[str]:
        """The prompt's variable that gets the history."""
        return [self.memory_key]

    @property
    def manager(self) -> MemoryManager:
        """The same memories, with their verbs."""
        return self._manager

    def stats(self) -> ContextStats:
        """What this memory has done so far."""
        return replace(self._fail_open.stats)

    def decisions(self) -> Decisions:
        """What was decided to bring back so far, for which input, by whom and why; the newest 1,000."""
        return Decisions(self._recaller.decisions)

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """The history, and behind it what the input needs from memory.

        Raises:
            StoreError: The conversation cannot be read.
        """
        turns = self._conversation.get_turns(self.thread_id)
        question = self._question(inputs)
        found = (
            wait_for(self._recaller.recall(self._recall_request(question, turns)))
            if question
            else None
        )
        return {self.memory_key: self._shown(turns, question, found)}

    async def aload_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """As `load_memory_variables`, off the event loop."""
        turns = await off_loop(self._conversation.get_turns, self.thread_id)
        question = self._question(inputs)
        found = (
            await self._recaller.recall(self._recall_request(question, turns)) if question else None
        )
        return {self.memory_key: self._shown(turns, question, found)}

    def save_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        """Commit what was said, large texts folded, with what was recalled for it.

        Raises:
            ValueError: It cannot be told which input or output is meant.
            StoreError: The store could not do it; nothing was saved.
        """
        asked = _messages(inputs[self._input_key(inputs)], HumanMessage)
        answered = _messages(outputs[self._output_key(outputs)], AIMessage)
        recalled = self._recalled.get(_text(asked))
        shown = [HumanMessage(recalled, name=MEMORY_NAME)] if recalled else []
        folder = MessageFolder(self._manager, self._fold_policy, self._fail_open)
        append(self._conversation, self.thread_id, folder, [*shown, *asked, *answered])
        self._recalled.pop(_text(asked), None)

    async def asave_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        """As `save_context`, off the event loop."""
        await off_loop(self.save_context, inputs, outputs)

    def clear(self) -> None:
        """Forget the conversation. Texts that were folded out of it stay in memory.

        Raises:
            StoreError: The store could not do it.
        """
        self._conversation.clear(self.thread_id)

    async def aclear(self) -> None:
        """As `clear`, off the event loop."""
        await off_loop(self.clear)

    def trim_intermediate_steps(self, steps: Sequence[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
        """The steps of an agent's run with references in place of large observations; never raises for the store.

        For ``AgentExecutor(trim_intermediate_steps=memory.trim_intermediate_steps)``: the agent reads the references,
        the returned steps keep the whole texts. An observation is shown the same way at every call.
        """
        return [(action, self._observed(action, observation)) for action, observation in steps]

    def _observed(self, action: Any, observation: Any) -> Any:  # noqa: ANN401 - whatever a tool returns
        tool, text = str(getattr(action, "tool", "tool")), str(observation)
        known = self._steps.get((tool, text))
        if known is None:
            part = TextPart(0, text, None, tool)
            folder = TextFolder(self._manager, self._fold_policy, self._fail_open)
            arguments = str(getattr(action, "tool_input", ""))
            origin = replace(origin_of([], None), arguments=arguments)
            folded = (
                self._fail_open.run(folder.fold, part, origin) if folder.may_fold(part) else None
            )
            if folded is None:
                return observation
            folder.count(folded)
            known = _remember(self._steps, (tool, text), folded.text)
        return known

    def _question(self, inputs: Mapping[str, Any]) -> str:
        """The text of the new input; "" where nothing is to be recalled."""
        if not self._recalls:
            return ""
        keys = [self.input_key] if self.input_key else self._candidates(inputs)
        return (
            _text(_messages(inputs[keys[0]], HumanMessage))
            if len(keys) == 1 and keys[0] in inputs
            else ""
        )

    def _recall_request(self, question: str, turns: Sequence[ChatTurn]) -> RecallRequest:
        messages = cast("list[AnyMessage]", messages_of(turns))
        asked = HumanMessage(question)
        request = recall_request_of(asked, [*messages, asked], ())
        return replace(request, mentioned=request.mentioned | {turn.key for turn in turns})

    def _shown(
        self, turns: Sequence[ChatTurn], question: str, found: Recall | None
    ) -> str | list[BaseMessage]:
        messages = messages_of(turns)
        if found:
            messages.append(
                HumanMessage(_remember(self._recalled, question, found.text), name=MEMORY_NAME)
            )
        if self.return_messages:
            return messages
        return "\n".join(self._line(message) for message in messages)

    def _line(self, message: BaseMessage) -> str:
        if message.name == MEMORY_NAME:
            return str(message.content)
        return get_buffer_string(
            [message], human_prefix=self.human_prefix, ai_prefix=self.ai_prefix
        )

    def _candidates(self, inputs: Mapping[str, Any]) -> list[str]:
        return sorted(set(inputs) - {self.memory_key, STOP})

    def _input_key(self, inputs: Mapping[str, Any]) -> str:
        keys = [self.input_key] if self.input_key else self._candidates(inputs)
        if len(keys) == 1 and keys[0] in inputs:
            return keys[0]
        message = f"One input key expected got {keys}: set input_key to the one that a person fills"
        raise InvalidArgumentError(message)

    def _output_key(self, outputs: Mapping[str, Any]) -> str:
        if self.output_key is not None and self.output_key in outputs:
            return self.output_key
        if self.output_key is None and len(outputs) == 1:
            return next(iter(outputs))
        if self.output_key is None and OUTPUT in outputs:
            warnings.warn(
                f"outputs {sorted(outputs)}: {OUTPUT!r} is remembered; set output_key", stacklevel=3
            )
            return OUTPUT
        message = (
            f"Got the output keys {sorted(outputs)}: set output_key to the one that is remembered"
        )
        raise InvalidArgumentError(message)


def _messages(value: Any, kind: type[HumanMessage | AIMessage]) -> list[BaseMessage]:  # noqa: ANN401 - whatever a chain has
    """What was said, as messages: text, messages, lists of messages, or JSON of anything else."""
    if isinstance(value, BaseMessage):
        return [value]
    parts: list[Any] = [*value] if isinstance(value, list) else []  # pyright: ignore[reportUnknownVariableType] # any
    if parts and all(isinstance(one, BaseMessage) for one in parts):
        return parts
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return [kind(text)]


def _text(messages: Sequence[BaseMessage]) -> str:
    return "\n".join(text for message in messages for text in texts_of(message))


def _remember(kept: OrderedDict[Any, str], key: Any, text: str) -> str:  # noqa: ANN401 - any key
    """`text`, which is kept under `key` until 100 others have come."""
    kept[key] = text
    while len(kept) > KEPT:
        kept.popitem(last=False)
    return text
