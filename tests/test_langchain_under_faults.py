"""LangChain's agents and chains while their store fails in every way: runs end, and nothing is lost or invalid."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, repeat
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_classic.chains import ConversationChain
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.memory import InMemorySaver

from langchain_memory_context import MemoryContextMemory, MemoryContextMiddleware
from langchain_memory_context.testing import ScriptedChatModel, call
from memory_context import FoldPolicy, MemoryManager, MemoryRef
from memory_context.exceptions import StoreError
from memory_context.testing import Fault, FaultyStore, seeded_keys
from messages import LOG
from under_faults import KINDS, SOAK, check_counted, stores

LINES = "\n".join(LOG.split("\n")[:125])
QUESTION = "What became of worker-123?"
THREAD: Any = {"configurable": {"thread_id": "t"}}
pytestmark = [
    pytest.mark.long,
    pytest.mark.filterwarnings("ignore:The class `ConversationChain` was deprecated"),
]
NOTE = re.compile(r"note_[a-z0-9]{10}")


@dataclass
class Play:
    """Runs of one agent on one store.

    Attributes:
        store: Its store.
        how: By which of an agent's methods.
        at_once: How many of its tools run side by side.
        given: What its tools gave.
    """

    store: FaultyStore
    how: str
    at_once: int = 8
    given: list[str] = field(default_factory=list[str])
    model: ScriptedChatModel = field(default_factory=ScriptedChatModel)

    def begin(self, script: Sequence[Any], **settings: Any) -> None:
        """Make the agent, with a checkpointer."""
        self.own = MemoryContextMiddleware(self.store, user_id="42", **settings)
        self.model.script = [*script, [call("run_job", "99", number=99)], "fresh"]
        self.agent: Any = create_agent(
            self.model, self.tools(), middleware=[self.own], checkpointer=InMemorySaver()
        )

    async def run(self, text: str) -> str:
        """What the agent says at the end of a run."""
        given, config = (
            {"messages": [HumanMessage(text)]},
            {**THREAD, "max_concurrency": self.at_once},
        )
        state = (
            self.agent.invoke(given, config)
            if self.how == "invoke"
            else await self.agent.ainvoke(given, config)
        )
        return str(state["messages"][-1].content)

    def tools(self) -> list[BaseTool]:
        """A tool with large results, one with a large artifact too, and one that takes a text."""

        def run_job(number: int) -> str:
            """Run a job."""
            self.given.append(f"job {number}\n{LINES}")
            return self.given[-1]

        def measure(text: str) -> str:
            """How long a text is."""
            return f"{len(text)} characters"

        return [tool(run_job), tool(measure)]

    @property
    def messages(self) -> list[BaseMessage]:
        """The messages of the agent's state."""
        messages: list[BaseMessage] = self.agent.get_state(THREAD).values["messages"]
        return messages


def jobs(*numbers: int) -> list[Any]:
    """Calls that run jobs."""
    return [call("run_job", str(number), number=number) for number in numbers]


def newest_key(prompt: Sequence[BaseMessage]) -> str:
    """The key of the newest reference in a prompt; one of nothing where there is none."""
    found = [ref.key for message in prompt for ref in MemoryRef.find_all(str(message.content))]
    return found[-1] if found else "none"


async def outputs_and_a_question(play: Play) -> str:
    """An agent calls tools, one by one and side by side, and is asked about what they gave."""
    play.begin([jobs(1), jobs(2, 3), "ran", "see above", jobs(4), "asked"])
    await play.run("Run jobs.")
    await play.run(QUESTION)
    return await play.run("Once more.")


async def tools_of_memory(play: Play) -> str:
    """The agent reads, searches and keeps memories by its tools."""
    script = [
        jobs(1),
        lambda prompt: [call("retrieve_memory", "2", key=newest_key(prompt), lines="2-3")],
        [
            call("search_memory", "3", query="worker-123"),
            call("store_memory", "4", content="Done.", description="job"),
        ],
        "kept",
    ]
    play.begin(script)
    return await play.run("Run a job and read it.")


async def by_reference(play: Play) -> str:
    """A reference goes into a tool, and the text arrives there, or the tool is not called."""
    pass_it = lambda prompt: [call("measure", "2", text=f"[MemoryRef: {newest_key(prompt)}]")]  # noqa: E731 - a step
    play.begin([jobs(1), pass_it, lambda prompt: str(prompt[-1].content)])
    answer = await play.run("Measure the log.")
    assert answer == f"{len(play.given[0])} characters" or "was not called" in answer
    return "measured"


async def notes(play: Play) -> str:
    """A run keeps notes, which stand in its prompts, and end with it."""
    play.begin(
        [[call("save_memory", "1", content="Workers are fine.", tier="run")], jobs(2), "noted"],
        notes=True,
    )
    return await play.run("Audit the workers.")


async def long_words_of_a_person(play: Play) -> str:
    """A person pastes a long text, and asks about it later."""
    play.given.append(f"Look at this: {LINES}")
    play.begin(["looked", "there"], fold=FoldPolicy(source_thresholds={"user": 500}))
    await play.run(play.given[0])
    return await play.run(QUESTION)


SCENARIOS: dict[str, tuple[Callable[[Play], Awaitable[str]], str]] = {
    "outputs": (outputs_and_a_question, "asked"),
    "tools": (tools_of_memory, "kept"),
    "by reference": (by_reference, "measured"),
    "notes": (notes, "noted"),
    "long words": (long_words_of_a_person, "there"),
}


def check_kept(play: Play) -> None:
    """Every text stands in the state in full, or behind a reference to exactly it."""
    manager = MemoryManager(play.store, user_id="42")
    texts = [str(message.content) for message in play.messages]
    folded = [MemoryRef.find_all(text)[0].key for text in texts if MemoryRef.find_all(text)]
    items = manager.memory_store.get_many(manager.scope, folded)
    assert all(NOTE.fullmatch(key) for key in set(folded) - {item.memory_key for item in items})
    assert set(play.given) <= {item.text for item in items} | set(texts)


def check_unchanged(prompts: Sequence[Sequence[BaseMessage]]) -> None:
    """Each prompt begins with the one before it."""
    for before, after in pairwise(prompts):
        assert shown(before) == shown(after)[: len(before)]


def check_valid(prompt: Sequence[BaseMessage]) -> None:
    """Every call is answered at once and completely."""
    waiting = list[str | None]()
    for message in prompt:
        if isinstance(message, ToolMessage):
            waiting.remove(message.tool_call_id)
        else:
            assert not waiting
        if isinstance(message, AIMessage):
            waiting = [one["id"] for one in message.tool_calls]
    assert not waiting


def shown(prompt: Sequence[BaseMessage]) -> list[tuple[str, Any]]:
    """What a model sees of messages."""
    return [(message.type, message.content) for message in prompt]


async def check_folds(play: Play) -> None:
    """The next large text is folded."""
    assert "fresh" == await play.run("Run another job.")
    [text] = [
        str(message.content)
        for message in play.messages
        if getattr(message, "tool_call_id", "") == "99"
    ]
    assert play.given[-1] == MemoryManager(play.store, user_id="42").retrieve(
        MemoryRef.find_all(text)[0].key
    )


@pytest.mark.parametrize("seeds", [1, pytest.param(20, marks=SOAK)])
@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scenario", SCENARIOS)
async def test_agents(
    caplog: pytest.LogCaptureFixture,
    told: Callable[[str], None],
    scenario: str,
    kind: str,
    how: str,
    seeds: int,
) -> None:
    """However its store fails, the run ends, prompts are valid, no output is lost, and later ones are folded."""
    play_out, expected = SCENARIOS[scenario]
    faults = failures = 0
    for store in stores(kind, seeds):
        caplog.clear()
        play = Play(store, how)

        assert expected == await play_out(play)

        check_counted([play.own.stats()], store, caplog)
        store.inject(())
        check_kept(play)
        check_unchanged(play.model.prompts)
        await check_folds(play)
        for prompt in play.model.prompts:
            check_valid(prompt)
        faults += len(store.injected)
        failures += play.own.stats().store_failures
        store.close()
    told(f"{seeds + 1} runs, {faults} faults, {failures} of them counted as failures")


@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
@pytest.mark.parametrize("scenario", SCENARIOS)
async def test_delays_change_nothing(scenario: str, how: str) -> None:
    """With a slow store models read what they read with a quick one."""
    prompts = list[list[list[tuple[str, Any]]]]()
    for number, faults in enumerate([(), repeat(Fault.DELAY)]):
        with seeded_keys(0), FaultyStore("sqlite://", faults, delay=0.002) as store:
            play = Play(
                store, how, at_once=1
            )  # of equally good memories, the one stored last is recalled first
            await SCENARIOS[scenario][0](play)
            prompts.append([shown(prompt) for prompt in play.model.prompts])
            assert bool(store.injected) == bool(number)
            assert not play.own.stats().store_failures
    assert prompts[0] == prompts[1]


@pytest.mark.parametrize("seeds", [1, pytest.param(20, marks=SOAK)])
@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
@pytest.mark.parametrize("kind", KINDS)
async def test_conversation_of_a_chain(
    told: Callable[[str], None], kind: str, how: str, seeds: int
) -> None:
    """A chain whose memory fails says so; what it has answered is kept, in order, and all of it redeems."""
    answered = failed = 0
    for store in stores(kind, seeds):
        memory = MemoryContextMemory(user_id="42", thread_id="t", store=store)
        said, unsure = list[str](), set[str]()
        for number in range(8):
            text = f"{number}\n{LINES}" if number % 2 else f"{number} is short"
            chain = ConversationChain(llm=ScriptedChatModel([text]), memory=memory)
            given = {"input": f"Say {number}."}
            try:
                answer = chain.invoke(given) if how == "invoke" else await chain.ainvoke(given)
            except StoreError:
                unsure.add(text)
            else:
                assert text == answer["response"]
                said.append(text)
        store.inject(())
        answers = answers_kept(store)
        assert said == [text for text in answers if text not in unsure]
        assert set(answers) <= {*said, *unsure}
        answered += len(said)
        failed += len(unsure)
        store.close()
    told(f"{seeds + 1} chains, {answered} answers kept, {failed} refused")


def answers_kept(store: FaultyStore) -> list[str]:
    """What the model has said in the conversation that the store keeps, in full."""
    memory = MemoryContextMemory(
        user_id="42", thread_id="t", store=store, return_messages=True, recall=False
    )
    history = memory.load_memory_variables({"input": ""})["history"]
    texts = [str(message.content) for message in history if isinstance(message, AIMessage)]
    return [
        str(memory.manager.retrieve(found[0].key)) if (found := MemoryRef.find_all(text)) else text
        for text in texts
    ]


def test_an_answer_that_is_saved_again() -> None:
    """An answer that could not be saved can be saved again, with what had been recalled for it."""
    store = FaultyStore("sqlite://")
    memory = MemoryContextMemory(user_id="42", thread_id="t", store=store)
    memory.save_context({"input": "Run it."}, {"output": LINES})
    before = memory.load_memory_variables({"input": QUESTION})["history"]
    assert 1 == memory.stats().recalls

    store.inject(repeat(Fault.LOST))
    with pytest.raises(StoreError):
        memory.save_context({"input": QUESTION}, {"output": "It handled a job."})
    store.inject(())
    memory.save_context({"input": QUESTION}, {"output": "It handled a job."})

    after = memory.load_memory_variables({"input": "Thanks."})["history"]
    assert f"{before}\nHuman: {QUESTION}\nAI: It handled a job." == after
