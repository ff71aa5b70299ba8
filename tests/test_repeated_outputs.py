"""The same output again costs one line that names the first one's key, while that one is in sight."""

from __future__ import annotations

from typing import Any

import pytest
from autogen_core.models import AssistantMessage, LLMMessage
from langchain.agents import create_agent
from langchain.agents.middleware import (
    ClearToolUsesEdit,
    ContextEditingMiddleware,
    SummarizationMiddleware,
)
from langchain_core.messages import ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from for_each import first_quick
from langchain_memory_context.testing import ScriptedChatModel
from langchain_memory_context.testing import call as lc_call
from memory_context import MemoryContext, MemoryRef
from memory_context.stores import MemoryStore, SQLAlchemyStore
from messages import LOG, call, results, user
from test_context import fill
from test_context import shown as text_of
from test_middleware_features import agent_of, each_way, memory_of, run, store

__all__ = ["store"]


def assert_names_the_first(first: str, again: str) -> None:
    """Check that *first* has a preview, and *again* only its reference and a remark."""
    key = MemoryRef.parse(first.splitlines()[0]).key
    reference, remark = again.splitlines()
    assert MemoryRef.parse(reference).key == key
    assert remark == "(the same text came before)"
    assert len(first.splitlines()) > 2


def answer(words: int) -> AssistantMessage:
    """An answer of that many words."""
    return AssistantMessage(content="fine " * words, source="coder")


class TestAutoGen:
    """In `MemoryContext`."""

    async def test_one_line_that_names_the_first(self) -> None:
        """The second placeholder has the first one's key and no preview."""
        context = MemoryContext("ann", store="sqlite://", recall=False)
        prompt = await fill(
            context,
            user("Run it twice."),
            *(call("run", number=1), results(LOG, number=1)),
            *(call("run", number=2), results(LOG, number=2)),
        )
        assert_names_the_first(text_of(prompt[2]), text_of(prompt[4]))

    async def test_another_output_keeps_its_preview(self) -> None:
        """One line more makes it another text, with a key and a preview of its own."""
        context = MemoryContext("ann", store="sqlite://", recall=False)
        prompt = await fill(
            context,
            user("Run it twice."),
            *(call("run", number=1), results(LOG, number=1)),
            *(call("run", number=2), results(f"{LOG}\nworker-778 crashed too", number=2)),
        )
        first, again = text_of(prompt[2]), text_of(prompt[4])
        assert "(the same text came before)" not in again
        key = MemoryRef.parse(first.splitlines()[0]).key
        assert MemoryRef.parse(again.splitlines()[0]).key != key

    async def test_nearly_the_same_shows_what_changed(self) -> None:
        """New lines stand first, behind their numbers, below a line that names the earlier output and counts what is gone."""
        context = MemoryContext("ann", store="sqlite://", recall=False)
        lines = LOG.splitlines()
        lines[300:302] = ["quorum reached", "leader is worker-9"]
        prompt = await fill(
            context,
            user("Run it twice."),
            *(call("run", number=1), results(LOG, number=1)),
            *(call("run", number=2), results("\n".join(lines), number=2)),
        )
        key = MemoryRef.parse(text_of(prompt[2]).splitlines()[0]).key
        again = text_of(prompt[4]).splitlines()
        assert again[1:6] == [
            f"(as {key}, but for these lines, and 2 that are gone)",
            "…301",
            "quorum reached",
            "leader is worker-9",
            "(from all of it)",
        ]

    @pytest.mark.parametrize("tool", ["run", "other"])
    async def test_no_difference_is_shown(self, tool: str) -> None:
        """Of an output of which most is new, or of another tool's, no difference is shown."""
        context = MemoryContext("ann", store="sqlite://", recall=False)
        other = LOG if tool == "other" else "\n".join(line[::-1] for line in LOG.splitlines())
        prompt = await fill(
            context,
            user("Run it twice."),
            *(call("run", number=1), results(LOG, number=1)),
            *(call(tool, number=2), results(f"{other}\nquorum reached", number=2, name=tool)),
        )
        assert "but for these lines" not in text_of(prompt[4])

    async def test_out_of_sight_is_not_above(self) -> None:
        """In another conversation of the same user nothing stands above, so the preview stays."""
        context = MemoryContext("ann", store="sqlite://", recall=False)
        await fill(context, user("Run it."), call("run"), results(LOG))
        await context.clear()
        prompt = await fill(context, user("Run it."), call("run"), results(LOG))
        assert "(the same text came before)" not in text_of(prompt[2])

    async def test_recalled_lines_are_not_the_output(self) -> None:
        """Where only some lines of it were brought back from an earlier conversation, the output has its preview."""
        store = SQLAlchemyStore("sqlite://")
        earlier = MemoryContext("ann", store=store)
        await fill(earlier, user("Run it."), call("run"), results(LOG))
        context = MemoryContext("ann", store=store)
        await fill(context, user("Run it again and tell me about worker-777 as last time."))
        prompt = await context.get_messages()
        assert "worker-777" in prompt[0].content
        prompt = await fill(context, call("run"), results(LOG))
        assert "(the same text came before)" not in text_of(prompt[-1])

    async def test_a_compaction_takes_the_first_away(self) -> None:
        """A second one that no model has seen gets a preview if a compaction before that takes the first one away."""
        context = MemoryContext("ann", store="sqlite://", max_tokens=700, recall=False)
        beginning: list[LLMMessage] = [user("Hello."), answer(5), user("Run it.")]
        await fill(context, *beginning, call("run", number=1), results(LOG, number=1))
        prompt = await fill(
            context,
            *(answer(450), user("And now? Run it again.")),
            *(call("run", number=2), results(LOG, number=2)),
        )
        assert "messages that stood here" in text_of(prompt[2])
        assert "(the same text came before)" not in text_of(prompt[-1])
        assert "worker-777" in "\n".join(text_of(prompt[-1]).splitlines()[1:])


class TestLangChain:
    """In `MemoryContextMiddleware`."""

    @each_way("how", "nested")
    async def test_one_line_that_names_the_first(
        self, store: MemoryStore, how: str, nested: bool
    ) -> None:
        """The second placeholder has the first one's key and no preview."""
        script: list[Any] = [[lc_call("read_log", "a")], [lc_call("read_log", "b")], "Done."]
        agent, model = agent_of(script, memory_of(store), tools=[read_log], nested=nested)
        await run(agent, "Run it twice.", how)
        first, again = (
            str(message.content)
            for message in model.prompts[-1]
            if isinstance(message, ToolMessage)
        )
        assert_names_the_first(first, again)

    @pytest.mark.parametrize("is_first", first_quick([True, False]))
    def test_a_summary_takes_the_first_away(self, store: MemoryStore, is_first: bool) -> None:
        """A second one that no model has seen gets a preview if LangChain's summary takes the first one away before that."""
        memory, summary = memory_of(store), summary_of(6, keep=3)
        middleware = [memory, summary] if is_first else [summary, memory]
        script = [[lc_call("read_log")], "Done.", [lc_call("read_log")], "Done."]
        prompt, state = asked(script, middleware, "Read the log.", "Read it again.")
        assert "Summary." in prompt[0]
        assert "(the same text came before)" not in prompt[-1]
        assert "worker-777" in "\n".join(prompt[-1].splitlines()[1:])
        assert prompt[-1] in state

    def test_a_middleware_clears_the_first(self, store: MemoryStore) -> None:
        """A second one has a preview if another middleware keeps the first one out of the prompt, though not of the state."""
        clearing = ContextEditingMiddleware(edits=[ClearToolUsesEdit(trigger=100, keep=1)])
        script = [[lc_call("read_log")], "Done.", [lc_call("read_log")], "Done."]
        middleware = [clearing, memory_of(store)]
        prompt, state = asked(script, middleware, "Read the log.", "Read it again.")
        assert "[cleared]" in prompt[2]
        assert "(the same text came before)" not in prompt[-1]
        assert "worker-777" in "\n".join(prompt[-1].splitlines()[1:])
        assert prompt[-1] in state

    def test_what_a_model_has_seen_stays(self, store: MemoryStore) -> None:
        """A remark that a model has seen stays when a summary takes the first one away later."""
        middleware = [memory_of(store), summary_of(9, keep=4)]
        script = [[lc_call("read_log")], "Done.", [lc_call("read_log")], "Done.", "Fine."]
        questions = ("Read the log.", "Read it again.", "And now?")
        prompt, _ = asked(script, middleware, *questions)
        assert "Summary." in prompt[0]
        assert "(the same text came before)" in prompt[2]


@tool
def read_log() -> str:
    """Read the log."""
    return LOG


def summary_of(messages: int, keep: int) -> SummarizationMiddleware:
    """LangChain's summary in place of all but the newest messages, once there are that many."""
    return SummarizationMiddleware(
        ScriptedChatModel(["Summary."]), trigger=("messages", messages), keep=("messages", keep)
    )


def asked(script: list[Any], middleware: list[Any], *questions: str) -> tuple[list[str], list[str]]:
    """Ask an agent with that middleware, and return the texts of its last prompt and of its messages."""
    model = ScriptedChatModel(script)
    agent = create_agent(model, [read_log], middleware=middleware, checkpointer=InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "t"}}
    given: list[Any] = [{"messages": [("user", one)]} for one in questions]
    states = [agent.invoke(one, thread) for one in given]
    return [str(one.content) for one in model.prompts[-1]], [
        str(one.content) for one in states[-1]["messages"]
    ]
