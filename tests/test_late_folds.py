"""What must stand whole at first is folded later, when that pays: pages, a model's own texts, its calls' arguments."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from autogen_core import CancellationToken
from autogen_core.models import AssistantMessage, FunctionExecutionResultMessage, LLMMessage
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.tools import tool

from langchain_memory_context.testing import call as lc_call
from memory_context import FoldPolicy, MemoryContext, MemoryManager, MemoryRef, Scope
from memory_context import sentences_models_read as prompts
from memory_context.conversation.folding.late_folds import due_messages
from memory_context.stores import MemoryStore
from messages import LOG, call, results, user
from test_context import fill, shown
from test_middleware_features import (
    agent_of,
    changed_prefixes,
    each_way,
    memory_of,
    run,
    store,
    turn,
)

__all__ = ["store"]

HUNDRED_LINES = "\n".join(LOG.split("\n")[:100])
WRITTEN = json.dumps({"path": "app.log", "rows": [1, {"text": LOG}], "content": LOG})


@pytest.fixture
def context() -> MemoryContext:
    """A context with the default settings, which recalls nothing."""
    return MemoryContext("ann", store="sqlite://", recall=False)


async def talk(context: MemoryContext, turns: int = 12) -> list[LLMMessage]:
    """Ask and answer a few times, so that what stands in front has been read often; give the last prompt."""
    prompt = list[LLMMessage]()
    for number in range(turns):
        answer = AssistantMessage(content=f"Yes, {number}.", source="coder")
        prompt = await fill(context, user(f"Is it {number}?"), answer)
    return prompt


def arguments_in(prompt: Sequence[BaseMessage]) -> dict[str, Any]:
    """The arguments of the only call in LangChain's prompt."""
    [arguments] = [
        call["args"] for one in prompt if isinstance(one, AIMessage) for call in one.tool_calls
    ]
    return arguments


class TestArguments:
    """Large arguments of calls."""

    async def test_folded_when_it_pays(self, context: MemoryContext) -> None:
        """A reference takes the place of each large text in them; small ones, and the first prompts, stay."""
        written = call("write_file", arguments=WRITTEN)
        prompt = await fill(context, user("Write it."), written, results("done", name="write_file"))
        assert prompt[1] == written

        [_, folded, *_] = await talk(context)

        assert isinstance(folded, AssistantMessage)
        assert not isinstance(folded.content, str)
        arguments = json.loads(folded.content[0].arguments)
        ref = MemoryRef.parse(arguments["content"])
        assert {
            "path": "app.log",
            "rows": [1, {"text": ref.render()}],
            "content": ref.render(),
        } == arguments
        assert LOG == await context.retrieve(ref.key)
        assert ref.key in context.shown_keys()
        assert ref.key in context.trusted_keys()
        stats = context.stats()
        assert (1, 1) == (stats.late_folds, stats.folds)

    async def test_states_keep_them(self, context: MemoryContext) -> None:
        """A state that was saved then says the same when it is loaded."""
        written = call("write_file", arguments=WRITTEN)
        await fill(context, user("Write it."), written, results("done", name="write_file"))
        prompt = await talk(context)
        state = await context.save_state()
        await context.load_state(json.loads(json.dumps(state)))

        assert prompt == await context.get_messages()

    async def test_redacted_when_stored(self) -> None:
        """What a policy takes away is in no text of the model's own that is stored, nor in its preview."""
        policy = FoldPolicy(redact=[lambda text: text.replace("worker", "____")])
        context = MemoryContext("ann", store="sqlite://", recall=False, fold=policy)
        answer = AssistantMessage(content=f"{LOG}\n" * 2, source="coder")
        written = call("write_file", arguments=WRITTEN)
        await fill(context, user("Write it."), written, results("done", name="write_file"), answer)
        prompt = await talk(context)

        stored = [item.text for item in context.manager.memory_store.list_all(Scope("ann"))]
        assert 2 == len(stored)
        assert "worker" not in repr([stored, prompt])
        assert "____-1" in repr(prompt)

    async def test_what_names_a_secret_is_as_secret(self, context: MemoryContext) -> None:
        """What a model wrote about a secret is stored under the rules of secrets."""
        await context.store("hunter2", key="door", type="secret")
        arguments = json.dumps({"content": f"[MemoryRef: door]\n{LOG}"})
        written = call("write_file", arguments=arguments)
        await fill(context, user("Write it."), written, results("done", name="write_file"))
        await talk(context)

        facts = {"memory_type": "message", "tags": "secret"}
        assert 1 == context.manager.memory_store.count(context.manager.scope, facts)

    @each_way("how", "nested")
    async def test_in_langchain(self, store: MemoryStore, how: str, nested: bool) -> None:
        """The same in LangChain, at top level in the state too."""

        @tool
        def write_file(path: str, content: str) -> str:
            """Write a file."""
            return f"{len(content)} characters in {path}"

        memory = memory_of(store)
        script: list[Any] = [[lc_call("write_file", path="a", content=LOG)]]
        agent, model = agent_of(
            [*script, *["Yes."] * 12], memory, tools=[write_file], nested=nested
        )
        await run(agent, "Write it.", how)
        for number in range(10):
            messages = await run(agent, turn(number), how)

        assert {"path": "a", "content": LOG} == arguments_in(model.prompts[1])
        arguments = arguments_in(model.prompts[-1])
        ref = MemoryRef.parse(arguments["content"])
        assert "a" == arguments["path"]
        assert LOG == MemoryManager(store, user_id="42").retrieve(ref.key)
        assert 1 == memory.stats().late_folds == changed_prefixes(model)
        if not nested:
            [kept] = [one for one in messages if isinstance(one, AIMessage) and one.tool_calls]
            assert LOG not in str(kept)


async def test_long_answers(context: MemoryContext) -> None:
    """A model's own long text is folded, with a preview, when that pays."""
    await fill(context, user("Show me the log."), AssistantMessage(content=LOG, source="coder"))
    prompt = await talk(context)

    ref = MemoryRef.find_all(shown(prompt[1]))[0]
    assert shown(prompt[1]).startswith(ref.render())
    assert LOG == await context.retrieve(ref.key)


class TestReaders:
    """Tools that read files."""

    async def test_a_page_is_seen(self, context: MemoryContext) -> None:
        """A coding agent that reads 100 lines sees 100 lines; of another tool they are folded."""
        reading = call("read_file"), results(HUNDRED_LINES, name="read_file")
        prompt = await fill(context, user("Look."), *reading)
        assert HUNDRED_LINES == shown(prompt[2])

        prompt = await fill(context, call("run", number=2), results(HUNDRED_LINES, number=2))
        assert HUNDRED_LINES == shown(prompt[2])
        assert shown(prompt[4]).startswith("[MemoryRef: run_")

    async def test_the_name_of_a_server_before_its_own(self, context: MemoryContext) -> None:
        """A tool that reads files is one behind the name of its server, too; `page_view` is another tool."""
        reader = "files_read_text_file"
        reading = call(reader), results(HUNDRED_LINES, name=reader)
        prompt = await fill(context, user("Look."), *reading)
        assert HUNDRED_LINES == shown(prompt[2])

        other = results(HUNDRED_LINES, number=2, name="page_view")
        prompt = await fill(context, call("page_view", number=2), other)
        assert shown(prompt[4]).startswith("[MemoryRef: page_view_")

    async def test_more_than_a_page(self, context: MemoryContext) -> None:
        """What is longer than a page is folded at once; so is what the user's own threshold says."""
        prompt = await fill(
            context, user("Look."), call("grep"), results(LOG + LOG + LOG, name="grep")
        )
        assert shown(prompt[2]).startswith("[MemoryRef: grep_")

        policy = FoldPolicy(tool_thresholds={"grep": 300})
        own = MemoryContext("ann", store="sqlite://", recall=False, fold=policy)
        prompt = await fill(own, user("Look."), call("grep"), results(HUNDRED_LINES, name="grep"))
        assert shown(prompt[2]).startswith("[MemoryRef: grep_")

    async def test_folded_when_it_pays(self, context: MemoryContext) -> None:
        """When it has been read often enough, its reference takes its place."""
        await fill(
            context, user("Look."), call("read_file"), results(HUNDRED_LINES, name="read_file")
        )
        prompt = await talk(context, 20)

        ref = MemoryRef.find_all(shown(prompt[2]))[0]
        assert HUNDRED_LINES == await context.retrieve(ref.key)


class TestPages:
    """What `retrieve_memory` and `query_memory` have shown."""

    async def test_folded_to_its_heading(self, context: MemoryContext) -> None:
        """A page that was read long ago leaves its heading: no second copy is stored, and nothing of it is in sight."""
        [_, _, folded] = await fill(context, user("Run."), call("run"), results(LOG))
        [ref] = MemoryRef.find_all(shown(folded))
        reading = next(tool for tool in context.tools() if tool.name == "retrieve_memory")
        page = await reading.run_json({"key": ref.key}, CancellationToken())
        wanted = call("retrieve_memory", number=2, arguments=json.dumps({"key": ref.key}))
        text = reading.return_value_as_string(page)
        await fill(context, wanted, results(text, number=2, name="retrieve_memory"))
        assert 1 == context.stats().asked_again
        before = context.manager.memory_store.count(context.manager.scope)

        # A model works with what it asked for: each of the next calls sees the page, whatever it is about.
        for number in range(3, 7):
            prompt = await fill(context, call("run", number=number), results("ok", number=number))
            assert text == shown(prompt[4])
        prompt = await talk(context, 20)

        heading = shown(prompt[4])
        assert heading.startswith(f"[MemoryRef: {ref.key}")
        assert heading.endswith("the same call shows it again.)")
        assert len(heading.split("\n")) <= 3
        assert before == context.manager.memory_store.count(context.manager.scope)
        assert ref.key in context.shown_keys()

    async def test_answers_of_queries(self, context: MemoryContext) -> None:
        """A page of a query's answer stays for five calls; later its first lines are left, which say what it showed."""
        answer = "rows 1-400 of 400\nn,name\n" + "\n".join(f"{n},item {n}" for n in range(400))
        wanted = call("query_memory", number=1, arguments='{"sql": "SELECT n, name FROM items"}')
        await fill(context, user("List."), wanted, results(answer, name="query_memory"))

        for number in range(2, 6):
            prompt = await fill(context, call("run", number=number), results("ok", number=number))
            assert answer == shown(prompt[2])
        prompt = await talk(context, 20)

        heading = (
            "rows 1-400 of 400\nn,name\n(You have read this page; the same call shows it again.)"
        )
        assert heading == shown(prompt[2])
        # References are explained at the first one, which this heading is not.
        prompt = await fill(context, call("run", number=9), results(LOG, number=9))
        assert shown(prompt[-1]).endswith(prompts.ABOUT_REFERENCES)
        assert heading == shown(prompt[2])

    async def test_what_is_left_is_not_folded_again(self, context: MemoryContext) -> None:
        """The heading of a query's answer is not due again, even if its names alone are above the threshold."""
        # Each of these characters takes several tokens.
        names = "\N{CUNEIFORM SIGN A}," * 200
        answer = f"rows 1-400 of 400\n{names}\n" + "1,\n" * 4000
        await fill(
            context, user("List."), call("query_memory"), results(answer, name="query_memory")
        )
        await talk(context, 20)

        messages = context._history.messages  # noqa: SLF001 - what the next call will see
        assert messages[2].text.endswith(prompts.PAGE_WAS_READ)
        folder = context._conversation.folder  # noqa: SLF001 - the one that decides about them
        assert not due_messages(messages, len(messages), folder)


async def test_the_task_of_another_agent_is_never_due() -> None:
    """What another agent began the conversation with stays whole; what it says later is folded when that pays."""
    report = "\n".join(LOG.split("\n")[:60])
    context = MemoryContext("ann", store="sqlite://", recall=False, fold="after_reading")
    await fill(context, user(report, source="planner"))
    await talk(context, 20)
    messages = context._history.messages  # noqa: SLF001 - what the next call will see
    folder = context._conversation.folder  # noqa: SLF001 - the one that decides about them

    assert not due_messages(messages, len(messages), folder)
    first, *others = messages
    assert [1] == due_messages([others[0], first, *others], len(messages), folder)


@pytest.mark.long
async def test_nothing_large_nothing_changed(context: MemoryContext) -> None:
    """A conversation without such texts is never rewritten."""
    seen = list[LLMMessage]()
    for number in range(20):
        prompt = await fill(context, call("run", number=number), results(LOG, number=number))
        assert seen == prompt[: len(seen)]
        seen = prompt
    assert 0 == context.stats().late_folds
    assert isinstance(seen[-1], FunctionExecutionResultMessage)
