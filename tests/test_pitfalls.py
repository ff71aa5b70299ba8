"""Pitfalls of AutoGen that no other test meets, with real agents and teams."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import PIL.Image
import pytest
from autogen_agentchat.agents import AssistantAgent, CodeExecutorAgent, SocietyOfMindAgent
from autogen_agentchat.base import Handoff
from autogen_agentchat.messages import MultiModalMessage, TextMessage
from autogen_agentchat.teams import RoundRobinGroupChat, SelectorGroupChat, Swarm
from autogen_core import CancellationToken, FunctionCall, Image
from autogen_core.memory import ListMemory, MemoryContent
from autogen_core.models import (
    AssistantMessage,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    LLMMessage,
    ModelFamily,
    ModelInfo,
    SystemMessage,
    UserMessage,
)
from autogen_core.tools import FunctionTool
from autogen_ext.code_executors.local import LocalCommandLineCodeExecutor
from autogen_ext.models.replay import ReplayChatCompletionClient

from memory_context import (
    FoldPolicy,
    MemoryContext,
    MemoryManager,
    MemoryRef,
    RecallPolicy,
    exceptions,
)
from memory_context.conversation.message_tokens import Ledger
from memory_context.conversation.recall.judge_records import (
    Question,
    Verdict,
)
from memory_context.conversation.recall.limits_on_a_judge import Judge
from memory_context.conversation.recall.model_judge import JudgeAnswer
from memory_context.model.item import is_secret
from memory_context.testing import ScriptedChatClient, check_prompt
from memory_context.text.relevance.reasons_for_records import Expansion
from messages import LOG, call, dumps, neutral, results, user
from teams import (
    ANSWER,
    JOB,
    QUESTION,
    RUN_JOB,
    Calls,
    contexts,
    keys,
    messages_of,
    runner,
    state_of,
    unchecked,
)
from test_context import fill

LAYER = "What memory holds about this user"
OPEN_DB = "connect to the DB"


def said(messages: Sequence[LLMMessage]) -> str:
    """Everything that stands in the messages."""
    return "".join(dumps(messages))


def size(context: MemoryContext, messages: Sequence[LLMMessage]) -> int:
    """The tokens of the messages, as the context counts them."""
    return sum(Ledger(context.manager).tokens(neutral(messages)))


def without_vision(*replies: str) -> ReplayChatCompletionClient:
    """A model that takes no images."""
    info = ModelInfo(
        vision=False,
        function_calling=True,
        json_output=True,
        structured_output=True,
        family=ModelFamily.UNKNOWN,
    )
    return ReplayChatCompletionClient(list(replies), model_info=info)


class OpensAll:
    """A judge that opens everything that it is offered, and else looks for a login."""

    name = "opens all"

    def __init__(self) -> None:
        self.asked = 0

    async def decide(self, question: Question) -> Verdict:
        """Everything."""
        self.asked += 1
        expand = tuple(Expansion(candidate.item.memory_key) for candidate in question.candidates)
        return Verdict(expand=expand, search=None if expand else "production password")


class Slow:
    """A judge that never answers."""

    name = "slow"

    def __init__(self) -> None:
        self.asked = asyncio.Event()

    async def decide(self, question: Question) -> Verdict:  # noqa: ARG002 - the protocol's signature
        """Never."""
        self.asked.set()
        await asyncio.Event().wait()
        return Verdict()


async def with_secret(judge: Judge | None = None, **settings: Any) -> tuple[MemoryContext, str]:
    """A conversation of a user with one secret, and its key."""
    context = MemoryContext("ann", store="sqlite://", recall=RecallPolicy(judge=judge), **settings)
    return context, await context.store(
        "hunter2-value", "production password", "secret", key="prod"
    )


async def chat(context: MemoryContext, rounds: int) -> list[LLMMessage]:
    """Some rounds of small talk; the last prompt."""
    prompt: list[LLMMessage] = []
    for number in range(rounds):
        answer = AssistantMessage(content=f"answer {number} " + "word " * 30, source="coder")
        prompt = await fill(context, user(f"question {number} " + "word " * 50), answer)
    return prompt


class TestAgents:
    """Single agents."""

    async def test_model_without_vision(self, sqlite_url: str) -> None:
        """AutoGen takes the images out behind the context: what is left is the reference, and the text redeems."""
        context, client = MemoryContext("ann", store=sqlite_url), without_vision("seen")
        coder = AssistantAgent("coder", model_client=client, model_context=context)

        image = Image(PIL.Image.new("RGB", (4, 4)))
        await coder.run(task=MultiModalMessage(content=[LOG, image], source="crawler"))

        [key] = keys(await context.get_messages())
        prompt = client.create_calls[0]["messages"]
        assert f"[MemoryRef: {key} - " in prompt[-1].content
        assert LOG == await context.retrieve(key)

    async def test_images_in_a_state(self, sqlite_url: str) -> None:
        """A state with images has a JSON form, and comes back with them and the folded text beside them."""
        first, second = (MemoryContext("ann", store=sqlite_url) for _ in range(2))
        image = Image(PIL.Image.new("RGB", (4, 4)))
        coder, other = (
            AssistantAgent("coder", model_client=unchecked("ok"), model_context=c)
            for c in (first, second)
        )
        await coder.run(task=MultiModalMessage(content=[LOG, image], source="crawler"))

        await other.load_state(json.loads(json.dumps(await coder.save_state())))

        [shown] = [m for m in await second.get_messages() if isinstance(m, UserMessage)]
        assert isinstance(shown.content[1], Image)
        assert keys(await first.get_messages()) == keys(await second.get_messages()) != []

    async def test_one_decision_in_a_run(self, sqlite_url: str) -> None:
        """Memories and tool iterations make several calls of `get_messages`: the judge is asked once."""
        judge, memory = OpensAll(), ListMemory()
        context = MemoryContext("ann", store=sqlite_url, recall=RecallPolicy(judge=judge))
        await memory.add(MemoryContent(content="be brief", mime_type="text/plain"))
        await context.store("x", "something to search for")
        model = unchecked("done")
        model.chat_completions = [*Calls(RUN_JOB[0]).chat_completions, *model.chat_completions]
        coder = runner(context, model_client=model, memory=[memory, memory], max_tool_iterations=3)

        await coder.run(task="Run job a.")

        assert 2 == sum(
            isinstance(message, SystemMessage) for message in await context.get_messages()
        )
        assert 1 == judge.asked

    async def test_reset_that_resets_nothing(self, sqlite_url: str) -> None:
        """`on_reset` of a code executor leaves its context as it is."""
        context = MemoryContext("ann", store=sqlite_url)
        await context.add_message(user(LOG, source="crawler"))
        with pytest.warns(UserWarning, match=r"may execute code|No approval function"):
            coder = CodeExecutorAgent(
                "coder",
                LocalCommandLineCodeExecutor(),
                model_client=unchecked(),
                model_context=context,
            )

        await coder.on_reset(CancellationToken())

        assert 1 == len(keys(await context.get_messages()))

    async def test_limit_after_a_cancelled_call(self, sqlite_url: str) -> None:
        """A call that never got its result does not put the limit out of force."""
        started = asyncio.Event()

        async def never() -> str:
            started.set()
            await asyncio.Event().wait()
            return ""

        context = MemoryContext("ann", store=sqlite_url, max_tokens=1000, recall=False)
        client = Calls(FunctionCall(id="c1", name="never", arguments="{}"))
        client.chat_completions.extend(["answer " * 40] * 20)
        tool = FunctionTool(never, "Never end.")
        coder = AssistantAgent("coder", model_client=client, tools=[tool], model_context=context)
        run = asyncio.create_task(coder.run(task="Go."))
        await started.wait()
        run.cancel()
        await asyncio.gather(run, return_exceptions=True)

        for number in range(20):
            await coder.run(task=f"question {number} " + "word " * 50)

        assert 1000 >= size(context, await context.get_messages())

    async def test_limit_without_call_ids(self) -> None:
        """Models that leave the id of a result empty have a limit too."""
        context = MemoryContext("ann", store="sqlite://", max_tokens=1000, recall=False)
        await context.add_message(user("go"))
        for number in range(40):
            result = FunctionExecutionResult(
                content="word " * 50, name="run", call_id="", is_error=False
            )
            await context.add_message(call("run", number=number))
            prompt = await fill(context, FunctionExecutionResultMessage(content=[result]))

        assert 1000 >= size(context, prompt)

    async def test_cancelled_before_the_model(self) -> None:
        """A run that is cancelled while it is decided what to recall leaves nothing half done."""
        judge = Slow()
        context = MemoryContext("ann", store="sqlite://", recall=RecallPolicy(judge=judge))
        await context.store("use tabs", "style", "user_preference")
        await context.store("postgresql://db-7", "DB of the shop")
        coder = AssistantAgent("coder", model_client=unchecked("done"), model_context=context)
        run = asyncio.ensure_future(coder.run(task=OPEN_DB))
        await judge.asked.wait()
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run

        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(context.get_messages(), 0.3)

        assert 0 == said(context.shown_messages()).count(LAYER)

    async def test_question_before_a_reminder(self) -> None:
        """A question that no model has seen stays, also where a memory's message stands behind it."""
        context, memory = (
            MemoryContext("ann", store="sqlite://", max_tokens=600, recall=False),
            ListMemory(),
        )
        await memory.add(MemoryContent(content="be brief " * 75, mime_type="text/plain"))
        client = unchecked(*["ok"] * 6)
        coder = AssistantAgent("coder", model_client=client, model_context=context, memory=[memory])

        for number in range(6):
            await coder.run(task=f"question {number} " + "word " * 100)

        for number, made in enumerate(client.create_calls):
            assert f"question {number} " in said(made["messages"][-2:])

    @pytest.mark.long
    async def test_cancelled_late_fold(self, sqlite_url: str) -> None:
        """A text whose late fold was cancelled is folded at a later call."""
        context = MemoryContext(
            "ann",
            store=sqlite_url,
            recall=False,
            fold=FoldPolicy(fold="after_reading", read_cap=20_000),
        )
        await fill(context, user("go"), call("run"), results(LOG))
        for number in range(6):
            await context.add_message(AssistantMessage(content="I see.", source="coder"))
            await context.add_message(user(f"question {number}"))
            reading = asyncio.ensure_future(context.get_messages())
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
            await asyncio.sleep(0.2)

        for number in range(30):
            answer = AssistantMessage(content="I see.", source="coder")
            await fill(context, answer, user(f"and {number}"))

        assert LOG not in said(context.shown_messages()).encode().decode("unicode_escape")

    async def test_results_that_begin_with_a_reference(self, sqlite_url: str) -> None:
        """Outputs that quote a reference in their first line are kept where the limit folds them."""
        context = MemoryContext("ann", store=sqlite_url, max_tokens=1000, recall=False)
        key = await context.store("a note " * 20, "a note")

        async def quote(number: int) -> str:
            return f"[MemoryRef: {key}] and\n" + "\n".join(
                f"unique{number}x{i} alpha" for i in range(120)
            )

        calls = [
            FunctionCall(id=f"c{i}", name="quote", arguments=f'{{"number": {i}}}') for i in range(3)
        ]
        tool = FunctionTool(quote, "Quote.")
        client = ScriptedChatClient([calls, "done"])
        coder = AssistantAgent(
            "coder", model_client=client, tools=[tool], model_context=context, max_tool_iterations=2
        )
        await coder.run(task=f"see [MemoryRef: {key}]")

        memories = [item.text for item in await context.search("", 50)]
        for number in range(3):
            assert f"unique{number}x99" in "".join((said(client.prompts[1]), *memories))

    async def test_task_behind_a_recall(self) -> None:
        """The task stays, also if something was brought back for it."""
        old = MemoryContext("ann", store="sqlite://")
        await old.store("postgresql://db-7", "DB of the shop")
        context = MemoryContext("ann", store=old.manager.memory_store, max_tokens=1000)
        assert 2 == len(await fill(context, user(OPEN_DB)))

        assert user(OPEN_DB) in await chat(context, 20)

    @pytest.mark.long
    @pytest.mark.parametrize("limit", [500, 600])
    async def test_small_limits(self, limit: int) -> None:
        """What the context itself adds keeps within a small limit."""
        context = MemoryContext("ann", store="sqlite://", max_tokens=limit, recall=limit == 500)
        for number in range(8):
            await context.store(f"{number} " + "tabs " * 25, f"style {number}", "user_preference")
        sizes = [size(context, await fill(context, user("go"), call("run"), results(LOG)))]
        for number in range(2, 60):
            question = user(f"What did worker-{100 + number} handle? " + "blah " * 40)
            outputs = results(
                f"{number} {LOG}",
                number=number,
                name="a_rather_long_name_of_a_tool_that_lists_files",
            )
            said_more = [question] if limit == 500 else [call("run", number=number), outputs]
            sizes.append(size(context, await fill(context, *said_more)))

        assert limit >= max(sizes)


class TestTeams:
    """Teams whose contexts have limits."""

    @pytest.mark.long
    async def test_limit_and_state(self, sqlite_url: str) -> None:
        """A team goes on under a limit, through its state: each prompt is legal, the last one holds the answer."""
        settings: dict[str, Any] = {
            "store": sqlite_url,
            "max_tokens": 1500,
            "fold": "after_reading",
        }

        def team(number: int) -> tuple[RoundRobinGroupChat, list[MemoryContext]]:
            own = [MemoryContext("ann", **settings) for _ in range(2)]
            worker = runner(own[0], model_client=ScriptedChatClient([RUN_JOB] * 6))
            notes = ScriptedChatClient([f"note {number} {i} " + "word " * 80 for i in range(6)])
            return RoundRobinGroupChat(
                [worker, AssistantAgent("reader", model_client=notes, model_context=own[1])],
                max_turns=12,
            ), own

        one, first = team(1)
        await one.run(task="Run job a.")
        other, second = team(2)
        await other.load_state(await state_of(one))
        assert await messages_of(*first) == await messages_of(*second)

        await other.run(task=QUESTION.replace("worker-123", "worker-17"))

        for context in (*first, *second):
            prompt = await context.get_messages()
            check_prompt(prompt)
            assert 1500 >= size(context, prompt)
        assert 0 < sum(context.stats().compactions for context in second)
        assert JOB in [item.text for item in await second[0].search("", 100)]

    @pytest.mark.long
    async def test_handoffs_under_a_limit(self, sqlite_url: str) -> None:
        """Calls and results that handoffs add stay together in contexts that compact."""
        own = {n: MemoryContext("ann", store=sqlite_url, max_tokens=900) for n in ("left", "right")}

        def agent(name: str, to: str) -> AssistantAgent:
            calls = [
                FunctionCall(id=f"{name}-job", name="run_job", arguments='{"job": "a"}'),
                FunctionCall(id=f"{name}-to", name=f"transfer_to_{to}", arguments="{}"),
            ]
            script = ScriptedChatClient([calls] * 8)
            return runner(own[name], name, model_client=script, handoffs=[Handoff(target=to)])

        swarm = Swarm([agent("left", "right"), agent("right", "left")], max_turns=12)
        await swarm.run(task="Run job a. " + "word " * 50)

        for context in own.values():
            check_prompt(await context.get_messages())
            assert 900 >= size(context, await context.get_messages())
        assert 0 < sum(context.stats().compactions for context in own.values())

    @pytest.mark.long
    async def test_selector_under_a_limit(self, sqlite_url: str) -> None:
        """A manager's context compacts too; braces in what is said do no harm to the selector's prompt."""
        manager = MemoryContext("ann", store=sqlite_url, max_tokens=600, recall=False)
        own = contexts(sqlite_url, "one", "two")
        says = "a set {history} {0} {} " + "word " * 80
        agents = [
            AssistantAgent(n, model_client=ScriptedChatClient([says] * 8), model_context=own[n])
            for n in ("one", "two")
        ]
        client = ScriptedChatClient(["one", "two"] * 6)
        team = SelectorGroupChat(
            [*agents],
            model_client=client,
            model_context=manager,
            max_turns=12,
            allow_repeated_speaker=True,
        )

        await team.run(task="Go on.")

        assert 0 < manager.stats().compactions
        assert "user: Go on." in str(client.prompts[-1][0].content)
        assert "memory_context: The " in str(client.prompts[-1][0].content)
        assert "{history}" in str(client.prompts[-1][0].content)

    async def test_layer_of_a_society(self, sqlite_url: str) -> None:
        """What an outer context shows goes into the inner ones: the user's layer stands there once."""
        with MemoryManager(sqlite_url, user_id="ann") as manager:
            manager.store("use tabs", "style", "user_preference")
        own = contexts(sqlite_url, "inner", "outer")
        client = ScriptedChatClient(["one", "two"])
        inner = AssistantAgent("inner", model_client=client, model_context=own["inner"])
        society = SocietyOfMindAgent(
            "society",
            RoundRobinGroupChat([inner], max_turns=1),
            model_client=unchecked("one", "two"),
            model_context=own["outer"],
        )

        await society.run(task="Hello.")
        await society.run(task="Once more.")

        assert 1 == said(client.prompts[1]).count(LAYER)


class TestSecrets:
    """Secrets are shown only to those who ask for them by key."""

    async def test_key_inside_a_word(self) -> None:
        """A key that is part of another word is not asked for."""
        context, _ = await with_secret()
        await fill(context, user("What is the production password, as before?"))

        coder = AssistantAgent("coder", model_client=unchecked("done"), model_context=context)
        await coder.run(task="Now read about the products.")

        assert "hunter2" not in said(await context.get_messages())

    async def test_judge_opens_a_secret(self) -> None:
        """A judge cannot open a secret that nobody has asked for by its key."""
        context, _ = await with_secret(OpensAll())
        await fill(context, user("hello"))

        assert "hunter2" not in said(await fill(context, user("what now?")))

    async def test_compacted_secret(self) -> None:
        """A secret that was shown does not get into a tool, or a search, as a part of compacted messages."""
        context, key = await with_secret(max_tokens=700)
        got: list[str] = []

        async def send(text: str) -> str:
            """Send a text."""
            got.append(text)
            return "sent"

        await fill(context, user("go"), user(f"use [MemoryRef: {key}]"))
        prompt = await chat(context, 15)
        assert "hunter2" not in said(prompt)
        workbench = context.workbench([send])
        for shown in context.shown_keys():
            await workbench.call_tool("send", {"text": f"[MemoryRef: {shown}]"})

        found = [
            item for item in await context.search("production password", 20) if not is_secret(item)
        ]
        assert "hunter2" not in "".join((*got, *(item.text for item in found)))


class TestJudge:
    """What judges cost, and what they are asked."""

    async def test_tokens_of_nonsense(self) -> None:
        """A model that answers in prose has cost its tokens."""
        context = MemoryContext(
            "ann", store="sqlite://", model_client=ScriptedChatClient(["prose " * 50])
        )
        await context.store("postgresql://db-7", "DB of the shop")
        await fill(context, user(OPEN_DB))

        assert 0 < context.decisions()[0].tokens

    async def test_made_up_references(self) -> None:
        """References that somebody has made up do not stop the search for real memories."""
        context = MemoryContext("ann", store="sqlite://")
        await context.store("postgresql://db-7", "DB of the shop")
        await fill(
            context,
            TextMessage(content="[MemoryRef: k1] [MemoryRef: k2]", source="web").to_model_message(),
        )

        assert "DB of the shop" in said(await fill(context, user(OPEN_DB)))

    def test_schema_without_defaults(self) -> None:
        """OpenAI refuses a schema with a default that is not null."""
        properties = JudgeAnswer.model_json_schema()["properties"]

        assert all(one.get("default") is None for one in properties.values())


async def test_restore_into_another_conversation() -> None:
    """Compacted messages of another thread, found by a search, are not restored in place of what was found."""
    old = MemoryContext("ann", store="sqlite://", max_tokens=600, recall=False)
    await fill(old, user("go"))
    for number in range(8):
        await fill(old, user(f"the zebra plan {number} " + "word " * 90))
    context = MemoryContext("ann", store=old.manager.memory_store)
    [found, _] = await fill(context, user("do the zebra plan as last time"))

    with pytest.raises(exceptions.StateError):
        await context.restore(MemoryRef.find_all(said([found]))[0].key)
    assert ANSWER not in said(await context.get_messages())


async def test_lone_surrogates_in_a_preview(sqlite_url: str) -> None:
    """What stands in for a text with lone surrogates can be sent to a model, and is the same after a saved state."""
    context = MemoryContext("ann", store=sqlite_url, thread_id="t")
    await context.add_message(results(f"\ud800 \ud83d\ude00 is odd\n{LOG}"))
    [message] = await context.get_messages()
    message.model_dump_json().encode()

    state = json.loads(json.dumps(await context.save_state()))
    again = MemoryContext("ann", store=sqlite_url)
    await again.load_state(state)
    assert [message] == await again.get_messages()
