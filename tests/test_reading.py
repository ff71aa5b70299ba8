"""``fold="after_reading"``: each output is read once in full, and folded later, in batches, when that pays."""

from __future__ import annotations

import asyncio
import json

import pytest
from autogen_core.models import AssistantMessage, FunctionExecutionResultMessage, LLMMessage
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from for_each import for_each
from memory_context import FoldPolicy, MemoryContext, MemoryRef, exceptions
from memory_context.conversation.folding.late_folds import ReadText, late_fold_start
from memory_context.model.item import encodable
from memory_context.testing import check_prompt
from messages import LOG, call, conversations, dumps, results, user
from test_context import fill, shown

MEDIUM = "\n".join(LOG.split("\n")[:60])


def reader(**settings: object) -> MemoryContext:
    """A context that folds after reading."""
    values = {"fold": "after_reading", "recall": False, **settings}
    return MemoryContext("ann", store="sqlite://", **values)  # type: ignore[arg-type]


async def turn(context: MemoryContext, number: int, text: str = MEDIUM) -> list[LLMMessage]:
    """A call and its result; gives the prompt that the next call sees."""
    return await fill(
        context, call("run", number=number), results(f"{number}\n{text}", number=number)
    )


async def test_read_in_full_then_folded() -> None:
    """The first call sees the whole text; when it has been read often enough, its reference takes its place."""
    context = reader()
    first = await turn(context, 1)
    assert f"1\n{MEDIUM}" == shown(first[1])

    prompts = [await turn(context, number) for number in range(2, 11)]

    assert all(
        f"{number}\n{MEDIUM}" == shown(prompt[-1]) for number, prompt in enumerate(prompts, 2)
    )
    ref = MemoryRef.find_all(shown(prompts[-1][1]))[0]
    assert f"1\n{MEDIUM}" == await context.retrieve(ref.key)
    assert context.stats().late_folds >= 1
    assert context.stats().folds >= 3


async def test_changes_are_batches() -> None:
    """What was seen changes only where a batch is folded, and every such change is counted."""
    context, seen, changes = reader(), list[str](), 0
    for number in range(1, 30):
        now = dumps(await turn(context, number))
        changes += now[: len(seen)] != seen
        seen = now

    assert changes == context.stats().late_folds
    assert changes < 29


async def test_too_large_to_read() -> None:
    """Texts over the cap are folded at once."""
    context = reader(fold=FoldPolicy(fold="after_reading", read_cap=1000))

    assert shown((await turn(context, 1, LOG))[1]).startswith("[MemoryRef: run_")
    assert shown((await turn(context, 2, MEDIUM[:2000]))[3]).startswith("2\n")


async def test_small_texts_stay() -> None:
    """Texts below the threshold are never folded."""
    context = reader()
    for number in range(20):
        prompt = await turn(context, number, "small")

    assert all(
        "small" in shown(message)
        for message in prompt
        if isinstance(message, FunctionExecutionResultMessage)
    )


async def test_state(sqlite_url: str) -> None:
    """A saved state knows what is to be folded, and how often it was read."""
    settings = {"store": sqlite_url, "fold": "after_reading", "recall": False}
    context = MemoryContext("ann", **settings)  # type: ignore[arg-type] # settings
    for number in range(1, 3):
        await turn(context, number)
    loaded = MemoryContext("ann", **settings)  # type: ignore[arg-type] # settings
    await loaded.load_state(json.loads(json.dumps(await context.save_state())))

    for number in range(3, 9):
        assert dumps(await turn(context, number)) == dumps(await turn(loaded, number))


async def test_store_down() -> None:
    """If the store fails when a batch is due, the texts stay, and are folded when it is back."""
    context = MemoryContext(
        "ann", store="sqlite:///nowhere/memory.db", fold="after_reading", recall=False
    )

    for number in range(1, 16):
        prompt = await turn(context, number)

    assert context.stats().store_failures >= 1
    assert all(
        MEDIUM in shown(message)
        for message in prompt
        if isinstance(message, FunctionExecutionResultMessage)
    )


async def test_with_a_limit() -> None:
    """Together with a limit, prompts stay below it and nothing is lost."""
    context = reader(max_tokens=4000)
    for number in range(1, 20):
        prompt = await turn(context, number)
        check_prompt(prompt)
    assert context.stats().compactions >= 1


def test_component(sqlite_url: str) -> None:
    """The policy is part of the component; another word for it is refused."""
    context = MemoryContext(
        "ann", store=sqlite_url, fold=FoldPolicy(fold="after_reading", read_cap=900)
    )
    loaded = MemoryContext.load_component(context.dump_component())

    assert context.fold_policy == loaded.fold_policy
    with pytest.raises(exceptions.InvalidArgumentError, match="after_reading"):
        MemoryContext("ann", store="sqlite://", fold="later")  # type: ignore[arg-type] # bad on purpose


@for_each(
    "readings, seen, expected",
    [
        ([], [100], None),
        ([ReadText(0, 1000, 1)], [1250], None),
        ([ReadText(0, 1000, 3)], [1250], 0),
        ([ReadText(0, 1000, 3)], [1250, 5000], None),
        ([ReadText(0, 1000, 48)], [1250, 5000], 0),
        ([ReadText(0, 1000, 2), ReadText(2, 1000, 2)], [1250, 300, 1250], None),
        ([ReadText(0, 1000, 9), ReadText(2, 1000, 2)], [1250, 300, 1250], 0),
        ([ReadText(0, 1000, 1), ReadText(2, 1000, 3)], [1250, 9000, 1250], 2),
    ],
)
def test_rent_or_buy(readings: list[ReadText], seen: list[int], expected: int | None) -> None:
    """A batch is due when its rent has come to the price of rewriting what was seen behind it."""
    assert expected == late_fold_start(readings, seen)


@examples(40)
@given(conversations(), st.data())
def test_any_conversation(messages: list[LLMMessage], data: st.DataObject) -> None:
    """Any legal conversation makes legal prompts in which each text stands, encodable, or the reference that redeems it."""

    async def run() -> None:
        context = reader()
        prompt: list[LLMMessage] = []
        for message in messages:
            await context.add_message(message)
            if data.draw(st.booleans()):
                await context.get_messages()
        prompt = await context.get_messages()
        check_prompt(prompt)
        for before, after in zip(messages, prompt, strict=True):
            if isinstance(before, FunctionExecutionResultMessage) and isinstance(
                after, FunctionExecutionResultMessage
            ):
                for old, new in zip(before.content, after.content, strict=True):
                    refs = MemoryRef.find_all(new.content.partition("\n")[0])
                    sent = encodable(old.content)
                    assert sent == new.content or old.content == await context.retrieve(refs[0].key)
        await context.aclose()

    asyncio.run(run())


async def test_persons_words_are_not_rewritten_early() -> None:
    """A person's long message below their threshold is theirs: it stays as it is."""
    context = reader()
    text = "\n".join(f"wish {i}" for i in range(600))

    for number in range(1, 6):
        prompt = await fill(
            context, user(f"{number} {text}"), AssistantMessage(content="ok", source="coder")
        )

    assert f"1 {text}" == shown(prompt[0])
