"""Never over the limit: the oldest messages become one reference; nothing is lost, messages stay valid."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from autogen_agentchat.agents import AssistantAgent
from autogen_core import FunctionCall, Image
from autogen_core.memory import ListMemory, MemoryContent, MemoryMimeType
from autogen_core.models import (
    AssistantMessage,
    CreateResult,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    LLMMessage,
    RequestUsage,
    SystemMessage,
    UserMessage,
)
from autogen_core.tools import FunctionTool
from autogen_ext.models.replay import ReplayChatCompletionClient
from hypothesis import given

from examples import examples
from for_each import for_each
from memory_context import (
    FoldPolicy,
    MemoryContext,
    MemoryRef,
    Redactor,
    SQLAlchemyStore,
    default_counter,
    exceptions,
)
from memory_context.conversation.message import FunctionCall as NeutralCall
from memory_context.conversation.message import Message, as_lines, from_lines
from memory_context.conversation.message_groups import groups, recall_position
from memory_context.testing import check_prompt
from messages import (
    LOG,
    call,
    conversations,
    dumps,
    neutral,
    restored,
    results,
    stored_messages,
    user,
)
from teams import unchecked
from test_context import fill, shown


def size(messages: list[LLMMessage]) -> int:
    """The tokens of a prompt, as a provider would count its texts."""
    count = default_counter().count
    total = 0
    for message in messages:
        content = message.content
        if isinstance(content, str):
            total += count(content)
        else:
            total += sum(
                count(str(getattr(part, "content", getattr(part, "arguments", ""))))
                for part in content
            )
    return total


def turns(number: int, words: int = 60) -> list[LLMMessage]:
    """A turn of small messages: a question, a call, its result, an answer."""
    text = " ".join(f"w{number}x{i}" for i in range(words))
    return [
        user(f"question {number}: {text}"),
        call("run", number=number),
        results(f"result {number}: {text}", number=number),
        AssistantMessage(content=f"answer {number}: {text}", source="coder"),
    ]


async def converse(context: MemoryContext, rounds: int) -> tuple[list[LLMMessage], int]:
    """Converse for some rounds; gives the last prompt, and how often what had been seen changed."""
    seen, changes = list[str](), 0
    prompt: list[LLMMessage] = []
    for number in range(rounds):
        for message in turns(number):
            await context.add_message(message)
            if not isinstance(message, AssistantMessage):
                prompt = await context.get_messages()
                assert size(prompt) <= 4000
                check_prompt(prompt)
                now = dumps(prompt)
                changes += now[: len(seen)] != seen
                seen = now
    return prompt, changes


async def test_stays_below() -> None:
    """However long the conversation, prompts are valid and below the limit; what was seen changes rarely."""
    context = MemoryContext("ann", store="sqlite://", max_tokens=4000, recall=False)

    prompt, changes = await converse(context, 60)

    assert "question 0" in shown(prompt[0])
    assert "kept in memory" in shown(prompt[1])
    assert "result 59" in shown(prompt[-1])
    assert changes == context.stats().compactions
    assert 1 <= changes <= 60 * 3 / 5


async def test_nothing_is_lost() -> None:
    """Every message that left is found by search, opened by retrieve, and restored exactly."""
    context = MemoryContext("ann", store="sqlite://", max_tokens=4000, recall=False)
    messages = [message for number in range(12) for message in turns(number)]
    prompt = await fill(context, *messages)
    [key] = [ref.key for ref in MemoryRef.find_all(shown(prompt[1]))]

    [hit] = await context.search("w3x7", limit=1)
    assert (key, "conversation") == (hit.memory_key, hit.memory_type)
    assert "w3x7" in str(await context.retrieve(key, query="w3x7"))
    count = await context.restore(key)

    assert dumps(messages) == dumps(context.shown_messages())
    assert 0 < count < len(messages)


@pytest.mark.long
async def test_keys_that_were_swallowed() -> None:
    """The note names the references that it took out of sight; they are redeemed, and brought back when asked for."""
    context = MemoryContext("ann", store="sqlite://", max_tokens=4000)
    await context.add_message(user("go"))
    [first] = [
        MemoryRef.find_all(shown(m))[0].key
        for m in (await fill(context, call("run"), results(LOG)))[2:]
    ]
    for number in range(2, 20):
        prompt = await fill(context, *turns(number))

    assert first in shown(prompt[1])
    [newest] = await context.search("", limit=1, types="conversation")
    assert first in newest.content_metadata["keys"]
    assert LOG == await context.retrieve(first)
    prompt = await fill(context, user("What did worker-123 handle?"))
    assert LOG.split("\n")[123] in shown(prompt[-2])


@pytest.mark.long
async def test_a_note_names_no_key_that_was_made_up() -> None:
    """Of the references in what it took out of sight, a note names those that the user's store knows."""
    store = SQLAlchemyStore("sqlite://")
    stranger = MemoryContext("bob", store=store)
    foreign = await stranger.store("A recipe for rye bread.", description="bread")
    context = MemoryContext("ann", store=store, max_tokens=4000)
    own = await context.store("The boiler was serviced in May.", description="boiler")
    await fill(context, user("go"), call("read_page"))
    page = f"See [MemoryRef: bank_password_7], [MemoryRef: {foreign}] and [MemoryRef: {own}]."
    await fill(context, results(page), AssistantMessage(content="Read.", source="coder"))
    for number in range(2, 20):
        prompt = await fill(context, *turns(number))

    [mentioned] = [line for line in shown(prompt[1]).split("\n") if line.startswith("They mention")]
    assert mentioned.startswith(f"They mention the memories {own}, ")
    assert not any(made_up in mentioned for made_up in ("bank_password_7", foreign))
    [newest] = await context.search("", limit=1, types="conversation")
    assert own in newest.content_metadata["keys"]
    assert {"bank_password_7", foreign}.isdisjoint(newest.content_metadata["keys"])


@pytest.mark.long
async def test_a_key_that_a_recall_writes_is_kept() -> None:
    """A reference that stood in a recalled turn is brought back after that recall has left the prompt too."""
    policy = FoldPolicy(preview_tokens=40)
    context = MemoryContext("ann", store="sqlite://", max_tokens=700, fold=policy)
    folded = await fill(context, user("go"), call("run"), results(LOG))
    [ref] = MemoryRef.find_all(shown(folded[-1]))
    answer = AssistantMessage(content=f"It stands in {ref.render()}.", source="coder")
    await fill(context, user("Where is the log of projector-7?"), answer)
    for number in range(24):
        is_due = number > 15 and number % 2 == 0
        asked = "Remind me about projector-7, please." if is_due else f"And paragraph {number}?"
        said = AssistantMessage(content="word " * 75, source="coder")
        await fill(context, user(asked), said)

    prompt = await fill(context, user("What did worker-123 handle?"))
    [recalled] = [shown(message) for message in prompt if LOG.split("\n")[123] in shown(message)]
    assert recalled.startswith("Recalled from memory")


@pytest.mark.long
async def test_what_a_note_is_described_by_was_said_by_nobody() -> None:
    """The first words of compacted messages stand in the reference to them, but their turn is what comes back."""
    context = MemoryContext("ann", store="sqlite://", max_tokens=700)
    await fill(context, user("Let us begin."), AssistantMessage(content="Gladly.", source="coder"))
    await fill(
        context,
        user("Where does the heron nest?"),
        AssistantMessage(content="By the weir.", source="coder"),
    )
    for number in range(60):
        said = AssistantMessage(content=f"{'word ' * 60}{number}", source="coder")
        await fill(context, user(f"Shorten paragraph {number}."), said)

    prompt = await fill(context, user("Where did the heron nest again?"))
    recalled = [shown(message) for message in prompt if "Recalled" in shown(message)]
    assert ["By the weir." in text for text in recalled] == [True]
    assert "user: [MemoryRef" not in recalled[0]


@pytest.mark.long
async def test_compacted_again() -> None:
    """A compaction swallows the note of the one before; each of them can still be opened."""
    context = MemoryContext("ann", store="sqlite://", max_tokens=4000, recall=False)
    await converse(context, 40)

    compacted = await context.search("", limit=99, types="conversation")
    assert len(compacted) == context.stats().compactions
    for older, newer in zip(compacted[1:], compacted, strict=False):
        assert older.memory_key in newer.text


async def test_state() -> None:
    """A compacted conversation goes through its state, and on."""
    context = MemoryContext("ann", store="sqlite://", max_tokens=4000, recall=False)
    await converse(context, 20)
    loaded = MemoryContext("ann", store=context.manager.memory_store, max_tokens=4000, recall=False)
    await loaded.load_state(json.loads(json.dumps(await context.save_state())))

    assert dumps(await context.get_messages()) == dumps(await loaded.get_messages())
    prompt, _ = await converse(loaded, 20)
    assert size(prompt) <= 4000


async def test_system_messages_and_task_stay() -> None:
    """System messages at the beginning and the task are never compacted."""
    context = MemoryContext("ann", store="sqlite://", max_tokens=4000, recall=False)
    await fill(context, SystemMessage(content="be brief"), user("the task"))

    prompt, _ = await converse(context, 20)

    assert ["be brief", "the task"] == [shown(message) for message in prompt[:2]]


def memory_content(number: int, words: int = 20) -> SystemMessage:
    """What AutoGen's ``memory=`` adds in a run."""
    lines = "\n".join(f"{i}. fact {number}-{i}" for i in range(words))
    text = f"\nRelevant memory content (in chronological order):\n{lines}\n"
    return SystemMessage(content=text)


@pytest.mark.long
async def test_system_messages_in_the_middle_stay() -> None:
    """A system message behind the first question stays until a newer one of its source, or an equal one, stands."""
    context = MemoryContext("ann", store="sqlite://", max_tokens=4000, recall=False)
    await context.add_message(SystemMessage(content="be brief"))
    for number in range(30):
        for message in turns(number):
            await context.add_message(message)
            if not isinstance(message, AssistantMessage):
                assert size(await context.get_messages()) <= 4000
        if number in (1, 3):
            await context.add_message(memory_content(number))
        if number == 2:
            await context.add_message(SystemMessage(content="answer in German"))
            await context.add_message(SystemMessage(content="be brief"))

    texts = [str(m.content) for m in context.shown_messages() if isinstance(m, SystemMessage)]

    assert 2 <= context.stats().compactions
    assert ["be brief", "answer in German", memory_content(3).content] == texts


async def test_the_limit_counts_more_than_system_messages() -> None:
    """System messages that do not fit beside the task and the newest message are compacted, the oldest first."""
    context = MemoryContext("ann", store="sqlite://", max_tokens=4000, recall=False)
    await fill(context, user("go"))
    for number in range(30):
        await context.add_message(SystemMessage(content=f"rule {number}: " + f"w{number} " * 90))
        await context.add_message(user(f"go on {number}"))
        assert size(await context.get_messages()) <= 4000

    texts = [str(m.content) for m in context.shown_messages() if isinstance(m, SystemMessage)]

    assert texts[-1].startswith("rule 29")
    assert 3 <= len(texts) < 30
    [hit] = await context.search("rule 0 w0", limit=1)
    assert "conversation" == hit.memory_type


async def test_memory_of_an_agent_stays_in_its_prompts() -> None:
    """What an agent's ``memory=`` has added in the last run stands in each prompt of a long run."""
    memory = ListMemory()
    await memory.add(MemoryContent(content="the port is 5433", mime_type=MemoryMimeType.TEXT))
    context = MemoryContext("ann", store="sqlite://", max_tokens=1500, recall=False)
    usage = RequestUsage(prompt_tokens=0, completion_tokens=0)
    steps = [
        CreateResult(
            content=[FunctionCall(id=f"c{number}", name="work", arguments="{}")],
            finish_reason="function_calls",
            usage=usage,
            cached=False,
        )
        for number in range(12)
    ]
    client = ReplayChatCompletionClient([*steps, "done"], model_info=unchecked().model_info)

    def work() -> str:
        """Work."""
        return " ".join(f"w{len(client.create_calls)}x{i}" for i in range(60))

    agent = AssistantAgent(
        "coder",
        model_client=client,
        model_context=context,
        tools=[FunctionTool(work, "Work.")],
        memory=[memory],
        max_tool_iterations=20,
    )
    await agent.run(task="work")

    assert 1 <= context.stats().compactions
    for made in client.create_calls:
        assert "the port is 5433" in "".join(
            str(m.content) for m in made["messages"] if isinstance(m, SystemMessage)
        )


async def test_one_message_over_the_limit() -> None:
    """A person's message that alone exceeds the limit is folded, though it is below their threshold."""
    context = MemoryContext("ann", store="sqlite://", max_tokens=1000)
    text = " ".join(f"word{i}" for i in range(1500))

    prompt = await fill(context, user(text))

    assert size(prompt) <= 1000
    assert text == await context.retrieve(MemoryRef.find_all(shown(prompt[0]))[0].key)


async def test_parallel_results_over_the_limit() -> None:
    """Results that are small one by one and too large together stay answers to their calls, as references."""
    context = MemoryContext("ann", store="sqlite://", max_tokens=1500)
    texts = [" ".join(f"r{n}x{i}" for i in range(60)) for n in range(12)]

    prompt = await fill(context, user("go"), call(*["run"] * 12), results(*texts))

    check_prompt(prompt)
    assert size(prompt) <= 1500
    assert isinstance(prompt[-1], FunctionExecutionResultMessage)
    for text, result in zip(texts, prompt[-1].content, strict=True):
        refs = MemoryRef.find_all(result.content)
        assert result.content == text or text == await context.retrieve(refs[0].key)


async def test_limit_that_cannot_be_kept() -> None:
    """Where even references are too much, the messages stay valid and whole, above the limit."""
    context = MemoryContext("ann", store="sqlite://", max_tokens=500)
    texts = [f"{n} " + "x " * 20 for n in range(60)]

    prompt = await fill(context, user("go"), call(*["run"] * 60), results(*texts))

    check_prompt(prompt)
    assert size(prompt) > 500
    assert isinstance(prompt[-1], FunctionExecutionResultMessage)
    assert texts == [result.content for result in prompt[-1].content]


async def test_store_down() -> None:
    """If the store fails, nothing is compacted, nothing is lost, and it is done when the store is back."""
    context = MemoryContext("ann", store="sqlite:///later/memory.db", max_tokens=1500, recall=False)
    messages = [message for number in range(6) for message in turns(number)]

    assert dumps(messages) == dumps(await fill(context, *messages))
    assert context.stats().store_failures > 0

    await asyncio.to_thread(Path("later").mkdir)
    assert size(await context.get_messages()) <= 1500


@for_each("limit", [700, None])
def test_limits(limit: int | None) -> None:
    """A limit is a number of tokens."""
    assert limit == MemoryContext("ann", store="sqlite://", max_tokens=limit).max_tokens


@for_each(
    "settings, error",
    [
        ({"max_tokens": 499}, exceptions.BudgetTooSmallError),
        ({"max_tokens": 0.5}, exceptions.InvalidArgumentError),
    ],
)
def test_bad_limits(settings: dict[str, float], error: type[Exception]) -> None:
    """A limit that nobody can converse in, and a share of a window, are refused."""
    with pytest.raises(error, match="max_tokens"):
        MemoryContext("ann", store="sqlite://", **settings)  # type: ignore[arg-type] # bad on purpose


async def test_restore_of_something_else() -> None:
    """Only compacted messages of this conversation are restored."""
    context = MemoryContext("ann", store="sqlite://")
    key = await context.store("a note")

    with pytest.raises(exceptions.StateError, match="does not stand for"):
        await context.restore(key)
    with pytest.raises(exceptions.MemoryNotFoundError):
        await context.restore("nothing")


@pytest.mark.long
@for_each(
    "question, comes",
    [
        ("Which company rents us the AV equipment?", True),
        ("Who takes care of the dog?", True),
        ("On what day is our kickoff?", True),
        ("How does a dog see colours?", False),
        ("Thanks, that is all.", False),
        ("Could you answer a bit shorter from now on?", False),
    ],
)
async def test_plain_questions_about_turns(question: str, comes: bool) -> None:
    """A turn comes back as it was said, for two of its words, or for one that the question takes as known."""
    context = MemoryContext("ann", store="sqlite://", max_tokens=700)
    turns = [
        ("Let us begin.", "Gladly."),
        ("Who brings the projector?", "Brightline brings all the AV equipment."),
        ("Who comes to the kickoff?", "Everybody but Jo."),
        ("The kickoff moved to the 14th.", "Noted, the room is booked from nine."),
        ("My sister looks after the dog.", "Then the kennel can be cancelled."),
        *((f"Shorten paragraph {i}.", f"Here it is: {'word ' * 60}{i}") for i in range(30)),
    ]
    for asked, answered in turns:
        await fill(context, user(asked), AssistantMessage(content=answered, source="coder"))
    assert context.stats().compactions > 2
    prompt = await fill(context, user(question))

    # What comes may make a compaction necessary, whose note stands before it.
    recalled = "\n".join(
        shown(message) for message in prompt if str(message.content)[:8] == "Recalled"
    )
    assert comes is bool(recalled)
    if "AV" in question:
        said = "user: Who brings the projector?\nassistant: Brightline brings all the AV equipment."
        assert said in recalled
    if comes:
        assert '{"role"' not in recalled


TOLD = [
    ("Let us begin.", "Gladly."),
    ("We order 300 brochures.", "Noted: 300 brochures."),
    ("The squash court is booked for Sunday.", "Good, Sunday."),
    ("No, make that Tuesday.", "All right, Tuesday it is."),
    ("Which features slip?", "The offline mode slips, to 4.3."),
    ("搬家公司什么时候来?", "搬家公司星期六早上九点到。"),
    ("客户希望把合同期改成十八个月。", "明白,已经改了。"),
    ("Was kostet die neue Waschmaschine?", "Die von Miele kostet 1.149 Euro."),
    ("Correction: we need 450 brochures.", "Then I print 450."),
    ("What is the projector called?", "It is a Lumen 5."),
]


@pytest.mark.long
@for_each(
    "question, comes",
    [
        ("How many brochures do we order?", "450 brochures"),
        ("For which day is the squash court booked?", "make that Tuesday"),
        ("Which features were postponed from the release?", "offline mode"),
        ("搬家公司几点到?", "九点"),
        ("客户要的合同期是多长?", "十八个月"),
        ("Wie teuer ist die Waschmaschine?", "1.149"),
        ("Suggest a name for a black cat.", ""),
        ("今天天气怎么样?", ""),
        ("谢谢,就这样吧。", ""),
    ],
)
async def test_what_was_said_later_and_in_other_languages(question: str, comes: str) -> None:
    """A turn comes with what corrected it later, or at once in a few words; and in any script and language."""
    context = MemoryContext("ann", store="sqlite://", max_tokens=1000)
    for asked, answered in TOLD:
        await fill(context, user(asked), AssistantMessage(content=answered, source="coder"))
    for number in range(30):
        wish = user(f"Shorten paragraph {number}.")
        given = results(f"paragraph {number} is here", number=number)
        said = AssistantMessage(content=f"Here it is: {'word ' * 60}{number}", source="coder")
        await fill(context, wish, call("read", number=number), given, said)
    assert context.stats().compactions > 2
    prompt = await fill(context, user(question))

    recalled = "\n".join(
        shown(message) for message in prompt if str(message.content)[:8] == "Recalled"
    )
    assert bool(comes) is bool(recalled)
    assert comes in recalled


@pytest.mark.long
async def test_a_compaction_keeps_a_question_with_its_answer() -> None:
    """A stored conversation ends with an answer, whatever the sizes of the messages."""
    context = MemoryContext("ann", store="sqlite://", max_tokens=1000)
    await fill(context, user("Let us begin."))
    for number in range(80):
        asked = user(f"What is part {number}? {'please ' * (number % 7)}")
        answer = f"Part {number} is done. {'really ' * (number * 5 % 23)}"
        await fill(context, AssistantMessage(content=answer, source="coder"), asked)

    assert context.stats().compactions > 2
    stored = [item.text for item in await context.search("", 50)]
    texts = [text for text in stored if text.startswith('{"role"')]
    assert texts
    assert all('"assistant"' in text.split("\n")[-1] for text in texts)


@pytest.mark.long
async def test_a_turn_that_leans_on_another_is_shown_once() -> None:
    """What corrects a turn in a few words comes with it or by itself, and neither comes again while it is in sight."""
    context = MemoryContext("ann", store="sqlite://", max_tokens=1000)
    for asked, answered in (
        ("Good morning.", "Good morning."),
        ("The kickoff meeting is on Monday in Graz", "Noted."),
        ("No, kickoff on Tuesday.", "Changed."),
    ):
        await fill(context, user(asked), AssistantMessage(content=answered, source="coder"))
    for number in range(30):
        said = AssistantMessage(content=f"Here it is: {'word ' * 60}{number}", source="coder")
        await fill(context, user(f"Shorten paragraph {number}."), said)
    for _ in range(2):
        prompt = await fill(context, user("When is our kickoff in Graz?"))
        text = "\n".join(map(shown, prompt))
        turns = ("user: The kickoff meeting is on Monday in Graz", "user: No, kickoff on Tuesday.")
        assert [1, 1] == [text.count(turn) for turn in turns]
    state: Any = await context.save_state()
    [lines] = [
        one["lines"] for one in state["memory_context"]["messages"] if one.get("kind") == "recall"
    ]
    assert [1] == [len(ranges) for ranges in lines.values()]


async def test_a_note_tells_who_asked_what_first() -> None:
    """A note on compacted messages tells what was said before what tools gave, and nothing of earlier notes."""
    context = MemoryContext("ann", store="sqlite://", max_tokens=1000)
    for number in range(20):
        said = AssistantMessage(content=f"Deploy {number} went well.", source="coder")
        asked = user(f"How was deploy {number}?")
        given = results(f"deploy {number}: 0 errors, took {number * 7} s " * 6, number=number)
        prompt = await fill(context, asked, call("deploy", number=number), given, said)
    note = next(shown(one) for one in prompt if "kept in memory" in str(one.content))

    assert context.stats().compactions > 1
    assert note.index("user: How was deploy") < note.index("run: deploy")
    assert "memory_context:" not in note
    assert "Message" not in note


async def test_images_count_against_the_limit() -> None:
    """A conversation of many images is compacted, and what left the prompt is stored with its images."""
    pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    context = MemoryContext("ann", store="sqlite://", max_tokens=4000)
    await fill(context, user("Look at these."))
    for number in range(12):
        look = UserMessage(content=[f"Picture {number}", Image.from_base64(pixel)], source="user")
        prompt = await fill(context, look, AssistantMessage(content="Nice.", source="coder"))

    pictures = [one for one in prompt if isinstance(one.content, list)]
    assert context.stats().compactions > 1
    assert 0 < len(pictures) < 6
    stored = [item.text for item in await context.search("Picture", 50)]
    assert any(pixel[:11] in text for text in stored)


async def test_images_that_stay_fold_nothing() -> None:
    """Images of the task stay whatever they cost: no text gives way to them, and nothing is compacted for them."""
    pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    context = MemoryContext("ann", store="sqlite://", max_tokens=2000)
    task = UserMessage(content=["Compare.", *[Image.from_base64(pixel)] * 6], source="user")
    prompt = await fill(context, task, AssistantMessage(content="Yes.", source="coder"))
    for number in range(4):
        said = AssistantMessage(content="So it is. " * 20, source="coder")
        prompt = await fill(context, user(f"And {number}? {'really ' * 70}"), said)
    assert context.stats().compactions == 0
    assert "MemoryRef" not in str([message.content for message in prompt])


async def test_images_of_the_newest_question_compact_nothing() -> None:
    """What is asked now stays, so that its images are no reason to take away what was said before."""
    pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    context = MemoryContext("ann", store="sqlite://", max_tokens=2000)
    for number in range(4):
        said = AssistantMessage(content="So it is. " * 20, source="coder")
        await fill(context, user(f"And {number}? {'really ' * 70}"), said)
    asked = UserMessage(content=["Compare.", *[Image.from_base64(pixel)] * 6], source="user")
    prompt = await fill(context, asked)
    assert context.stats().compactions == 0
    assert len(prompt) == 9


@pytest.mark.long
async def test_a_pattern_that_redacts_references_stops_no_compaction() -> None:
    """Where a user's redaction takes a reference apart, a note shows the beginning of what stands there."""
    store = SQLAlchemyStore("sqlite://", redactor=Redactor({"number": r"\b\d{3,}\b"}))
    context = MemoryContext("ann", store=store, max_tokens=1000)
    await fill(context, user("Read all."))
    for number in range(16):
        log = "\n".join(f"file-{number} line {line}: value {line * number}" for line in range(400))
        await fill(context, call("read", number=number), results(log, number=number))
    assert context.stats().compactions > 0
    assert context.stats().store_failures == 0


@for_each(
    "other",
    [
        "iVBORw0KGgo=",
        {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
        {"type": "image", "base64": "iVBORw0KGgo="},
        {"type": "data", "media_type": "image/png", "uri": "data:image/png;base64,iVBORw0KGgo="},
    ],
)
def test_an_image_is_known_in_the_form_of_every_host(other: Any) -> None:
    """AutoGen's, LangChain's and Agent Framework's images count as such, and other parts do not."""
    parts = {0: other, 1: {"type": "reasoning", "text": "an image"}}
    assert Message("1", "user", "user", {}, others=parts).pictures == 1


@pytest.mark.long
async def test_a_note_shows_references_whole() -> None:
    """Of folded results a note on compacted messages shows the newest references, none of them torn."""
    context = MemoryContext("ann", store="sqlite://", max_tokens=1500)
    await fill(context, user("Read all."))
    for number in range(30):
        log = "\n".join(f"file-{number} line {line}: value {line * number}" for line in range(400))
        given = results(log, number=number)
        prompt = await fill(context, call("read", number=number), given)
    note = next(shown(one) for one in prompt if "kept in memory" in str(one.content))

    assert note.count("[MemoryRef: ") > 2
    assert note.count("[MemoryRef: ") == len(MemoryRef.find_all(note))


@pytest.mark.long
async def test_turns_come_back_with_their_answers() -> None:
    """What is asked about a compacted turn brings its question and its answer; the library's own notes are not stored."""
    context = MemoryContext("ann", store="sqlite://", max_tokens=1500)
    for number in range(150):
        answer = AssistantMessage(content=f"It is Orbit Rentals {number}.", source="coder")
        await fill(context, user(f"Who rents us the projector-{number} for the hall?"), answer)
    prompt = await fill(context, user("Remind me about projector-7, please."))

    assert context.stats().compactions > 2
    assert "Orbit Rentals 7." in shown(prompt[-2])
    stored = await context.search("", 50)
    texts = [item.text for item in stored if item.memory_type == "conversation"]
    assert len(texts) > 2
    assert not any("that stood here are kept" in text for text in texts)
    assert not any("Recalled from memory" in text for text in texts)


@examples(60)
@given(conversations())
def test_groups(messages: list[LLMMessage]) -> None:
    """Groups follow each other without a gap, and hold each call together with its results."""
    neutrals = neutral(messages)
    found = groups(neutrals)

    assert [0, *(end for _, end in found)] == [*(start for start, _ in found), len(neutrals)]
    for start, end in found:
        group = [message for message in neutrals[start:end] if message.role != "system"]
        check_prompt(list(restored(group)))


@examples(60)
@given(conversations())
def test_lines_are_exact(messages: list[LLMMessage]) -> None:
    """Messages that are stored as lines come back exactly."""
    without_ids = [replace(message, id="") for message in neutral(messages)]

    assert without_ids == from_lines(as_lines(without_ids))


@examples(25)
@given(conversations(), conversations())
def test_any_conversation(first: list[LLMMessage], second: list[LLMMessage]) -> None:
    """Any legal conversation under any small limit makes legal prompts, the last message last."""

    async def run() -> None:
        context = MemoryContext("ann", store="sqlite://", max_tokens=700)
        for messages in (first, [m for m in second if not isinstance(m, SystemMessage)]):
            for number, message in enumerate(messages):
                await context.add_message(message)
                following = messages[number + 1 : number + 2]
                if not (following and isinstance(following[0], FunctionExecutionResultMessage)):
                    check_prompt(prompt := await context.get_messages())
                    assert type(prompt[-1]) is type(message)
        await context.aclose()

    asyncio.run(run())


def test_kinds_of_messages() -> None:
    """Everything that a message has survives as a line: thoughts, names, flags, images as they are."""
    result = FunctionExecutionResult(content="x", name="n", call_id="c", is_error=True)
    messages: list[LLMMessage] = [
        AssistantMessage(content="a", source="s", thought="t"),
        FunctionExecutionResultMessage(content=[result]),
        UserMessage(content=["a", "b"], source="u"),
    ]

    assert messages == stored_messages(as_lines(neutral(messages)))


async def test_squeezed_texts_that_begin_with_a_reference() -> None:
    """Small results that quote a known reference first are stored before the limit takes them out of sight."""
    context = MemoryContext("ann", store="sqlite://", max_tokens=1000, recall=False)
    key = await context.store("a note " * 20, "a note")
    texts = [
        f"[MemoryRef: {key}] and\n" + " ".join(f"r{n}x{i}" for i in range(40)) for n in range(12)
    ]

    prompt = await fill(context, user("go"), call(*["run"] * 12), results(*texts))

    assert isinstance(prompt[-1], FunctionExecutionResultMessage)
    stored = {item.text for item in await context.search("", 50)}
    assert all(
        result.content == text or text in stored
        for text, result in zip(texts, prompt[-1].content, strict=True)
    )
    assert stored & set(texts)


async def test_large_arguments_become_references() -> None:
    """What a model wrote into an answered call does not stay above the limit; it can be read."""
    context = MemoryContext("ann", store="sqlite://", recall=False, max_tokens=1500)
    written = call("write_file", arguments=json.dumps({"path": "app.log", "content": LOG}))
    open_call = await fill(context, user("Write it."), written)
    assert open_call[-1] == written

    prompt = await fill(context, results("done", name="write_file"))

    assert size(prompt) < 1500
    check_prompt(prompt)
    [folded] = [one for one in prompt if isinstance(one, AssistantMessage)]
    arguments = json.loads(folded.content[0].arguments)  # type: ignore[union-attr] # its call
    assert "app.log" == arguments["path"]
    assert LOG == await context.retrieve(MemoryRef.parse(arguments["content"]).key)
    assert dumps(prompt) == dumps(await context.get_messages())


def test_a_cancelled_call_of_another_agent_keeps_no_results_from_recall() -> None:
    """Recalled text goes before a call and its result, also behind a call of another agent that was never answered."""
    cancelled = Message("1", "assistant", "y", {}, calls=(NeutralCall("c1", "slow", "{}"),))
    asked = Message("2", "assistant", "x", {}, calls=(NeutralCall("c2", "alerts", "{}"),))
    answer = Message("3", "tool", "alerts", {0: "order-777 is delayed"}, answers="c2")

    assert 1 == recall_position([cancelled, asked, answer], 1)
    assert recall_position([cancelled, asked, answer], 3) is None


def test_a_result_without_its_call_is_a_group_of_its_own() -> None:
    """Recalled text and notes come before a result whose call the host has dropped."""
    asked = Message("1", "user", "user", {0: "What is delayed?"})
    answer = Message("2", "tool", "slow", {0: "order-777 is delayed"}, answers="c1")

    assert recall_position([asked, answer], 1) == 1


def test_nothing_is_recalled_between_a_seen_call_and_its_result() -> None:
    """Recalled text waits for the next group if the newest one has the result of a call that a model has seen."""
    seen = Message("1", "assistant", "x", {}, calls=(NeutralCall("c1", "slow", "{}"),))
    other = Message("2", "assistant", "y", {}, calls=(NeutralCall("c2", "alerts", "{}"),))
    answer = Message("3", "tool", "slow", {0: "order-777 is delayed"}, answers="c1")

    assert recall_position([seen, other, answer], 1) is None
