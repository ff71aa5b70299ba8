"""`MemoryContextProvider`: keep an agent's prompts and sessions small without losing anything."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal
from uuid import UUID

from agent_framework import (
    AgentSession,
    ContextProvider,
    SessionContext,
    SupportsAgentRun,
)

from memory_context.agent_framework.messages import copied
from memory_context.agent_framework.model_and_tool_middleware import (
    FoldingMiddleware,
    PromptMiddleware,
    RunningAgent,
)
from memory_context.agent_framework.tools import MemoryFunctionTool, memory_tools
from memory_context.conversation.conversation import ConversationSettings, new_message_id
from memory_context.conversation.conversation_facts import ConversationFacts
from memory_context.conversation.conversations_of_many_users import (
    HostedConversations,
    HostOfConversations,
)
from memory_context.conversation.fold_recall_notes_policies import (
    FoldPolicy,
    NotesPolicy,
    RecallPolicy,
    fold_policy_of,
    recall_policy_of,
    refuse_middleware_settings,
)
from memory_context.conversation.notes_in_prompts import AgentRun
from memory_context.conversation.references.pass_by_reference import PassingPolicy
from memory_context.exceptions import InvalidArgumentError, InvalidScopeError
from memory_context.memory.manager import MemoryManager
from memory_context.memory.scoped_memory import ScopedMemory
from memory_context.model.json_object import JsonObject
from memory_context.model.scope import UserId
from memory_context.model.tool_names import RETRIEVE
from memory_context.runtime.threads import off_loop
from memory_context.stores import AnyStore
from memory_context.stores.auditor_with_waiting_entries import AnyAuditTrail
from memory_context.tools.ask_memory import ASKING
from memory_context.tools.tool_calls_and_answers import answer_limit

# The content type of a person's answer to a request for approval.
APPROVAL = "function_approval_response"
# The key of a session's state that names the session's owner, for all agents and providers.
OWNER = "memory_context_owner"
# The UUID version of the ids that the framework gives to sessions without one.
RANDOM = 4
# What the framework calls an agent without a name.
UNNAMED = "UnnamedAgent"


class MemoryContextProvider(HostOfConversations, ContextProvider):
    """Keeps large texts of an agent's conversation in a store, and brings back what the next step needs.

    A tool's large result is committed to the store before it enters the conversation; a reference and a preview take
    its place in prompts, in the session and in streams. Large texts of people are folded before the first model call
    that would see them. Before each model call, in the tool loop too, the newest message is compared with the stored
    texts that the model does not see, and those that it needs are inserted before it. The inserted text and its position
    are kept in the session's state, so that messages a model has seen do not change. If the store fails, the text stays,
    and the run goes on.

    If the model's service keeps the history, it is sent new messages only, and messages that it has cannot be changed.
    Large texts are then folded at once, and `max_tokens` has no effect.

    One provider serves any number of sessions and users. A session has one owner, the first user whom a model answers in it:
    a run for anybody else, by whichever agent and provider, raises `StateOwnerError`.

    Put the provider first among the providers. Results of tools are folded before any other middleware sees them, so a
    redaction of stored texts works only as ``FoldPolicy(redact=…)``.

    The notes of a run, and of its task, are deleted when the run ends, but not while it waits for a person's approval. A
    run that fails leaves its notes; nobody else sees them, and they are deleted when the session's next run begins.

    Args:
        store: A database URL, a SQLAlchemy engine or pool, or a `MemoryStore`. None: the environment variable
            ``MEMORY_CONTEXT_STORE``, else ``sqlite:///memory.db`` in the working directory. The store is opened on
            first use.
        user_id: The user whose memories these are, or a callable that returns the user of a session. None: the user
            that ``session.state["user_id"]`` names; a run without one is an error.
        threshold: Texts with more tokens than this are folded; 50 or more, 500 by default. Shorthand for a `FoldPolicy`
            with this threshold.
        fold: ``at_once``; ``after_reading``, for work in which the model must read each output in full once; or a
            `FoldPolicy`.
        recall: Whether stored texts, and what is known about the user, are brought back without being asked for; or a
            `RecallPolicy`.
        notes: Whether the agent keeps notes in tiers (`ScopedMemory`); or a `NotesPolicy`. A run is one call of
            ``agent.run``, including the approvals that it waits for. ``session.state["task"]`` and
            ``session.state["project"]`` name its task and its project.
        max_tokens: The most tokens that all messages together may have, 500 or more; an old image counts as 765. Before
            this is exceeded, the oldest groups of messages are stored as one memory, and a reference takes their place.
            Instructions and tools come on top of it.
        tools: Whether the agent gets `retrieve_memory`, `search_memory` and `store_memory`, and with notes
            `save_memory`, `get_memory`, `delete_memory`, `clear_memory` and `list_categories`.
        pass_by_reference: Whether a reference that is the whole value of a tool's argument is replaced with the stored
            text; or a `PassingPolicy`.
        audit: The audit trail, which records who did what with which memory: see `MemoryManager`.
        source_id: The name of the provider's part of the session's state; two providers of one agent need different
            ones.

    Raises:
        InvalidScopeError: The user is missing or invalid.
        InvalidThresholdError: The threshold is below 50.
        BudgetTooSmallError: `max_tokens` is below 500.
        InvalidArgumentError: There is both a threshold and a `FoldPolicy`, or a setting has the wrong type.
        UnsupportedDatabaseError: The URL is neither one of SQLite nor one of PostgreSQL.
    """

    def __init__(  # noqa: PLR0913 - each is a setting of its own, with a default
        self,
        store: AnyStore | None = None,
        *,
        user_id: UserId | Callable[[AgentSession], UserId] | None = None,
        threshold: int | None = None,
        fold: Literal["at_once", "after_reading"] | FoldPolicy = "at_once",
        recall: bool | RecallPolicy = True,
        notes: bool | NotesPolicy = False,
        max_tokens: int | None = None,
        tools: bool = True,
        pass_by_reference: bool | PassingPolicy = True,
        audit: AnyAuditTrail | None = None,
        source_id: str = "memory_context",
    ) -> None:
        super().__init__(source_id)
        policy = fold_policy_of(fold, threshold)
        refuse_middleware_settings(policy, "MemoryContextProvider")
        settings = ConversationSettings(policy, recall_policy_of(recall), max_tokens)
        self._hosted = HostedConversations(store, settings, notes=notes, audit=audit)
        self._user_id = user_id
        if not isinstance(tools, bool):
            raise InvalidArgumentError(
                f"tools is True or False, not {tools!r:.80}: pass your own tools to Agent"
            )
        self._has_tools = tools
        self._passing = PassingPolicy.of(pass_by_reference)
        if user_id is not None and not callable(user_id):
            self._hosted.memories(user_id)

    async def before_run(
        self,
        *,
        agent: SupportsAgentRun,
        session: AgentSession,
        context: SessionContext,
        state: dict[str, Any],
    ) -> None:
        """Give the run the memory tools and the middleware that folds and recalls; see `ContextProvider`.

        Raises:
            StateOwnerError: The session belongs to another user.
        """
        name = agent.name or UNNAMED
        owner = self._hosted.memories(self._user_of(session), session.session_id, agent.name)
        kept: JsonObject = {**state.get(name, {})}

        def begin() -> None:
            """Record whose session it is, and let it keep what is decided from now on."""
            ConversationFacts(session.state.get(OWNER)).check_owner(owner.scope.user_id)
            session.state[OWNER] = owner.scope.user_id
            state[name] = kept

        # A new session begins with a model's answer: a run that fails before it leaves the session as it was.
        if OWNER in session.state:
            begin()
        if self._hosted.has_notes:
            kept["run"] = self._run(kept, session, context, owner)._asdict()
        notes = self._hosted.notes(owner, AgentRun.of(kept.get("run")))
        conversation = replace(
            self._hosted.conversation(owner, name),
            named_thread=not _is_made_up(session.session_id),
        )
        if _service_keeps_history(agent, session, context):
            # Messages that the service has cannot be changed, so there are no late folds and no compaction.
            fold = replace(conversation.settings.fold, fold="at_once")
            settings = replace(conversation.settings, fold=fold, max_tokens=None)
            conversation = replace(conversation, settings=settings)
        for index, message in enumerate(context.input_messages):
            given = copied(message)
            given.message_id = given.message_id or new_message_id()
            context.input_messages[index] = given
        shown_notes = notes if self._hosted.has_notes else None
        running = RunningAgent(name, conversation, self._passing, context, kept, begin, shown_notes)
        context.extend_middleware(self.source_id, FoldingMiddleware(running))
        context.extend_middleware(self.source_id, PromptMiddleware(running))
        if self._has_tools:
            context.extend_tools(self.source_id, self._tools(owner, shown_notes))

    async def after_run(
        self,
        *,
        agent: SupportsAgentRun,
        session: AgentSession,
        context: SessionContext,
        state: dict[str, Any],
    ) -> None:
        """End the run, unless it waits for a person; see `ContextProvider`."""
        owner = self._hosted.memories(self._user_of(session), session.session_id, agent.name)
        # A middleware may have answered in the model's place.
        session.state.setdefault(OWNER, owner.scope.user_id)
        kept: JsonObject = state.get(agent.name or UNNAMED, {})
        is_waiting = context.response is not None and bool(context.response.user_input_requests)
        if not self._hosted.has_notes or is_waiting:
            return
        notes = self._hosted.notes(owner, AgentRun.of(kept.get("run")))
        await off_loop(self._hosted.end_run, notes)
        kept["run"] = None

    def end_task(self, task: str, *, user_id: UserId) -> int:
        """Delete the notes of a task that has ended, and return how many there were.

        With ``NotesPolicy(ends_task=False)``, nothing else deletes them.

        Raises:
            InvalidScopeError: The user is missing or invalid.
            StoreError: The store failed.
        """
        return self._hosted.end_task(task, user_id)

    def _run(
        self,
        kept: JsonObject,
        session: AgentSession,
        context: SessionContext,
        owner: MemoryManager,
    ) -> AgentRun:
        """Return the open run if a person's approvals continue it, else a new one; delete the notes of an abandoned run."""
        open_run = AgentRun.of(kept.get("run"))
        if open_run.run_id is not None:
            for message in context.input_messages:
                if any(content.type == APPROVAL for content in message.contents):
                    return open_run
            self._hosted.end_run(self._hosted.notes(owner, open_run))
        return self._hosted.new_run(session.state.get("task"), session.state.get("project"))

    def _tools(self, owner: MemoryManager, notes: ScopedMemory | None) -> list[MemoryFunctionTool]:
        """Return the memory tools for the agent."""
        fold = self._hosted.settings.fold
        tools = memory_tools(
            notes or owner,
            max_tokens=fold.threshold,
            page_tokens=fold.page_budget,
            queries=fold.queries,
        )
        if self._hosted.settings.light_model is not None:
            max_tokens = answer_limit(ASKING, fold.threshold)
            tools.append(MemoryFunctionTool(ASKING, self._hosted.reader(owner), max_tokens))
        for tool in tools:
            if tool.name == RETRIEVE:
                tool.description = self._passing.told_in(tool.description)
        return tools

    def _user_of(self, session: AgentSession) -> UserId:
        user_id = self._user_id(session) if callable(self._user_id) else self._user_id
        if user_id is None:
            user_id = session.state.get("user_id")
        if user_id is None:
            raise InvalidScopeError(
                'no user is named: give the provider user_id=, or set session.state["user_id"]'
            )
        return user_id


def _is_made_up(session_id: str) -> bool:
    """Return whether the framework may have generated the id, as it does for an agent used as a tool or in a workflow."""
    try:
        return UUID(session_id).version == RANDOM
    except ValueError:
        return False


def _service_keeps_history(
    agent: SupportsAgentRun, session: AgentSession, context: SessionContext
) -> bool:
    """Return whether the model's service keeps the conversation, and so is sent new messages only."""
    if session.service_session_id is not None:
        return True
    options = {**getattr(agent, "default_options", {}), **context.options}
    keeps = options.get("store")
    if keeps is None:
        client = getattr(agent, "client", None)
        keeps = getattr(client, "STORES_BY_DEFAULT", False)
    return bool(keeps)
