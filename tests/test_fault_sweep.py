"""Any conversation, any faults of the store, in any order: the laws hold. And what a slow failure costs."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from itertools import repeat
from typing import Any

import pytest
from autogen_core.models import LLMMessage
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest_mock import MockerFixture

from memory_context import FoldPolicy, MemoryContext, MemoryRef, RecallPolicy, SQLAlchemyStore
from memory_context.runtime import circuit_breaker
from memory_context.runtime.circuit_breaker import SLOW_FAILURE
from memory_context.stores import Codec, Compressed, Encrypted
from memory_context.testing import Fault, FaultyStore, check_prompt
from messages import LOG, conversations, dumps, results, texts_of
from test_agents_under_faults import check_folds, check_kept
from test_context import fill, shown
from under_faults import DELAY, SOAK

pytestmark = pytest.mark.long

faults = st.lists(st.sampled_from([None, None, *Fault]), max_size=80)
policies = st.fixed_dictionaries(
    {
        "max_tokens": st.sampled_from([None, 2000, 6000]),
        "fold": st.builds(
            FoldPolicy,
            fold=st.sampled_from(["at_once", "after_reading"]),
            read_cap=st.just(20_000),
        ),
        "recall": st.builds(
            RecallPolicy, results=st.booleans(), user_layer_tokens=st.sampled_from([0, 300])
        ),
    }
)


async def converse(
    messages: Sequence[LLMMessage],
    plan: Sequence[Fault | None],
    policy: dict[str, Any],
    codec: Codec | None,
) -> int:
    """Lead a conversation on a store that fails by a plan, and check the laws; how many faults it met."""
    store = FaultyStore(SQLAlchemyStore("sqlite://", codec=codec), plan, delay=DELAY)
    context = MemoryContext("ann", store=store, thread_id="t", **policy)
    seen, changes = list[str](), 0
    for message in messages:
        await context.add_message(message)
        prompt = await context.get_messages()
        check_prompt(prompt, open_calls=True)
        changes += dumps(prompt)[: len(seen)] != seen
        seen = dumps(prompt)
    stats = context.stats()
    assert changes <= stats.compactions + stats.late_folds
    assert len(messages) == stats.messages

    store.inject(())
    check_kept(context, [text for message in messages for text in texts_of(message)])
    other = MemoryContext("ann", store=store, thread_id="t", **policy)
    await other.load_state(json.loads(json.dumps(await context.save_state())))
    check_kept(other, [text for message in messages for text in texts_of(message)])
    await check_folds(context)
    store.close()
    return len(store.injected)


@pytest.mark.parametrize(
    ("codec", "examples"),
    [
        (None, 40),
        (Compressed(), 10),
        (Encrypted({"one": bytes(32)}), 20),
        pytest.param(None, 1000, marks=SOAK),
        pytest.param(Encrypted({"one": bytes(32)}), 500, marks=SOAK),
    ],
)
def test_any_faults(told: Callable[[str], None], codec: Codec | None, examples: int) -> None:
    """Whatever fails when, prompts are valid, what was seen stays, every text is there, and the next one is folded."""
    met = list[int]()

    @settings(max_examples=examples, deadline=None, database=None)
    @given(conversations(), faults, policies)
    def sweep(messages: list[LLMMessage], plan: list[Fault | None], policy: dict[str, Any]) -> None:
        met.append(asyncio.run(converse(messages, plan, policy, codec)))

    sweep()
    assert sum(met) > 0
    kind = type(codec).__name__ if codec else "no codec"
    told(f"{kind}: {len(met)} conversations met {sum(met)} faults")


@pytest.mark.parametrize("pause", [None, pytest.param(circuit_breaker.PAUSE, marks=SOAK)])
async def test_slow_failures_are_few(mocker: MockerFixture, pause: float | None) -> None:
    """After a failure that was slow the store is left alone for a while, each text stays; then it is tried again."""
    store = FaultyStore("sqlite://", delay=SLOW_FAILURE * 1.1 if pause else 0)
    context = MemoryContext("ann", store=store, recall=False)
    guard = context._conversation.fail_open  # noqa: SLF001
    mocker.patch.object(circuit_breaker, "SLOW_FAILURE", SLOW_FAILURE)
    if pause is None:
        mocker.patch.object(circuit_breaker, "SLOW_FAILURE", -1)  # any failure is slow
        guard.breaker.pause = 3600
    store.inject(repeat(Fault.LOCKED))
    for number in range(5):
        assert f"{number} {LOG}" == shown((await fill(context, results(f"{number} {LOG}")))[-1])
    assert 1 == len(store.injected)
    assert 5 == context.stats().store_failures

    store.inject(())
    if pause is None:
        guard.breaker.paused_until = 0
    else:
        await asyncio.sleep(guard.breaker.paused_until - time.monotonic())
    messages = await fill(context, results(LOG))
    assert LOG == await context.retrieve(MemoryRef.find_all(shown(messages[-1]))[0].key)
