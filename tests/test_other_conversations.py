"""What comes back from other conversations, and what of a request that was made before."""

from __future__ import annotations

from for_each import for_each
from memory_context import MemoryContext
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
    """If the message refers to it, or names what only it knows: with the thread and the day."""
    context = await _yesterday()
    [found, _] = await fill(context, user(message))
    assert f"(from another conversation, yesterdays, {now():%Y-%m-}" in shown(found)
    assert len(shown(found)) < 3000


async def test_what_came_here_too_is_of_this_conversation() -> None:
    """Equal outputs are one memory: it does not count as another conversation's where a tool has returned it."""
    context = await _yesterday()
    await fill(context, user("List it."), call("list_stock"), results(STOCK, name="list_stock"))
    messages = await fill(context, user("How many pieces are there of X-412?"))
    assert "part X-412: " in shown(messages[-2])
    assert "another conversation" not in shown(messages[-2])


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


async def test_four_copies_of_a_log_do_not_hide_a_name() -> None:
    """A line that stands in several copies is one line."""
    context = MemoryContext("ann", store="sqlite://")
    for number in range(4):
        text = LOG + "\n" + "\n".join(f"run {number} step {step}" for step in range(60))
        await fill(context, call("run", number=number), results(text, number=number))
    messages = await fill(context, user("What did worker-123 handle?"))
    assert 1 == shown(messages[-2]).count("worker-123 handled")


async def test_what_was_spoken_of_last_comes_first() -> None:
    """Of two equally good outputs, the one that the conversation has read again after the other."""
    context = MemoryContext("ann", store="sqlite://")
    keys = list[str]()
    for number in range(2):
        text = LOG.replace("INFO", f"part{number}")
        messages = await fill(context, call("run", number=number), results(text, number=number))
        keys.append(MemoryRef.find_all(shown(messages[-1]))[0].key)
    await fill(context, user(f"Look at [MemoryRef: {keys[0]}]."))
    messages = await fill(context, user("What did worker-123 handle?"))
    assert keys[0] in shown(messages[-2])
    assert 1 == shown(messages[-2]).count("worker-123 handled")


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
