"""MemoryContext against the laws: nothing is lost, what was seen stays, messages stay valid."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from types import MappingProxyType

import pytest
from autogen_core import Image
from autogen_core.model_context import (
    BufferedChatCompletionContext,
    ChatCompletionContext,
    UnboundedChatCompletionContext,
)
from autogen_core.models import (
    AssistantMessage,
    FunctionExecutionResultMessage,
    LLMMessage,
    SystemMessage,
    UserMessage,
)
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from for_each import for_each
from memory_context import (
    FoldPolicy,
    JudgeLimits,
    MemoryContext,
    MemoryManager,
    MemoryRef,
    NotesPolicy,
    RecallPolicy,
    SQLAlchemyStore,
    TierPolicy,
    exceptions,
)
from memory_context.autogen.context_config import MemoryContextConfig
from memory_context.autogen.loop_lock import LoopLock
from memory_context.conversation.answers_with_quotations import AskLimits
from memory_context.model.item import encodable
from memory_context.sentences_models_read import ABOUT_REFERENCES
from memory_context.testing import check_prompt
from memory_context.text.tokens.counter import CallableCounter
from messages import LOG, call, conversations, dumps, results, user


@pytest.fixture
async def context() -> AsyncIterator[MemoryContext]:
    """A context on a database in memory."""
    context = MemoryContext("ann", store="sqlite://")
    yield context
    await context.aclose()


async def fill(context: ChatCompletionContext, *messages: LLMMessage) -> list[LLMMessage]:
    """Add the messages and return what the context makes of them."""
    for message in messages:
        await context.add_message(message)
    return await context.get_messages()


FACTS = {"user_id": "ann", "thread_id": "t"}


def shown(message: LLMMessage) -> str:
    """The text of a message, or of its first result."""
    if isinstance(message, FunctionExecutionResultMessage):
        return message.content[0].content
    assert isinstance(message.content, str)
    return message.content


class TestSmallMessages:
    """What is small is kept as by AutoGen's own unbounded context."""

    async def test_equal_and_in_order(self, context: MemoryContext) -> None:
        """Small messages come back equal and in order."""
        messages: list[LLMMessage] = [
            SystemMessage(content="be brief"),
            user("hello"),
            AssistantMessage(content="hi", source="coder", thought="a greeting"),
            call("run"),
            results("fine"),
            user("thanks", source="other"),
        ]

        assert messages == await fill(context, *messages)

    async def test_clear(self, context: MemoryContext) -> None:
        """After clear there are no messages; the memories stay."""
        ref = MemoryRef.find_all(shown((await fill(context, user(LOG, source="tool")))[0]))[0]
        await context.clear()

        assert [] == await context.get_messages()
        assert LOG == await context.retrieve(ref.key)

    async def test_no_results(self, context: MemoryContext) -> None:
        """A message without results is legal."""
        message = FunctionExecutionResultMessage(content=[])

        assert [message] == await fill(context, message)

    async def test_list(self, context: MemoryContext) -> None:
        """The result is a list, which its caller may change without changing the context."""
        messages = await fill(context, user("hello"))
        messages.clear()

        assert 1 == len(await context.get_messages())

    async def test_images_stay(self, context: MemoryContext) -> None:
        """Images and small texts of a message stay where they are, large texts beside them are folded."""
        image = Image.from_base64(
            "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
        )
        message = UserMessage(content=["look", image, LOG], source="browser")

        [found] = await fill(context, message)

        assert isinstance(found.content, list)
        text, shown, _ = found.content
        assert text == "look"
        assert isinstance(shown, Image)
        assert image.to_base64() == shown.to_base64()
        assert str(found.content[2]).startswith("[MemoryRef: browser_")


class TestFolding:
    """Large texts leave a reference and a preview."""

    async def test_result_is_folded(self, context: MemoryContext) -> None:
        """A large result leaves a reference whose key redeems the whole text, and a preview."""
        messages = await fill(context, user("go"), call("run job"), results(LOG, name="run job"))
        lines = shown(messages[-1]).split("\n")
        ref = MemoryRef.parse(lines[0])

        assert ref.key.startswith("run_job_")
        assert LOG.split("\n")[0] in lines
        assert LOG.split("\n")[-1] in lines
        assert LOG == await context.retrieve(ref.key)
        assert ref.tokens == (await context.search("worker-777"))[0].token_count

    @for_each("more", [[], ["Yes, go on."], ["ok", "Thanks!"]])
    async def test_preview_is_for_the_newest_question(self, more: list[str]) -> None:
        """A preview shows what the newest question asks for, and not what an earlier one did; "Go on." is no question."""
        words = ["rain", "sun", "fog", "boat", "gull", "tide", "rope", "sail", "wind", "calm"]
        lines = [" ".join(words[int(digit)] for digit in f"{n * 7919:09}") for n in range(400)]
        lines[150] = "the greenhouse was painted yellow by the neighbours"
        lines[250] = "a lighthouse keeper repaired the harbour crane"
        async with contextlib.aclosing(MemoryContext("ann", store="sqlite://")) as context:
            messages = await fill(
                context,
                user("Who painted the greenhouse of our neighbours?"),
                AssistantMessage(content="I do not know.", source="coder"),
                user("Who repaired the harbour crane?"),
                *map(user, more),
                call("read_diary"),
                results("\n".join(lines), name="read_diary"),
            )
        preview = shown(messages[-1])
        assert "lighthouse keeper" in preview
        assert "painted yellow" not in preview

    async def test_preview_is_not_for_what_each_call_names(self, context: MemoryContext) -> None:
        """The name of a tool, and that of its only argument, are in each call: a preview does not look for them."""
        words = ["rain", "sun", "fog", "boat", "gull", "tide", "rope", "sail", "wind", "calm"]
        lines = [" ".join(words[int(digit)] for digit in f"{n * 7919:09}") for n in range(400)]
        lines[150] = "rain sun command boat gull tide rope sail calm"
        asked = call("read", arguments='{"command": "cat diary.txt"}')
        messages = await fill(
            context, user("Who repaired the crane?"), asked, results("\n".join(lines), name="read")
        )
        assert "command" not in shown(messages[-1])

    async def test_names_ids_and_flags_survive(self, context: MemoryContext) -> None:
        """A folded result keeps its name, call and error flag; a small one beside it keeps its text."""
        messages = await fill(context, call("run", "run"), results(LOG, "small", is_error=True))
        message = messages[-1]

        assert isinstance(message, FunctionExecutionResultMessage)
        assert [("run", "call-1-0", True), ("run", "call-1-1", True)] == [
            (result.name, result.call_id, result.is_error) for result in message.content
        ]
        assert "small" == message.content[1].content

    async def test_facts_of_the_call(self, context: MemoryContext) -> None:
        """The record knows the tool, its arguments, and that it failed."""
        arguments = '{"path": "/var/log"}'
        await fill(
            context, call("read", arguments=arguments), results(LOG, name="read", is_error=True)
        )

        [item] = await context.search("")

        assert {
            "source": "read",
            "call_id": "call-1-0",
            "arguments": arguments,
            "is_error": True,
        } == item.content_metadata
        assert ("tool_output", "detail", context.thread_id) == (
            item.memory_type,
            item.tier,
            item.thread_id,
        )

    async def test_persons_words(self, context: MemoryContext) -> None:
        """A person's words have a higher threshold than another agent's, and keep their beginning and end."""
        [short] = await fill(context, user(LOG[:12_000]))
        assert LOG[:12_000] == shown(short)
        long = "\n".join(f"wish number {i}" for i in range(5000))

        placeholder = shown((await fill(context, user(long)))[-1])

        folded = placeholder.removesuffix(f"\n{ABOUT_REFERENCES}")
        assert folded != placeholder
        assert folded.split("\n")[1] == "wish number 0"
        assert folded.split("\n")[-1] == "wish number 4999"
        assert folded.count("\n") > 100

    async def test_thresholds_by_source(self) -> None:
        """Each source may have its own threshold."""
        context = MemoryContext(
            "ann",
            store="sqlite://",
            fold=FoldPolicy(source_thresholds={"user": 100, "archivist": 100_000}),
        )

        person, agent = await fill(context, user(LOG), user(LOG, source="archivist"))

        assert shown(person).startswith("[MemoryRef: user_")
        assert LOG == shown(agent)

    async def test_same_text_same_key(self) -> None:
        """The same output, whichever agent of that user folds it, is one memory."""
        store = MemoryManager("sqlite://", user_id="ann").memory_store
        one, other = (
            MemoryContext("ann", store=store),
            MemoryContext("ann", store=store, agent_id="reviewer"),
        )

        [first] = await fill(one, results(LOG))
        [second] = await fill(other, user(LOG, source="coder"))

        assert MemoryRef.find_all(shown(first)) == MemoryRef.find_all(shown(second))

    async def test_folded_text_is_not_folded_again(self, context: MemoryContext) -> None:
        """A placeholder that comes in again, as teams do, stays what it is."""
        [first] = await fill(context, results(LOG))
        text = shown(first)

        assert text == shown((await fill(context, user(text, source="coder")))[-1])
        assert 1 == context.stats().folds

    async def test_lowest_threshold(self) -> None:
        """At the lowest threshold a text whose reference would not be shorter stays whole."""
        context = MemoryContext(
            "ann", store="sqlite://", fold=FoldPolicy(threshold=50, preview_tokens=0)
        )
        medium = " ".join(f"n{i}" for i in range(18))

        assert medium == shown((await fill(context, results(medium)))[-1])
        assert shown((await fill(context, results(LOG)))[-1]).startswith("[MemoryRef: ")

    async def test_odd_texts_come_back(self, context: MemoryContext) -> None:
        """NUL bytes and lone surrogates are folded, shown and redeemed."""
        text = "\0 \ud800 " + LOG
        ref = MemoryRef.find_all(shown((await fill(context, results(text)))[-1]))[0]

        assert text == await context.retrieve(ref.key)

    async def test_stats(self, context: MemoryContext) -> None:
        """Every token that is saved or added is counted."""
        await fill(context, user("go"), results(LOG))
        stats = context.stats()
        [item] = await context.search("")

        assert (2, 1, item.token_count) == (stats.messages, stats.folds, stats.tokens_folded)
        assert 0 < stats.tokens_shown < 500
        assert stats.tokens_folded - stats.tokens_shown == stats.tokens_saved


class TestCallersObjects:
    """The caller's messages and results are copied, never changed."""

    async def test_untouched(self, context: MemoryContext) -> None:
        """Adding changes nothing of what was added, and later changes of that do not reach the context."""
        given_results, given_user = results(LOG), user("hello")
        before = dumps([given_results, given_user])
        shown_before = dumps(await fill(context, given_results, given_user))

        assert before == dumps([given_results, given_user])
        given_results.content[0].content = "changed"
        given_user.content = "changed"
        assert shown_before == dumps(await context.get_messages())

    async def test_initial_messages(self) -> None:
        """Initial messages are folded like others, without touching the caller's list."""
        initial: list[LLMMessage] = [user(LOG, source="tool"), user("hi")]
        context = MemoryContext("ann", store="sqlite://", initial_messages=initial)

        messages = await fill(context, user("there"))

        assert ["[MemoryRef", "hi", "there"] == [
            shown(message).split(":")[0] for message in messages
        ]
        assert LOG == shown(initial[0])


class TestRecall:
    """What the newest message needs comes back by itself."""

    async def test_what_is_left_out_of_several_records_is_counted(self) -> None:
        """Thirty orders of one customer are more than a few hundred tokens: a line says how many do not come."""
        rows = [f"{1000 + n},Wei-{n % 10},{'note ' * 20}{n}" for n in range(300)]
        orders = results("\n".join(["order,customer,note", *rows]), name="orders")
        context = MemoryContext("ann", store="sqlite://")
        *_, preview = await fill(context, user("Get the orders."), call("orders"), orders)
        *_, recall, _ = await fill(context, user("Show me the orders of Wei-7"))
        in_sight = [row for row in rows if row in shown(preview) + shown(recall)]
        left_out = [row for row in rows if ",Wei-7," in row and row not in in_sight]
        *_, more, _ = shown(recall).split("\n")
        assert f"(at least {len(left_out)} more match)" == more

    async def test_by_words(self, context: MemoryContext) -> None:
        """A question about a line out of sight brings that line back, before the question, as data, once."""
        await fill(
            context,
            user("go"),
            call("run"),
            results(LOG),
            AssistantMessage(content="done", source="coder"),
        )

        messages = await fill(context, user("What did worker-123 handle?"))

        recall = messages[-2]
        assert isinstance(recall, UserMessage)
        assert "memory_context" == recall.source
        assert LOG.split("\n")[123] in shown(recall)
        assert "(quoted data, not instructions)" in shown(recall)
        assert "What did worker-123 handle?" == shown(messages[-1])
        assert messages == await context.get_messages()
        assert 1 == context.stats().recalls

    async def test_without_colours(self, context: MemoryContext) -> None:
        """A line comes back without the colours that a terminal gave it; a line in sight does not come again."""
        text = "\n".join(
            f"\x1b[32m✓\x1b[39m test_{n} \x1b[2mtook {n} ms\x1b[22m" for n in range(400)
        )
        await fill(context, user("go"), call("run"), results(text))

        *_, recall, _ = await fill(context, user("How long did test_123 take?"))
        await fill(context, user("And how long did test_1 take?"))

        assert "\n✓ test_123 took 123 ms" in shown(recall)
        assert 1 == context.stats().recalls

    async def test_without_markup(self, context: MemoryContext) -> None:
        """The preview of an HTML page and what comes back of it are its words."""
        rows = (f"<tr><td>worker-{n}</td><td>{n * 7} jobs</td></tr>" for n in range(400))
        names = "<tr><th>Name</th>\n<th>Done</th></tr>"
        page = "\n".join(("<html><body><table>", names, *rows, "</table></body></html>"))
        preview = await fill(context, user("go"), call("fetch"), results(page))

        *_, recall, _ = await fill(context, user("How many jobs did worker-123 do?"))

        assert "<" not in shown(preview[-1])
        assert "| Name | Done |\n| --- | --- |\n…127\n| worker-123 | 861 jobs |" in shown(recall)

    async def test_short_entries_of_a_page(self, context: MemoryContext) -> None:
        """An entry comes although it is a part of another one in sight."""
        page = "\n".join(("<html><table>", *(f"<tr><td>K{n}</td></tr>" for n in range(900))))
        await fill(context, user("go"), call("fetch"), results(f"{page}</table></html>"))

        await fill(context, user("Is K777 there?"))
        *_, recall, _ = await fill(context, user("Is K77 there?"))

        assert "\nK77 …" in shown(recall)

    async def test_page_in_one_line(self, context: MemoryContext) -> None:
        """Of a page in one line each row comes when it is asked for, unless it is in sight; a value of its program, too."""
        rows = "".join(f"<tr><td>worker-{n}<td>{n * 7} jobs" for n in range(400))
        names = "<tr><th>Name<th>Done"
        page = f"<html><script>limit_9417 = 365</script><table>{names}{rows}</table></html>"
        await fill(context, user("go"), call("fetch"), results(page))

        *_, first, _ = await fill(context, user("How many jobs did worker-123 do?"))
        *_, second, _ = await fill(context, user("How many jobs did worker-377 do?"))
        await fill(context, user("How many jobs did worker-377 do, and worker-2?"))
        *_, third, _ = await fill(context, user("What is limit_9417?"))

        assert "| worker-123 | 861 jobs |" in shown(first)
        assert "| worker-377 | 2639 jobs |" in shown(second)
        assert "limit_9417 = 365" in shown(third)
        assert 3 == context.stats().recalls

    async def test_what_the_answer_has_named(self, context: MemoryContext) -> None:
        """A question with a pronoun gets the line of what the answer before it named."""
        await fill(context, user("go"), call("run"), results(LOG))
        await fill(context, AssistantMessage(content="The slowest is worker-123.", source="coder"))

        *_, recall, _ = await fill(context, user("Which job was it that it handled?"))

        assert LOG.split("\n")[123] in shown(recall)

    async def test_not_twice(self, context: MemoryContext) -> None:
        """What is in sight, by preview or by recall, is not brought back again."""
        await fill(context, call("run"), results(LOG))

        await fill(context, user("What of worker-777 and /dev/sdx9?"))
        assert 0 == context.stats().recalls
        await fill(context, user("What of worker-123?"))
        await fill(context, user("worker-123 again, please"))
        assert 1 == context.stats().recalls

    async def test_single_line_is_not_brought_back_again(self, context: MemoryContext) -> None:
        """A text of one line, of which only a part can be shown, is not shown again in the same words."""
        text = json.dumps([{"id": i, "name": f"item-{i}"} for i in range(3000)])
        await fill(context, call("run"), results(text))

        for _ in range(3):
            await fill(context, user("what is the name of item-1500?"))

        assert context.stats().recalls <= 1

    async def test_coloured_line_is_not_brought_back_again(self, context: MemoryContext) -> None:
        """What stands in the prompt without its colours is in sight, as it is with them."""
        text = " ".join(f"\x1b[32mjob-{n}\x1b[0m ended with code {n}." for n in range(900))
        await fill(context, call("run"), results(text))

        for _ in range(3):
            await fill(context, user("With what code did job-700 end?"))

        assert context.stats().recalls == 1

    async def test_coloured_line_of_a_short_result_is_in_sight(
        self, context: MemoryContext
    ) -> None:
        """A line of a folded text that a short result has brought in its colours does not come again."""
        lines = [f"\x1b[32mjob-{n}\x1b[0m ended with code {n * 7}." for n in range(400)]
        await fill(context, call("run"), results("\n".join(lines)))
        await fill(context, call("grep"), results(lines[300]))

        await fill(context, user("With what code did job-300 end?"))

        assert context.stats().recalls == 0

    async def test_unrelated(self, context: MemoryContext) -> None:
        """A message about something else brings nothing back."""
        await fill(context, call("run"), results(LOG))

        await fill(context, user("Write a poem about the sea."), user("And the job?"))

        assert 0 == context.stats().recalls

    @for_each("form", ["[MemoryRef: {key}]", "see {key} please", "{full}"])
    async def test_named_by_a_person(self, context: MemoryContext, form: str) -> None:
        """A person's message that names a reference opens it."""
        first = await fill(context, results(LOG))
        ref = MemoryRef.find_all(shown(first[0]))[0]

        messages = await fill(context, user(form.format(key=ref.key, full=ref.render())))

        assert ref.key in shown(messages[-2])
        assert 1 == context.stats().recalls

    async def test_placeholder_in_a_broadcast(self, context: MemoryContext) -> None:
        """A placeholder in another agent's message or a tool's result is not opened."""
        first = await fill(context, results(LOG))

        await fill(
            context, user(shown(first[0]), source="coder"), results(shown(first[0]), number=2)
        )

        assert 0 == context.stats().recalls

    async def test_of_another_thread(self, sqlite_url: str) -> None:
        """A person may name a reference of another conversation of theirs."""
        key = await MemoryContext("ann", store=sqlite_url).store(LOG, "an old log")
        context = MemoryContext("ann", store=sqlite_url)

        messages = await fill(context, user(f"what was in [MemoryRef: {key}]?"))

        assert LOG.split("\n")[0] in shown(messages[0])

    async def test_budget(self) -> None:
        """What comes back keeps within the budget; a budget of nothing brings nothing."""
        for budget in (0, 60, 300, 4000):
            context = MemoryContext(
                "ann", store="sqlite://", recall=RecallPolicy(expansion_budget=budget)
            )
            await fill(context, call("run"), results(LOG))
            await fill(context, user("handled worker-5 worker-55 worker-155 INFO"))
            assert context.stats().tokens_recalled <= budget

    async def test_off(self) -> None:
        """Without recall nothing is brought back."""
        context = MemoryContext("ann", store="sqlite://", recall=False)
        await fill(context, call("run"), results(LOG))

        assert 3 == len(await fill(context, user("What did worker-123 handle?")))

    async def test_between_call_and_result(self, context: MemoryContext) -> None:
        """A recall that would stand between a call and its result waits for the next group of messages."""
        await fill(context, call("run"), results(LOG), call("run", number=2))

        held = await fill(context, user("What did worker-123 handle?"), results("small", number=2))
        messages = await fill(context, AssistantMessage(content="done", source="coder"))

        assert 5 == len(held)
        assert dumps(held) == dumps(messages[:5])
        assert "worker-123" in shown(messages[5])
        assert "done" == shown(messages[6])

    async def test_secrets_stay_hidden(self, context: MemoryContext) -> None:
        """A secret is brought back by its key only."""
        key = await context.store("password of db-7 is hunter2", "db-7 login", "secret")

        messages = await fill(
            context, user(f"see [MemoryRef: {key}]", source="coder"), user("password of db-7?")
        )
        assert not any("hunter2" in shown(message) for message in messages)

        messages = await fill(context, user(f"open [MemoryRef: {key}]"))
        assert "hunter2" in shown(messages[-2])


class TestLaws:
    """Properties of every conversation."""

    @examples(60)
    @given(conversations())
    def test_prompts_are_valid(self, messages: list[LLMMessage]) -> None:
        """A legal conversation makes a legal prompt; ids, names, order and roles are those that came in."""

        async def run() -> None:
            context = MemoryContext("ann", store="sqlite://")
            found = await fill(context, *messages)
            check_prompt(found)
            own = [
                m
                for m in found
                if not (isinstance(m, UserMessage) and m.source == "memory_context")
            ]
            assert [type(m) for m in messages] == [type(m) for m in own]
            assert len(found) - len(own) <= 1
            assert type(found[-1]) is type(messages[-1])
            await context.aclose()

        asyncio.run(run())

    @examples(60)
    @given(conversations(), st.data())
    def test_what_was_seen_stays(self, messages: list[LLMMessage], data: st.DataObject) -> None:
        """What get_messages returned is a prefix of all it returns later, inside a call too, and across states."""

        async def run() -> None:
            context = MemoryContext("ann", store="sqlite://")
            store = context._manager.memory_store  # noqa: SLF001 - the next context must find the same memories
            seen: list[str] = []
            for message in messages:
                await context.add_message(message)
                if data.draw(st.booleans()):
                    now = dumps(await context.get_messages())
                    assert seen == now[: len(seen)]
                    seen = now
                if data.draw(st.integers(0, 4)) == 0:
                    state = json.loads(json.dumps(await context.save_state()))
                    context = MemoryContext("ann", store=store)
                    await context.load_state(state)
            assert seen == dumps(await context.get_messages())[: len(seen)]
            store.close()

        asyncio.run(run())

    @examples(40)
    @given(conversations())
    def test_nothing_is_lost(self, messages: list[LLMMessage]) -> None:
        """Every text is redeemed, byte for byte, by the reference in its place, or stands in the prompt as it can be sent."""

        async def run() -> None:
            context = MemoryContext("ann", store="sqlite://", recall=False)
            found = await fill(context, *messages)
            for before, after in zip(messages, found, strict=True):
                for old, new in zip(_texts(before), _texts(after), strict=True):
                    refs = MemoryRef.find_all(new.partition("\n")[0])
                    assert encodable(old) == new or old == await context.retrieve(refs[0].key)
            await context.aclose()

        asyncio.run(run())


def _texts(message: LLMMessage) -> list[str]:
    if isinstance(message, FunctionExecutionResultMessage):
        return [result.content for result in message.content]
    return [message.content] if isinstance(message.content, str) else []


class TestState:
    """States go through JSON, and come from AutoGen's own contexts too."""

    async def test_round_trip(self, sqlite_url: str) -> None:
        """A state through JSON gives the same messages, thread and knowledge of what is in sight."""
        context = MemoryContext("ann", store=sqlite_url)
        before = await fill(context, call("run"), results(LOG), user("What did worker-123 handle?"))
        state = json.loads(json.dumps(await context.save_state()))
        await context.clear()
        loaded = MemoryContext("ann", store=sqlite_url)

        for one in (context, loaded):
            await one.load_state(state)
            assert dumps(before) == dumps(await one.get_messages())
            assert context.thread_id == one.thread_id
            assert len(before) + 1 == len(await fill(one, user("again: worker-123")))

    async def test_state_before_anything_was_shown(self, sqlite_url: str) -> None:
        """Messages that no model has seen are still looked at after loading."""
        context = MemoryContext("ann", store=sqlite_url)
        for message in (call("run"), results(LOG), user("What did worker-123 handle?")):
            await context.add_message(message)
        loaded = MemoryContext("ann", store=sqlite_url)
        await loaded.load_state(await context.save_state())

        assert "worker-123" in shown((await loaded.get_messages())[-2])

    @pytest.mark.parametrize(
        "kind", [UnboundedChatCompletionContext, lambda: BufferedChatCompletionContext(10)]
    )
    async def test_state_of_autogens_contexts(
        self, context: MemoryContext, kind: type[UnboundedChatCompletionContext]
    ) -> None:
        """A state of AutoGen's own contexts is accepted, its large texts are folded."""
        theirs = kind()
        await fill(theirs, user("go"), call("run"), results(LOG))

        await context.load_state(await theirs.save_state())

        assert shown((await context.get_messages())[-1]).startswith("[MemoryRef: run_")

    async def test_our_state_in_autogens_context(self, context: MemoryContext) -> None:
        """AutoGen's own contexts load our state."""
        messages = await fill(context, user("go"), call("run"), results(LOG))
        theirs = UnboundedChatCompletionContext()

        await theirs.load_state(await context.save_state())

        assert messages == await theirs.get_messages()

    async def test_state_of_another_user(self, context: MemoryContext) -> None:
        """Another user's state is refused."""
        with pytest.raises(exceptions.StateOwnerError, match="not belong to the user 'bob'"):
            await MemoryContext("bob", store="sqlite://").load_state(await context.save_state())

    async def test_state_of_a_newer_version(self, context: MemoryContext) -> None:
        """A state of a newer version says that an upgrade loads it, and changes nothing."""
        before = await fill(context, user("hello"))

        with pytest.raises(exceptions.StateVersionError, match="version 99"):
            await context.load_state(
                {"messages": [], "memory_context": {"version": 99, "new": "things"}}
            )

        assert before == await context.get_messages()

    async def test_state_of_the_first_version(self, context: MemoryContext) -> None:
        """A state of the first version is an error that says what to do; its facts did not belong to its messages."""
        facts = {**FACTS, "version": 1, "shown": 1, "references": {}, "trusted": []}
        state = {"messages": [user("hello").model_dump()], "memory_context": facts}

        with pytest.raises(exceptions.StateError, match=r"first version .* new conversation"):
            await context.load_state(state)

    @for_each(
        "state",
        [
            {},
            {"messages": 1},
            {"messages": [{"type": "Nothing"}]},
            [],
            None,
            "x",
            {"messages": [], "memory_context": 3},
            {"messages": [], "memory_context": {**FACTS, "version": "99"}},
            {"messages": [], "memory_context": {**FACTS, "version": 99.0}},
            {"messages": [], "memory_context": {**FACTS, "version": 0}},
        ],
    )
    async def test_no_state(self, context: MemoryContext, state: object) -> None:
        """Anything else is a clear error."""
        with pytest.raises(exceptions.StateError, match="not a context's state"):
            await context.load_state(state)  # type: ignore[arg-type]

    async def test_wrong_field(self, context: MemoryContext) -> None:
        """The error about a state that was edited names the field that is wrong."""
        wrong = {"messages": [], "memory_context": {**FACTS, "seen": "many"}}

        with pytest.raises(exceptions.StateError, match=r"the first in memory_context\.seen: "):
            await context.load_state(wrong)

    async def test_odd_texts(self, context: MemoryContext) -> None:
        """NUL bytes and lone surrogates survive a state."""
        messages = await fill(context, user("\0 \ud800"))

        await context.load_state(json.loads(json.dumps(await context.save_state())))

        assert messages == await context.get_messages()


class TestComponent:
    """A context is dumped and loaded as a component."""

    async def test_round_trip(self, sqlite_url: str) -> None:
        """A dumped context loads as an equal one, with its initial messages as messages."""
        context = MemoryContext(
            7,
            store=SQLAlchemyStore(sqlite_url, password_variable="MY_PASSWORD"),
            agent_id="coder",
            thread_id="t1",
            recall=False,
            max_tokens=50_000,
            initial_messages=[user("hello"), call("run"), results("fine")],
            fold=FoldPolicy(threshold=700, source_thresholds={"user": 900}, preview_tokens=99),
        )
        config = json.loads(context.dump_component().model_dump_json())

        loaded = ChatCompletionContext.load_component(config)

        assert "memory_context.MemoryContext" == config["provider"]
        assert isinstance(loaded, MemoryContext)
        assert context.dump_component() == loaded.dump_component()
        assert await context.get_messages() == await loaded.get_messages()
        assert ("7", "t1", 50_000) == (loaded.user_id, loaded.thread_id, loaded.max_tokens)
        assert context.fold_policy == loaded.fold_policy
        assert "MY_PASSWORD" == config["config"]["password_variable"]
        await loaded.aclose()

    async def test_every_setting_comes_back(self, sqlite_url: str) -> None:
        """Each setting of the policies that differs from its default is that of the loaded context, too."""
        fold = FoldPolicy(
            threshold=600,
            source_thresholds={"user": 900},
            tool_thresholds={"ls": None},
            preview_tokens=99,
            fold="after_reading",
            read_cap=2600,
            page_tokens=3000,
            instructions=False,
            queries=True,
            record_prompts=True,
            max_threshold=5000,
        )
        recall = RecallPolicy(
            expansion_budget=900,
            results=True,
            user_layer_tokens=0,
            judge_limits=JudgeLimits(calls=3),
            asks=False,
            ask_limits=AskLimits(calls=4),
        )
        notes = NotesPolicy(
            tiers=[TierPolicy("team", lifetime="user", max_items=9)],
            project="rockets",
            ends_task=False,
            require_confirmed=True,
        )
        # These are callables, or settings of the middleware.
        others = {"summarizer", "counter", "artifacts", "redact", "judge"}
        for policy in (fold, recall, notes):
            names = {one.name for one in fields(policy)} - others
            usual = type(policy)()
            assert not [one for one in names if getattr(policy, one) == getattr(usual, one)]
        context = MemoryContext("ann", store=sqlite_url, fold=fold, recall=recall, notes=notes)

        loaded = MemoryContext.load_component(
            json.loads(context.dump_component().model_dump_json())
        )

        assert (fold, recall, notes) == (
            loaded.fold_policy, loaded.recall_policy, loaded.notes_policy,
        )  # fmt: skip
        assert [tool.name for tool in context.tools()] == [tool.name for tool in loaded.tools()]
        await loaded.aclose()

    async def test_password_is_not_dumped(self) -> None:
        """The password stays out of the configuration."""
        context = MemoryContext("ann", store="postgresql://u:hidden@h/d")

        assert "hidden" not in context.dump_component().model_dump_json()

    async def test_settings_that_cannot_be_loaded(self) -> None:
        """A setting of a newer version is named, and so is a policy that is no mapping; a missing one is the default."""
        config = MemoryContext("ann", store="sqlite:///memory.db").dump_component().config
        for policy, settings, said in (
            ("fold", config["fold"] | {"shape": 1}, "FoldPolicy.*unexpected.*'shape'"),
            ("recall", config["recall"] | {"ask_limits": None}, "AskLimits.*must be a mapping"),
        ):
            with pytest.raises(exceptions.InvalidArgumentError, match=said):
                MemoryContext._from_config(  # noqa: SLF001 - as a component is loaded
                    MemoryContextConfig.model_validate({**config, policy: settings})
                )
        loaded = MemoryContext._from_config(  # noqa: SLF001 - as above
            MemoryContextConfig.model_validate({**config, "notes": {}})
        )
        await loaded.aclose()

    async def test_thresholds_of_any_mapping_are_dumped(self) -> None:
        """A policy takes any mapping, and JSON has only one kind."""
        fold = FoldPolicy(source_thresholds=MappingProxyType({"run": 100}))
        context = MemoryContext("ann", store="sqlite:///memory.db", fold=fold)
        dumped = json.loads(context.dump_component().model_dump_json())
        assert {"run": 100} == dumped["config"]["fold"]["source_thresholds"]
        await context.aclose()

    async def test_what_cannot_be_dumped(self) -> None:
        """A store in memory and a counter of one's own say why they cannot be dumped."""
        with pytest.raises(exceptions.NotSerializableError, match="it has no URL"):
            MemoryContext("ann", store="sqlite://").dump_component()
        with pytest.raises(exceptions.NotSerializableError, match="set_default_counter"):
            MemoryContext(
                "ann", store="sqlite:///x.db", fold=FoldPolicy(counter=len)
            ).dump_component()

    async def test_threads_are_apart(self, sqlite_url: str) -> None:
        """A thread that was not named is a new one in each loaded context."""
        context = MemoryContext("ann", store=sqlite_url)
        loaded = MemoryContext.load_component(context.dump_component())

        assert context.thread_id != loaded.thread_id


class TestBadInput:
    """Bad input is named at once."""

    @for_each("threshold", [49, 0, -1, 2.5])
    async def test_threshold(self, threshold: int) -> None:
        """A threshold below 50 is refused."""
        with pytest.raises(exceptions.InvalidThresholdError, match="tokens, 50 or more"):
            MemoryContext("ann", store="sqlite://", threshold=threshold)

    @for_each("user_id", ["", "  ", None, True, "a\0"])
    async def test_user(self, user_id: str) -> None:
        """An empty user is refused."""
        with pytest.raises(exceptions.InvalidScopeError, match="user_id must"):
            MemoryContext(user_id, store="sqlite://")


class TestLifeCycle:
    """Constructors do no I/O; contexts survive loops, cancellation and closing."""

    async def test_constructor_opens_nothing(self) -> None:
        """A context on a database that is not there can be made."""
        assert MemoryContext("ann", store="postgresql://127.0.0.1:1/none").thread_id

    def test_several_event_loops(self, sqlite_url: str) -> None:
        """One context serves one event loop after the other."""
        context = MemoryContext("ann", store=sqlite_url)

        async def both() -> None:
            await asyncio.gather(
                *(context.add_message(results(LOG + str(i))) for i in range(3)),
                context.get_messages(),
            )

        for _ in range(3):
            asyncio.run(both())

        assert 9 == len(asyncio.run(fill(context)))

    @pytest.mark.long
    def test_event_loops_at_once(self, sqlite_url: str) -> None:
        """Loops in several threads, that use one context at once, wait for each other; nothing is taken in twice."""
        context = MemoryContext(
            "ann",
            store=sqlite_url,
            initial_messages=[user("go"), *(results(f"{i}\n{LOG}") for i in range(20))],
        )

        async def once(number: int) -> None:
            await context.add_message(results(f"of {number}\n{LOG}"))
            await context.get_messages()

        with ThreadPoolExecutor(8) as threads:
            list(threads.map(lambda number: asyncio.run(once(number)), range(8)))

        messages = asyncio.run(context.get_messages())[1:]
        keys = [MemoryRef.find_all(shown(message))[0].key for message in messages]
        assert [*map(str, range(20))] == [
            asyncio.run(context.retrieve(key, lines="1")) for key in keys[:20]
        ]
        assert 28 == len(messages) == context.stats().folds

    async def test_loop_that_was_closed(self) -> None:
        """A loop that was closed while it held a context's lock keeps no other waiting."""
        lock, loop = LoopLock(), asyncio.new_event_loop()
        held = lock.held()  # kept, so that nothing ends it when it is collected
        await asyncio.to_thread(loop.run_until_complete, held.__aenter__())
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(lock.held().__aenter__(), 0.05)
        loop.close()

        async with asyncio.timeout(600), lock.held():
            pass

    @pytest.mark.long
    async def test_overlapping_calls(self, context: MemoryContext) -> None:
        """Overlapping calls on a shared context lose nothing."""
        await asyncio.gather(*(context.add_message(results(f"{i}\n{LOG}")) for i in range(20)))

        assert 20 == len(await context.get_messages())
        assert 20 == context.stats().folds

    async def test_closing_waits_for_what_was_cancelled(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        """A cancelled add_message has stored its text before aclose gives the database back, without complaint."""
        counting, goes_on = threading.Event(), threading.Event()

        def slow(text: str) -> int:
            counting.set()
            goes_on.wait()
            return len(text)

        context = MemoryContext(
            "ann", store="sqlite://", fold=FoldPolicy(counter=CallableCounter(slow))
        )
        adding = asyncio.create_task(context.add_message(results(LOG)))
        await asyncio.to_thread(counting.wait)
        adding.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await adding
        before = context.stats().folds
        goes_on.set()
        await context.aclose()
        assert (before, context.stats().folds) == (0, 1)
        assert not caplog.records

    async def test_cancelled_add_completes(self, context: MemoryContext) -> None:
        """A cancelled add_message is complete when the context is asked next."""
        for delay in (0, 0.0005, 0.002, 0.01):
            task = asyncio.create_task(context.add_message(results(LOG)))
            await asyncio.sleep(delay)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        messages = await context.get_messages()

        assert context.stats().messages == len(messages)
        assert all(shown(message).startswith("[MemoryRef: run_") for message in messages)
        assert len(messages) >= 3

    async def test_closed_context_goes_on(self, sqlite_url: str) -> None:
        """After aclose, which may be called twice, the context still works."""
        context = MemoryContext("ann", store=sqlite_url)
        await context.aclose()
        await context.aclose()

        assert shown((await fill(context, results(LOG)))[0]).startswith("[MemoryRef: ")


async def test_what_was_recalled_is_no_newer_answer() -> None:
    """Of a call that was made again the newest answer comes, though lines of the first one were brought back since."""
    form = "pod-x{},{},node-{},10.0.0.{},uptime {} hours"
    first = [
        form.format(n, "Pending" if n == 337 else "Running", n % 3, n % 250, n) for n in range(600)
    ]
    second = [
        form.format(n + 1000 * (n % 5 == 0), "Running", n % 3, n % 250, n + 1) for n in range(600)
    ]
    context = MemoryContext("ann", store="sqlite://")
    for number, (asked, rows) in enumerate((("List them.", first), ("Again.", second))):
        text = "\n".join(["name,state,node,ip,uptime", *rows])
        await fill(context, user(asked), call("pods", number=number))
        await fill(context, results(text, number=number, name="pods"))
        await fill(context, AssistantMessage(content="Done.", source="coder"))
    *_, recall, _ = await fill(context, user("What about pod-x400?"))
    assert first[400] in shown(recall)
    await fill(context, AssistantMessage(content="It ran.", source="coder"))

    *_, recall, _ = await fill(context, user("In which state is pod-x337?"))

    assert second[337] in shown(recall)


@for_each("message", ["Who must sign the customs form?", "Tell me about Okri."])
@for_each("end", [" ", "\n"])
async def test_what_a_mail_quotes_is_recalled_once(end: str, message: str) -> None:
    """A mail quotes those before it line by line, and they quote those before them."""
    mails = [f"Dear Ann, when can boat {n} have a berth at pier {n % 7}?" for n in range(90)]
    mails[40] = (
        f"The customs form must be signed{end}by the owner before the race,{end}so send it to Ben Okri."
    )
    quoted = ["> " + mail.replace("\n", "\n> ") for mail in mails]
    twice = ["> " + mail.replace("\n", "\n> ") for mail in quoted]
    text = "\n\n".join([*mails, "On Monday Ann wrote:", *quoted, *twice])
    context = MemoryContext("ann", store="sqlite://", fold=FoldPolicy(preview_tokens=40))
    await fill(context, user("Read them."), call("read"), results(text))
    *_, recalled, _ = await fill(context, user(message))
    assert shown(recalled).count("The customs form must be signed") == 1
