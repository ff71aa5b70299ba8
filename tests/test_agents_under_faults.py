"""AutoGen's agents and teams while their store fails in every way: the run ends, and nothing is lost or invalid."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, repeat
from typing import Any

import pytest
from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.base import Handoff
from autogen_agentchat.conditions import TextMentionTermination
from autogen_agentchat.teams import RoundRobinGroupChat, Swarm
from autogen_core import FunctionCall
from autogen_core.models import FunctionExecutionResultMessage, LLMMessage
from autogen_core.tools import FunctionTool

from memory_context import FoldPolicy, MemoryContext, MemoryItem, MemoryRef, SQLMemory
from memory_context.exceptions import MemoryNotFoundError
from memory_context.model.item import encodable
from memory_context.testing import Fault, FaultyStore, ScriptedChatClient, check_prompt, seeded_keys
from messages import LOG, call, dumps, results, stored_messages, texts_of
from under_faults import KINDS, SOAK, check_counted, stores

pytestmark = pytest.mark.long
LINES = "\n".join(LOG.split("\n")[:125])
NOTE = re.compile(r"note_[a-z0-9]{10}")
QUESTION = "What became of worker-123?"


@dataclass
class Play:
    """A run of agents on one store.

    Attributes:
        store: Their store.
        contexts: Their conversations.
        clients: Their models.
        given: What each of them is given by its tools, and by those of others.
    """

    store: FaultyStore
    contexts: list[MemoryContext] = field(default_factory=list[MemoryContext])
    clients: list[ScriptedChatClient] = field(default_factory=list[ScriptedChatClient])
    given: list[list[str]] = field(default_factory=list[list[str]])

    def context(self, **settings: Any) -> MemoryContext:
        """A conversation, of a thread of its own."""
        context = MemoryContext(
            "ann", store=self.store, thread_id=f"t{len(self.contexts)}", **settings
        )
        self.contexts.append(context)
        self.given.append([])
        return context

    def agent(
        self,
        context: MemoryContext,
        script: Sequence[Any],
        name: str = "coder",
        **settings: Any,
    ) -> Any:
        """An agent with the tools of its memory."""
        client = ScriptedChatClient(script)
        self.clients.append(client)
        settings = {
            "tools": [*self.tools(), *context.tools()],
            "max_tool_iterations": 20,
            **settings,
        }
        return AssistantAgent(name, model_client=client, model_context=context, **settings)

    def tools(self) -> list[FunctionTool]:
        """A tool with large results for the newest conversation, and one that takes a text."""
        given = self.given[-1]

        def run_job(job: str) -> str:
            """Run a job."""
            given.append(f"job {job} of {len(given)}\n{LINES}")
            return given[-1]

        return [FunctionTool(run_job, "Run a job."), FunctionTool(measure, "How long a text is.")]


def measure(text: str) -> str:
    """How long a text is."""
    return f"{len(text)} characters"


def jobs(*numbers: int) -> list[FunctionCall]:
    """Calls that run jobs."""
    return [
        FunctionCall(f"c{number}", json.dumps({"job": str(number)}), "run_job")
        for number in numbers
    ]


def calls(name: str, number: int = 90, **arguments: object) -> list[FunctionCall]:
    """A call of a tool."""
    return [FunctionCall(f"c{number}", json.dumps(arguments), name)]


def newest_key(messages: Sequence[LLMMessage]) -> str:
    """The key of the newest reference in a prompt; one of nothing where there is none."""
    found = [
        ref.key
        for message in messages
        for text in texts_of(message)
        for ref in MemoryRef.find_all(text)
    ]
    return found[-1] if found else "none"


async def outputs_and_a_question(play: Play) -> str:
    """An agent calls tools, one by one and side by side, and is asked about what they gave."""
    coder = play.agent(play.context(), [jobs(1), jobs(2, 3), "ran", "see above", jobs(4), "asked"])
    await coder.run(task="Run jobs.")
    await coder.run(task=QUESTION)
    return said_last(await coder.run(task="Once more."))


async def reading_in_full(play: Play) -> str:
    """Texts that are read in full first, and folded later."""
    context = play.context(fold=FoldPolicy(fold="after_reading", read_cap=20_000))
    return said_last(
        await play.agent(context, [*(jobs(n) for n in range(8)), "read"]).run(task="Run jobs.")
    )


async def compaction(play: Play) -> str:
    """A conversation that is longer than it may be."""
    coder = play.agent(
        play.context(max_tokens=2500), [*(jobs(n) for n in range(12)), "ran", "compact"]
    )
    await coder.run(task="Run jobs.")
    return said_last(await coder.run(task=QUESTION))


async def tools_of_memory(play: Play) -> str:
    """The agent reads, searches and keeps memories by its tools."""
    script = [
        jobs(1),
        lambda prompt: calls("retrieve_memory", 2, key=newest_key(prompt), lines="2-3"),
        calls("search_memory", 3, query="worker-123"),
        calls("store_memory", 4, content="The job is done.", description="job"),
        "kept",
    ]
    return said_last(await play.agent(play.context(), script).run(task="Run a job and read it."))


async def by_reference(play: Play) -> str:
    """A reference goes into a tool, and the text arrives there, or the tool is not called."""
    context = play.context()
    script = [
        jobs(1),
        lambda prompt: calls("measure", 2, text=f"[MemoryRef: {newest_key(prompt)}]"),
        lambda prompt: str(prompt[-1].content[0].content),
    ]
    coder = play.agent(context, script, tools=None, workbench=context.workbench(play.tools()))
    answer = said_last(await coder.run(task="Measure the log."))
    assert answer == f"{len(play.given[0][0])} characters" or "was not called" in answer
    return answer


async def notes(play: Play) -> str:
    """A run keeps notes, which stand in its prompts, and end with it."""
    context = play.context(notes=True)
    script = [calls("save_memory", 1, content="Workers are fine.", tier="run"), jobs(2), "noted"]
    coder = play.agent(context, script)
    async with context.run(task="audit"):
        return said_last(await coder.run(task="Audit the workers."))


async def a_memory_beside(play: Play) -> str:
    """AutoGen's memory in the same store, which is put before the model."""
    beside = SQLMemory("ann", store=play.store, as_system_message=False)
    coder = play.agent(play.context(), [jobs(1), "ran", "said"], memory=[beside])
    await coder.run(task="Run a job.")
    return said_last(await coder.run(task="And?"))


async def team(play: Play) -> str:
    """A team in which each hears all that the others' tools gave."""
    runner = play.agent(
        play.context(), [jobs(n) for n in range(3)], "runner", max_tool_iterations=1
    )
    reader = play.agent(play.context(), ["heard"] * 3, "reader", tools=[])
    answer = said_last(
        await RoundRobinGroupChat([runner, reader], max_turns=6).run(task="Run jobs.")
    )
    play.given[1] += play.given[0]
    return answer


async def hand_over(play: Play) -> str:
    """A team that hands over what its tools gave."""
    over = FunctionCall("o1", "{}", "transfer_to_bob")
    back = FunctionCall("o2", "{}", "transfer_to_alice")
    handing = {"max_tool_iterations": 1}
    alice = play.agent(
        play.context(),
        [[*jobs(1), over], "All done."],
        "alice",
        handoffs=[Handoff(target="bob")],
        **handing,
    )
    bob = play.agent(
        play.context(), [[*jobs(2), back]], "bob", handoffs=[Handoff(target="alice")], **handing
    )
    swarm = Swarm([alice, bob], termination_condition=TextMentionTermination("All done."))
    return said_last(await swarm.run(task="Run jobs."))


SCENARIOS: dict[str, tuple[Callable[[Play], Awaitable[str]], str | None]] = {
    "outputs": (outputs_and_a_question, "asked"),
    "read in full": (reading_in_full, "read"),
    "compaction": (compaction, "compact"),
    "tools": (tools_of_memory, "kept"),
    "by reference": (by_reference, None),
    "notes": (notes, "noted"),
    "memory": (a_memory_beside, "said"),
    "team": (team, "heard"),
    "hand-over": (hand_over, "All done."),
}


def said_last(result: Any) -> str:
    """What was said last."""
    return str(result.messages[-1].content)


def redeemed(context: MemoryContext, ref: MemoryRef) -> MemoryItem | None:
    """What a reference leads to; None for a note whose run has ended. Anything else is an error."""
    try:
        return context.manager.get(ref.key)
    except MemoryNotFoundError:
        assert NOTE.fullmatch(ref.key)
        return None


def all_messages(context: MemoryContext, messages: Sequence[LLMMessage]) -> Iterator[LLMMessage]:
    """The messages, and those that were compacted."""
    for message in messages:
        yield message
        for text in texts_of(message):
            for ref in MemoryRef.find_all(text):
                item = redeemed(context, ref)
                if item and item.memory_type == "conversation":
                    yield from all_messages(context, stored_messages(item.text))


def check_kept(context: MemoryContext, given: Sequence[str]) -> None:
    """Every text stands there in full, as it can be sent, or behind a reference to exactly it."""
    texts = [
        text
        for message in all_messages(context, context.shown_messages())
        for text in texts_of(message)
    ]
    refs = {text: MemoryRef.find_all(text)[:1] for text in texts}
    items = [redeemed(context, ref) for found in refs.values() for ref in found]
    stored = {item.text for item in items if item}
    # A compaction holds a text as it was, the prompt as it can be sent.
    assert set(map(encodable, set(given) - stored)) <= set(map(encodable, texts))


async def check_folds(context: MemoryContext) -> None:
    """The next large text is folded."""
    fresh = f"fresh {context.thread_id}\n{LINES}"
    await context.add_message(call("run_job", number=77))
    await context.add_message(results(fresh, number=77))
    last = (await context.get_messages())[-1]
    if context.fold_policy.fold == "at_once":
        assert isinstance(last, FunctionExecutionResultMessage)
        assert fresh == context.manager.retrieve(MemoryRef.find_all(last.content[0].content)[0].key)


def check_unchanged(context: MemoryContext, client: ScriptedChatClient) -> None:
    """What a model has seen stayed as it was, but for what was counted."""
    stats = context.stats()
    changes = sum(
        dumps(before) != dumps(after[: len(before)]) for before, after in pairwise(client.prompts)
    )
    assert changes <= stats.compactions + stats.late_folds


@pytest.mark.parametrize("seeds", [1, pytest.param(20, marks=SOAK)])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scenario", SCENARIOS)
async def test_agents(
    caplog: pytest.LogCaptureFixture,
    told: Callable[[str], None],
    scenario: str,
    kind: str,
    seeds: int,
) -> None:
    """However its store fails, the run ends, prompts are valid, no output is lost, and later ones are folded."""
    play_out, expected = SCENARIOS[scenario]
    faults = failures = 0
    for store in stores(kind, seeds):
        caplog.clear()
        play = Play(store)

        answer = await play_out(play)

        check_counted([context.stats() for context in play.contexts], store, caplog)
        store.inject(())
        assert expected in {answer, None}
        for context, client, given in zip(play.contexts, play.clients, play.given, strict=True):
            check_prompt(await context.get_messages())
            check_unchanged(context, client)
            check_kept(context, given)
            await check_folds(context)
        faults += len(store.injected)
        failures += sum(context.stats().store_failures for context in play.contexts)
        store.close()
    told(f"{seeds + 1} runs, {faults} faults, {failures} of them counted as failures")


@pytest.mark.parametrize("scenario", SCENARIOS)
async def test_delays_change_nothing(scenario: str) -> None:
    """With a slow store models read what they read with a quick one."""
    prompts = list[list[list[str]]]()
    for number, faults in enumerate([(), repeat(Fault.DELAY)]):
        with seeded_keys(0), FaultyStore("sqlite://", faults, delay=0.002) as store:
            play = Play(store)
            await SCENARIOS[scenario][0](play)
            prompts.append([dumps(prompt) for client in play.clients for prompt in client.prompts])
            assert bool(store.injected) == bool(number)
            assert not any(context.stats().store_failures for context in play.contexts)
    assert prompts[0] == prompts[1]
