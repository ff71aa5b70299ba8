"""The hosts of this package, behind the adapters that the contract of hosts asks for."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from typing import Any

from agent_framework import Agent, AgentSession, Content, FunctionTool
from agent_framework import FunctionInvocationContext as FrameworkCall
from agent_framework import Message as FrameworkMessage
from autogen_core import FunctionCall
from autogen_core.models import (
    AssistantMessage,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    LLMMessage,
    SystemMessage,
    UserMessage,
)
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain.tools.tool_node import ToolCallRequest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolCall, ToolMessage
from langchain_core.messages import SystemMessage as LangChainSystemMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph

from langchain_memory_context import MemoryContextMiddleware
from langchain_memory_context.messages import neutral_of as neutral_of_langchain
from langchain_memory_context.testing import ScriptedChatModel
from memory_context import MemoryContext
from memory_context.agent_framework import MemoryContextProvider
from memory_context.agent_framework.messages import failure, held_by
from memory_context.autogen.messages import neutral_of as neutral_of_autogen
from memory_context.conversation.message import Message
from memory_context.testing import ScriptedFrameworkClient, check_prompt
from memory_context.testing.scripted_turns import (
    HostStart,
    ScriptedReply,
    ScriptedResult,
    ScriptedTurn,
)

# One call at a time: seeded keys come in the order in which texts are stored.
THREAD: Any = {"configurable": {"thread_id": "thread"}, "max_concurrency": 1}


class AutoGenHost:
    """A `MemoryContext`, fed as AutoGen's agents feed it."""

    def __init__(self, start: HostStart) -> None:
        self.start = start
        self.context = self.opened()

    def opened(self) -> MemoryContext:
        """A context as a new process makes it."""
        start = self.start
        return MemoryContext(
            start.user_id,
            store=start.store,
            thread_id=start.thread_id,
            fold=start.settings.fold,
            recall=start.settings.recall or False,
            notes=start.keeps_notes,
            max_tokens=start.settings.max_tokens,
        )

    async def turn(self, turn: ScriptedTurn) -> list[list[Message]]:
        """One run of the agent."""
        context = self.context
        prompts = list[list[Message]]()
        async with context.run() if self.start.keeps_notes else nullcontext():
            for said in turn.said:
                message = UserMessage(content=said.text, source=said.source)
                is_system = said.role == "system"
                await context.add_message(
                    SystemMessage(content=said.text) if is_system else message
                )
            for reply in turn.replies:
                sent = await context.get_messages()
                check_prompt(sent)
                prompts.append([part for one in sent for part in neutral_of_autogen(one, "")])
                await context.add_message(spoken(reply))
                if reply.results:
                    await context.add_message(await self.results(reply))
        return prompts

    async def results(self, reply: ScriptedReply) -> LLMMessage:
        """What the tools give; memory tools are called."""
        results = list[FunctionExecutionResult]()
        for result in reply.results:
            text, is_error, call = result.text, result.is_error, result.call
            if text is None:
                workbench = self.context.workbench([])
                given = await workbench.call_tool(call.name, json.loads(call.arguments))
                text, is_error = given.to_text(), given.is_error
            results.append(
                FunctionExecutionResult(
                    content=text, name=call.name, call_id=call.id, is_error=is_error
                )
            )
        return FunctionExecutionResultMessage(content=results)

    async def restart(self) -> None:
        """Load the state into another context."""
        state = json.loads(json.dumps(await self.context.save_state()))
        await self.close()
        self.context = self.opened()
        await self.context.load_state(state)

    async def close(self) -> None:
        """Close the context."""
        await self.context.aclose()


def spoken(reply: ScriptedReply) -> AssistantMessage:
    """What the model says, as AutoGen's agents add it."""
    calls = [FunctionCall(one.call.id, one.call.arguments, one.call.name) for one in reply.results]
    if not calls:
        return AssistantMessage(content=reply.text, source="assistant")
    return AssistantMessage(content=calls, thought=reply.text or None, source="assistant")


class ScriptedTools(AgentMiddleware[Any, Any, Any]):
    """Gives the results of a script for calls; those of memory tools are made."""

    def __init__(self) -> None:
        super().__init__()
        self.given = dict[str, ToolMessage]()

    def load(self, turn: ScriptedTurn) -> None:
        """Give the results of *turn* from now on."""
        for reply in turn.replies:
            for one in reply.results:
                if one.text is not None:
                    self.given[one.call.id] = ToolMessage(
                        one.text,
                        tool_call_id=one.call.id,
                        name=one.call.name,
                        status="error" if one.is_error else "success",
                    )

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]
    ) -> Any:
        """The result of the script."""
        return self.given.get(str(request.tool_call["id"])) or handler(request)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Any]]
    ) -> Any:
        """The result of the script."""
        return self.given.get(str(request.tool_call["id"])) or await handler(request)


class LangChainHost:
    """A real agent with the middleware, and a checkpointer; *how* it is invoked: ``invoke`` or ``ainvoke``."""

    def __init__(self, start: HostStart, how: str, *, in_parent: bool = False) -> None:
        self.start, self.how, self.in_parent = start, how, in_parent
        self.saver = InMemorySaver()
        self.open()

    def open(self) -> None:
        """Make the agent as a new process does."""
        start = self.start
        middleware = MemoryContextMiddleware(
            start.store,
            user_id=start.user_id,
            fold=start.settings.fold,
            recall=start.settings.recall or False,
            notes=start.keeps_notes,
            max_tokens=start.settings.max_tokens,
        )
        self.tools, self.model = ScriptedTools(), ScriptedChatModel()
        saver = None if self.in_parent else self.saver
        agent: Any = create_agent(
            self.model, [], middleware=[middleware, self.tools], checkpointer=saver
        )
        if self.in_parent:
            graph = StateGraph(MessagesState)
            graph.add_node("agent", agent)
            graph.add_edge(START, "agent")
            graph.add_edge("agent", END)
            agent = graph.compile(checkpointer=self.saver)
        self.agent = agent

    async def turn(self, turn: ScriptedTurn) -> list[list[Message]]:
        """One invocation of the agent."""
        self.tools.load(turn)
        self.model.script += [answer_of(reply) for reply in turn.replies]
        before = len(self.model.prompts)
        said = {"messages": [heard(message) for message in turn.said]}
        if self.how == "ainvoke":
            await self.agent.ainvoke(said, THREAD)
        else:
            await asyncio.to_thread(self.agent.invoke, said, THREAD)
        sent = self.model.prompts[before:]
        return [[neutral_of_langchain(message) for message in prompt] for prompt in sent]

    async def restart(self) -> None:
        """Make another agent on the same checkpoints."""
        self.open()

    async def close(self) -> None:
        """Nothing: the store is the caller's."""


def heard(message: Message) -> BaseMessage:
    """What a caller gives the agent."""
    if message.role == "system":
        return LangChainSystemMessage(message.text)
    name = None if message.source == "user" else message.source
    return HumanMessage(message.text, name=name)


def answer_of(reply: ScriptedReply) -> AIMessage:
    """What the model says."""
    calls = [
        ToolCall(
            name=one.call.name,
            args=json.loads(one.call.arguments),
            id=one.call.id,
            type="tool_call",
        )
        for one in reply.results
    ]
    return AIMessage(reply.text, tool_calls=calls)


class AgentFrameworkHost:
    """A real agent of Agent Framework with the provider, and a session that goes through JSON."""

    def __init__(self, start: HostStart) -> None:
        self.start = start
        self.session = AgentSession(session_id=start.thread_id)
        self.given = dict[str, ScriptedResult]()
        self.open()

    def open(self) -> None:
        """Make the agent as a new process does."""
        start = self.start
        self.memory = MemoryContextProvider(
            start.store,
            user_id=start.user_id,
            fold=start.settings.fold,
            recall=start.settings.recall or False,
            notes=start.keeps_notes,
            max_tokens=start.settings.max_tokens,
        )
        self.client = ScriptedFrameworkClient()
        # Recorded runs have more calls in a row than the framework's 40.
        self.client.function_invocation_configuration["max_iterations"] = 200
        self.agent = Agent(self.client, name="assistant", context_providers=[self.memory])

    async def turn(self, turn: ScriptedTurn) -> list[list[Message]]:
        """One run of the agent."""
        self.client.script += [contents_of(reply) for reply in turn.replies]
        scripted = [one for reply in turn.replies for one in reply.results if one.text is not None]
        self.given |= {one.call.id: one for one in scripted}
        names = {one.call.name for one in scripted}
        before = len(self.client.prompts)
        said = [framework_message(message) for message in turn.said]
        tools = [self.scripted_tool(name) for name in sorted(names)]
        await self.agent.run(said, session=self.session, tools=tools)
        sent = self.client.prompts[before:]
        return [[part for parts in held_by(prompt) for part in parts] for prompt in sent]

    def scripted_tool(self, name: str) -> FunctionTool:
        """A tool that gives the results of the script."""

        async def run(context: FrameworkCall, day: str = "") -> list[Content]:  # noqa: ARG001 - what calls tell
            one = self.given[str(context.metadata["call_id"])]
            return failure(one.text or "") if one.is_error else [Content.from_text(one.text or "")]

        return FunctionTool(name=name, func=run, approval_mode="never_require")

    async def restart(self) -> None:
        """Take the session up from its JSON, with another agent."""
        self.session = AgentSession.from_dict(json.loads(json.dumps(self.session.to_dict())))
        self.open()

    async def close(self) -> None:
        """Nothing: the store is the caller's."""


def framework_message(message: Message) -> FrameworkMessage:
    """What a caller gives the agent."""
    name = None if message.source in ("user", "system") else message.source
    return FrameworkMessage(message.role, [message.text], author_name=name)


def contents_of(reply: ScriptedReply) -> list[Content]:
    """What the model says."""
    words = [Content.from_text(reply.text)] if reply.text or not reply.results else []
    calls = [
        Content.from_function_call(one.call.id, one.call.name, arguments=one.call.arguments)
        for one in reply.results
    ]
    return [*words, *calls]
