"""Replay one policy on recorded runs, and measure what its prompts hold and what they cost."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from time import perf_counter
from typing import TypeAlias, TypeVar

from memory_context.model.reference import referenced_keys
from memory_context.replay.identifiers_needed_and_shown import shows
from memory_context.replay.needed_values_of_each_call import NeededValue
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
        cost: Their cost with trips, in tokens at full price.
        all_counted: The same, including the schemas of the policy's tools, which every request carries.
        needed: Values that the recorded model used and that were only in earlier outputs.
        named: Needed values that were in the prompt, at least by their bare names.
        visible: Needed values that were in the prompt together with neighbouring text.
        lost: Needed values that were neither visible nor behind a reference.
        trips: Calls that needed a value from behind a reference.
        peaks: The tokens of the largest prompt of each run.
        seconds: The wall time in which the policy added messages and built prompts.
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
        sums = [getattr(self, one.name) + getattr(other, one.name) for one in fields(self)]
        return Figures(*sums)


class StoredTexts:
    """The stored texts of one run by their keys, and the keys in each text; each is read once."""

    def __init__(self, read: Callable[[str], str | None]) -> None:
        # Cached, because the same messages are in every later prompt, with the same references.
        self._text = cache(read)
        self._keys_in = cache(referenced_keys)

    def behind(self, prompt: Iterable[ChargedMessage]) -> dict[str, str]:
        """Return the texts behind the references of a prompt, and behind references in those texts, by their keys."""
        found = dict[str, str]()
        unread = [message.text for message in prompt]
        while unread:
            for key in self._keys_in(unread.pop()):
                if key in found:
                    continue
                text = self._text(key)
                if text is not None:
                    found[key] = text
                    unread.append(text)
        return found


@dataclass(frozen=True, slots=True)
class Sight:
    """The values that a model call needed, by where they are.

    Attributes:
        named: Those in the prompt, at least by their bare names.
        visible: Those in the prompt together with neighbouring text.
        hidden: Those that are not visible.
        behind: For each hidden value that can be looked up, the key of a stored text that holds it.
    """

    named: Sequence[NeededValue]
    visible: Sequence[NeededValue]
    hidden: Sequence[NeededValue]
    behind: Mapping[str, str]


def summed(calls: Sequence[Figures]) -> Figures:
    """Return the sums over the model calls of one run; its peak is the largest of theirs."""
    total = sum(calls, start=Figures())
    return replace(total, peaks=(max(total.peaks, default=0),))


async def replay(
    recording: Recording,
    needs: Iterable[Sequence[NeededValue]],
    policy: Policy,
    meter: TokenMeter,
    price: Price,
    watch: Callable[[Prompt, Sight, Figures], object] | None = None,
) -> list[Figures]:
    """Return the figures of each model call of `recording`; its `needs` are the result of `needs_by_call`.

    `watch` is called for each model call with its prompt, where its needed values are, and its figures.
    """
    replayed = policy.open(meter)
    texts = StoredTexts(replayed.stored)
    seconds = 0.0

    async def timed(work: Awaitable[T]) -> T:
        """Await *work*, and add the seconds that it took."""
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
            if messages[0].is_reply:
                spent = replayed.spent()
                built = await timed(replayed.context.prompt())
                prompt = list(map(charged, built))
                sight = sight_of(next(unanswered), prompt, texts, meter)
                figures = figures_of(prompt, before, sight, meter, price)
                cost = figures.cost + replayed.spent() - spent
                # Schemas come before all messages, so only the first request pays for them in full.
                cached = replayed.carried if calls else 0
                carried = price.call(replayed.carried, cached)
                calls.append(replace(figures, cost=cost, all_counted=cost + carried))
                if watch:
                    watch(prompt, sight, calls[-1])
                before = prompt
                # Without this, a context that never waits would block Ctrl-C until the end of the run.
                await asyncio.sleep(0)
            await timed(replayed.context.add(messages))
        return [replace(call, seconds=seconds / len(calls)) for call in calls]
    finally:
        await replayed.close()


def sight_of(
    needs: Sequence[NeededValue], prompt: Prompt, texts: StoredTexts, meter: TokenMeter
) -> Sight:
    """Return where the values that a call needed are: in its prompt, or among `texts` behind its references."""
    if not needs:
        # At once, because squashing a whole prompt is slow.
        return Sight((), (), (), {})
    shown = [meter.squash(message.text) for message in prompt]
    named = [need for need in needs if any(need.word in text for text in shown)]

    def is_visible(need: NeededValue) -> bool:
        return any(shows(need.word, need.passages, text) for text in shown)

    visible = list(filter(is_visible, named))
    hidden = [need for need in needs if need not in visible]
    behind = dict[str, str]()
    if hidden:
        stored = texts.behind(prompt)
        for need in hidden:
            key = next((key for key, text in stored.items() if need.value in text), None)
            if key:
                behind[need.value] = key
    return Sight(named, visible, hidden, behind)


def figures_of(
    prompt: Prompt, before: Prompt, sight: Sight, meter: TokenMeter, price: Price
) -> Figures:
    """Return the figures of one call; *before* is the prompt of the previous call in its run."""
    tokens = tokens_of(prompt, meter)
    cost = price.call(tokens, tokens_of_prefix(before, prompt, meter))
    if sight.behind:
        # One trip per call, however many values it needs; its cost is that of the largest output.
        outputs = [need.output for need in sight.hidden if need.value in sight.behind]
        cost += price.trip(tokens, max(outputs))
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
