"""`MemoryContextMiddleware`: keep an agent's prompts and checkpoints small without losing anything.

Large texts are *folded* (stored, with a reference and a preview in their place) and *recalled* when the next step needs
them. The decisions about a conversation, its *note*, are kept in the graph's private state or carried by the model's
answers.
"""

from __future__ import annotations

from collections.abc import (
    Awaitable,
    Callable,
    Coroutine,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    NotRequired,
    Self,
    TypeAlias,
    TypeGuard,
    cast,
)

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
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    RemoveMessage,
    ToolMessage,
    convert_to_messages,
)
from langchain_core.runnables import Runnable, RunnableLambda
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.config import get_config
from langgraph.runtime import Runtime
from langgraph.types import Command

from langchain_memory_context.agent_runs import endings, run_of_call, running_tool
from langchain_memory_context.chat_model_judge import ChatModelJudge
from langchain_memory_context.filled_arguments import FilledArguments
from langchain_memory_context.folded_tool_results import (
    ToolOutcome,
    folded_result,
    with_folded,
    with_quotations_as_written,
)
from langchain_memory_context.messages import ids_of, inserted_message, neutral_of, shown_as
from langchain_memory_context.redactors import as_redactor
from langchain_memory_context.state_through_parent_graphs import (
    CarriedConversation,
    carried_by,
    carrying,
    check_owner_of,
    graphs_around,
)
from langchain_memory_context.tools import MemoryTool, ask_tools, memory_tools, note_tools
from langchain_memory_context.user_of_a_run import RunUser, named, setting_of_run, user_of_run
from memory_context import sentences_models_read as prompts
from memory_context.conversation.conversation import (
    Conversation,
    ConversationSettings,
)
from memory_context.conversation.conversations_of_many_users import (
    HostedConversations,
    HostOfConversations,
)
from memory_context.conversation.decisions_beside_messages import DecisionNote, note_of
from memory_context.conversation.fold_recall_notes_policies import (
    FoldPolicy,
    NotesPolicy,
    RecallPolicy,
    fold_policy_of,
    recall_policy_of,
)
from memory_context.conversation.message import Edits, edits_between, trusted_keys
from memory_context.conversation.notes_in_prompts import AgentRun
from memory_context.conversation.references.key_trust import RunningCall, in_tool_call
from memory_context.conversation.references.pass_by_reference import NotPassedError, PassingPolicy
from memory_context.conversation.references.texts_as_files_for_tools import with_references_filled
from memory_context.exceptions import InvalidArgumentError
from memory_context.memory.manager import MemoryManager
from memory_context.memory.scoped_memory import ScopedMemory
from memory_context.model.json_object import JsonObject
from memory_context.model.scope import UserId
from memory_context.model.tool_names import RETRIEVE
from memory_context.runtime.threads import off_loop, wait_for
from memory_context.stores import AnyStore
from memory_context.stores.auditor_with_waiting_entries import AnyAuditTrail

AnyRequest: TypeAlias = ModelRequest[Any]
AnyResponse: TypeAlias = ModelResponse[Any]
WithId: TypeAlias = tuple[str, AnyMessage]
AnyAnswer: TypeAlias = ModelResponse[Any] | ExtendedModelResponse[Any]


def _merged(old: JsonObject | None, new: JsonObject | None) -> JsonObject:
    """Merge the private states of several middlewares; each has its part under its own name."""
    return {**(old or {}), **(new or {})}


class MemoryContextState(AgentState[Any]):
    """An agent's state, with the middleware's private state, which checkpointers keep."""

    memory_context: Annotated[NotRequired[JsonObject], PrivateStateAttr, _merged]


class AgentConversation(NamedTuple):
    """A conversation at one moment, and the run and memories of its agent.

    Attributes:
        carried: The messages, and the decisions about them so far.
        decides: Decides what is folded and recalled.
        run: The current run of the agent.
        notes: The notes that are open in the run.
        agent: The names of the nodes that the agent is in; "" at top level.
        carries: Whether the model's answers must carry the decisions, because private state would be lost.
    """

    carried: CarriedConversation
    decides: Conversation
    run: AgentRun
    notes: ScopedMemory
    agent: str
    carries: bool

    @property
    def manager(self) -> MemoryManager:
        """Return the memories of the user whose conversation this is."""
        return self.decides.manager

    @property
    def may_be_anothers(self) -> bool:
        """Return whether only the graphs around the agent can say whose conversation this is.

        It has no owner yet, and none was checked by the agent that calls this one as a tool. The worker of a `Send`, for
        example, has messages of its own, while the conversation is in its parent graph.
        """
        return self.carries and self.carried.note.facts.user_id is None and not in_tool_call()

    @property
    def trusted(self) -> list[str]:
        """Return the keys that may be passed to tools."""
        return trusted_keys(self.carried.messages, self.carried.note.facts.trusted)


class MemoryContextMiddleware(HostOfConversations, AgentMiddleware[MemoryContextState, Any, Any]):
    """Keeps large texts of an agent's conversation in a store, and brings back what the next step needs.

    A tool's large result is committed to the store before it enters the agent's state; a reference and a preview take
    its place in state, checkpoints and streams. Large texts of people are folded before the first model call that would
    see them. Before each model call, the newest message is compared with the stored texts that the model does not see,
    and those that it needs are inserted before it. The inserted text and its position are kept in private state, so that
    messages a model has seen do not change. If the store fails, the text stays, and the run goes on.

    Middleware between a tool and this one sees whole texts; all other middleware sees references. So put this
    middleware last in the list, or before only such middleware that must see whole texts. **Middleware that redacts**,
    such as `PIIMiddleware`, does not see recalled texts: pass it to ``FoldPolicy(redact=[…])``, which is applied to all
    folded and recalled texts.

    Args:
        store: A database URL, a SQLAlchemy engine or pool, or a `MemoryStore`. None: the environment variable
            ``MEMORY_CONTEXT_STORE``, else ``sqlite:///memory.db`` in the working directory. The store is opened on
            first use.
        user_id: The user whose memories these are, or a callable that returns the user of a run from its `Runtime`, such
            as ``lambda runtime: runtime.context.user_id``. None: the user whom LangGraph's server has authenticated
            (``langgraph_auth_user_id`` in ``config["configurable"]``); if there is none, the run's ``user_id``, in its
            context (``context_schema``) or in ``config["configurable"]``. A run without a user is an error.
        threshold: Texts with more tokens than this are folded; 50 or more, 500 by default. Shorthand for a `FoldPolicy`
            with this threshold.
        fold: ``at_once``; ``after_reading``, for work in which the model must read each output in full once; or a
            `FoldPolicy`.
        recall: Whether stored texts, and what is known about the user, are brought back without being asked for; or a
            `RecallPolicy`.
        notes: Whether the agent keeps notes in tiers (`ScopedMemory`); or a `NotesPolicy`. A run is one invocation,
            including all times that it is resumed; the thread is the session. ``task`` and ``project``, in the run's
            context or in ``config["configurable"]``, name its task and its project. The notes of the run, and of its
            task, are deleted when it ends, fails or is cancelled; with ``NotesPolicy(ends_task=False)``, `end_task`
            deletes those of a task.
        max_tokens: The most tokens that all messages together may have, 500 or more; an old image counts as 765. Before
            this is exceeded, the oldest groups of messages are stored as one memory, and a reference takes their place.
            The system prompt and the tools come on top of it.
        model: A lightweight model that decides what is brought back, or its name as `create_agent` takes it. Shorthand
            for a `RecallPolicy` with ``judge=ChatModelJudge(model)``.
        tools: Whether the agent gets `retrieve_memory`, `search_memory` and `store_memory`, and with notes
            `save_memory`, `get_memory`, `delete_memory`, `clear_memory` and `list_categories`.
        pass_by_reference: Whether a reference that is the whole value of a tool's argument is replaced with the stored
            text; or a `PassingPolicy`.
        audit: The audit trail, which records who did what with which memory: see `MemoryManager`.
        name: The name of this instance; two instances in one agent need different names.

    Raises:
        InvalidScopeError: The user is missing or invalid.
        InvalidThresholdError: The threshold is below 50.
        BudgetTooSmallError: `max_tokens` is below 500.
        InvalidArgumentError: There is both a threshold and a `FoldPolicy`, or both a model and a judge, or a setting has
            the wrong type.
        UnsupportedDatabaseError: The URL is neither one of SQLite nor one of PostgreSQL.
    """

    state_schema = MemoryContextState
    transformers = (InternalCallTransformer,)

    def __new__(cls, *_: Any, notes: bool | NotesPolicy = False, **__: Any) -> Self:  # noqa: ANN401 - see __init__
        """Create a `MiddlewareWithNotes` if it keeps notes. Others have no hooks: LangChain makes a node of each hook."""
        if notes is not False and cls is MemoryContextMiddleware:
            return cast("Self", object.__new__(MiddlewareWithNotes))
        return super().__new__(cls)

    def __init__(  # noqa: PLR0913 - each is a setting of its own, with a default
        self,
        store: AnyStore | None = None,
        *,
        user_id: RunUser = None,
        threshold: int | None = None,
        fold: Literal["at_once", "after_reading"] | FoldPolicy = "at_once",
        recall: bool | RecallPolicy = True,
        notes: bool | NotesPolicy = False,
        max_tokens: int | None = None,
        model: BaseChatModel | str | None = None,
        tools: bool = True,
        pass_by_reference: bool | PassingPolicy = True,
        audit: AnyAuditTrail | None = None,
        name: str = "MemoryContextMiddleware",
    ) -> None:
        super().__init__()
        policy = fold_policy_of(fold, threshold)
        redactors = tuple(map(as_redactor, policy.redact))
        recall_policy = recall_policy_of(recall, model, ChatModelJudge, "model")
        settings = ConversationSettings(
            replace(policy, redact=redactors), recall_policy, max_tokens
        )
        self._passing = PassingPolicy.of(pass_by_reference)
        self._hosted = HostedConversations(store, settings, notes=notes, audit=audit)
        self._user_id = user_id
        self._name = name
        if self._hosted.has_notes:
            if not isinstance(self, MiddlewareWithNotes):
                raise InvalidArgumentError(
                    f"to keep notes, {type(self).__name__} must be a subclass of MiddlewareWithNotes"
                )
            endings()
        if tools not in (True, False):
            raise InvalidArgumentError(
                f"tools is True or False, not {tools!r:.80}: pass your own tools to create_agent"
            )
        self.tools = self._memory_tools() if tools else []
        if user_id is not None and not callable(user_id):
            self._hosted.memories(user_id)

    # Python asks `__new__` first for the arguments that help() shows.
    __new__.__wrapped__ = __init__  # type: ignore[attr-defined]

    @property
    def name(self) -> str:
        """Return the name of this instance, which is unique in its agent."""
        return self._name

    @property
    def instructions(self) -> str:
        """Return `MEMORY_INSTRUCTIONS`, for the system prompt if references do not explain themselves (see `FoldPolicy`)."""
        return prompts.MEMORY_INSTRUCTIONS

    def end_task(self, task: str, *, user_id: UserId | None = None) -> int:
        """Delete the notes of a task that has ended, and return how many there were.

        With ``NotesPolicy(ends_task=False)``, nothing else deletes them.

        Raises:
            InvalidScopeError: The user is missing.
            StoreError: The store failed.
        """
        fixed = self._user_id
        owner = user_id if fixed is None or callable(fixed) else fixed
        return self._hosted.end_task(task, owner)  # type: ignore[arg-type] # says what is wrong with None

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolOutcome]
    ) -> ToolOutcome:
        """Run the tool with stored texts in place of references, and fold its result unless it is returned directly."""
        conversation = self._conversation(request)
        filled = self._filled(request, conversation)
        if isinstance(filled, ToolMessage):
            return filled
        with self._calling(request, conversation) as call:
            outcome = handler(filled)
        return self._folded(request, filled, outcome, conversation, call)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolOutcome]]
    ) -> ToolOutcome:
        """As `wrap_tool_call`, with the store used in a thread."""
        conversation = self._conversation(request)
        filled = await off_loop(self._filled, request, conversation)
        if isinstance(filled, ToolMessage):
            return filled
        with self._calling(request, conversation) as call:
            outcome = await handler(filled)
        return await off_loop(self._folded, request, filled, outcome, conversation, call)

    def wrap_model_call(
        self, request: AnyRequest, handler: Callable[[AnyRequest], AnyResponse]
    ) -> AnyAnswer:
        """Call the model with the memories that the newest message needs inserted before it."""
        conversation = self._opened(request)
        prompt, decided = wait_for(self._prepared(request, conversation))
        return wait_for(decided(handler(prompt)))

    async def awrap_model_call(
        self, request: AnyRequest, handler: Callable[[AnyRequest], Awaitable[AnyResponse]]
    ) -> AnyAnswer:
        """As `wrap_model_call`, with the store used in a thread."""
        conversation = await self._aopened(request)
        prompt, decided = await self._prepared(request, conversation)
        return await decided(await handler(prompt))

    def model_node(self, model: Runnable[Any, AIMessage]) -> Runnable[Any, dict[str, Any]]:
        """Return a node for your own graph or loop that calls *model* with the memories that the newest message needs.

        The node takes a state with ``messages``, in any form that LangChain accepts, and returns
        ``{"messages": [answer]}``. The answer carries the decisions in its `response_metadata`, so keep that unchanged.
        Results of tools are folded by ``ToolNode(tools, wrap_tool_call=memory.wrap_tool_call,
        awrap_tool_call=memory.awrap_tool_call)``; other large texts are folded in the prompt. Such a graph does not say
        when an agent begins and ends, so there are no notes of a run.

        Args:
            model: The model, with its tools bound, including those of `tools`.

        Raises:
            InvalidArgumentError: *model* is not a model, for example only the name of one; or, when the node runs, the
                state has no ``messages``.
        """
        if not isinstance(model, Runnable):  # pyright: ignore[reportUnnecessaryIsInstance] # callers are not checked
            raise InvalidArgumentError(
                f"model_node takes a chat model with its tools bound, not {model!r:.80}: "
                "for a model's name, use init_chat_model(name).bind_tools(tools)"
            )

        def requested(state: Any) -> AnyRequest:  # noqa: ANN401 - whatever schema the graph has
            """Return the request for the model that a node with this state makes."""
            if named(state, "messages") is None:
                raise InvalidArgumentError(
                    "the state of a model_node has no messages: the graph's state needs the key messages, as in MessagesState"
                )
            shown = cast("Any", model)
            return ModelRequest(model=shown, messages=_messages_in(state), tools=[], state=state)

        def ask(prompt: AnyRequest) -> AnyResponse:
            return ModelResponse([model.invoke(prompt.messages)])

        async def aask(prompt: AnyRequest) -> AnyResponse:
            return ModelResponse([await model.ainvoke(prompt.messages)])

        def node(state: Any) -> dict[str, Any]:  # noqa: ANN401 - as above
            """Ask the model, and return the messages for the state."""
            return _messages_of(self.wrap_model_call(requested(state), ask))

        async def anode(state: Any) -> dict[str, Any]:  # noqa: ANN401 - as above
            """As `node`, asynchronously."""
            return _messages_of(await self.awrap_model_call(requested(state), aask))

        return RunnableLambda(node, anode, name="model")

    def _watch(self, notes: ScopedMemory) -> None:
        """Do nothing without notes; see `MiddlewareWithNotes`."""

    def _memory_tools(self) -> list[MemoryTool]:
        """Return the memory tools for the agent."""
        fold = self._hosted.settings.fold
        max_tokens = fold.threshold
        tools = memory_tools(
            self._owner, max_tokens=max_tokens, page_tokens=fold.page_budget, queries=fold.queries
        )
        reading = next(tool for tool in tools if tool.name == RETRIEVE)
        reading.description = self._passing.told_in(reading.description)
        if self._hosted.settings.light_model is not None:
            tools += ask_tools(lambda: self._hosted.reader(self._owner()), max_tokens=max_tokens)
        if self._hosted.has_notes:
            tools += note_tools(lambda: self._notes(run_of_call(self)), max_tokens=max_tokens)
        return cast("list[MemoryTool]", tools)

    def _owner(self) -> MemoryManager:
        """Return the memories that the memory tool being called may see."""
        return self._notes(run_of_call(self)).manager

    @contextmanager
    def _calling(
        self, request: ToolCallRequest, conversation: AgentConversation
    ) -> Generator[RunningCall]:
        """Tell a memory tool in which run it is called, and an agent inside another tool who calls it.

        Yields the facts about the call for an agent inside the tool.
        """
        user_id = conversation.manager.scope.user_id
        written = request.tool_call["args"]
        call = RunningCall(user_id, frozenset(conversation.trusted), written)
        running = call.running()
        if self._is_own(request.tool):
            running = running_tool(self, conversation.run)
        with running:
            yield call

    def _notes(self, run: AgentRun) -> ScopedMemory:
        """Return the notes that are open in *run*.

        Raises:
            InvalidScopeError: No user is given.
        """
        user_id = user_of_run(self._user_id)
        thread = _run_setting("configurable", "thread_id")
        # The name that the running agent was created with.
        agent = _run_setting("metadata", "lc_agent_name")
        memories = self._hosted.memories(user_id, thread, agent)
        return self._hosted.notes(memories, run)

    def _private(self, state: Any) -> Mapping[str, Any]:  # noqa: ANN401 - whatever schema the agent has
        """Return this middleware's part of the private state."""
        return named(named(state, "memory_context") or {}, self._name) or {}

    def _opened(self, request: AnyRequest) -> AgentConversation:
        """Return the conversation of a model call, after checking that the graphs around the agent are its user's, too.

        Raises:
            InvalidScopeError: No user is given.
            StateOwnerError: The conversation, or that of a graph around it, belongs to another user.
        """
        conversation = self._conversation(request)
        if conversation.may_be_anothers:
            for saver, graph in graphs_around():
                saved = saver.get_tuple(graph)
                check_owner_of(saved, self._name, conversation.manager.scope.user_id)
        return conversation

    async def _aopened(self, request: AnyRequest) -> AgentConversation:
        """As `_opened`, with the checkpointer's asynchronous methods."""
        conversation = self._conversation(request)
        if conversation.may_be_anothers:
            for saver, graph in graphs_around():
                saved = await saver.aget_tuple(graph)
                check_owner_of(saved, self._name, conversation.manager.scope.user_id)
        return conversation

    def _conversation(self, request: AnyRequest | ToolCallRequest) -> AgentConversation:
        """Return the conversation that a model or a tool is called in.

        Raises:
            InvalidScopeError: No user is given.
            StateOwnerError: The conversation belongs to another user.
        """
        private = self._private(request.state)
        run = AgentRun.of(private.get("run"))
        notes = self._notes(run)
        # The names of the nodes that the agent is in; "" at top level. A namespace is ``node:task|node:task``; its last
        # part is a node of the agent's own graph. Parts that are numbers count repeated calls, and are left out.
        namespace = _run_setting("configurable", "checkpoint_ns") or ""
        nodes = [part.partition(":")[0] for part in namespace.split("|")[:-1]]
        agent = "|".join(node for node in nodes if not node.isdecimal())
        manager = notes.manager
        carried = carried_by(
            _messages_in(request.state),
            private.get("note"),
            self._name,
            agent,
            manager.scope.user_id,
        )
        conversation = self._hosted.conversation(manager, agent)
        # Without a runtime it is a call of `model_node`, whose graph has no private state of this middleware.
        is_of_node = getattr(request, "runtime", None) is None
        carries = is_of_node or agent != "" or manager.thread_id is None
        return AgentConversation(carried, conversation, run, notes, agent, carries)

    def _filled(
        self, request: ToolCallRequest, conversation: AgentConversation
    ) -> ToolCallRequest | ToolMessage:
        """Return the call with stored texts in place of references; if it must not be made, the answer to the model."""
        call = request.tool_call
        if isinstance(request.tool, MemoryTool):
            return request
        schema: JsonObject = {}
        if request.tool is not None:
            schema = convert_to_openai_tool(request.tool)["function"].get("parameters", {})
        try:
            arguments = with_references_filled(
                call["args"],
                call["name"],
                self._passing,
                conversation.manager,
                conversation.trusted,
                schema,
            )
        except NotPassedError as refused:
            return ToolMessage(
                str(refused), tool_call_id=call["id"], name=call["name"], status="error"
            )
        if arguments == call["args"]:
            return request
        filled = FilledArguments(arguments, as_written=call["args"])
        return request.override(tool_call={**call, "args": filled})

    def _folded(
        self,
        request: ToolCallRequest,
        filled: ToolCallRequest,
        outcome: ToolOutcome,
        conversation: AgentConversation,
        call: RunningCall,
    ) -> ToolOutcome:
        """Return a tool's outcome with large texts folded, and with references where an error quotes texts for them."""
        outcome = with_quotations_as_written(
            outcome, request.tool_call["args"], filled.tool_call["args"]
        )
        if getattr(request.tool, "return_direct", False):
            return outcome
        before = conversation.carried.messages
        folder = conversation.decides.folder
        return with_folded(outcome, partial(folded_result, folder, request, before, call))

    async def _prepared(
        self, request: AnyRequest, conversation: AgentConversation
    ) -> tuple[AnyRequest, Callable[[AnyResponse], Coroutine[Any, Any, AnyAnswer]]]:
        """Return the request for the model, and a function that makes the node's result from the model's response."""
        tools = list(self._offered(request.tools, conversation.notes.open_tiers))
        self._watch(conversation.notes)
        notes = conversation.notes if self._hosted.has_notes else None
        before = conversation.carried
        in_state = before.in_state
        requested = list(zip(ids_of(request.messages), request.messages, strict=True))
        hidden = _hidden(requested, in_state)
        after, facts = await conversation.decides.before_model(
            before.messages, before.note.facts, before.seen, notes, hidden
        )
        edits = edits_between(before.held, after)
        note = note_of(facts, edits)
        prompt = request.override(
            messages=_prompt(requested, hidden, edits),
            tools=tools,
        )

        async def decided(response: AnyResponse) -> AnyAnswer:
            """Return the node's result: the model's response with what is kept of the decisions."""
            for answer in response.result:
                if isinstance(answer, AIMessage):
                    await conversation.decides.hear(neutral_of(answer), after, facts)
            if conversation.carries:
                return _carrying(response, self._name, conversation, note)
            # Messages with an id are replaced in the graph's state.
            folded = {key: one for key, one in note.folded.items() if not in_state[key].id}
            kept = replace(note, folded=folded)
            private = {"run": conversation.run._asdict(), "note": kept.to_json()}
            update: dict[str, Any] = {"memory_context": {self._name: private}}
            messages = _edited(in_state, edits)
            if messages:
                update["messages"] = messages
            return ExtendedModelResponse(response, Command(update=update))

        return prompt, decided

    def _offered(self, tools: Iterable[Any], open_tiers: Sequence[str]) -> Iterator[Any]:
        """Yield the tools that the model is offered: its memory tools with those tiers that are open.

        Raises:
            InvalidArgumentError: Another tool has the name of a memory tool: LangChain would let one replace the other.
        """
        own_names = {tool.name for tool in self.tools}
        for tool in tools:
            if self._is_own(tool):
                yield tool.model_copy(update={"open_tiers": open_tiers})
                continue
            name = getattr(tool, "name", None)
            if name in own_names:
                raise InvalidArgumentError(
                    f"more than one tool has the name {name}, and MemoryContextMiddleware adds one itself: "
                    "rename your tool, or set tools=False for all middlewares but one"
                )
            yield tool

    def _is_own(self, tool: object) -> TypeGuard[MemoryTool]:
        """Return whether *tool* is one of this middleware's tools, not another's or the application's."""
        own_tools = cast("list[MemoryTool]", self.tools)
        return isinstance(tool, MemoryTool) and any(map(tool.is_same, own_tools))


class MiddlewareWithNotes(MemoryContextMiddleware):
    """A `MemoryContextMiddleware` with notes, which begins and ends the agent's runs: see ``notes`` there."""

    def before_agent(self, state: Any, runtime: Runtime[Any]) -> JsonObject:  # noqa: ANN401, ARG002 - LangChain's signature
        """Begin a run, and delete the notes of an earlier one that was abandoned."""
        private = self._private(state)
        abandoned = AgentRun.of(private.get("run"))
        if abandoned.run_id is not None:
            self._hosted.end_run(self._notes(abandoned))
        run = self._hosted.new_run(setting_of_run("task"), setting_of_run("project"))
        self._watch(self._notes(run))
        return {"memory_context": {self._name: {**private, "run": run._asdict()}}}

    async def abefore_agent(self, state: Any, runtime: Runtime[Any]) -> JsonObject:  # noqa: ANN401 - LangChain's signature
        """As `before_agent`, with the store used in a thread."""
        return await off_loop(self.before_agent, state, runtime)

    def after_agent(self, state: Any, runtime: Runtime[Any]) -> JsonObject:  # noqa: ANN401, ARG002 - LangChain's signature
        """End the run."""
        private = self._private(state)
        run = AgentRun.of(private.get("run"))
        self._hosted.end_run(self._notes(run))
        return {"memory_context": {self._name: {**private, "run": None}}}

    async def aafter_agent(self, state: Any, runtime: Runtime[Any]) -> JsonObject:  # noqa: ANN401 - LangChain's signature
        """As `after_agent`, with the store used in a thread."""
        return await off_loop(self.after_agent, state, runtime)

    def _watch(self, notes: ScopedMemory) -> None:
        """End the run if its graph fails from now on."""
        endings().when_failed(partial(self._hosted.end_run, notes))


def _messages_of(answer: AnyAnswer) -> dict[str, Any]:
    """Return what `model_node` adds to its graph's state: the answer, which carries the decisions."""
    return {"messages": list(cast("AnyResponse", answer).result)}


def _hidden(requested: Iterable[WithId], in_state: Mapping[str, AnyMessage]) -> set[str]:
    """Return the ids of the messages that another middleware has left out of the request or changed there."""
    contents = {message_id: message.content for message_id, message in requested}
    return {one for one, message in in_state.items() if contents.get(one) != message.content}


def _prompt(
    requested: Iterable[WithId], hidden: AbstractSet[str], edits: Edits
) -> list[AnyMessage]:
    """Return the messages of a request with *edits*, except to *hidden* ones, which another middleware has changed."""
    prompt = list[AnyMessage]()
    for message_id, message in requested:
        if message_id in edits.removed:
            continue
        prompt += map(inserted_message, edits.inserted.get(message_id, ()))
        changed = edits.changed.get(message_id)
        if changed and message_id not in hidden:
            message = shown_as(message, changed)  # noqa: PLW2901 - the same message with its edit
        prompt.append(message)
    return prompt


def _edited(in_state: Mapping[str, AnyMessage], edits: Edits) -> list[AnyMessage | RemoveMessage]:
    """Return the update for the messages of the graph's state."""
    messages = list[AnyMessage | RemoveMessage]()
    for message_id, shown in edits.changed.items():
        old = in_state[message_id]
        new = shown_as(old, shown)
        if old.id and new is not old:
            messages.append(new)
    for message_id in edits.removed:
        if in_state[message_id].id:
            messages.append(RemoveMessage(message_id))
    return messages


def _carrying(
    response: AnyResponse, name: str, conversation: AgentConversation, note: DecisionNote
) -> AnyResponse:
    """Return *response* with *note* on the model's newest message."""
    result = list(response.result)
    for index, answer in reversed(list(enumerate(result))):
        if isinstance(answer, AIMessage):
            result[index] = carrying(answer, name, conversation.agent, note, conversation.carried)
            break
    return replace(response, result=result)


def _run_setting(part: str, name: str) -> str | None:
    """Return a value of a part of the run's configuration; None if it is not set."""
    value = cast("Mapping[str, Any]", get_config()).get(part, {}).get(name)
    return None if value is None else str(value)


def _messages_in(state: Any) -> list[AnyMessage]:  # noqa: ANN401 - whatever schema the agent has
    held: Any = named(state, "messages") or []
    if isinstance(held, str):
        held = [held]
    return cast("list[AnyMessage]", convert_to_messages(held))
