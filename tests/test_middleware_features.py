"""Limits, late folds, recall of results and the user's layer in real agents of LangChain's, seen from outside."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    ClearToolUsesEdit,
    ContextEditingMiddleware,
    HumanInTheLoopMiddleware,
    ModelFallbackMiddleware,
    ModelRetryMiddleware,
    PIIMiddleware,
    SummarizationMiddleware,
    ToolCallLimitMiddleware,
)
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.types import Command

from for_each import first_quick
from langchain_memory_context import MemoryContextMiddleware
from langchain_memory_context.testing import ScriptedChatModel, call
from memory_context import (
    ContextAssembler,
    FoldPolicy,
    MemoryManager,
    MemoryRef,
    RecallPolicy,
    SQLAlchemyStore,
)
from memory_context.exceptions import BudgetTooSmallError, InvalidArgumentError, StoreError
from memory_context.stores import MemoryStore

Saver: TypeAlias = BaseCheckpointSaver[Any]

THREAD: Any = {"configurable": {"thread_id": "t"}}
LIMIT = 1000
NO_LAYER = RecallPolicy(user_layer_tokens=0)
QUIET = RecallPolicy(expansion_budget=0, user_layer_tokens=0)
SHORT = FoldPolicy(threshold=50, preview_tokens=40)
LATE = FoldPolicy(fold="after_reading", preview_tokens=40)
PIXEL = {"type": "image", "base64": "iVBORw0KGgo=", "mime_type": "image/png"}


def page_of(number: int, lines: int = 60) -> str:
    """A page of some 700 tokens."""
    return "\n".join(
        f"{number:02}-{i:02} order-{number * 100 + i} at dock {i}" for i in range(lines)
    )


@tool
def read_page(number: int) -> str:
    """Read a page."""
    return page_of(number)


@pytest.fixture
def store(sqlite_url: str) -> Iterator[MemoryStore]:
    """An empty store in a file."""
    with SQLAlchemyStore(sqlite_url) as store:
        yield store


@pytest.fixture(params=first_quick(["sqlite", "memory"]))
def saver(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Saver]:
    """A checkpointer without checkpoints."""
    if request.param == "memory":
        yield InMemorySaver()
    else:
        with SqliteSaver.from_conn_string(str(tmp_path / "checkpoints.db")) as saver:
            yield saver


def memory_of(store: MemoryStore, **settings: Any) -> MemoryContextMiddleware:
    """The middleware of user 42."""
    return MemoryContextMiddleware(store, **{"user_id": "42", "recall": QUIET, **settings})


def agent_of(
    script: Sequence[Any],
    *middleware: AgentMiddleware[Any, Any, Any],
    tools: Sequence[BaseTool] = (read_page,),
    saver: Saver | None = None,
    nested: bool = False,
    **settings: Any,
) -> tuple[Any, ScriptedChatModel]:
    """An agent, at top level or as the node of a graph that keeps its messages; and its model."""
    model = ScriptedChatModel(script)
    keeps: Saver = InMemorySaver() if saver is None else saver
    inner: Any = create_agent(
        model,
        list(tools),
        middleware=middleware,
        checkpointer=None if nested else keeps,
        **settings,
    )
    if not nested:
        return inner, model
    graph = StateGraph(MessagesState)
    graph.add_node("agent", inner)
    graph.add_edge(START, "agent")
    return graph.compile(checkpointer=keeps), model


def said(text: str | list[Any]) -> dict[str, Any]:
    """What a person says."""
    return {"messages": [HumanMessage(text)]}


def turn(number: int) -> str:
    """Something of some 120 tokens to say."""
    return f"Turn {number}: " + " ".join(f"word{number}x{i}" for i in range(24))


async def run(agent: Any, given: Any, how: str = "invoke", config: Any = THREAD) -> Any:
    """Run an agent, and return its messages."""
    given = said(given) if isinstance(given, str) else given
    if how == "invoke":
        return agent.invoke(given, config)["messages"]
    return (await agent.ainvoke(given, config))["messages"]


def shown(prompt: Sequence[BaseMessage]) -> list[tuple[Any, ...]]:
    """What a provider gets of each message."""
    return [
        (one.type, one.name, one.content, str(getattr(one, "tool_calls", ()))) for one in prompt
    ]


def own_in(prompt: Sequence[BaseMessage]) -> list[str]:
    """What this library has put into a prompt."""
    return [str(message.content) for message in prompt if message.name == "memory_context"]


def size_of(store: MemoryStore, prompt: Sequence[BaseMessage]) -> int:
    """The tokens of a prompt."""
    count = MemoryManager(store, user_id="42").counter.count
    return sum(count(str(message.content)) for message in prompt)


def changed_prefixes(model: ScriptedChatModel) -> int:
    """How many prompts do not begin with the whole of the one before."""
    prompts = [shown(prompt) for prompt in model.prompts]
    return sum(before != after[: len(before)] for before, after in pairwise(prompts))


def everything_behind(store: MemoryStore, prompt: Sequence[BaseMessage]) -> str:
    """All that a model can read from a prompt on, reference by reference."""
    manager = MemoryManager(store, user_id="42")
    texts, read = [str(message.content) for message in prompt], set[str]()
    for text in texts:
        for ref in MemoryRef.find_all(text):
            if ref.key not in read:
                read.add(ref.key)
                texts.append(str(manager.retrieve(ref.key)).replace("\\n", "\n"))
    return "\n".join(texts)


def each_way(*names: str) -> pytest.MarkDecorator:
    """Run a test in both ways and at both levels."""
    return pytest.mark.parametrize(
        names,
        first_quick([("invoke", False), ("ainvoke", True), ("ainvoke", False), ("invoke", True)]),
    )


class TestLimit:
    """``max_tokens``."""

    @each_way("how", "nested")
    async def test_holds_and_loses_nothing(
        self, store: MemoryStore, how: str, nested: bool
    ) -> None:
        """No prompt is over the limit, every turn can be read from the last one on, and only compactions change it."""
        memory = memory_of(store, max_tokens=LIMIT)
        agent, model = agent_of([f"Answer {i}." for i in range(30)], memory, nested=nested)
        for number in range(30):
            await run(agent, turn(number), how)

        assert all(size_of(store, prompt) <= LIMIT for prompt in model.prompts)
        compactions = memory.stats().compactions
        assert 1 < compactions < 15
        assert changed_prefixes(model) == compactions
        assert model.prompts[0][0].content == model.prompts[-1][0].content
        assert 1 == len(own_in(model.prompts[-1]))
        legible = everything_behind(store, model.prompts[-1])
        assert all(turn(number) in legible for number in range(30))
        assert all(f"Answer {number}." in legible for number in range(29))

    async def test_checkpoints_shrink(self, store: MemoryStore, saver: Saver) -> None:
        """At top level compacted messages leave the state; what the state holds and its note give the next prompt."""
        agent, model = agent_of(
            [f"Answer {i}." for i in range(30)], memory_of(store, max_tokens=LIMIT), saver=saver
        )
        for number in range(30):
            messages = await run(agent, turn(number))
        assert len(messages) < 20
        assert len(messages) == len(
            model.prompts[-1]
        )  # the answer more, the compaction's note less

    @pytest.mark.long
    async def test_parent_keeps_its_messages(self, store: MemoryStore, saver: Saver) -> None:
        """A parent graph keeps every message; another process with its checkpoints goes on with the compaction."""
        prompts: list[Any] = []
        for number in range(16):
            memory = memory_of(store, max_tokens=LIMIT)
            agent, model = agent_of([f"Answer {number}."], memory, saver=saver, nested=True)
            messages = await run(agent, turn(number))
            prompts += model.prompts
        assert 32 == len(messages)
        changed = sum(shown(a) != shown(b)[: len(a)] for a, b in pairwise(prompts))
        assert 0 < changed < 6
        assert all(size_of(store, prompt) <= LIMIT for prompt in prompts)
        legible = everything_behind(store, prompts[-1])
        assert all(turn(number) in legible for number in range(16))

    @pytest.mark.long
    @each_way("how", "nested")
    async def test_amid_a_turn(self, store: MemoryStore, how: str, nested: bool) -> None:
        """Many calls in one turn are compacted with their results, so that no result stands without its call."""
        script: list[Any] = [[call("read_page", str(i), number=i)] for i in range(20)]
        memory = memory_of(store, max_tokens=2000)
        agent, model = agent_of([*script, "Done."], memory, nested=nested)
        await run(agent, "Read all pages.", how)

        for prompt in model.prompts:
            called = [one["id"] for m in prompt if isinstance(m, AIMessage) for one in m.tool_calls]
            assert called == [m.tool_call_id for m in prompt if isinstance(m, ToolMessage)]
            assert "Read all pages." == prompt[0].content
            assert size_of(store, prompt) <= 2000
        assert memory.stats().compactions
        legible = everything_behind(store, model.prompts[-1])
        assert all(page_of(number) in legible for number in range(20))

    async def test_model_reads_what_was_compacted(self, store: MemoryStore) -> None:
        """The key in a compaction's note opens the messages, by the agent's own tool."""

        def opens(prompt: list[BaseMessage]) -> Any:
            [ref] = MemoryRef.find_all(own_in(prompt)[0].split("\n")[1])
            return [call("retrieve_memory", key=ref.key, contains="word1x7")]

        agent, model = agent_of(
            [*(f"Answer {i}." for i in range(12)), opens, "Yes."],
            memory_of(store, max_tokens=LIMIT),
        )
        for number in range(13):
            await run(agent, turn(number))
        assert "word1x7" in str(model.prompts[-1][-1].content)

    async def test_images_survive(self, store: MemoryStore) -> None:
        """Images beside text are shown as they came, and are stored with what is compacted."""
        agent, model = agent_of(
            [f"Answer {i}." for i in range(12)], memory_of(store, max_tokens=LIMIT)
        )
        await run(agent, "Look.")
        await run(agent, said([{"type": "text", "text": "See this"}, PIXEL]))
        assert [{"type": "text", "text": "See this"}, PIXEL] == model.prompts[-1][-1].content
        for number in range(10):
            await run(agent, turn(number))
        assert "See this" not in str([m.content for m in model.prompts[-1][:1]])
        assert "iVBORw0KGgo=" in everything_behind(store, model.prompts[-1])

    @pytest.mark.long
    async def test_fork(self, store: MemoryStore, saver: Saver) -> None:
        """From a checkpoint before a compaction a thread goes on with its messages as they were then."""
        agent, model = agent_of(
            [f"Answer {i}." for i in range(20)], memory_of(store, max_tokens=LIMIT), saver=saver
        )
        for number in range(4):
            await run(agent, turn(number))
        early = agent.get_state(THREAD).config
        for number in range(4, 14):
            await run(agent, turn(number))
        assert own_in(model.prompts[-1])
        await run(agent, "Again?", config=early)
        assert shown(model.prompts[3]) == shown(model.prompts[-1])[:7]
        assert not own_in(model.prompts[-1])

    @pytest.mark.long
    async def test_many_users(self, store: MemoryStore) -> None:
        """One compiled agent keeps many users' limits, side by side, each with their own words."""
        memory = memory_of(store, user_id=None, max_tokens=LIMIT)
        agent, model = agent_of(["Yes."] * 60, memory)

        async def talk(user: str) -> None:
            config = {"configurable": {"thread_id": user, "user_id": user}}
            for number in range(12):
                await run(agent, f"{user} {turn(number)}", "ainvoke", config)

        await asyncio.gather(*(talk(f"u{number}") for number in range(5)))
        for prompt in model.prompts:
            text = str(shown(prompt))
            assert 1 == sum(f"u{number} Turn" in text for number in range(5))
            assert size_of(store, prompt) <= LIMIT

    async def test_system_prompt_and_message(self, store: MemoryStore) -> None:
        """A system prompt stays first, and system messages in the state are not compacted."""
        agent, model = agent_of(
            ["Yes."] * 12, memory_of(store, max_tokens=LIMIT), system_prompt="Be brief."
        )
        agent.update_state(THREAD, {"messages": [SystemMessage("In English.")]}, "model")
        for number in range(12):
            await run(agent, turn(number))
        begins = [message.content for message in model.prompts[-1][:2]]
        assert ["Be brief.", "In English."] == begins

    async def test_store_down(self, store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
        """While the store fails the prompt stays whole; the next call with a store compacts it."""
        memory = memory_of(store, max_tokens=LIMIT)
        agent, model = agent_of(["Yes."] * 12, memory)

        def fails(*_: Any, **__: Any) -> Any:
            message = "down"
            raise StoreError(message)

        with monkeypatch.context() as patched:
            for name in ("put", "query", "count", "search"):
                patched.setattr(store, name, fails, raising=False)
            for number in range(10):
                await run(agent, turn(number))
        assert 19 == len(model.prompts[-1])
        assert memory.stats().store_failures
        await run(agent, turn(10))
        assert size_of(store, model.prompts[-1]) <= LIMIT
        legible = everything_behind(store, model.prompts[-1])
        assert all(turn(number) in legible for number in range(11))

    def test_too_small(self, store: MemoryStore) -> None:
        """A limit that nobody can converse in, or that is no number, is refused."""
        with pytest.raises(BudgetTooSmallError):
            memory_of(store, max_tokens=100)
        with pytest.raises(InvalidArgumentError):
            memory_of(store, max_tokens="many")


class TestAfterReading:
    """``fold="after_reading"``."""

    @each_way("how", "nested")
    async def test_whole_once_then_folded(self, store: MemoryStore, how: str, nested: bool) -> None:
        """Each output is whole in the first prompt behind it, later batches fold it, and prompts change only then."""
        script: list[Any] = [[call("read_page", str(i), number=i)] for i in range(8)]
        memory = memory_of(store, fold=LATE)
        agent, model = agent_of([*script, *["Yes."] * 4], memory, nested=nested)
        await run(agent, "Read all.", how)
        for number in range(3):
            await run(agent, turn(number), how)

        for number, prompt in enumerate(model.prompts[1:9]):
            assert page_of(number) == prompt[-1].content
        late = memory.stats().late_folds
        assert 0 < late < 8
        assert changed_prefixes(model) == late
        assert page_of(0) not in str(model.prompts[-1][2].content)
        legible = everything_behind(store, model.prompts[-1])
        assert all(page_of(number) in legible for number in range(8))

    @pytest.mark.long
    async def test_state_in_checkpoints(self, store: MemoryStore, saver: Saver) -> None:
        """What waits to be folded is known to the next process, which folds it in the state."""
        for number in range(6):
            memory = memory_of(store, fold=LATE)
            script = [[call("read_page", str(number), number=number)], "Read."]
            agent, model = agent_of(script, memory, saver=saver)
            messages = await run(agent, f"Read {number}.")
            assert page_of(number) == model.prompts[-1][-1].content
        results = [str(one.content) for one in messages if isinstance(one, ToolMessage)]
        assert any(MemoryRef.find_all(text) for text in results)
        assert page_of(5) == results[-1]

    @pytest.mark.long
    async def test_caps_and_limit(self, store: MemoryStore) -> None:
        """What is over the read cap is folded at once; with a limit nothing passes it."""
        memory = memory_of(store, fold=FoldPolicy(fold="after_reading", read_cap=600))
        agent, model = agent_of([[call("read_page", number=1)], "Read."], memory)
        await run(agent, "Read.")
        assert MemoryRef.find_all(str(model.prompts[-1][-1].content))

        script: list[Any] = [[call("read_page", str(i), number=i)] for i in range(9)]
        limited = memory_of(store, fold="after_reading", max_tokens=2500)
        agent, model = agent_of([*script, "Done."], limited)
        await run(agent, "Read all.")
        assert all(size_of(store, prompt) <= 2500 for prompt in model.prompts)
        legible = everything_behind(store, model.prompts[-1])
        assert all(page_of(number) in legible for number in range(9))

    async def test_redacted_before_it_is_read(self, store: MemoryStore) -> None:
        """What must not be stored is gone from an output that is shown in full, too."""
        fold = FoldPolicy(fold="after_reading", redact=[lambda text: text.replace("dock", "____")])
        agent, model = agent_of([[call("read_page", number=1)], "R."], memory_of(store, fold=fold))
        await run(agent, "Read.")
        assert page_of(1).replace("dock", "____") == model.prompts[-1][-1].content


class TestRecall:
    """Recall of results and the user's layer."""

    @each_way("how", "nested")
    async def test_results(self, store: MemoryStore, how: str, nested: bool) -> None:
        """A tool's result that names something out of sight brings it back before its own call, if asked to."""

        @tool
        def next_order() -> str:
            """Tell which order is next."""
            return "Next is order-345."

        for looks in (True, False):
            policy = RecallPolicy(results=looks, user_layer_tokens=0)
            script = [[call("read_page", "1", number=3)], [call("next_order", "2")], "Dock 45."]
            # A user each: the second one's request would bring back what the first conversation read.
            agent, model = agent_of(
                script,
                memory_of(store, recall=policy, user_id=f"looks-{looks}"),
                tools=[read_page, next_order],
                nested=nested,
            )
            await run(agent, "Read page 3.", how)
            assert looks == ("order-345 at dock 45" in "".join(own_in(model.prompts[-1])))
            assert 0 == changed_prefixes(model)

    @each_way("how", "nested")
    async def test_layer_once(self, store: MemoryStore, how: str, nested: bool) -> None:
        """What is known of the user stands first in a thread, once, unchanged, also in another process."""
        manager = MemoryManager(store, user_id="42", thread_id="old")
        manager.store("Ann prefers metric units.", type="user_preference")
        saver, prompts = InMemorySaver(), []
        for number in range(3):
            memory = memory_of(store, recall=True)
            agent, model = agent_of(["Yes."], memory, saver=saver, nested=nested)
            await run(agent, turn(number), how)
            manager.store(f"Ann prefers tea {number}.", type="user_preference")
            prompts += model.prompts
        for prompt in prompts:
            assert ["memory_context"] == [prompt[0].name]
            assert "metric units" in str(prompt[0].content)
            assert 1 == len(own_in(prompt))
            assert shown(prompts[0]) == shown(prompt)[:2]

    async def test_anonymous_threads(self, store: MemoryStore) -> None:
        """A run without a thread is not told of others, unless the user has preferences."""
        manager = MemoryManager(store, user_id="42", thread_id="old")
        manager.store("The build is green.", type="note")
        model = ScriptedChatModel(["Yes."] * 3)
        agent: Any = create_agent(model, [], middleware=[memory_of(store, recall=True)])
        agent.invoke(said("Hello."))
        assert not own_in(model.prompts[-1])
        manager.store("Ann prefers metric units.", type="user_preference")
        agent.invoke(said("Hello."))
        assert "metric units" in own_in(model.prompts[-1])[0]

    @pytest.mark.parametrize("how", first_quick(["invoke", "ainvoke"]))
    async def test_use_is_recorded(self, store: MemoryStore, how: str) -> None:
        """An answer that makes use of a memory of the layer counts as a use of it."""
        manager = MemoryManager(store, user_id="42", thread_id="old")
        manager.store("Invoices go to host-7.", type="user_preference")
        assembler = ContextAssembler(manager)
        for nested in (False, True):
            memory = memory_of(store, recall=True)
            agent, _ = agent_of(["Hello.", "I look at host-7."], memory, nested=nested)
            given: Any = {"configurable": {"thread_id": f"t{nested}"}}
            await run(agent, "Hello.", how, given)
            assert (nested + 1, int(nested)) == (
                assembler.advice().assemblies,
                assembler.advice().needed,
            )
            await run(agent, "Where do invoices go?", how, given)
            assert (nested + 1, nested + 1) == (
                assembler.advice().assemblies,
                assembler.advice().needed,
            )

    @pytest.mark.long
    async def test_layer_with_limit(self, store: MemoryStore) -> None:
        """Compactions leave the layer and the task at the beginning."""
        manager = MemoryManager(store, user_id="42", thread_id="old")
        manager.store("Ann prefers metric units.", type="user_preference")
        for nested in (False, True):
            memory = memory_of(store, recall=True, max_tokens=LIMIT)
            agent, model = agent_of(["Yes."] * 14, memory, nested=nested)
            for number in range(14):
                await run(agent, turn(number))
            assert memory.stats().compactions
            assert shown(model.prompts[0]) == shown(model.prompts[-1])[:2]
            assert "metric units" in str(model.prompts[-1][0].content)


class TestBeside:
    """Beside other middleware, streams, interrupts."""

    @pytest.mark.parametrize("first", first_quick([True, False]))
    async def test_summaries(self, store: MemoryStore, first: bool) -> None:
        """Where a summary removes the messages beside it, a compaction's note stays in the prompt, before the summary."""
        saver = InMemorySaver()
        recall = RecallPolicy(expansion_budget=0)
        MemoryManager(store, user_id="42").store("Ann likes metric.", type="user_preference")
        memory = memory_of(store, max_tokens=LIMIT, recall=recall)
        agent, model = agent_of(["Yes."] * 12, memory, saver=saver)
        for number in range(12):
            await run(agent, turn(number))
        layer, note = own_in(model.prompts[-1])
        summary = SummarizationMiddleware(
            ScriptedChatModel(["They talked."]), trigger=("messages", 6), keep=("messages", 2)
        )
        listed: list[Any] = [memory, summary] if first else [summary, memory]
        agent, model = agent_of(["Yes."] * 2, *listed, saver=saver)
        for number in range(12, 14):
            await run(agent, turn(number))
            assert [layer, note] == [message.content for message in model.prompts[-1][:2]]
        assert "They talked." in str(model.prompts[-1][2].content)
        assert 0 == changed_prefixes(model)

    async def test_cleared(self, store: MemoryStore) -> None:
        """Where an application removes all messages, the thread begins again, without what was compacted."""
        agent, model = agent_of(["Yes."] * 13, memory_of(store, max_tokens=LIMIT))
        for number in range(12):
            await run(agent, turn(number))
        assert own_in(model.prompts[-1])
        agent.update_state(THREAD, {"messages": [RemoveMessage(REMOVE_ALL_MESSAGES)]})
        await run(agent, "Hello.")
        assert ["Hello."] == [message.content for message in model.prompts[-1]]

    async def test_other_middleware(self, store: MemoryStore) -> None:
        """Retries, fallbacks, call limits, PII and context editing do their work, and the limit holds."""
        memory = memory_of(store, max_tokens=LIMIT)
        spare = ScriptedChatModel(["Spare."] * 20)
        agent, model = agent_of(
            [
                ConnectionError("first"),
                *["Yes."] * 5,
                *[ConnectionError("gone")] * 4,
                *["Yes."] * 9,
            ],
            PIIMiddleware("email"),
            ToolCallLimitMiddleware(run_limit=3),
            ModelFallbackMiddleware(spare),
            ModelRetryMiddleware(max_retries=1, initial_delay=0, on_failure="error"),
            ContextEditingMiddleware(edits=[ClearToolUsesEdit(trigger=500)]),
            memory,
        )
        for number in range(14):
            await run(agent, f"Ask ann@example.org. {turn(number)}")
        prompts = [*model.prompts, *spare.prompts]
        assert "Spare." in str(model.prompts[-1]) + everything_behind(store, model.prompts[-1])
        assert memory.stats().compactions
        assert all(size_of(store, prompt) <= LIMIT for prompt in prompts)
        assert "ann@example.org" not in str(prompts) + everything_behind(store, prompts[-1])

    @pytest.mark.long
    async def test_interrupts(self, store: MemoryStore, saver: Saver) -> None:
        """A person decides on a call amid compactions; the run goes on with the same prompt and what was decided."""
        for nested in (False, True):
            config: Any = {"configurable": {"thread_id": f"t{nested}"}}
            memory = memory_of(store, max_tokens=700, fold=SHORT)
            asks = HumanInTheLoopMiddleware(interrupt_on={"read_page": True})
            script = [*["Yes."] * 8, [call("read_page", number=2)], "Read."]
            agent, model = agent_of(script, asks, memory, saver=saver, nested=nested)
            for number in range(8):
                await run(agent, turn(number), config=config)
            assert 1 == memory.stats().compactions
            agent.invoke(said("Read page 2."), config)
            before = shown(model.prompts[-1])
            agent.invoke(Command(resume={"decisions": [{"type": "approve"}]}), config)
            assert before == shown(model.prompts[-1])[: len(before)]
            assert "Read." == agent.get_state(config).values["messages"][-1].content

    @pytest.mark.parametrize("nested", first_quick([False, True]))
    async def test_streams(self, store: MemoryStore, nested: bool) -> None:
        """Streams show what the person and the model said, and nothing that this library has put into prompts."""
        memory = memory_of(store, max_tokens=LIMIT)
        agent, _ = agent_of(["A plain answer."] * 10, memory, nested=nested)
        tokens = ""
        for number in range(10):
            modes: Any = ["messages", "updates", "values"]
            for mode, chunk in agent.stream(said(turn(number)), THREAD, stream_mode=modes):
                if mode == "messages":
                    tokens += str(chunk[0].content)
                elif mode == "updates":
                    assert "'memory_context': {" not in str(list(chunk)), chunk
                else:
                    assert not own_in(chunk["messages"])
        assert "A plain answer." * 10 == tokens
        assert memory.stats().compactions

    @pytest.mark.long
    async def test_two_names(self, store: MemoryStore) -> None:
        """Two instances, one with a limit and one that folds late, each keep what is theirs."""
        folds = memory_of(store, fold="after_reading", name="folds")
        limits = memory_of(store, max_tokens=2000, tools=False, name="limits")
        script: list[Any] = [[call("read_page", str(i), number=i)] for i in range(9)]
        agent, model = agent_of([*script, "Done.", *["Yes."] * 6], folds, limits)
        await run(agent, "Read all.")
        for number in range(6):
            await run(agent, turn(number))
        assert all(size_of(store, prompt) <= 2000 for prompt in model.prompts)
        legible = everything_behind(store, model.prompts[-1])
        assert all(page_of(number) in legible for number in range(9))
        assert {"folds", "limits"} == {*agent.get_state(THREAD).values["memory_context"]}

    async def test_cancelled(self, store: MemoryStore) -> None:
        """A run that is cancelled amid a model call leaves a thread that goes on, below its limit."""
        memory = memory_of(store, max_tokens=LIMIT)

        class Waits(AgentMiddleware[Any, Any, Any]):
            waits = False
            entered = asyncio.Event()

            async def awrap_model_call(self, request: Any, handler: Any) -> Any:
                if self.waits:
                    self.entered.set()
                    await asyncio.sleep(3600)
                return await handler(request)

        slow = Waits()
        agent, model = agent_of(["Yes."] * 20, memory, slow)
        for number in range(6):
            await run(agent, turn(number), "ainvoke")
        slow.waits = True
        for number in range(6, 10):
            slow.entered.clear()
            task = asyncio.ensure_future(run(agent, turn(number), "ainvoke"))
            await slow.entered.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        slow.waits = False
        await run(agent, turn(10), "ainvoke")
        assert size_of(store, model.prompts[-1]) <= LIMIT
        legible = everything_behind(store, model.prompts[-1])
        assert all(turn(number) in legible for number in range(11))

    @pytest.mark.long
    async def test_state_is_plain(self, store: MemoryStore) -> None:
        """What private state holds of limits, layers and late folds is JSON, and does not grow with the thread."""
        memory = memory_of(store, max_tokens=LIMIT, fold="after_reading", recall=NO_LAYER)
        agent, _ = agent_of(["Yes."] * 40, memory)
        sizes: list[int] = []
        for number in range(40):
            await run(agent, turn(number))
            state = agent.get_state(THREAD).values["memory_context"]
            sizes.append(len(json.dumps(state)))
        assert max(sizes[20:]) < 3 * max(sizes[:20])
