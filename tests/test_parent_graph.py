"""Agents with the middleware as nodes of a parent graph: what a model saw stays, whoever keeps the checkpoints."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, HumanInTheLoopMiddleware, PIIMiddleware
from langchain.tools import ToolRuntime
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command, Send

from for_each import first_quick
from langchain_memory_context import MemoryContextMiddleware
from langchain_memory_context.messages import with_note
from langchain_memory_context.state_through_parent_graphs import carried_by
from langchain_memory_context.testing import ScriptedChatModel, call
from memory_context import MemoryManager, MemoryRef, SQLAlchemyStore
from memory_context.conversation import ConversationFacts
from memory_context.conversation.decisions_beside_messages import (
    DecisionNote,
    InsertedMessage,
    as_shown,
)
from memory_context.conversation.message import Message, MessageFacts
from memory_context.exceptions import StateOwnerError
from memory_context.stores import MemoryStore

Saver: TypeAlias = BaseCheckpointSaver[Any]

THREAD: Any = {"configurable": {"thread_id": "t"}}
RECALLED = "memory_context"
LOG = "\n".join(f"02:{i // 60:02}:{i % 60:02} worker-{i} done" for i in range(3000))
QUESTION = "When was worker-1234 done?"
ANSWER = "02:20:34 worker-1234 done"
KEY = re.compile(r"read_log_\w+")
READ = [call("read_log")]
TURNS = ("Read the log.", QUESTION, "Thanks.", "When was worker-2900 done?", "Bye.")
SCRIPT = [READ, "Read.", "At 02:20:34.", "Welcome.", "At 02:48:20.", "Bye."]


@tool
def read_log() -> str:
    """Read the log."""
    return LOG


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    """An empty store."""
    with SQLAlchemyStore("sqlite://") as store:
        yield store


@pytest.fixture(params=["memory", "sqlite"])
def saver(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Saver]:
    """A checkpointer without checkpoints."""
    if request.param == "memory":
        yield InMemorySaver()
    else:
        with SqliteSaver.from_conn_string(str(tmp_path / "checkpoints.db")) as saver:
            yield saver


def agent_of(
    middleware: AgentMiddleware[Any, Any, Any] | Sequence[AgentMiddleware[Any, Any, Any]],
    script: Sequence[Any],
    *,
    tools: Sequence[BaseTool] = (read_log,),
    **settings: Any,
) -> tuple[Any, ScriptedChatModel]:
    """An agent, and its model."""
    model = ScriptedChatModel(script)
    listed = [middleware] if isinstance(middleware, AgentMiddleware) else list(middleware)
    return create_agent(model, list(tools), middleware=listed, **settings), model


def parent_of(*agents: Any, saver: Saver | None = None) -> Any:
    """A graph with agents as its nodes, one after the other."""
    graph = StateGraph(MessagesState)
    names = [START, *(f"agent_{number}" for number in range(len(agents))), END]
    for name, agent in zip(names[1:], agents, strict=False):
        graph.add_node(name, agent)
    for before, after in pairwise(names):
        graph.add_edge(before, after)
    return graph.compile(checkpointer=saver)


def fan_out_to(agents: dict[str, Any], *targets: str) -> Any:
    """A graph that sends the whole conversation to several nodes at once."""
    graph = StateGraph(MessagesState)
    for name, agent in agents.items():
        graph.add_node(name, agent)
        graph.add_edge(name, END)

    def sent(state: MessagesState) -> list[Send]:
        return [Send(target, {"messages": state["messages"]}) for target in targets]

    graph.add_conditional_edges(START, sent, list(agents))
    return graph.compile(checkpointer=InMemorySaver())


def said(text: str) -> dict[str, Any]:
    """What a person says."""
    return {"messages": [HumanMessage(text)]}


async def run(graph: Any, given: Any, how: str = "invoke", config: Any = THREAD) -> Any:
    """Run a graph in one of its ways."""
    if how == "invoke":
        return graph.invoke(given, config)
    return await graph.ainvoke(given, config)


def seen(prompt: Sequence[BaseMessage]) -> list[tuple[Any, ...]]:
    """What a provider gets of each message."""
    return [
        (
            message.type,
            message.name,
            message.content,
            tuple(str(called) for called in getattr(message, "tool_calls", ())),
            getattr(message, "tool_call_id", None),
        )
        for message in prompt
    ]


def recalls_in(messages: Sequence[BaseMessage]) -> list[str]:
    """The recalled texts."""
    return [str(message.content) for message in messages if message.name == RECALLED]


def check_prefixes(model: ScriptedChatModel) -> None:
    """Every prompt begins with the whole of the one before it."""
    for before, after in pairwise(seen(prompt) for prompt in model.prompts):
        assert before == after[: len(before)]


def check_answers(model: ScriptedChatModel, recalls: int = 2) -> None:
    """What the questions needed stands in the last prompt once, and no prompt changed."""
    texts = recalls_in(model.prompts[-1])
    assert [recalls, recalls] == [len(texts), len(set(texts))]
    assert ANSWER in texts[0]
    check_prefixes(model)


class TestNode:
    """One agent in a parent graph."""

    @pytest.mark.parametrize("own_checkpoints", first_quick([None, True]))
    @pytest.mark.parametrize("depth", first_quick([2, 1]))
    def test_turns(
        self, store: MemoryStore, saver: Saver, depth: int, own_checkpoints: bool | None
    ) -> None:
        """Recalled text stays where it was, at any depth, with checkpoints of the child's own or without."""
        middleware = MemoryContextMiddleware(store, user_id="42")
        graph, model = agent_of(middleware, SCRIPT, checkpointer=own_checkpoints)
        for _ in range(depth - 1):
            graph = parent_of(graph)
        graph = parent_of(graph, saver=saver)
        for text in TURNS:
            graph.invoke(said(text), THREAD)

        check_answers(model)
        assert 1 == middleware.stats().folds

    @pytest.mark.long
    async def test_turns_async(self, store: MemoryStore) -> None:
        """In async runs, too, recalled text stays where it was."""
        middleware = MemoryContextMiddleware(store, user_id="42")
        agent, model = agent_of(middleware, SCRIPT)
        graph = parent_of(agent, saver=InMemorySaver())
        for text in TURNS:
            await graph.ainvoke(said(text), THREAD)

        check_answers(model)
        assert 1 == middleware.stats().folds

    @pytest.mark.long
    def test_as_at_top_level(self) -> None:
        """An agent sends its model the same prompts in a parent graph as without one, but for generated keys."""
        prompts = list[str]()
        for nested in (False, True):
            middleware = MemoryContextMiddleware(SQLAlchemyStore("sqlite://"), user_id="42")
            if nested:
                agent, model = agent_of(middleware, SCRIPT)
                graph = parent_of(agent, saver=InMemorySaver())
            else:
                graph, model = agent_of(middleware, SCRIPT, checkpointer=InMemorySaver())
            for text in TURNS:
                graph.invoke(said(text), THREAD)
            middleware.close()
            prompts.append(KEY.sub("KEY", str([seen(prompt) for prompt in model.prompts])))

        assert prompts[0] == prompts[1]

    @pytest.mark.long
    def test_another_process(self, store: MemoryStore, saver: Saver) -> None:
        """New objects on the same checkpoints and the same store go on where the others stopped."""
        prompts = list[list[BaseMessage]]()
        script = iter(SCRIPT)
        for text in TURNS:
            steps = [next(script), next(script)] if text == TURNS[0] else [next(script)]
            middleware = MemoryContextMiddleware(store, user_id="42")
            agent, model = agent_of(middleware, steps)
            parent_of(agent, saver=saver).invoke(said(text), THREAD)
            prompts += model.prompts

        check_answers(ScriptedChatModel(prompts=prompts))

    @pytest.mark.long
    def test_called_in_a_node(self, store: MemoryStore) -> None:
        """The same holds for an agent that a node calls, and gives the new messages of."""
        agent, model = agent_of(MemoryContextMiddleware(store, user_id="42"), SCRIPT)

        def node(state: MessagesState) -> dict[str, Any]:
            old = len(state["messages"])
            return {"messages": agent.invoke({"messages": state["messages"]})["messages"][old:]}

        graph = parent_of(node, saver=InMemorySaver())
        for text in TURNS:
            graph.invoke(said(text), THREAD)

        check_answers(model)

    def test_a_branch_of_a_thread_has_its_own_past(self, store: MemoryStore) -> None:
        """From an earlier checkpoint of the parent the thread goes on as if what came later had not been."""
        script = [READ, "Read.", "02:20:34.", "Thanks.", "02:48:20.", "Thanks."]
        agent, model = agent_of(MemoryContextMiddleware(store, user_id="42"), script)
        graph = parent_of(agent, saver=InMemorySaver())
        graph.invoke(said(TURNS[0]), THREAD)
        before = graph.get_state(THREAD).config
        for question in (QUESTION, "When was worker-2900 done?"):
            graph.invoke(said(question), before)
            graph.invoke(said("Thanks."), THREAD)

        first, second = model.prompts[3], model.prompts[5]
        assert [1, 1] == [len(recalls_in(prompt)) for prompt in (first, second)]
        assert ANSWER in "".join(recalls_in(first))
        assert "worker-2900 done" in recalls_in(second)[0]
        for asked, later in ((model.prompts[2], first), (model.prompts[4], second)):
            assert seen(asked) == seen(later)[: len(asked)]

    @pytest.mark.long
    def test_beside_other_middleware(self, store: MemoryStore) -> None:
        """Middleware that changes what the model said does not take away what it was shown."""
        middleware = MemoryContextMiddleware(store, user_id="42")
        pii = PIIMiddleware("email", apply_to_output=True, apply_to_input=False)
        script = [READ, "Read by a@b.org.", "At 02:20:34, says a@b.org.", "Welcome."]
        agent, model = agent_of([pii, middleware], script)
        graph = parent_of(agent, saver=InMemorySaver())
        for text in TURNS[:3]:
            graph.invoke(said(text), THREAD)

        texts = recalls_in(model.prompts[-1])
        assert 1 == len(texts)
        assert "a@b.org" not in str(model.prompts[-1])

    @pytest.mark.long
    def test_streams_show_new_messages_only(self, store: MemoryStore) -> None:
        """No message of an earlier turn comes again in a stream of updates, and none that a model was not sent."""
        agent, _ = agent_of(MemoryContextMiddleware(store, user_id="42"), SCRIPT)
        graph = parent_of(agent, saver=InMemorySaver())
        graph.invoke(said(TURNS[0]), THREAD)
        streamed = [
            message.type
            for text in TURNS[1:3]
            for _, update in graph.stream(said(text), THREAD, stream_mode="updates", subgraphs=True)
            for message in update.get("model", {}).get("messages", ())
        ]

        assert ["ai", "ai"] == streamed

    @pytest.mark.long
    def test_keys_stay_trusted(self, store: MemoryStore) -> None:
        """A recalled reference can be passed to a tool in a later turn."""
        key = MemoryManager(store, user_id="42", thread_id="old").store(
            LOG, "log of the night", key="night_log"
        )
        lengths = list[int]()

        @tool
        def measure(text: str) -> str:
            """Measure a text."""
            lengths.append(len(text))
            return "measured"

        script = ["At 02:20:34.", [call("measure", text=str(MemoryRef(key)))], "Measured."]
        agent, model = agent_of(
            MemoryContextMiddleware(store, user_id="42"), script, tools=[measure]
        )
        graph = parent_of(agent, saver=InMemorySaver())
        for text in (QUESTION, "Measure it."):
            graph.invoke(said(text), THREAD)

        assert key in "".join(recalls_in(model.prompts[0]))
        assert [len(LOG)] == lengths


class TestNotes:
    """Notes of a run in a parent graph."""

    @pytest.mark.long
    @pytest.mark.parametrize("how", first_quick(["invoke", "ainvoke"]))
    async def test_notes_are_not_repeated(self, store: MemoryStore, how: str) -> None:
        """A note of the run stands once in each later prompt of it, in none afterwards; recalled text stays."""
        note = [call("save_memory", "7", content="the night shift is short", compartment="run")]
        script = [[*READ, *note], "Read.", "At 02:20:34.", "Welcome."]
        middleware = MemoryContextMiddleware(store, user_id="42", notes=True)
        agent, model = agent_of(middleware, script)
        graph = parent_of(agent, saver=InMemorySaver())
        for text in TURNS[:3]:
            await run(graph, said(text), how)

        shown = [str(recalls_in(prompt)).count("night shift is short") for prompt in model.prompts]
        assert [0, 1, 0, 0] == shown
        assert seen(model.prompts[2]) == seen(model.prompts[3])[: len(model.prompts[2])]
        assert ANSWER in recalls_in(model.prompts[3])[0]


class TestOwner:
    """Whose thread it is."""

    @pytest.mark.parametrize("notes", first_quick([False, True]))
    @pytest.mark.parametrize("how", first_quick(["invoke", "ainvoke"]))
    async def test_another_user(self, store: MemoryStore, how: str, notes: bool) -> None:
        """On the thread of one user another one is refused before a model is asked; the owner goes on."""
        middleware, saver = MemoryContextMiddleware(store, notes=notes), InMemorySaver()
        asked = list[int]()
        for who in ("ann", "bob", "ann"):
            agent, model = agent_of(middleware, ["ok"])
            graph = parent_of(parent_of(agent), saver=saver)
            config = {"configurable": {"thread_id": "t", "user_id": who}}
            if who == "bob":
                with pytest.raises(StateOwnerError, match="does not belong to the user 'bob'"):
                    await run(graph, said("hello " * 9000), how, config)
            else:
                await run(graph, said("hi"), how, config)
            asked.append(len(model.prompts))

        assert [1, 0, 1] == asked
        assert 0 == len(MemoryManager(store, user_id="bob").search(""))

    @pytest.mark.parametrize("worker", first_quick(["node", "called", "model_node", "below"]))
    @pytest.mark.parametrize("how", first_quick(["invoke", "ainvoke"]))
    async def test_a_worker_for_another_user(
        self, store: MemoryStore, how: str, worker: str
    ) -> None:
        """A worker of `Send`, which has only messages of its own, is refused for another user; the owner goes on."""
        middleware = MemoryContextMiddleware(store)
        agent, asked = agent_of(middleware, ["done"] * 9)
        boss, boss_model = agent_of(middleware, ["ok"] * 9)

        async def called(state: MessagesState) -> dict[str, Any]:
            return {"messages": (await agent.ainvoke(state))["messages"][-1:]}

        def call_it(state: MessagesState) -> dict[str, Any]:
            return {"messages": agent.invoke(state)["messages"][-1:]}

        nodes: dict[str, Any] = {
            "node": agent,
            "called": RunnableLambda(call_it, called),
            "model_node": middleware.model_node(asked),
            "below": parent_of(agent),
        }
        graph = StateGraph(MessagesState)
        graph.add_node("worker", nodes[worker])
        graph.add_node("boss", boss)
        graph.add_edge("worker", "boss")

        def sent(state: MessagesState) -> list[Send]:
            job = f"Do {state['messages'][0].content}"
            return [Send("worker", {"messages": [HumanMessage(job, id=n)]}) for n in "ab"]

        graph.add_conditional_edges(START, sent, ["worker"])
        app: Any = graph.compile(checkpointer=InMemorySaver())
        ann, bob = ({"configurable": {"thread_id": "t", "user_id": who}} for who in ("ann", "bob"))
        await run(app, said("Ann's secret. " * 300), how, ann)
        with pytest.raises(StateOwnerError, match="does not belong to the user 'bob'"):
            await run(app, said("hi"), how, bob)
        assert 0 == len(MemoryManager(store, user_id="bob").search(""))
        await run(app, said("Go on."), how, ann)

        assert [4, 2] == [len(asked.prompts), len(boss_model.prompts)]
        owners = [who for who in ("ann", "bob") if f"'{who}'" in str(app.get_state(ann).values)]
        assert ["ann"] == owners

    def test_a_worker_in_an_agents_tool(self, store: MemoryStore) -> None:
        """An agent that is called as a tool may be for another user, with a parent graph around or without."""
        inner, model = agent_of(MemoryContextMiddleware(store, user_id="team"), ["inner"] * 9)

        @tool
        def ask(question: str) -> str:
            """Ask the team."""
            return str(inner.invoke(said(question))["messages"][-1].content)

        script = [[call("ask", question="Well?")], "outer"]
        outer, _ = agent_of(MemoryContextMiddleware(store, user_id="ann"), script * 2, tools=[ask])
        graph = parent_of(outer, saver=InMemorySaver())
        for text in TURNS[:2]:
            graph.invoke(said(text), THREAD)

        assert 2 == len(model.prompts)

    @pytest.mark.parametrize(
        "note", first_quick([None, 7, {}, {"answered": 7}, {"answered": {"x": 1}}])
    )
    def test_metadata_of_somebody_else(self, store: MemoryStore, note: Any) -> None:
        """Metadata that is none of the middleware's says nothing."""
        agent, model = agent_of(MemoryContextMiddleware(store, user_id="42"), ["Bye."])
        graph = parent_of(agent, saver=InMemorySaver())
        said_before = AIMessage("Hello.", response_metadata={"memory_context": note})
        graph.invoke({"messages": [HumanMessage("hi"), said_before, HumanMessage("Bye.")]}, THREAD)

        assert 1 == len(model.prompts)

    def test_another_agent_for_another_user(self, store: MemoryStore) -> None:
        """An agent that speaks for another user than the agents before it in the thread is refused."""
        first, _ = agent_of(MemoryContextMiddleware(store, user_id="ann"), ["ok"])
        second, model = agent_of(MemoryContextMiddleware(store, user_id="bob"), ["ok"])
        graph = parent_of(first, second, saver=InMemorySaver())

        with pytest.raises(StateOwnerError):
            graph.invoke(said("hi"), THREAD)
        assert [] == model.prompts

    @pytest.mark.long
    @pytest.mark.parametrize("how", first_quick(["invoke", "ainvoke"]))
    async def test_a_run_that_waits(self, store: MemoryStore, how: str) -> None:
        """Nobody else resumes an interrupted run; when its owner does, what the model saw is still there."""
        done = list[int]()

        @tool
        def pay(amount: int) -> str:
            """Pay."""
            done.append(amount)
            return "paid"

        middleware = MemoryContextMiddleware(store)
        hooks: list[Any] = [HumanInTheLoopMiddleware(interrupt_on={"pay": True}), middleware]
        script = [READ, "Read.", [call("pay", amount=7)], "Paid.", "Bye."]
        agent, model = agent_of(hooks, script, tools=[read_log, pay])
        graph = parent_of(agent, saver=InMemorySaver())
        ann, bob = ({"configurable": {"thread_id": "t", "user_id": who}} for who in ("ann", "bob"))
        for text in (TURNS[0], QUESTION):
            await run(graph, said(text), how, ann)
        approve: Any = Command(resume={"decisions": [{"type": "approve"}]})
        with pytest.raises(StateOwnerError):
            await run(graph, approve, how, bob)
        assert [] == done
        await run(graph, approve, how, ann)
        await run(graph, said("Bye."), how, ann)

        assert [7] == done
        check_answers(model, recalls=1)


class TestSeveralAgents:
    """Agents that share the messages of one thread."""

    @pytest.mark.long
    @pytest.mark.parametrize("shares_middleware", first_quick([False, True]))
    @pytest.mark.parametrize("how", first_quick(["invoke", "ainvoke"]))
    async def test_supervisor(self, store: MemoryStore, how: str, shares_middleware: bool) -> None:
        """Each of two agents, one after the other, gets what a question needs, and sees it where it was."""
        one = MemoryContextMiddleware(store, user_id="42")
        other = one if shares_middleware else MemoryContextMiddleware(store, user_id="42")
        planner, planner_model = agent_of(one, SCRIPT)
        writer, writer_model = agent_of(other, ["Noted."] * len(TURNS))
        graph = parent_of(planner, writer, saver=InMemorySaver())
        for text in TURNS:
            await run(graph, said(text), how)

        check_answers(planner_model)
        check_answers(writer_model)

    @pytest.mark.long
    def test_supervisor_of_agents_with_checkpoints(self, store: MemoryStore) -> None:
        """The same holds where each agent keeps checkpoints of its own as well."""
        middleware = MemoryContextMiddleware(store, user_id="42")
        planner, planner_model = agent_of(middleware, SCRIPT, checkpointer=True)
        writer, writer_model = agent_of(middleware, ["Noted."] * len(TURNS), checkpointer=True)
        graph = parent_of(planner, writer, saver=InMemorySaver())
        for text in TURNS:
            graph.invoke(said(text), THREAD)

        check_answers(planner_model)
        check_answers(writer_model)

    @pytest.mark.parametrize("how", first_quick(["invoke", "ainvoke"]))
    @pytest.mark.long
    async def test_handoffs(self, store: MemoryStore, how: str) -> None:
        """Agents that hand the conversation over to each other by a tool see what they were shown where it was."""

        @tool
        def hand_over(runtime: ToolRuntime) -> Command[Any]:
            """Hand the conversation over."""
            done = ToolMessage("Handed over.", tool_call_id=runtime.tool_call_id or "")
            messages = [*runtime.state["messages"], done]
            return Command(goto="agent_1", graph=Command.PARENT, update={"messages": messages})

        over = [call("hand_over", "8")]
        first, first_model = agent_of(
            MemoryContextMiddleware(store, user_id="42"),
            [READ, over, over, over, over, over],
            tools=[read_log, hand_over],
        )
        second, second_model = agent_of(
            MemoryContextMiddleware(store, user_id="42"), ["Noted."] * len(TURNS)
        )
        graph = StateGraph(MessagesState)
        graph.add_node("agent_0", first, destinations=("agent_1",))
        graph.add_node("agent_1", second)
        graph.add_edge(START, "agent_0")
        compiled = graph.compile(checkpointer=InMemorySaver())
        for text in TURNS:
            await run(compiled, said(text), how)

        check_answers(first_model)
        check_answers(second_model)

    @pytest.mark.long
    def test_agents_with_and_without_middleware(self, store: MemoryStore) -> None:
        """Beside an agent that has no middleware it is the same."""
        plain = create_agent(ScriptedChatModel(["Go on."] * len(TURNS)), [])
        agent, model = agent_of(MemoryContextMiddleware(store, user_id="42"), SCRIPT)
        graph = parent_of(plain, agent, plain_again(), saver=InMemorySaver())
        for text in TURNS:
            graph.invoke(said(text), THREAD)

        check_answers(model)

    @pytest.mark.parametrize("how", first_quick(["invoke", "ainvoke"]))
    async def test_two_agents_side_by_side(self, store: MemoryStore, how: str) -> None:
        """Two agents that answer at the same time see what they saw, and not what the other one was shown."""
        middleware = MemoryContextMiddleware(store, user_id="42")
        left, left_model = agent_of(middleware, SCRIPT)
        right, right_model = agent_of(
            MemoryContextMiddleware(store, user_id="42"), ["Noted."] * len(TURNS)
        )
        graph = fan_out_to({"left": left, "right": right}, "left", "right")
        for text in TURNS:
            await run(graph, said(text), how)

        check_answers(left_model)
        # Whether the left agent has stored its log before the right one looks is a matter of time.
        check_prefixes(right_model)
        texts = recalls_in(right_model.prompts[-1])
        assert len(texts) == len(set(texts))

    @pytest.mark.long
    def test_a_large_message_for_two_agents(self, store: MemoryStore) -> None:
        """What a person says at length is stored once, and folded alike in the prompts of two agents."""
        left, left_model = agent_of(MemoryContextMiddleware(store, user_id="42"), ["ok"] * 3)
        right, right_model = agent_of(MemoryContextMiddleware(store, user_id="42"), ["ok"] * 3)
        graph = fan_out_to({"left": left, "right": right}, "left", "right")
        for text in (LOG, QUESTION, "Thanks."):
            graph.invoke(said(text), THREAD)

        for model in (left_model, right_model):
            check_answers(model, recalls=1)
            assert str(model.prompts[0][-1].content).startswith("[MemoryRef: ")
        assert 1 == len(MemoryManager(store, user_id="42").search(""))

    @pytest.mark.parametrize("threshold", first_quick([None, 100_000]))
    @pytest.mark.parametrize("side_by_side", first_quick([False, True]))
    def test_a_large_message_that_others_need_whole(
        self, store: MemoryStore, side_by_side: bool, threshold: int | None
    ) -> None:
        """An agent that folds a message at once goes on to see it folded, one that saw it whole sees it whole."""
        large = {"messages": [HumanMessage(LOG, name="tester")]}
        folding, folding_model = agent_of(MemoryContextMiddleware(store, user_id="42"), ["ok"] * 3)
        whole_model = ScriptedChatModel(["ok"] * 3)
        hooks = [MemoryContextMiddleware(store, user_id="42", threshold=threshold, recall=False)]
        whole = create_agent(whole_model, [], middleware=hooks if threshold else [])
        if side_by_side:
            graph = fan_out_to({"whole": whole, "folding": folding}, "folding", "whole")
        else:
            graph = parent_of(whole, folding, saver=InMemorySaver())
        for given in (large, said(QUESTION), said("Thanks.")):
            graph.invoke(given, THREAD)

        check_answers(folding_model, recalls=1)
        check_prefixes(whole_model)
        assert LOG == whole_model.prompts[-1][0].content
        assert LOG not in str(folding_model.prompts)

    @pytest.mark.long
    @pytest.mark.parametrize("how", first_quick(["invoke", "ainvoke"]))
    async def test_two_runs_of_one_agent(self, store: MemoryStore, how: str) -> None:
        """What two runs of one agent side by side were shown stands once in the prompts of later turns."""
        MemoryManager(store, user_id="42", thread_id="old").store(LOG, "log of the night")
        agent, model = agent_of(MemoryContextMiddleware(store, user_id="42"), ["ok"] * 4)
        graph = fan_out_to({"agent": agent}, "agent", "agent")
        for text in (QUESTION, "Thanks."):
            await run(graph, said(text), how)

        first, _, *later = model.prompts
        assert ANSWER in "".join(recalls_in(first))
        for prompt in later:
            assert seen(first) == seen(prompt)[: len(first)]
            assert 1 == sum(ANSWER in recalled for recalled in recalls_in(prompt))

    @pytest.mark.long
    def test_only_the_last_answer_goes_to_the_parent(self, store: MemoryStore) -> None:
        """A parent that keeps only an agent's last answer keeps whose thread it is, and valid messages."""
        agent, model = agent_of(MemoryContextMiddleware(store), SCRIPT)

        def node(state: MessagesState) -> dict[str, Any]:
            return {"messages": agent.invoke({"messages": state["messages"]})["messages"][-1:]}

        graph = parent_of(node, saver=InMemorySaver())
        ann, bob = ({"configurable": {"thread_id": "t", "user_id": who}} for who in ("ann", "bob"))
        for text in TURNS[:3]:
            graph.invoke(said(text), ann)
        with pytest.raises(StateOwnerError):
            graph.invoke(said("hello"), bob)

        assert 4 == len(model.prompts)
        for prompt in model.prompts[2:]:
            assert not any(isinstance(message, ToolMessage) for message in prompt)
        assert isinstance(model.prompts[-1][-2], AIMessage)


def plain_again() -> Any:
    """An agent without middleware that has the last word."""
    return create_agent(ScriptedChatModel(["Next."] * len(TURNS)), [])


@pytest.mark.long
def test_an_application_that_keeps_the_messages(store: MemoryStore) -> None:
    """Without any checkpointer, what a model saw stays where the agent's messages are given to it again."""
    agent, model = agent_of(MemoryContextMiddleware(store, user_id="42"), SCRIPT)
    messages = list[Any]()
    for text in TURNS:
        messages = agent.invoke({"messages": [*messages, HumanMessage(text)]})["messages"]

    check_answers(model)


def test_the_owner_is_checked_under_a_name_with_an_at_sign() -> None:
    """What was carried for one user is refused for another, whatever the middleware is called."""
    name = "memory@home"
    note = DecisionNote(ConversationFacts(user_id="ann"))
    answer = with_note(AIMessage("hi", id="a"), "answers", {f"{name}@sub": note.to_json()})
    messages: list[AnyMessage] = [HumanMessage("q", id="q"), answer]
    assert "ann" == carried_by(messages, None, name, "sub", "ann").note.facts.user_id
    with pytest.raises(StateOwnerError):
        carried_by(messages, None, name, "sub", "bob")


def test_a_compaction_stands_before_what_was_recalled_there() -> None:
    """It may end at a message before which something was recalled earlier; the host noted that first."""
    held = [Message(str(number), "user", "ann", {0: "said"}) for number in range(3)]
    recalled = InsertedMessage("r", "2", "recalled", MessageFacts(kind="recall"))
    kept = MessageFacts(kind="compaction", replaced=("1",))
    compacted = InsertedMessage("c", "2", "kept in memory", kept)
    note = DecisionNote(inserted=(compacted,)).after(DecisionNote(inserted=(recalled,)))
    shown, _ = as_shown(held, note, None)
    assert ["0", "c", "r", "2"] == [message.id for message in shown]
