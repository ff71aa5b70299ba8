"""The middleware that keeps an agent's prompts and checkpoints small without losing anything."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal, NotRequired, Self, TypeAlias, cast
from uuid import uuid4

from langchain.agents.middleware import (
    AgentMiddleware,
    AgentState,
    ExtendedModelResponse,
    ModelRequest,
    ModelResponse,
)
from langchain.agents.middleware.internal_call_transformer import InternalCallTransformer
from langchain.agents.middleware.types import PrivateStateAttr
from langchain.tools.tool_node import ToolCallRequest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AnyMessage, ToolMessage
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.config import get_config
from langgraph.runtime import Runtime, get_runtime
from langgraph.types import Command

from langchain_memory_context.chat_model_judge import ChatModelJudge
from langchain_memory_context.conversation_facts import (
    ConversationFacts,
    new_recall,
    recall_request_of,
    trusted_in,
    with_recalls,
)
from langchain_memory_context.message_folding import MessageFolder, origin_of
from langchain_memory_context.messages import index_of_last_answer, is_question, link_of
from langchain_memory_context.messages import texts_of as texts_in
from langchain_memory_context.run_endings import called_in, calling, endings
from langchain_memory_context.tool_results import ToolOutcome, as_redactor, fold_outcome
from langchain_memory_context.tools import MemoryTool, memory_tools, note_tools
from memory_context.conversation.context_stats import ContextStats
from memory_context.conversation.fail_open import FailOpen
from memory_context.conversation.judge import BoundedJudge, Decision, Decisions, LexicalJudge
from memory_context.conversation.key_trust import called_with, vouch_for_words
from memory_context.conversation.message_groups import recall_position
from memory_context.conversation.pass_by_reference import (
    NotPassedError,
    PassingPolicy,
    passed_keys,
    strings_in,
    texts_of,
    with_texts,
)
from memory_context.conversation.recall import KEPT_DECISIONS, Recaller
from memory_context.conversation.run_notes import offered_places, unseen_notes
from memory_context.conversation.settings import (
    FoldPolicy,
    NotesPolicy,
    RecallPolicy,
    fold_at_once_policy,
    notes_policy_of,
    recall_policy_of,
)
from memory_context.exceptions import (
    InvalidArgumentError,
    InvalidScopeError,
    StateOwnerError,
    StoreError,
)
from memory_context.memory.manager import MemoryManager
from memory_context.memory.scoped_memory import ScopedMemory
from memory_context.memory.summaries import as_summaries
from memory_context.model.audit import AuditTrail
from memory_context.model.tiers_and_limits import Lifetime
from memory_context.model.tool_names import RETRIEVE
from memory_context.runtime import events, prompts
from memory_context.runtime.threads import off_loop, wait_for
from memory_context.stores import as_auditor, as_store

if TYPE_CHECKING:
    from memory_context.stores import AnyStore


KEPT_CONVERSATIONS = 1000
ENDING: tuple[Lifetime, ...] = ("run", "task")

AnyRequest: TypeAlias = ModelRequest[Any]
AnyResponse: TypeAlias = ModelResponse[Any]


def _merged(old: dict[str, Any] | None, new: dict[str, Any] | None) -> dict[str, Any]:
    """What several middlewares know of a conversation, each under its own name."""
    return {**(old or {}), **(new or {})}


class MemoryContextState(AgentState[Any]):
    """An agent's state with what the middleware knows of the conversation; private, and kept by checkpointers."""

    memory_context: Annotated[NotRequired[dict[str, Any]], PrivateStateAttr, _merged]


@dataclass(frozen=True, slots=True)
class ConversationSnapshot:
    """A conversation at one moment, and who may look into its memories."""

    messages: list[AnyMessage]
    facts: ConversationFacts
    folder: MessageFolder
    bounded_judge: BoundedJudge

    @property
    def manager(self) -> MemoryManager:
        """Return the memories of the user whose conversation it is."""
        return self.folder.manager


class MemoryContextMiddleware(AgentMiddleware[MemoryContextState, Any, Any]):
    """Keeps large texts of an agent's conversation in a store, and brings back what the next step needs.

    A tool's large result is committed to the store before it enters the agent's state; a reference and a preview take
    its place, in state, checkpoints and streams. Large texts of people are folded before the first model call that
    would see them. Before each model call the newest message is compared with what is out of sight, and what it needs
    is put before it; text and position are kept in private state, so that what a model saw does not change. If the
    store fails, the text stays, and the run goes on.

    Nothing else may come between a tool and this middleware that must see whole texts: put it last in the list, or
    behind everything but such middleware. Middleware that redacts reaches stored text only as ``FoldPolicy(redact=…)``.

    Args:
        store: A database URL, a SQLAlchemy engine or pool, or a `MemoryStore`. None: the variable
            ``MEMORY_CONTEXT_STORE``, else ``sqlite:///memory.db`` in the working directory. Nothing is opened before
            the first use.
        user_id: Whose memories these are. None: each run says it, by ``user_id`` in its context (``context_schema``) or
            in ``config["configurable"]``; a run that does not is an error.
        agent_id: Noted on what is stored.
        threshold: Texts with more tokens are folded; 50 or more, 500 by default. Short for a `FoldPolicy`'s.
        fold: ``at_once``, or a `FoldPolicy`.
        recall: Whether anything is brought back without being asked for; or a `RecallPolicy`.
        notes: Whether the agent keeps notes in tiers (`ScopedMemory`); or a `NotesPolicy`. A run is one invocation, with
            all its resumptions; the thread is the session. Its task and its project are told by ``task`` and ``project``
            in its context or in ``config["configurable"]``. The notes of the run, and of its task, go when it ends,
            fails or is cancelled; with ``NotesPolicy(ends_task=False)``, `end_task` ends a task.
        model: A lightweight model that decides what is brought back. Short for a `RecallPolicy` with
            ``judge=ChatModelJudge(model)``.
        tools: Whether the agent gets `retrieve_memory`, `search_memory` and `store_memory`, and with notes
            `save_memory`, `get_memory`, `clear_memory` and `list_categories`.
        pass_by_reference: Whether a reference as the whole value of a tool's argument is replaced by its text; or a
            `PassingPolicy`.
        audit: Where it is written who did what with which memory: see `MemoryManager`.
        name: Tells two instances in one agent apart.

    Raises:
        InvalidScopeError: A user that is none.
        InvalidThresholdError: A threshold below 50.
        InvalidArgumentError: A threshold beside a `FoldPolicy`, a model beside a judge, or a setting of the wrong kind.
        UnsupportedDatabaseError: A URL of another database than SQLite and PostgreSQL.
    """

    state_schema = MemoryContextState
    transformers = (InternalCallTransformer,)

    def __new__(cls, *_: Any, notes: bool | NotesPolicy = False, **__: Any) -> Self:  # noqa: ANN401 - see __init__
        """Return one with hooks around the agent only if it keeps notes: LangChain makes a node of each hook."""
        if notes is not False and cls is MemoryContextMiddleware:
            return cast("Self", object.__new__(MiddlewareWithNotes))
        return super().__new__(cls)

    def __init__(  # noqa: PLR0913 - each is a setting of its own, with a default
        self,
        store: AnyStore | None = None,
        *,
        user_id: str | int | None = None,
        agent_id: str | None = None,
        threshold: int | None = None,
        fold: Literal["at_once"] | FoldPolicy = "at_once",
        recall: bool | RecallPolicy = True,
        notes: bool | NotesPolicy = False,
        model: BaseChatModel | None = None,
        tools: bool = True,
        pass_by_reference: bool | PassingPolicy = True,
        audit: AuditTrail | str | bool | None = None,
        name: str = "MemoryContextMiddleware",
    ) -> None:
        super().__init__()
        policy = fold_at_once_policy(fold, threshold)
        redactors = tuple(as_redactor(redactor) for redactor in policy.redact)
        self._fold_policy = replace(policy, redact=redactors)
        judge = None if model is None else ChatModelJudge(model)
        self._recall_policy = recall_policy_of(recall, judge, "model")
        notes_policy = notes_policy_of(notes)
        self._has_notes = notes_policy is not None
        self._notes_policy = notes_policy or NotesPolicy()
        self._passing = PassingPolicy.of(pass_by_reference)
        self._store = as_store(store)
        self._closes_store = self._store is not store
        self._auditor = as_auditor(audit, self._store)
        self._summaries = as_summaries(policy.summarizer)
        self._user_id = user_id
        self._agent_id = agent_id
        self._fail_open = FailOpen(ContextStats())
        self._decisions = deque[Decision](maxlen=KEPT_DECISIONS)
        self._bounded_judges = OrderedDict[tuple[str, str | None], BoundedJudge]()
        self._name = name
        if self._has_notes:
            _check_hooks(self)
            endings()
        self.tools = self._own_tools() if tools else []
        if user_id is not None:
            self._unwalled(user_id, None)

    @property
    def name(self) -> str:
        """Return what tells this instance from another one in the same agent."""
        return self._name

    @property
    def instructions(self) -> str:
        """Return the part of `MEMORY_INSTRUCTIONS` on the tools that this middleware gives."""
        return prompts.MEMORY_INSTRUCTIONS if self._has_notes else prompts.READING_INSTRUCTIONS

    def stats(self) -> ContextStats:
        """Return what this middleware has done so far, for all users."""
        return replace(self._fail_open.stats)

    def decisions(self) -> Decisions:
        """Return what was decided to bring back, for which message, by whom and why; the newest 1,000 decisions."""
        return Decisions(self._decisions)

    def end_task(self, task: str, *, user_id: str | int | None = None) -> int:
        """Delete the notes of a task that has ended, and return how many there were.

        With ``NotesPolicy(ends_task=False)`` nothing else does.

        Raises:
            InvalidScopeError: No user.
            StoreError: The store could not do it.
        """
        owner = self._unwalled(user_id if self._user_id is None else self._user_id, None)  # type: ignore[arg-type] # says what is wrong with None
        return ScopedMemory(owner, task_id=task, policies=self._notes_policy.tiers).end("task")

    def close(self) -> None:
        """Give back the store's connections, unless the store is the caller's. The middleware may be used again."""
        if self._auditor:
            self._auditor.close()
        if self._closes_store:
            self._store.close()

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolOutcome]
    ) -> ToolOutcome:
        """Run the tool with texts in place of references, and fold what it gives, unless a person gets it directly."""
        filled = self._filled(request)
        if isinstance(filled, ToolMessage):
            return filled
        with self._calling(request):
            outcome = handler(filled)
        return self._folded(request, outcome)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolOutcome]]
    ) -> ToolOutcome:
        """As `wrap_tool_call`, the store off the event loop."""
        filled = await off_loop(self._filled, request)
        if isinstance(filled, ToolMessage):
            return filled
        with self._calling(request):
            outcome = await handler(filled)
        return await off_loop(self._folded, request, outcome)

    def wrap_model_call(
        self, request: AnyRequest, handler: Callable[[AnyRequest], AnyResponse]
    ) -> AnyResponse | ExtendedModelResponse[Any]:
        """Ask the model with what the newest message needs before it."""
        prompt, update, vouch = wait_for(self._prepared(request))
        response = handler(prompt)
        vouch(response)
        return _with_update(response, update)

    async def awrap_model_call(
        self, request: AnyRequest, handler: Callable[[AnyRequest], Awaitable[AnyResponse]]
    ) -> AnyResponse | ExtendedModelResponse[Any]:
        """As `wrap_model_call`, the store off the event loop."""
        prompt, update, vouch = await self._prepared(request)
        response = await handler(prompt)
        vouch(response)
        return _with_update(response, update)

    def _watch(self, facts: ConversationFacts) -> None:
        """See `MiddlewareWithNotes`."""

    def _own_tools(self) -> list[MemoryTool]:
        owned = cast(
            "list[MemoryTool]",
            memory_tools(self._owner, max_tokens=self._fold_policy.threshold),
        )
        if self._passing.passes:
            tools = ", ".join(sorted(self._passing.tools or ())) or prompts.ANY_TOOL
            reading = next(tool for tool in owned if tool.name == RETRIEVE)
            reading.description = (
                f"{reading.description} {prompts.PASS_REFERENCES.format(tools=tools)}"
            )
        if not self._has_notes:
            return owned
        noting = note_tools(
            lambda: self._notes(called_in(self)), max_tokens=self._fold_policy.threshold
        )
        return [*owned, *cast("list[MemoryTool]", noting)]

    def _owner(self) -> MemoryManager:
        """The memories that the tool which is called here may see."""
        return self._manager(called_in(self))

    def _calling(self, request: ToolCallRequest) -> AbstractContextManager[None]:
        """Lets a memory tool know which run it is called in, and an agent that is a tool who speaks to it."""
        if isinstance(request.tool, MemoryTool):
            return calling(self, self._facts(request.state))
        facts = self._facts(request.state)
        return called_with(
            str(facts.user_id), facts.trusted or (), strings_in(request.tool_call["args"])
        )

    def _setting(self, name: str) -> Any:  # noqa: ANN401 - whatever a caller gives
        """What a run says of itself, in its context or its configuration."""
        told = _named(getattr(get_runtime(), "context", None), name)
        return get_config().get("configurable", {}).get(name) if told is None else told

    def _notes(self, facts: ConversationFacts) -> ScopedMemory:
        """The notes that are open in the run that `facts` tells of.

        Raises:
            InvalidScopeError: Nobody says whose they are.
            StateOwnerError: The conversation belongs to another user.
        """
        user_id = self._setting("user_id") if self._user_id is None else self._user_id
        if user_id is None:
            message = 'whose memories? Give user_id= here, or in the run\'s context or config["configurable"]'
            raise InvalidScopeError(message)
        thread = get_config().get("configurable", {}).get("thread_id")
        owner = self._unwalled(user_id, None if thread is None else str(thread))
        if facts.user_id not in (None, owner.scope.user_id):
            message = f"this thread belongs to another user than {owner.scope.user_id!r}: give each user their own threads"
            raise StateOwnerError(message)
        return ScopedMemory(
            owner,
            run_id=facts.run_id,
            task_id=facts.task,
            project_id=facts.project,
            policies=self._notes_policy.tiers,
        )

    def _manager(self, facts: ConversationFacts) -> MemoryManager:
        """The memories of the user whose run this is, without what is closed in it."""
        notes = self._notes(facts)
        notes.manager.set_places(notes.places, offered_places(notes))
        return notes.manager

    def _unwalled(self, user_id: str | int, thread_id: str | None) -> MemoryManager:
        return MemoryManager(
            self._store,
            user_id=user_id,
            agent_id=self._agent_id,
            thread_id=thread_id,
            counter=self._fold_policy.counter,
            summarizer=self._summaries,
            audit=self._auditor,
        )

    def _conversation(self, state: Any) -> ConversationSnapshot:  # noqa: ANN401 - whatever schema the agent has
        facts = self._facts(state)
        manager = self._manager(facts)
        folder = MessageFolder(manager, self._fold_policy, self._fail_open)
        return ConversationSnapshot(
            list(_named(state, "messages") or []),
            facts,
            folder,
            self._bounded_judge(manager, facts),
        )

    def _facts(self, state: Any) -> ConversationFacts:  # noqa: ANN401 - whatever schema the agent has
        return ConversationFacts.of(_named(_named(state, "memory_context") or {}, self._name))

    def _bounded_judge(self, manager: MemoryManager, facts: ConversationFacts) -> BoundedJudge:
        """The judge's bench of this conversation, with what earlier processes have asked it."""
        place = (manager.scope.user_id, manager.thread_id)
        bounded_judge = self._bounded_judges.pop(place, None)
        if bounded_judge is None:
            policy = self._recall_policy or RecallPolicy()
            bounded_judge = BoundedJudge(policy.judge or LexicalJudge(), policy.judge_limits)
        self._bounded_judges[place] = bounded_judge
        while len(self._bounded_judges) > KEPT_CONVERSATIONS:
            self._bounded_judges.popitem(last=False)
        bounded_judge.calls, bounded_judge.tokens = facts.judge_calls, facts.judge_tokens
        return bounded_judge

    def _filled(self, request: ToolCallRequest) -> ToolCallRequest | ToolMessage:
        """The call with texts in place of references; the answer to the model if it cannot be made."""
        call = request.tool_call
        self._notes(self._facts(request.state))  # raises before the tool runs for somebody else
        if isinstance(request.tool, MemoryTool) or not self._passing.passes_to(call["name"]):
            return request
        try:
            arguments = self._with_texts(request)
        except NotPassedError as refused:
            text = prompts.NOT_CALLED.format(tool=call["name"], reason=refused)
            return ToolMessage(text, tool_call_id=call["id"], name=call["name"], status="error")
        return (
            request
            if arguments is None
            else request.override(tool_call={**call, "args": arguments})
        )

    def _with_texts(self, request: ToolCallRequest) -> dict[str, Any] | None:
        """The arguments with texts in place of references; None where there are none."""
        call = request.tool_call
        keys = passed_keys(call["args"])
        if not keys:
            return None
        talk = self._conversation(request.state)
        trusted = set(trusted_in(talk.messages, talk.facts, talk.manager.scope.user_id))
        texts = texts_of(keys, call["name"], self._passing, talk.manager.fetch, trusted)
        try:
            filled = cast("dict[str, Any]", with_texts(call["args"], texts, _schema_of(request)))
        except RecursionError:
            raise NotPassedError(prompts.TOO_DEEP_TO_PASS) from None
        talk.manager.audit("passed", *texts)
        return filled

    def _folded(self, request: ToolCallRequest, outcome: ToolOutcome) -> ToolOutcome:
        if isinstance(request.tool, MemoryTool) or getattr(request.tool, "return_direct", False):
            return outcome
        talk = self._conversation(request.state)
        origin = partial(origin_of, talk.messages, request.tool_call)
        return fold_outcome(talk.folder, outcome, request.tool_call["name"], origin)

    async def _prepared(
        self, request: AnyRequest
    ) -> tuple[AnyRequest, dict[str, Any], Callable[[AnyResponse], None]]:
        """The request as the model gets it, what changes in the state when it has answered, and who sees the answer."""
        self._check_tools(request)
        self._watch(self._facts(request.state))
        talk = self._conversation(request.state)
        shown = index_of_last_answer(talk.messages) if talk.facts.begun else 0
        old, folded = talk.messages, await off_loop(talk.folder.fold_unseen, talk.messages, shown)
        talk = replace(talk, messages=[folded.get(message.id or "", message) for message in old])
        user_id, before = talk.manager.scope.user_id, talk.facts
        facts = replace(before, begun=True, user_id=user_id).trusting(
            trusted_in(talk.messages, before, user_id)
        )
        recall = self._recall_policy
        if recall is not None and recall.expansion_budget:
            facts = await self._recalled(replace(talk, facts=facts), shown, recall.expansion_budget)
        facts = await self._noted(replace(talk, facts=facts), shown)
        seen = [_in_place(message, old, folded) for message in request.messages]
        prompt = request.override(messages=with_recalls(seen, facts.shown))
        update: dict[str, Any] = {"messages": list(folded.values())} if folded else {}
        update |= {"memory_context": {self._name: facts.saved()}} if facts != before else {}
        return prompt, update, partial(_vouch, user_id, facts.trusted or ())

    def _check_tools(self, request: AnyRequest) -> None:
        """Refuse another tool under the name of a memory tool: LangChain lets one replace the other."""
        own = {tool.name for tool in self.tools}
        for tool in request.tools:
            name = getattr(tool, "name", None)
            if name in own and not isinstance(tool, MemoryTool):
                message = (
                    f"more than one tool has the name {name}, and MemoryContextMiddleware adds one itself: "
                    "give yours another name, or the middleware tools=False"
                )
                raise InvalidArgumentError(message)

    async def _recalled(
        self, talk: ConversationSnapshot, shown: int, budget: int
    ) -> ConversationFacts:
        """What is known when the newest unseen message has what it needs."""
        unseen = talk.messages[shown:]
        question = next((message for message in reversed(unseen) if is_question(message)), None)
        if question is None:
            return talk.facts
        position = recall_position([link_of(message) for message in talk.messages], shown)
        if position is None:
            return talk.facts
        request = recall_request_of(question, talk.messages, talk.facts.shown)
        recaller = Recaller(
            talk.manager, self._fail_open, talk.bounded_judge, budget, self._decisions
        )
        found = await recaller.recall(request)
        facts = replace(
            talk.facts, judge_calls=talk.bounded_judge.calls, judge_tokens=talk.bounded_judge.tokens
        )
        if found is None:
            return facts
        one = new_recall(talk.messages, position, found.text, found.ranges)
        # what a person's words have named is opened, but any text can have put such words before the person
        return replace(facts, recalls=(*facts.recalls, one)).trusting(
            key for key in found.ranges if key not in request.named
        )

    async def _noted(self, talk: ConversationSnapshot, shown: int) -> ConversationFacts:
        """What is known when the prompt has what the run has noted since."""
        facts = talk.facts
        if facts.run_id is None:
            return facts
        position = recall_position([link_of(message) for message in talk.messages], shown)
        if position is None:
            return facts
        noted = await off_loop(self._fail_open.run, unseen_notes, self._notes(facts), facts.noted)
        if noted is None:
            return facts
        self._fail_open.stats.add(tokens_noted=noted.tokens)
        one = new_recall(talk.messages, position, noted.text, dict.fromkeys(noted.keys, ()))
        return replace(facts, notes=(*facts.notes, one), noted=noted.seen).trusting(noted.keys)


class MiddlewareWithNotes(MemoryContextMiddleware):
    """A `MemoryContextMiddleware` with ``notes``: it begins and ends the agent's runs. Made by that name."""

    def before_agent(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any]:  # noqa: ANN401, ARG002 - LangChain's signature
        """Begin a run; the notes of one that has been left behind go."""
        old = self._facts(state)
        if old.run_id is not None:
            self._end_run(old)
        task, project = self._setting("task"), self._setting("project")
        facts = replace(
            old,
            run_id=str(uuid4()),
            task=None if task is None else str(task),
            project=self._notes_policy.project if project is None else str(project),
            notes=(),
            noted={},
        )
        facts = replace(facts, user_id=self._notes(facts).manager.scope.user_id)
        self._watch(facts)
        return {"memory_context": {self._name: facts.saved()}}

    async def abefore_agent(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any]:  # noqa: ANN401 - LangChain's signature
        """As `before_agent`, the store off the event loop."""
        return await off_loop(self.before_agent, state, runtime)

    def after_agent(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any]:  # noqa: ANN401, ARG002 - LangChain's signature
        """End the run."""
        facts = self._facts(state)
        self._end_run(facts)
        ended = replace(facts, run_id=None, task=None, project=None, notes=(), noted={})
        return {"memory_context": {self._name: ended.saved()}}

    async def aafter_agent(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any]:  # noqa: ANN401 - LangChain's signature
        """As `after_agent`, the store off the event loop."""
        return await off_loop(self.after_agent, state, runtime)

    def _watch(self, facts: ConversationFacts) -> None:
        """End the run if its graph fails from now on."""
        endings().when_failed(partial(self._ended, self._notes(facts)))

    def _end_run(self, facts: ConversationFacts) -> None:
        self._ended(self._notes(facts))

    def _ended(self, notes: ScopedMemory) -> None:
        """Delete what ends; where the store fails it stays there, and nobody sees it."""
        try:
            for lifetime in ENDING if self._notes_policy.ends_task else ENDING[:1]:
                notes.end(lifetime)
        except StoreError as error:
            self._fail_open.stats.add(store_failures=1)
            user = notes.manager.scope.user_id
            events.NOTES_NOT_DELETED.log(error, where=True, user_id=user, lifetime="run")


def _in_place(
    message: AnyMessage, old: Sequence[AnyMessage], folded: Mapping[str, AnyMessage]
) -> AnyMessage:
    """The folded form of a message of the request, unless another middleware shows it otherwise than it stands."""
    one = folded.get(message.id or "")
    stands = one is not None and any(
        other.id == message.id and other.content == message.content for other in old
    )
    return one if one is not None and stands else message


def _vouch(user_id: str, trusted: Sequence[str], response: AnyResponse) -> None:
    """Let other conversations of this user know what the model has said here."""
    for text in (text for message in response.result for text in texts_in(message)):
        vouch_for_words(user_id, text, trusted)


def _with_update(
    response: AnyResponse, update: dict[str, Any]
) -> AnyResponse | ExtendedModelResponse[Any]:
    return ExtendedModelResponse(response, Command(update=update)) if update else response


def _named(place: Any, name: str) -> Any:  # noqa: ANN401 - contexts and states are dicts, dataclasses, pydantic models
    return (
        cast("Mapping[str, Any]", place).get(name)
        if isinstance(place, Mapping)
        else getattr(place, name, None)
    )


def _schema_of(request: ToolCallRequest) -> dict[str, Any]:
    """What the tool says of its arguments; nothing of one that is not known here."""
    if request.tool is None:
        return {}
    return cast(
        "dict[str, Any]", convert_to_openai_tool(request.tool)["function"].get("parameters", {})
    )


def _check_hooks(middleware: MemoryContextMiddleware) -> None:
    if not isinstance(middleware, MiddlewareWithNotes):
        message = (
            f"to keep notes, {type(middleware).__name__} must be a subclass of MiddlewareWithNotes"
        )
        raise InvalidArgumentError(message)
