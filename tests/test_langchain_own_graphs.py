"""LangChain without `create_agent`: graphs and loops of one's own, whose tools fold and whose models get recalls."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

from for_each import for_each
from langchain_memory_context import MemoryContextMiddleware
from langchain_memory_context.testing import ScriptedChatModel, call
from memory_context import MemoryManager, MemoryRef, SQLAlchemyStore
from memory_context.exceptions import InvalidArgumentError, StateOwnerError

LOG = "\n".join(f"02:{i // 60:02}:{i % 60:02} worker-{i} done" for i in range(3000))
QUESTION = "When was worker-1234 done?"
ANSWER = "02:20:34 worker-1234 done"


@tool
def read_log() -> str:
    """Read the log of the nightly job."""
    return LOG


def graph_of(memory: MemoryContextMiddleware, model: ScriptedChatModel) -> Any:
    """A graph as people draw it by hand."""
    tools = ToolNode(
        [read_log, *memory.tools],
        wrap_tool_call=memory.wrap_tool_call,
        awrap_tool_call=memory.awrap_tool_call,
    )
    graph = StateGraph(MessagesState)
    graph.add_node("model", memory.model_node(model))
    graph.add_node("tools", tools)
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", tools_condition)
    graph.add_edge("tools", "model")
    return graph.compile(checkpointer=InMemorySaver())


@for_each("how", ["invoke", "ainvoke"])
async def test_a_graph_of_ones_own_folds_and_recalls(how: str) -> None:
    """`ToolNode` with the middleware's hooks folds; `model_node` brings back what the question needs, once."""
    store = SQLAlchemyStore("sqlite://")
    model = ScriptedChatModel([[call("read_log")], "Read.", "At 02:20:34.", "Bye."])
    graph = graph_of(MemoryContextMiddleware(store), model)
    config = {"configurable": {"thread_id": "t", "user_id": "42"}}

    for text in ["Read the log.", QUESTION, "Thanks."]:
        given = {"messages": [HumanMessage(text)]}
        await graph.ainvoke(given, config) if how == "ainvoke" else graph.invoke(given, config)

    held: list[AnyMessage] = graph.get_state(config).values["messages"]
    [result] = [message for message in held if isinstance(message, ToolMessage)]
    [ref] = MemoryRef.find_all(str(result.content))
    assert LOG == MemoryManager(store, user_id="42").retrieve(ref.key)
    assert ANSWER not in str(result.content)
    assert ANSWER in str(model.prompts[2][-2].content)
    contents = [message.content for message in model.prompts[2]]
    assert contents == [message.content for message in model.prompts[3]][: len(contents)]


def test_a_thread_of_ones_own_graph_has_one_owner() -> None:
    """What rides on the answers says whose conversation it is."""
    model = ScriptedChatModel(["Hello.", "Hello again."])
    graph = graph_of(MemoryContextMiddleware(SQLAlchemyStore("sqlite://")), model)
    given = {"messages": [HumanMessage("Hello!")]}
    graph.invoke(given, {"configurable": {"thread_id": "t", "user_id": "ann"}})
    with pytest.raises(StateOwnerError):
        graph.invoke(given, {"configurable": {"thread_id": "t", "user_id": "bob"}})


def test_a_memory_tool_in_ones_own_graph_answers() -> None:
    """The middleware's tools in a `ToolNode` read what is stored of whoever runs it."""
    store = SQLAlchemyStore("sqlite://")
    MemoryManager(store, user_id="42").store("The dock is 7.", "dock", "note", key="dock")
    model = ScriptedChatModel([[call("retrieve_memory", key="dock")], "Seven."])
    graph = graph_of(MemoryContextMiddleware(store, user_id="42"), model)
    config = {"configurable": {"thread_id": "t"}}
    graph.invoke({"messages": [HumanMessage("Which dock?")]}, config)
    assert "The dock is 7." in str(model.prompts[1][-1].content)


def test_messages_in_any_form() -> None:
    """A node takes what LangChain takes for messages, and refuses a state without them, and the name of a model."""
    model = ScriptedChatModel(["a", "b", "c"])
    memory = MemoryContextMiddleware("sqlite://", user_id="42")
    node = memory.model_node(model)
    for said in ([{"role": "user", "content": "hi"}], [("user", "hi")], "hi"):
        node.invoke({"messages": said})
    assert [["hi"]] * 3 == [[message.content for message in prompt] for prompt in model.prompts]

    with pytest.raises(InvalidArgumentError, match="has no messages"):
        node.invoke({"chat": [("user", "hi")]})
    with pytest.raises(InvalidArgumentError, match="not 'openai:gpt-5'"):
        memory.model_node("openai:gpt-5")  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
    assert 3 == len(model.prompts)


def test_a_loop_that_drops_old_messages() -> None:
    """What stands at the beginning stays there once, however often the message that it stood before is dropped."""
    store = SQLAlchemyStore("sqlite://")
    MemoryManager(store, user_id="42").store("dark", "a note", "user_preference", tier="global")
    model = ScriptedChatModel([str(number) for number in range(6)])
    node = MemoryContextMiddleware(store, user_id="42").model_node(model)
    messages: list[AnyMessage] = []
    for number in range(6):
        messages = [*messages, HumanMessage(f"Hello {number}", id=f"h{number}")][-4:]
        messages += node.invoke({"messages": messages})["messages"]
    layers = [message for message in model.prompts[-1] if "dark" in str(message.content)]
    assert [model.prompts[-1][0]] == layers
    assert 5 == len(model.prompts[-1])


@pytest.mark.long
def test_a_plain_loop_recalls() -> None:
    """Without a graph, the node is called with a list of messages: large results are folded where the model sees them."""
    model = ScriptedChatModel([[call("read_log", "1")], "Read.", "At 02:20:34."])
    memory = MemoryContextMiddleware(SQLAlchemyStore("sqlite://"), user_id="42")
    node = memory.model_node(model)
    messages: list[AnyMessage] = [SystemMessage("You are a clerk."), HumanMessage("Read the log.")]
    config: Any = {"configurable": {"thread_id": "loop"}}

    messages += node.invoke({"messages": messages}, config)["messages"]
    messages.append(ToolMessage(LOG, tool_call_id="1", name="read_log"))
    messages += node.invoke({"messages": messages}, config)["messages"]
    messages.append(HumanMessage(QUESTION))
    node.invoke({"messages": messages}, config)

    assert ["system", "human"] == [message.type for message in model.prompts[0]]
    assert all(ANSWER not in str(message.content) for message in model.prompts[1])
    assert ANSWER in str(model.prompts[2][-2].content)
