"""A conversation's first placeholder says what a reference is; one that folds nothing does not pay for it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal

import pytest
from autogen_core.models import AssistantMessage, LLMMessage

from for_each import for_each
from langchain_memory_context import MemoryContextMiddleware
from memory_context import FoldPolicy, MemoryContext, MemoryRef
from memory_context.sentences_models_read import ABOUT_REFERENCES
from messages import LOG, call, dumps, results, user
from test_context import fill, shown
from test_middleware import agent_of, run


def context_of(fold: FoldPolicy | Literal["at_once", "after_reading"] = "at_once") -> MemoryContext:
    """A context that recalls nothing."""
    return MemoryContext("ann", store="sqlite://", fold=fold, recall=False)


def saying(prompt: Sequence[LLMMessage]) -> list[int]:
    """The places of the messages that say it."""
    return [place for place, one in enumerate(prompt) if ABOUT_REFERENCES in str(one.content)]


async def test_first_placeholder_only() -> None:
    """It stands below the first one, not below the next, and not where nothing is folded."""
    context = context_of()
    small = await fill(context, user("Run it."), call("run"), results("done"))
    assert saying(small) == []

    first = await fill(context, call("run", number=2), results(LOG, number=2))
    later = await fill(context, call("run", number=3), results(LOG[:9000], number=3))

    assert saying(first) == saying(later) == [4]
    assert shown(first[4]).endswith(f"\n{ABOUT_REFERENCES}")
    assert dumps(first) == dumps(later)[: len(first)]


async def test_once_for_results_side_by_side() -> None:
    """Of results that come together the first that is folded says it."""
    prompt = await fill(context_of(), call("run", "run", "run"), results("ok", LOG, LOG[:9000]))

    assert 1 == json.dumps(dumps(prompt)).count("Such references stand for")


async def test_what_was_seen_stays() -> None:
    """A placeholder that a model has seen without it stays as it is; the next one says it, after a restart too."""
    old = context_of(FoldPolicy(instructions=False))
    seen = await fill(old, call("run"), results(LOG))
    assert saying(seen) == []
    state = json.loads(json.dumps(await old.save_state()))
    context = MemoryContext("ann", store=old.manager.memory_store, recall=False)
    await context.load_state(state)

    prompt = await fill(context, call("run", number=2), results(LOG[:9000], number=2))

    assert saying(prompt) == [3]
    assert dumps(seen) == dumps(prompt)[:2]
    await context.load_state(json.loads(json.dumps(await context.save_state())))
    longer = await fill(context, call("run", number=3), results(LOG[:8000], number=3))
    assert saying(longer) == [3]


async def test_late_folds_say_it() -> None:
    """What is folded once it was read says it, too."""
    context = context_of("after_reading")
    prompt = await fill(context, call("run"), results(LOG[:4000]))
    assert saying(prompt) == []
    for number in range(12):
        answer = AssistantMessage(content=f"Yes, {number}.", source="coder")
        prompt = await fill(context, user(f"Is it {number}?"), answer)

    assert saying(prompt) == [1]


async def test_a_compaction_says_it_on() -> None:
    """The note on compacted messages says it, if none that stays does."""
    context = MemoryContext("ann", store="sqlite://", recall=False, max_tokens=1500)
    prompt = await fill(context, user("Run it."), call("run"), results(LOG))
    assert saying(prompt) == [2]
    for number in range(30):
        answer = AssistantMessage(content=f"Yes, {number}. {'word ' * 60}", source="coder")
        prompt = await fill(context, user(f"Is it {number}?"), answer)
        assert len(saying(prompt)) == 1

    assert context.stats().compactions > 1


async def test_dumped_contexts_keep_the_setting() -> None:
    """A context that was dumped without it is loaded without it."""
    context = MemoryContext("ann", store="sqlite:///x.db", fold=FoldPolicy(instructions=False))

    loaded = MemoryContext.load_component(context.dump_component())

    assert not loaded.fold_policy.instructions


@pytest.mark.long
@for_each(
    "settings, said",
    [
        ({}, 1),
        ({"fold": FoldPolicy(instructions=False)}, 0),
    ],
)
async def test_in_langchain(settings: dict[str, Any], said: int) -> None:
    """The middleware says it by itself; ``instructions=False`` of a policy leaves it."""
    middleware = MemoryContextMiddleware("sqlite://", user_id="ann", recall=False, **settings)
    log = {"name": "read_log", "args": {}, "type": "tool_call"}
    script = [[{**log, "id": "a"}], [{**log, "id": "b"}], "done"]
    agent, model = agent_of(script, middleware)

    state = await run(agent, "Read it twice.")

    for messages in (model.prompts[-1], state):
        texts = [str(message.content) for message in messages]
        assert said == sum(text.count(ABOUT_REFERENCES) for text in texts)
    assert 2 == sum(bool(MemoryRef.find_all(str(message.content))) for message in state)
