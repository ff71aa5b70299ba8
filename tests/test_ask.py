"""`ask_memory`: a light model reads what never enters the prompt, and each quotation is checked."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from agent_framework import Agent
from agent_framework.openai import OpenAIChatCompletionClient
from autogen_agentchat.agents import AssistantAgent
from autogen_core import FunctionCall
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage

from for_each import for_each
from langchain_memory_context import MemoryContextMiddleware
from langchain_memory_context.testing import ScriptedChatModel, call
from memory_context import MemoryContext, MemoryManager, RecallPolicy, Redactor, SQLAlchemyStore
from memory_context import sentences_models_read as prompts
from memory_context.agent_framework import MemoryContextProvider
from memory_context.conversation.answers_with_quotations import (
    Asking,
    AskLimits,
    Quotation,
    TextPart,
    checked_quotation,
    parts_of,
    worth_reading,
)
from memory_context.conversation.ask_memories_by_key import MemoryReader
from memory_context.exceptions import InvalidArgumentError
from memory_context.testing import ScriptedChatClient, ScriptedProvider, calling
from memory_context.tools.ask_memory import ASKING, AskArgs
from memory_context.tools.tool_calls_and_answers import MemoryToolError

MEETING = "\n".join(
    f"Speaker {n % 4}: we talk about item {n}, which has number {n * 7}." for n in range(4000)
)
FACT = "Speaker 2: we talk about item 2222, which has number 15554."


class Reading:
    """A light model that finds a line by its words, or says and does what a test wants."""

    name = "reading"

    def __init__(self, wanted: str = "item 2222,", act: Callable[[str], Any] | None = None) -> None:
        self.wanted, self.act = wanted, act
        self.asked = list[str]()
        self.running = self.most_running = 0

    async def complete(self, system: str, prompt: str) -> tuple[str, int]:
        """Answer as the words stand in the part."""
        self.asked.append(prompt)
        self.running += 1
        self.most_running = max(self.running, self.most_running)
        await asyncio.sleep(0)
        self.running -= 1
        if self.act is not None:
            given = self.act(prompt)
            return (await given if asyncio.iscoroutine(given) else given), 10
        if system == prompts.ASK_MERGE_SYSTEM:
            return "Merged.", 5
        for line in prompt.splitlines():
            if self.wanted in line:
                number, _, text = line.partition(": ")
                quotes = [{"line": int(number), "text": text}]
                return json.dumps({"answer": f"It says {text}", "quotes": quotes}), 10
        return '{"answer": "", "quotes": []}', 10


@pytest.fixture
def memory() -> MemoryManager:
    """A long meeting, and a secret."""
    manager = MemoryManager("sqlite://", user_id="ann")
    manager.store(MEETING, key="meeting")
    manager.store("hunter2", type="secret", key="password")
    return manager


async def asked(memory: MemoryManager, model: Reading, question: str, **limits: Any) -> Any:
    """Ask about the meeting."""
    parts = parts_of(memory.get("meeting"))
    asking = Asking(question, model, memory.counter, AskLimits(**limits))
    return await asking.answer(worth_reading(parts, question), len(parts))


async def test_parts_without_a_word_of_the_question_are_skipped(memory: MemoryManager) -> None:
    """Only the part with the rare word is read, and its quotation has its line."""
    model = Reading()
    answer = await asked(memory, model, "What number has item 2222?")
    assert 1 == len(model.asked) == answer.read == answer.calls
    assert answer.parts == answer.read + answer.skipped > 10
    assert (Quotation("meeting", 2223, FACT),) == answer.quotations
    assert FACT in answer.text
    assert 10 == answer.tokens


@pytest.mark.long
async def test_everything_is_read_where_no_word_tells(memory: MemoryManager) -> None:
    """A question in words that stand everywhere or nowhere is put to all parts, four at a time; nothing found is said."""
    model = Reading("nothing of that kind")
    answer = await asked(memory, model, "Is anybody unhappy?")
    assert answer.parts == answer.read == len(model.asked)
    assert 4 == model.most_running
    assert "" == answer.text
    assert 0 == answer.skipped == answer.unread


async def test_answers_are_merged(memory: MemoryManager) -> None:
    """Answers of several parts become one by one more call; if that fails, they stand together."""
    answer = await asked(memory, Reading("item 7"), "Who is unhappy?")
    assert "Merged." == answer.text
    assert answer.calls == answer.read + 1

    def failing(prompt: str) -> str:
        if prompt.startswith("Question") and "The answers" in prompt:
            message = "down"
            raise OSError(message)
        return '{"answer": "Part.", "quotes": []}'

    answer = await asked(memory, Reading(act=failing), "Who is unhappy?")
    assert ["Part."] * answer.read == answer.text.split("\n")


async def test_limits(memory: MemoryManager) -> None:
    """Calls and tokens are bounded, one call is kept for the merge, and what was not read is counted."""
    answer = await asked(memory, Reading(), "Who is unhappy?", calls=3)
    assert 2 == answer.read
    assert answer.parts - 2 == answer.unread
    model = Reading()
    answer = await asked(memory, model, "Who is unhappy?", tokens=15_000)
    assert sum(memory.counter.count(prompt) for prompt in model.asked) <= 15_000
    assert 0 < answer.read < answer.parts


async def test_no_calls(memory: MemoryManager) -> None:
    """Where no call is allowed, none is made, and every part worth reading counts as unread."""
    model = Reading()
    answer = await asked(memory, model, "Who is unhappy?", calls=0)
    assert [] == model.asked
    assert (0, answer.parts) == (answer.calls, answer.unread)


@pytest.mark.long
async def test_deadline(memory: MemoryManager, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that never answers leaves what was found until then."""
    loop, is_read = asyncio.get_running_loop(), asyncio.Event()
    clock = loop.time

    async def slow(prompt: str) -> str:
        if "meeting" in prompt and "\n1: " in prompt:
            is_read.set()
            return '{"answer": "The first.", "quotes": []}'
        await is_read.wait()
        for _ in range(100):  # its answer is taken in
            await asyncio.sleep(0)
        monkeypatch.setattr(loop, "time", lambda: clock() + 600)  # the deadline comes
        await asyncio.Event().wait()
        return ""

    answer = await asked(memory, Reading(act=slow), "Who is unhappy?", seconds=300)
    assert "The first." == answer.text
    assert (1, answer.parts - 1) == (answer.read, answer.unread)


async def test_failures_leave_the_rest(memory: MemoryManager) -> None:
    """A call that fails, and an answer that is nonsense, cost their part alone."""
    answers = iter(["nonsense", '{"x": 1}', "[1]", '{"answer": "Yes.", "quotes": "none"}'])
    model = Reading(act=lambda _: next(answers, None) or (_ for _ in ()).throw(OSError("down")))
    answer = await asked(memory, model, "Who is unhappy?", side_by_side=1)
    assert "Yes." == answer.text
    assert 1 == answer.read
    assert answer.parts - 1 == answer.unread


PART = TextPart("k", 10, ("one  two", "three", "four five", "one two"))


@for_each(
    "quote, line",
    [
        ({"line": 10, "text": "one two"}, 10),
        ({"line": 13, "text": "one two"}, 13),
        ({"line": "13", "text": "one two"}, 13),
        ({"line": 99, "text": " three "}, 11),
        ({"text": "four"}, 12),
        ({"line": 11, "text": "three\nfour five"}, 11),
        ({"line": "x", "text": "five"}, 12),
        ({"line": 10, "text": "two one"}, None),
        ({"line": 10, "text": "invented"}, None),
        ({"line": 10, "text": ""}, None),
        ({"line": 10}, None),
        ("one two", None),
    ],
)
def test_quotations_are_checked(quote: Any, line: int | None) -> None:
    """A quotation stands in the text, at the line nearest to the one that is claimed, or is dropped."""
    checked = checked_quotation(quote, PART)
    assert line == (checked.line if checked else None)


def test_quotations_cut_no_number() -> None:
    """A number or a word that stands there only as a part of a longer one is no quotation; characters of Chinese are."""
    part = TextPart("k", 1, ("order 12345 paid", "訂單已付款"))
    assert checked_quotation({"line": 1, "text": "order 123"}, part) is None
    assert checked_quotation({"line": 1, "text": "345 paid"}, part) is None
    assert Quotation("k", 1, "12345 paid") == checked_quotation({"text": "12345 paid"}, part)
    assert Quotation("k", 2, "已付") == checked_quotation({"text": "已付"}, part)


@pytest.mark.long
def test_parts_of_a_table_begin_with_its_header(memory: MemoryManager) -> None:
    """Each part of a table says what its columns are, and the header may be quoted from any."""
    rows = "\n".join(f"{n},ann{n},{n * 3}" for n in range(4000))
    memory.store(f"id,name,total\n{rows}", key="table")
    parts = parts_of(memory.get("table"))
    assert 2 < len(parts)
    for part in parts:
        assert part.numbered.startswith("1: id,name,total\n")
    header = {"line": 1, "text": "id,name,total"}
    assert Quotation("table", 1, "id,name,total") == checked_quotation(header, parts[-1])
    assert "id,name,total" not in parts[-1].lines


@pytest.mark.long
async def test_false_quotations_are_counted(memory: MemoryManager) -> None:
    """What does not stand there is dropped and counted."""
    quotes = [{"line": 1, "text": "I am unhappy."}, {"line": 2, "text": "we talk about item"}]
    model = Reading(act=lambda _: json.dumps({"answer": "Yes.", "quotes": quotes}))
    answer = await asked(memory, model, "What number has item 2222?")
    assert 1 == answer.dropped == len(answer.quotations)


@pytest.mark.long
def test_parts_hold_the_whole_text(memory: MemoryManager) -> None:
    """All lines stand in the parts under their numbers; a record at a border is whole in one of them."""
    records = json.dumps([{"id": n, "text": "word " * 60} for n in range(400)], indent=1)
    memory.store(records, key="records")
    for key, text in (("meeting", MEETING), ("records", records), ("line", "x" * 50_000)):
        if key == "line":
            memory.store(text, key=key)
        seen = dict[int, str]()
        for part in parts_of(memory.get(key)):
            for number, line in enumerate(part.lines, part.first):
                seen[number] = seen.get(number, "") + line if key == "line" else line
        assert text == "\n".join(seen[number] for number in sorted(seen))
    parts = ["\n".join(part.lines) for part in parts_of(memory.get("records"))]
    for number in range(400):
        record = json.dumps({"id": number, "text": "word " * 60}, indent=1)[1:-1]
        whole = "\n".join(f" {line}" if line else line for line in record.split("\n")).strip()
        assert any(whole in part for part in parts), number


def test_order_of_reading() -> None:
    """Parts with the rarest words come first."""
    texts = ("one cat", "one dog", "bird", "a cat, a dog", "bird", "bird")
    parts = [TextPart("k", number, (text,)) for number, text in enumerate(texts)]
    assert [3, 0, 1] == [part.first for part in worth_reading(parts, "cat or dog?")]


def test_what_no_model_reads(memory: MemoryManager) -> None:
    """Secrets, binary content and questions without words are refused."""
    memory.store(b"\0\1", key="picture")
    reader = MemoryReader(memory, Reading())
    for keys, question in ((["password"], "What?"), (["picture"], "What?"), (["meeting"], " ")):
        with pytest.raises(InvalidArgumentError):
            reader.ask(keys, question)
    for keys in ([f"key{n}" for n in range(11)], []):
        with pytest.raises(InvalidArgumentError, match=f"1 to 10 memories, not {len(keys)}"):
            reader.ask(keys, "What?")
    with pytest.raises(MemoryToolError, match="no memory with the key"):
        ASKING.answer(reader, AskArgs(key="nothing", question="What?"), 500)


def test_answer_for_a_model(memory: MemoryManager) -> None:
    """The tool's answer has the quotations with their lines, and what was read at what cost; also of several keys."""
    memory.store("Nothing here.", key="other")
    reader = MemoryReader(memory, Reading())
    args = AskArgs(key="[MemoryRef: meeting], other", question="What number has item 2222?")
    answer = ASKING.answer(reader, args, 500)
    assert ("meeting", "other") == answer.keys
    assert f"- meeting line 2223: {FACT}" in answer.text
    assert "hold no word of the question" in answer.text
    assert "1 calls, 10 tokens" in answer.text
    assert (1, 10) == (reader.stats.asks, reader.stats.tokens_asked)
    [decision] = reader.log.newest
    assert ("reading", ("meeting",), 10) == (decision.judge, decision.opened, decision.tokens)
    told = ASKING.answer(MemoryReader(memory, Reading("x y z")), args, 500).text
    assert "Nothing on that was found" in told
    assert answer.text.startswith(reader.ask("meeting", args.question).text)


def test_a_model_that_never_answers_found_not_nothing(memory: MemoryManager) -> None:
    """Where no part was read, the tool does not say that nothing was found, but that the light model failed."""
    reader = MemoryReader(memory, Reading(act=lambda _: "I would rather not."))
    told = ASKING.answer(reader, AskArgs(key="meeting", question="Which item?"), 500).text
    assert "The light model read none of it" in told
    assert "Nothing" not in told


@pytest.mark.long
def test_a_long_answer_keeps_its_quotations(memory: MemoryManager) -> None:
    """However much the model says, the words that it rests on stand in the tool's answer."""
    quotes = [{"line": 2223, "text": FACT}]
    model = Reading(act=lambda _: json.dumps({"answer": "word " * 3000, "quotes": quotes}))
    args = AskArgs(key="meeting", question="What number has item 2222?")
    told = ASKING.answer(MemoryReader(memory, model), args, 300).text
    assert f"- meeting line 2223: {FACT}" in told
    assert memory.counter.count(told) <= 300


def test_secrets_in_a_question_stay_here() -> None:
    """The light model, and the record of decisions, get the question as the store's redactor leaves it."""
    memory = MemoryManager(SQLAlchemyStore("sqlite://", redactor=Redactor()), user_id="ann")
    memory.store(MEETING, key="meeting")
    model = Reading()
    reader = MemoryReader(memory, model)
    reader.ask(["meeting"], "What number has item 2222? My key is ghp_" + "a1B2c3D4e5F6" * 3)
    assert not any("ghp_a1B2" in prompt for prompt in model.asked)
    assert "ghp_a1B2" not in reader.log.newest[0].asked
    # Nothing is left of a question that is a secret, and all parts would be read for it.
    asked = len(model.asked)
    with pytest.raises(InvalidArgumentError, match="has no words"):
        reader.ask(["meeting"], "ghp_" + "a1B2c3D4e5F6" * 3)
    assert asked == len(model.asked)


def _light(prompt: str) -> str:
    line = next(line for line in prompt.splitlines() if "item 2222," in line)
    number, _, text = line.partition(": ")
    return json.dumps({"answer": "15554.", "quotes": [{"line": int(number), "text": text}]})


QUESTION = {"key": "meeting", "question": "What number has item 2222?"}


async def test_autogen(memory: MemoryManager) -> None:
    """With a model client an agent has the tool; stats and decisions tell what it cost; it can be dumped."""
    light = ScriptedChatClient([lambda messages: _light(str(messages[-1].content))])
    context = MemoryContext("ann", store=memory.memory_store, model_client=light)
    client = ScriptedChatClient(
        [[FunctionCall(id="1", name="ask_memory", arguments=json.dumps(QUESTION))], "15554."]
    )
    agent = AssistantAgent(
        "clerk", model_client=client, model_context=context, tools=[*context.tools()], reflect_on_tool_use=True,
    )  # fmt: skip
    await agent.run(task="Thanks.")
    last: Any = client.prompts[-1][-1]
    assert f"- meeting line 2223: {FACT}" in last.content[0].content
    assert 1 == context.stats().asks
    assert 0 < context.stats().tokens_asked
    assert "parts read" in context.decisions()[-1].why
    quiet = MemoryContext(
        "ann", store=memory.memory_store, model_client=light, recall=RecallPolicy(asks=False)
    )
    assert "ask_memory" not in [tool.name for tool in quiet.tools()]


@pytest.mark.long
async def test_langchain(memory: MemoryManager) -> None:
    """With a model the middleware's agent has the tool."""
    light = ScriptedChatModel([lambda messages: _light(str(messages[-1].content))])
    middleware = MemoryContextMiddleware(memory.memory_store, user_id="ann", model=light)
    model = ScriptedChatModel([[call("ask_memory", "1", **QUESTION)], "15554."])
    agent = create_agent(model, [], middleware=[middleware])
    state = await agent.ainvoke({"messages": [HumanMessage("Thanks.")]})
    assert f"- meeting line 2223: {FACT}" in state["messages"][-2].content
    assert 1 == middleware.stats().asks


async def test_agent_framework(memory: MemoryManager) -> None:
    """With a judge that is a light model the provider's agent has the tool."""

    class Light(Reading):
        async def decide(self, _: Any) -> Any:
            raise OSError

    memory_provider = MemoryContextProvider(
        memory.memory_store, user_id="ann", recall=RecallPolicy(judge=Light())
    )
    script = [calling("ask_memory", "c1", **QUESTION), {"content": "15554."}]
    with ScriptedProvider(script) as provider:
        client = OpenAIChatCompletionClient(model="gpt-4o", api_key="none", base_url=provider.url)
        agent = Agent(client, context_providers=[memory_provider])
        await agent.run("Thanks.", session=agent.create_session())
    assert [] == provider.refused
    assert f"- meeting line 2223: {FACT}" in provider.asked[-1]["messages"][-1]["content"]


def test_schema_is_small() -> None:
    """The tool's schema takes less than a hundred tokens of each call."""
    told = {
        "name": ASKING.name,
        "description": ASKING.description,
        "parameters": AskArgs.model_json_schema(),
    }
    assert MemoryManager("sqlite://", user_id="a").counter.count(json.dumps(told)) <= 100
