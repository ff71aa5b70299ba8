"""What comes back from other conversations, and what of a request that was made before."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

import pytest
from autogen_core.models import AssistantMessage

from for_each import for_each
from memory_context import MemoryContext, SQLAlchemyStore
from memory_context.conversation.message import MEMORY_SOURCE, Message, MessageFacts
from memory_context.conversation.recall.recall_request_from_messages import recall_request
from memory_context.model.item import now
from memory_context.model.reference import MemoryRef
from messages import LOG, call, results, user
from test_context import fill, shown

STOCK = "\n".join(f"part X-{number}: {number * 7 % 90} pieces in stock" for number in range(900))

# More than a preview has room for.
MANY = f"Look at {' '.join(f'worker-{number}' for number in range(100, 140))}"


async def _yesterday() -> MemoryContext:
    """Return a context of a user whose other conversation listed the stock."""
    old = MemoryContext("ann", store="sqlite://", thread_id="yesterdays")
    await fill(old, user("List the stock."), call("list_stock"), results(STOCK, name="list_stock"))
    return MemoryContext("ann", store=old.manager.memory_store)


@pytest.mark.long
@for_each(
    "message",
    [
        "List the stock.",
        "How is my stock of parts today?",
        "Show me the list, please.",
        "Why is the sky blue?",
        "Thanks, that is all.",
    ],
)
async def test_an_output_of_another_conversation_stays_there(message: str) -> None:
    """Yesterday's list does not stand before a question that wants today's."""
    context = await _yesterday()
    assert 1 == len(await fill(context, user(message)))


@for_each(
    "message", ["How many pieces were there of X-412?", "What was in the stock list last time?"]
)
async def test_what_comes_from_another_conversation_says_so(message: str) -> None:
    """If the message refers to it, or names what only it knows: with the thread, and since when it is stored."""
    context = await _yesterday()
    before = now()
    [found, _] = await fill(context, user(message))
    [stored] = re.findall(
        r"\(from another conversation, yesterdays, first stored (.+) UTC\)", shown(found)
    )
    assert before - timedelta(minutes=2) < datetime.fromisoformat(f"{stored}+00:00") <= now()
    assert len(shown(found)) < 3000


async def test_what_came_here_too_is_of_this_conversation() -> None:
    """Equal outputs are one memory: it does not count as another conversation's where a tool has returned it."""
    context = await _yesterday()
    await fill(context, user("List it."), call("list_stock"), results(STOCK, name="list_stock"))
    messages = await fill(context, user("How many pieces are there of X-412?"))
    assert "part X-412: " in shown(messages[-2])
    assert "another conversation" not in shown(messages[-2])


TABLE = "order_id,customer,total\n" + "\n".join(
    f"{n},c{n % 7},{n * 7 % 390}.50" for n in range(600)
)
NODES = "\n".join(f"gateway restarted node {n} with code {n * 7 % 91}" for n in range(400))


@for_each(
    "name, text, message, record, wrong",
    [
        ("orders", TABLE, "What is the total of order 91?", "91,c0,247.50", "0,c0,0.50"),
        ("log", NODES, "Which code for node 77?", "node 77 with code 84", "with code 77"),
    ],
)
async def test_a_record_comes_as_in_its_own_conversation(
    name: str, text: str, message: str, record: str, wrong: str
) -> None:
    """What another conversation folded is judged and shown by the records that the message names."""
    old = MemoryContext("ann", store="sqlite://", thread_id="old")
    await fill(old, user("Get it."), call(name), results(text, name=name))
    context = MemoryContext("ann", store=old.manager.memory_store)
    [found, _] = await fill(context, user(message))
    assert record in shown(found)
    assert wrong not in shown(found)


RUN = "\n".join(
    f"test_{n} passed in {n % 9} ms" + ", with orders" * (n % 100 == 50) for n in range(300)
)


@for_each(
    "message, called, other",
    [
        ("Please show me the orders from last week", "export_orders", "run_tests"),
        ("Show me the tests from yesterday again", "run_tests", "export_orders"),
    ],
)
async def test_what_is_called_by_all_that_a_message_asks_for_comes_alone(
    message: str, called: str, other: str
) -> None:
    """Its words stand in another output too, but the one is called so."""
    old = MemoryContext("ann", store="sqlite://", thread_id="old")
    for name, text in (("export_orders", f"{TABLE}\ntests of orders"), ("run_tests", RUN)):
        await fill(old, user("Go on."), call(name), results(text, name=name))
    context = MemoryContext("ann", store=old.manager.memory_store)
    [found, _] = await fill(context, user(message))
    assert f"[MemoryRef: {called}" in shown(found)
    assert f"[MemoryRef: {other}" not in shown(found)


SAID_EARLIER = [
    "Hello.",
    "Our landlord is Mr. Berg.",
    "My sister's cat is called Mia.",
    "The deposit was 900 euros.",
    "The capital of the firm is 2 million.",
    "Read the log of the gateway.",
]


async def _said_earlier() -> MemoryContext:
    """Return a context of a user whose other conversation compacted what the person said."""
    old = MemoryContext("ann", store="sqlite://", thread_id="old", max_tokens=1000)
    number = 0
    for said in [*SAID_EARLIER, "Thanks."]:
        await fill(old, user(said), AssistantMessage(content="I see.", source="desk"))
        for _ in range(15):
            number += 1
            asked = user(f"What is the state of ticket T-{number}?")
            answer = (
                f"T-{number} waits for review {number * 7919 % 1000} by the group number {number}."
            )
            await fill(old, asked, AssistantMessage(content=answer, source="desk"))
    return MemoryContext("ann", store=old.manager.memory_store)


@pytest.mark.long
@for_each(
    "message, turn",
    [
        ("Who is our landlord?", "user: Our landlord is Mr. Berg.\nassistant: I see."),
        ("What is my sister's cat called?", "user: My sister's cat is called Mia."),
        ("How much was the deposit?", "user: The deposit was 900 euros."),
        ("What was the review of T-17?", "assistant: T-17 waits for review 623"),
    ],
)
async def test_a_turn_of_another_conversation_comes_alone(message: str, turn: str) -> None:
    """As people read it, without what was said around it."""
    [found, _] = await fill(await _said_earlier(), user(message))
    assert turn in shown(found)
    assert 1 == shown(found).count("user: ")
    assert "{" not in shown(found)


@pytest.mark.long
@for_each(
    "message",
    ["What is the capital of Mongolia?", "What does the log say?", "Is the ticket T-9999 done?"],
)
async def test_what_no_person_stated_stays_there(message: str) -> None:
    """A chance word, an order, or another name of the same form answers nothing."""
    assert 1 == len(await fill(await _said_earlier(), user(message)))


async def test_what_a_person_has_said_answers_nothing() -> None:
    """What the person named before in this conversation is still looked for in others."""
    context = MemoryContext("ann", store="sqlite://")
    await context.store("The owner of the Apollo billing service is Eva Lind.", "from the minutes")
    await fill(
        context, user("Hello, I work on Apollo."), AssistantMessage(content="Hi.", source="a")
    )
    messages = await fill(context, user("Who owns the Apollo billing service?"))
    assert "Eva Lind" in shown(messages[-2])


async def test_another_agent_does_not_hide_the_question() -> None:
    """What a person asked before another agent spoke is answered, too."""
    context = await _yesterday()
    asked = user("How many pieces were there of X-412?")
    messages = await fill(context, asked, user("I shall look.", source="planner"))
    assert "part X-412: " in shown(messages[-2])


def test_what_a_conversation_begins_with_answers_nothing() -> None:
    """A line of the user's layer may name what another conversation was about, without what was found there."""
    line = {0: "- thread n: What about ORD-10057?"}
    layer = Message("1", "user", MEMORY_SOURCE, line, facts=MessageFacts(kind="layer"))
    question = Message("2", "user", "user", {0: "Where is ORD-10057?"})
    request = recall_request(question, [layer, question])
    assert (True, False) == (request.in_sight("ORD-10057"), request.is_told("ORD-10057"))


async def test_what_a_tool_has_said_is_known_here() -> None:
    """Yesterday's list is not looked at for what stands in today's answer."""
    context = await _yesterday()
    await fill(context, user("Find it."), call("find"), results("X-412 is on shelf 9", name="find"))
    messages = await fill(context, user("Where is X-412?"))
    assert 4 == len(messages)


async def test_two_memories_that_fit_come_both() -> None:
    """With their texts; and of two copies one."""
    old = MemoryContext("ann", store="sqlite://", thread_id="old")
    await old.store("Deploy with blue-green on host db-7.", "deployment of the shop")
    await old.store("Deploy by hand, at night.", "deployment of the blog")
    await old.store("Deploy by hand, at night.", "deployment of the blog, copied", key="copy")
    context = MemoryContext("ann", store=old.manager.memory_store)
    [found, _] = await fill(context, user("How does my deployment work?"))
    assert "blue-green on host" in shown(found)
    assert 1 == shown(found).count("Deploy by hand, at night.")


class TestAskedBefore:
    """The same request again wants a new answer."""

    async def _asked_twice(self, again: str) -> str:
        context = MemoryContext("ann", store="sqlite://")
        await fill(context, user(MANY))
        await fill(context, call("run"), results(LOG))
        await fill(context, user("Thanks."))
        messages = await fill(context, user(again))
        return shown(messages[-2])

    async def test_does_not_bring_the_old_output(self) -> None:
        """The tool will be called again."""
        assert "Thanks." == await self._asked_twice(f"{MANY} again, please")

    async def test_another_question_does(self) -> None:
        """Only the same request is left out."""
        assert "worker-333 handled" in await self._asked_twice("Which job did worker-333 handle?")

    async def test_named_it_comes(self) -> None:
        """A person who names the reference gets it."""
        context = MemoryContext("ann", store="sqlite://")
        messages = await fill(context, user("Find worker-123."), call("run"), results(LOG))
        key = MemoryRef.find_all(shown(messages[-1]))[0].key
        messages = await fill(context, user(f"Find worker-123 [MemoryRef: {key}]."))
        assert "worker-123 handled" in shown(messages[-2])


@pytest.mark.long
async def test_four_copies_of_a_log_do_not_hide_a_name() -> None:
    """A line that stands in several copies is one line."""
    context = MemoryContext("ann", store="sqlite://")
    for number in range(4):
        text = LOG + "\n" + "\n".join(f"run {number} step {step}" for step in range(60))
        await fill(context, call("run", number=number), results(text, number=number))
    messages = await fill(context, user("What did worker-123 handle?"))
    assert 1 == shown(messages[-2]).count("worker-123 handled")


@pytest.mark.long
async def test_what_was_spoken_of_last_comes_first() -> None:
    """Of two equally good outputs the one that the conversation has read again after the other stands first."""
    context = MemoryContext("ann", store="sqlite://")
    keys = list[str]()
    for number in range(2):
        text = LOG.replace("INFO", f"part{number}")
        # Of the same call the later one would be what is so now.
        asked = call(f"run{number}", number=number)
        messages = await fill(context, asked, results(text, number=number, name=f"run{number}"))
        keys.append(MemoryRef.find_all(shown(messages[-1]))[0].key)
    await fill(context, user(f"Look at [MemoryRef: {keys[0]}]."))
    messages = await fill(context, user("What did worker-123 handle?"))
    recalled = shown(messages[-2])
    assert recalled.index("part0 worker-123 handled") < recalled.index("part1 worker-123 handled")


@for_each(
    "message, why",
    [
        ("What did worker-123 handle?", 'holds "worker-123" and "handle"'),
        ("Thanks!", "the message names nothing to look for"),
        ("Sing about penguins.", 'no text out of sight holds enough of "Sing" and "penguins"'),
    ],
)
async def test_a_decision_says_which_terms_decided(message: str, why: str) -> None:
    """In plain words."""
    context = MemoryContext("ann", store="sqlite://")
    await context.store("use tabs", "style of code")
    await fill(context, call("run"), results(LOG))
    await fill(context, user(message))
    assert context.decisions()[-1].why.endswith(why)


@pytest.mark.long
@for_each(
    "message, count", [("How old is Nora99 as you said?", 1), ("Where was Nora2 last time?", 2)]
)
async def test_half_of_a_name_is_another_ones(message: str, count: int) -> None:
    """A name of the same form in other conversations answers nothing; the very name does, without the others."""
    store = SQLAlchemyStore("sqlite://")
    for number in range(4):
        earlier = MemoryContext("ann", store=store, thread_id=f"t{number}", max_tokens=600)
        for turn in range(8):
            said = AssistantMessage(content="Fine, then. " * 20, source="a")
            await fill(
                earlier, user(f"My aunt Nora{number} was in Town{turn}. {'So it is. ' * 9}"), said
            )
    messages = await fill(MemoryContext("ann", store=store), user(message))
    assert count == len(messages)
    assert not any(f"Nora{other}" in shown(messages[0]) for other in (0, 1, 3) if count > 1)
