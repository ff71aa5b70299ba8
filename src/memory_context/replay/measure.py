"""Replay one policy on recorded runs: what its prompts hold, and what they cost."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from time import perf_counter
from typing import TypeAlias, TypeVar

from memory_context.model.reference import MemoryRef
from memory_context.replay.needed_values import shows
from memory_context.replay.needs_by_call import NeededValue, needs_by_call
from memory_context.replay.policies_by_name import Policy
from memory_context.replay.prices import ChargedMessage, Price, charged, tokens_of, tokens_of_prefix
from memory_context.replay.recording_as_messages import Recording, together
from memory_context.replay.token_meter import TokenMeter

T = TypeVar("T")
Prompt: TypeAlias = Sequence[ChargedMessage]


@dataclass(frozen=True, slots=True)
class Figures:
    """Sums over model calls.

    Attributes:
        calls: Model calls.
        tokens: Tokens of their prompts.
        cost: What they cost, trips included, in tokens at full price.
        all_counted: The same with the schemas of the policy's tools, which every request carries.
        needed: Values that the recorded model used and that stood only in earlier outputs.
        named: Those of them whose name stood in the prompt.
        visible: Those of them that stood in the prompt with neighbours.
        lost: Those that neither stood there so nor behind a reference.
        trips: Calls that needed a value from behind a reference.
        peaks: The tokens of the largest prompt of each run.
        seconds: The wall time that the policy took to take messages and to make prompts.
    """

    calls: int = 0
    tokens: int = 0
    cost: float = 0.0
    all_counted: float = 0.0
    needed: int = 0
    named: int = 0
    visible: int = 0
    lost: int = 0
    trips: int = 0
    peaks: tuple[int, ...] = ()
    seconds: float = field(default=0.0, compare=False)

    def __add__(self, other: Figures) -> Figures:
        return Figures(
            *(getattr(self, one.name) + getattr(other, one.name) for one in fields(self))
        )


class StoredTexts:
    """The stored texts of one run, by their keys, and the keys that texts name; each is read once."""

    def __init__(self, read: Callable[[str], str | None]) -> None:
        # The same messages stand in every later prompt, and name the same texts.
        self._text = cache(read)
        self._keys_in = cache(_keys_in)

    def behind(self, prompt: Iterable[ChargedMessage]) -> dict[str, str]:
        """Return the texts behind the references of a prompt, and behind those in such texts, by their keys."""
        found = dict[str, str]()
        unread = [message.text for message in prompt]
        while unread:
            for key in self._keys_in(unread.pop()):
                text = None if key in found else self._text(key)
                if text is not None:
                    found[key] = text
                    unread.append(text)
        return found


def _keys_in(text: str) -> list[str]:
    return [ref.key for ref in MemoryRef.find_all(text)]


@dataclass(frozen=True, slots=True)
class Sight:
    """What a model call needed, and where a prompt leaves it.

    Attributes:
        named: What stands in the prompt by its name.
        visible: What stands in it with neighbours.
        hidden: What does not.
        behind: For each hidden value that can be looked up, the key of a stored text that holds it.
    """

    named: Sequence[NeededValue]
    visible: Sequence[NeededValue]
    hidden: Sequence[NeededValue]
    behind: Mapping[str, str]


async def measure(
    recordings: Iterable[Recording],
    policy: Policy,
    meter: TokenMeter,
    price: Price | None = None,
) -> Figures:
    """Return the figures of `policy`, summed over all model calls of `recordings`.

    Adds every message of a recording to a fresh context of the policy's, and asks for a prompt
    before each message of the assistant.
    """
    total = Figures()
    for recording in recordings:
        needs = needs_by_call(recording.messages, meter)
        total += summed(await replay(recording, needs, policy, meter, price or Price()))
    return total


def summed(calls: Sequence[Figures]) -> Figures:
    """Return the sums over the model calls of one run, which has one peak."""
    total = Figures()
    for call in calls:
        total += call
    return replace(total, peaks=(max(total.peaks, default=0),))


async def replay(
    recording: Recording,
    needs: Iterable[Sequence[NeededValue]],
    policy: Policy,
    meter: TokenMeter,
    price: Price,
    watch: Callable[[Prompt, Sight, Figures], object] | None = None,
) -> list[Figures]:
    """Return the figures of each model call of `recording`, whose `needs` are those of `needs_by_call`.

    `watch` is shown each call as it is replayed: its prompt, what of its needs stands in that, and its figures.
    """
    replayed = policy.open(meter)
    texts = StoredTexts(replayed.stored)
    seconds = 0.0

    async def timed(work: Awaitable[T]) -> T:
        nonlocal seconds
        start = perf_counter()
        result = await work
        seconds += perf_counter() - start
        return result

    try:
        unanswered = iter(needs)
        calls = list[Figures]()
        before: Prompt = ()
        for messages in together(recording.messages):
            if messages[0].role == "assistant":
                spent = replayed.spent()
                prompt = list(map(charged, await timed(replayed.context.prompt())))
                sight = sight_of(next(unanswered), prompt, texts, meter)
                figures = figures_of(prompt, before, sight, meter, price)
                cost = figures.cost + replayed.spent() - spent
                # They stand before everything, so only the first request pays for them in full.
                carried = price.call(replayed.carried, replayed.carried if calls else 0)
                calls.append(replace(figures, cost=cost, all_counted=cost + carried))
                if watch:
                    watch(prompt, sight, calls[-1])
                before = prompt
                # A context that never waits would keep Ctrl-C out until the end of the run.
                await asyncio.sleep(0)
            await timed(replayed.context.add(messages))
        return [replace(call, seconds=seconds / len(calls)) for call in calls]
    finally:
        await replayed.close()


def sight_of(
    needs: Sequence[NeededValue], prompt: Prompt, texts: StoredTexts, meter: TokenMeter
) -> Sight:
    """Return where a prompt leaves what its call needed; `texts` holds what is behind its references."""
    # Only where something is needed: squashing a whole prompt is dear.
    shown = [meter.squash(message.text) for message in prompt] if needs else []
    named = [need for need in needs if any(need.word in text for text in shown)]
    visible = [
        need for need in named if any(shows(need.word, need.passages, text) for text in shown)
    ]
    hidden = [need for need in needs if need not in visible]

    behind = dict[str, str]()
    stored = texts.behind(prompt) if hidden else {}
    for need in hidden:
        key = next((key for key, text in stored.items() if need.value in text), None)
        if key:
            behind[need.value] = key
    return Sight(named, visible, hidden, behind)


def figures_of(
    prompt: Prompt, before: Prompt, sight: Sight, meter: TokenMeter, price: Price
) -> Figures:
    """Return the figures of one call, whose run had *before* as the prompt before it."""
    tokens = tokens_of(prompt, meter)
    cost = price.call(tokens, tokens_of_prefix(before, prompt, meter))
    if sight.behind:
        # One trip for a call, whatever it needs; the largest of the outputs says what it costs.
        fetched = max(need.output for need in sight.hidden if need.value in sight.behind)
        cost += price.trip(tokens, fetched)
    return Figures(
        calls=1,
        tokens=tokens,
        cost=cost,
        needed=len(sight.visible) + len(sight.hidden),
        named=len(sight.named),
        visible=len(sight.visible),
        lost=len(sight.hidden) - len(sight.behind),
        trips=1 if sight.behind else 0,
        peaks=(tokens,),
    )
