"""One conversation: messages, and references to memories in place of their large texts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Self
from uuid import uuid4

from autogen_core import Component, ComponentModel
from autogen_core.model_context import ChatCompletionContext
from autogen_core.models import ChatCompletionClient, FunctionExecutionResultMessage, LLMMessage, UserMessage
from autogen_core.tools import BaseTool
from pydantic import BaseModel, Field

from memory_context._executor import off_loop
from memory_context._items import Content, MemoryItem
from memory_context._policy import LEAST_THRESHOLD, PERSON, Folded, FoldPolicy
from memory_context._refs import MemoryRef, without_references
from memory_context._tokens import TokenCounter
from memory_context.autogen._compaction import CONVERSATION, Compactor, from_lines, limit_of, stands_for
from memory_context.autogen._folding import ContextStats, Folder, Guard
from memory_context.autogen._messages import (
    MEMORY_SOURCE,
    Part,
    calls_of,
    is_question,
    newest_question,
    parts_of,
    recall_position,
    texts_of,
    with_texts,
)
from memory_context.autogen._recall import Need, Recall, Recaller, lines_in_sight
from memory_context.autogen._state import ContextFacts, ContextState, Ranges, parse_state
from memory_context.autogen.judge import LLMJudge
from memory_context.autogen.tools import memory_tools
from memory_context.exceptions import InvalidArgumentError, NotSerializableError, StateError, StateOwnerError
from memory_context.judges import Bench, Decision, Judge, JudgeLimits, LexicalJudge
from memory_context.manager import MemoryManager

if TYPE_CHECKING:
    import sqlalchemy as sa

    from memory_context.stores import MemoryStore

MAX_CANDIDATES = 500
KEPT_REFERENCES = 2000


class MemoryContextConfig(BaseModel):
    """What a dumped context holds. Messages beyond the initial ones belong to its state."""

    user_id: str
    store: str
    agent_id: str | None = None
    thread_id: str | None = None
    password_variable: str
    threshold: int
    source_thresholds: dict[str, int]
    preview_tokens: int
    expansion_budget: int
    recall: bool
    max_tokens: int | None = None
    judge: ComponentModel | None = None
    judge_limits: JudgeLimits = JudgeLimits()
    initial_messages: list[LLMMessage] | None = Field(default=None)


class MemoryContext(ChatCompletionContext, Component[MemoryContextConfig]):
    """A `ChatCompletionContext` that keeps large texts in a store, and brings back what the next step needs.

    Each large text of a message is committed to the store when the message is added; a reference and a short preview
    take its place. What `get_messages` has returned once, it returns byte for byte the same until `clear`. If the store
    fails, the text stays in the prompt, and the run goes on.

    Args:
        user_id: Whose memories these are. Nobody else's can be reached.
        store: A database URL, a SQLAlchemy engine or pool, or a `MemoryStore`. None: the variable
            ``MEMORY_CONTEXT_STORE``, else ``sqlite:///memory.db`` in the working directory. Nothing is opened before
            the first message.
        agent_id: Noted on what is stored.
        thread_id: The conversation. Without one a UUID is made and kept in the state.
        threshold: Texts with more tokens are folded; 50 or more.
        source_thresholds: Other thresholds for user messages from some sources; ``user`` has 8,000 by default.
        preview_tokens: The most that stays of a text beside its reference.
        expansion_budget: The most tokens that are brought back at once.
        recall: Whether anything is brought back without being asked for.
        max_tokens: The most tokens of all messages together, 500 or more; or a share of `window`, as 0.5. Before it
            would be passed, the oldest groups of messages are stored as one memory, and a reference takes their place.
        window: The tokens of the model's context window.
        judge: Decides what is brought back; the words of the message without one (`LexicalJudge`).
        model_client: Short for ``judge=LLMJudge(model_client)``: a lightweight model decides.
        judge_limits: What a judge with a model may cost in this conversation, and how long it may take.
        counter: Counts tokens; the process's default without one.
        initial_messages: The messages to start with, treated like added ones.
        password_variable: The environment variable with the password of a database URL that has none.

    Raises:
        InvalidScopeError: No user.
        InvalidThresholdError: A threshold below 50.
        UnsupportedDatabaseError: A URL of another database than SQLite and PostgreSQL.
        InvalidArgumentError: Both a judge and a model client, or something that is no judge.
    """

    component_type = "chat_completion_context"
    component_config_schema = MemoryContextConfig
    component_provider_override = "memory_context.MemoryContext"

    def __init__(  # noqa: PLR0913 - each is a setting of its own, with a default
        self,
        user_id: str | int,
        *,
        store: str | sa.Engine | sa.Pool | MemoryStore | None = None,
        agent_id: str | None = None,
        thread_id: str | None = None,
        threshold: int = 500,
        source_thresholds: Mapping[str, int] | None = None,
        preview_tokens: int = 250,
        expansion_budget: int = 2000,
        recall: bool = True,
        max_tokens: float | None = None,
        window: int | None = None,
        judge: Judge | None = None,
        model_client: ChatCompletionClient | None = None,
        judge_limits: JudgeLimits | None = None,
        counter: TokenCounter | Callable[[str], int] | None = None,
        initial_messages: Sequence[LLMMessage] | None = None,
        password_variable: str = "MEMORY_CONTEXT_STORE_PASSWORD",  # noqa: S107 - the name of a variable
    ) -> None:
        super().__init__(list(initial_messages or []) or None)
        if judge is not None and (model_client is not None or not isinstance(judge, Judge)):
            message = (
                "judge= takes one object with a name and decide(); model_client= is short for LLMJudge(…): give one"
            )
            raise InvalidArgumentError(message)
        self.max_tokens = limit_of(max_tokens, window)
        self.policy = FoldPolicy(
            threshold,
            dict(source_thresholds or {}),
            preview_tokens,
            expansion_budget,
            recall,
            largest=max(LEAST_THRESHOLD, self.max_tokens // 4) if self.max_tokens else None,
        )
        self._given_thread = thread_id
        self._password_variable = password_variable
        self._manager = MemoryManager(
            store,
            user_id=user_id,
            agent_id=agent_id,
            thread_id=thread_id or str(uuid4()),
            counter=counter,
            password_variable=password_variable,
        )
        self._lock = _LoopLock()
        self._guard = Guard(ContextStats())
        self._folder = Folder(self._manager, self.policy, self._guard)
        self._judge = LLMJudge(model_client) if model_client else judge
        bench = Bench(self._judge or LexicalJudge(), judge_limits or JudgeLimits())
        self._compactor = Compactor(self._folder, self.max_tokens) if self.max_tokens else None
        self._recaller = Recaller(self._manager, self._guard, bench, expansion_budget)
        self._adding: set[asyncio.Future[None]] = set()
        self._messages = []
        self._waiting: list[LLMMessage] = list(initial_messages or [])
        self._references: dict[str, Ranges] = {}
        self._named: set[str] = set()
        self._held: UserMessage | None = None
        self._shown = 0

    @property
    def user_id(self) -> str:
        """Whose memories these are."""
        return self._manager.scope.user_id

    @property
    def thread_id(self) -> str:
        """The conversation."""
        return str(self._manager.thread_id)

    async def add_message(self, message: LLMMessage) -> None:
        """Add a copy of `message`, its large texts folded. A cancelled call still completes, before the next one."""
        adding = asyncio.ensure_future(self._add(with_texts(message, {})))
        self._adding.add(adding)
        adding.add_done_callback(self._adding.discard)
        await asyncio.shield(adding)

    async def get_messages(self) -> list[LLMMessage]:
        """The messages, with what the newest one needs from memory before it; what was returned once stays."""
        async with self._lock:
            await self._settle()
            await self._recall()
            await self._compact()
            self._shown = len(self._messages)
            return list(self._messages)

    async def clear(self) -> None:
        """Forget the messages. The memories stay in the store."""
        async with self._lock:
            self._forget_messages()

    async def save_state(self) -> Mapping[str, Any]:
        """The messages as they are shown, and what the context knows about them, in JSON's own types."""
        async with self._lock:
            await self._settle()
            facts = ContextFacts(
                user_id=self.user_id,
                thread_id=self.thread_id,
                shown=self._shown,
                references=self._references,
                named=sorted(self._named),
                held=self._held,
            )
            return ContextState(messages=self._messages, memory_context=facts).model_dump(mode="json")

    async def load_state(self, state: Mapping[str, Any]) -> None:
        """Take the place of the messages by those of `state`, which may be that of one of AutoGen's own contexts.

        Raises:
            StateOwnerError: It belongs to another user.
            StateVersionError: It was saved by a newer version.
            StateError: It is not a context's state.
        """
        loaded = parse_state(state)
        facts = loaded.memory_context or ContextFacts(user_id=self.user_id, thread_id=self.thread_id)
        if facts.user_id != self.user_id:
            message = f"the state belongs to another user than {self.user_id!r}; load it into a context of its own user"
            raise StateOwnerError(message)
        async with self._lock:
            self._forget_messages()
            if loaded.memory_context is None:
                self._waiting = loaded.messages
                return
            self._messages = loaded.messages
            self._shown, self._held, self._named = facts.shown, facts.held, set(facts.named)
            self._references = dict(facts.references)
            self._manager.thread_id = self._given_thread or facts.thread_id

    async def store(
        self,
        content: Content | dict[str, Any] | list[Any],
        description: str | None = None,
        type: str = "note",  # noqa: A002 - the word that the record uses
        **details: Any,  # noqa: ANN401 - those of MemoryManager.remember
    ) -> str:
        """See `MemoryManager.store`."""
        return await off_loop(self._manager.store, content, description, type, **details)

    async def retrieve(
        self, key: str, *, lines: str | None = None, query: str = "", max_tokens: int | None = None
    ) -> Content:
        """See `MemoryManager.retrieve`."""
        return await off_loop(self._manager.retrieve, key, lines=lines, query=query, max_tokens=max_tokens)

    async def search(self, query: str, limit: int = 5, **filters: Any) -> list[MemoryItem]:  # noqa: ANN401 - a column's values
        """See `MemoryManager.search`."""
        return await off_loop(self._manager.search, query, limit, **filters)

    async def restore(self, key: str) -> int:
        """Put the messages of a compaction back in the place of its reference; how many they are.

        Raises:
            MemoryNotFoundError: There is no memory under `key`.
            StateError: It holds no compacted messages, or no reference to it stands in this conversation.
        """
        item = await off_loop(self._manager.read, key)
        async with self._lock:
            index = next((i for i, message in enumerate(self._messages) if stands_for(message, key)), None)
            if item.memory_type != CONVERSATION or index is None:
                message = f"{key!r} does not stand for compacted messages of this conversation"
                raise StateError(message)
            restored = from_lines(item.text)
            self._messages = [*self._messages[:index], *restored, *self._messages[index + 1 :]]
            self._shown += len(restored) - 1 if self._shown > index else 0
        return len(restored)

    async def forget(self, key: str, *, reason: str = "forgotten") -> bool:
        """See `MemoryManager.forget`."""
        return await off_loop(self._manager.forget, key, reason=reason)

    def stats(self) -> ContextStats:
        """What this context has done so far."""
        return replace(self._guard.stats)

    @property
    def manager(self) -> MemoryManager:
        """The same memories, synchronous."""
        return self._manager

    def has_shown(self, key: str) -> bool:
        """Whether a reference with this key stands in the conversation."""
        return key in self._references

    async def fold_output(self, text: str, *, tool: str, arguments: str | None = None, is_error: bool = False) -> str:
        """A tool's output as this context would show it: itself, or reference and preview. Never raises."""
        part = Part(0, text, None, tool, is_error=is_error)
        if not self._folder.may_fold(part):
            return text
        folded = await off_loop(self._guard.run, self._folder.fold, part, arguments)
        if folded is None:
            return text
        self._note_fold(folded)
        return folded.text

    def decisions(self) -> list[Decision]:
        """What was decided to bring back so far, for which message, by whom and why; the newest 1,000."""
        return list(self._recaller.decisions)

    def tools(self) -> list[BaseTool[Any, Any]]:
        """`retrieve_memory`, `search_memory` and `store_memory`, for the agent of this context."""
        return memory_tools(self._manager, max_tokens=self.policy.threshold)

    async def aclose(self) -> None:
        """Give back the store's connections, unless the store is the caller's. The context may be used again."""
        await off_loop(self._manager.close)

    def _to_config(self) -> MemoryContextConfig:
        return MemoryContextConfig(
            **self._manager.connection(),
            thread_id=self._given_thread,
            threshold=self.policy.threshold,
            source_thresholds=dict(self.policy.source_thresholds),
            preview_tokens=self.policy.preview_tokens,
            expansion_budget=self.policy.expansion_budget,
            recall=self.policy.recall,
            max_tokens=self.max_tokens,
            judge=self._dumped_judge(),
            judge_limits=self._recaller.bench.limits,
            initial_messages=self._initial_messages,
        )

    def _dumped_judge(self) -> ComponentModel | None:
        if self._judge is None or isinstance(self._judge, LexicalJudge):
            return None
        if isinstance(self._judge, LLMJudge):
            return self._judge.dump_component()
        message = f"the judge {self._judge!r} cannot be written down: only LexicalJudge and LLMJudge can"
        raise NotSerializableError(message)

    @classmethod
    def _from_config(cls, config: MemoryContextConfig) -> Self:
        values: dict[str, Any] = {name: getattr(config, name) for name in MemoryContextConfig.model_fields}
        values["judge"] = LLMJudge.load_component(config.judge) if config.judge else None
        return cls(**values)

    def _forget_messages(self) -> None:
        self._messages, self._waiting = [], []
        self._references, self._named = {}, set()
        self._held, self._shown = None, 0

    async def _add(self, message: LLMMessage) -> None:
        async with self._lock:
            await self._settle()
            await self._take_in(message)

    async def _settle(self) -> None:
        """Take in the messages that came with the constructor or a state."""
        while self._waiting:
            await self._take_in(self._waiting[0])
            del self._waiting[0]

    async def _take_in(self, message: LLMMessage) -> None:
        """Append `message`, its large texts folded."""
        if is_question(message):
            self._named = self._named_by(message)
        parts = [part for part in parts_of(message) if self._folder.may_fold(part)]
        folded = await off_loop(self._folder.fold_all, parts, self._arguments_of(parts)) if parts else {}
        self._messages.append(with_texts(message, {index: one.text for index, one in folded.items()}))
        self._guard.stats.messages += 1
        for one in folded.values():
            self._note_fold(one)
        self._note_references(self._messages[-1])

    def _arguments_of(self, parts: list[Part]) -> dict[str, str]:
        """What the calls that `parts` answer were made with, by their ids."""
        wanted = {part.call_id for part in parts if part.call_id}
        if not wanted:
            return {}
        calls = (call for message in reversed(self._messages) for call in calls_of(message))
        return dict(islice(((call.id, call.arguments) for call in calls if call.id in wanted), len(wanted)))

    def _note_fold(self, one: Folded) -> None:
        self._folder.count(one)
        self._references[one.item.memory_key] = one.preview.ranges

    def _note_references(self, message: LLMMessage) -> None:
        """Remember which references stand in the conversation, and which lines of theirs a tool has shown."""
        for part in parts_of(message):
            for ref in MemoryRef.find_all(part.text):
                self._references.setdefault(ref.key, ())
        if isinstance(message, FunctionExecutionResultMessage):
            for key, lines in lines_in_sight(message):
                self._references[key] = (*self._references.get(key, ()), lines)

    async def _recall(self) -> None:
        question = newest_question(self._messages, self._shown) if self.policy.recall else None
        found = await self._recaller.recall(self._need(question)) if question else None
        self._held = self._hold(found) if found else self._held
        position = recall_position(self._messages, self._shown)
        if self._held and position is not None:
            self._messages.insert(position, self._held)
            self._held = None

    async def _compact(self) -> None:
        """Keep below the limit, in one batch; where the store fails, the messages stay as they are."""
        if self._compactor is None:
            return
        compacted = await off_loop(self._compacted, self._compactor)
        if compacted is not None and compacted is not self._messages:
            self._messages = compacted
            self._references = self._after_compaction()

    def _compacted(self, compactor: Compactor) -> list[LLMMessage] | None:
        return self._guard.run(compactor.compact, self._messages, list(self._references))

    def _after_compaction(self) -> dict[str, Ranges]:
        """The references of the conversation; in sight are only lines of those whose preview still stands there."""
        texts = [text for message in self._messages for text in texts_of(message)]
        standing = {ref.key: "\n" in text for text in texts for ref in MemoryRef.find_all(text)}
        keys = list(dict.fromkeys((*self._references, *standing)))[-KEPT_REFERENCES:]
        return {key: self._references.get(key, ()) if standing.get(key) else () for key in keys}

    def _need(self, question: UserMessage) -> Need:
        text = "\n".join(texts_of(question))
        mentioned = frozenset(ref.key for ref in MemoryRef.find_all(text))
        keys = [key for key in list(self._references)[-MAX_CANDIDATES:] if key not in mentioned]
        before = [message for message in self._messages if message is not question]
        first = next((message for message in self._messages if is_question(message)), question)
        return Need(
            message=without_references(text),
            task="\n".join(texts_of(first)),
            named=frozenset(self._named),
            references={key: self._references[key] for key in keys},
            mentioned=mentioned,
            in_sight=lambda text: any(text in shown for message in before for shown in texts_of(message)),
        )

    def _named_by(self, message: LLMMessage) -> set[str]:
        """The keys that a person names in a message, as references or bare; other agents only pass references on."""
        if not isinstance(message, UserMessage) or message.source != PERSON:
            return set()
        text = "\n".join(texts_of(message))
        return {ref.key for ref in MemoryRef.find_all(text)} | {key for key in self._references if key in text}

    def _in_sight(self, text: str) -> bool:
        return any(text in shown for message in self._messages for shown in texts_of(message))

    def _hold(self, found: Recall) -> UserMessage:
        """The message that shows what was found; after one that still waits, where there is one."""
        self._guard.stats.recalls += len(found.ranges)
        self._guard.stats.tokens_recalled += found.tokens
        for key, ranges in found.ranges.items():
            self._references[key] = (*self._references.get(key, ()), *ranges)
        before = f"{self._held.content}\n\n" if self._held else ""
        return UserMessage(content=before + found.text, source=MEMORY_SOURCE)


class _LoopLock:
    """An asyncio lock that serves one event loop after the other."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    async def __aenter__(self) -> None:
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._lock, self._loop = asyncio.Lock(), loop
        await self._lock.acquire()

    async def __aexit__(self, *exception: object) -> None:
        self._lock.release()
