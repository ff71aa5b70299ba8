"""One policy on recorded runs: what its prompts hold, and what they cost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter

from autogen_core.models import AssistantMessage, LLMMessage

from memory_context.model.reference import MemoryRef
from memory_context.replay.needed_values import shows
from memory_context.replay.needs import Need, needs_of
from memory_context.replay.policies import Policy, Replayed
from memory_context.replay.prices import Entry, Price, entry, tokens_of, tokens_of_prefix
from memory_context.replay.recordings import Recording
from memory_context.replay.token_meter import Meter


@dataclass(frozen=True, slots=True)
class Figures:
    """Sums over model calls.

    Attributes:
        calls: Model calls.
        tokens: Tokens of their prompts.
        cost: What they cost, trips included, in tokens at full price.
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
    needed: int = 0
    named: int = 0
    visible: int = 0
    lost: int = 0
    trips: int = 0
    peaks: tuple[int, ...] = ()
    seconds: float = field(default=0.0, compare=False)

    def __add__(self, other: Figures) -> Figures:
        return Figures(
            self.calls + other.calls,
            self.tokens + other.tokens,
            self.cost + other.cost,
            self.needed + other.needed,
            self.named + other.named,
            self.visible + other.visible,
            self.lost + other.lost,
            self.trips + other.trips,
            self.peaks + other.peaks,
            self.seconds + other.seconds,
        )


@dataclass(frozen=True, slots=True)
class Call:
    """A model call of a recording, with a policy's prompt in place of the recorded one.

    Attributes:
        needs: What the recorded model used of earlier outputs.
        prompt: What the policy would have sent.
        before: What it would have sent for the call before; nothing at a run's first.
    """

    needs: Sequence[Need]
    prompt: Sequence[Entry]
    before: Sequence[Entry] = ()


@dataclass(slots=True)
class Shelf:
    """The stored texts of one run, by their keys, and the keys that texts name; each is read once."""

    read: Callable[[str], str | None]
    texts: dict[str, str] = field(default_factory=dict[str, str])
    _named: dict[str, list[str]] = field(default_factory=dict[str, list[str]])

    def behind(self, prompt: Iterable[Entry]) -> list[str]:
        """The texts behind the references of a prompt, and behind those in such texts."""
        found, waiting = dict[str, str](), [one.text for one in prompt]
        while waiting:
            for key in self._keys(waiting.pop()):
                text = None if key in found else self._text(key)
                if text is not None:
                    found[key] = text
                    waiting.append(text)
        return list(found.values())

    def _keys(self, text: str) -> list[str]:
        if text not in self._named:
            self._named[text] = [ref.key for ref in MemoryRef.find_all(text)]
        return self._named[text]

    def _text(self, key: str) -> str | None:
        if key not in self.texts and (text := self.read(key)) is not None:
            self.texts[key] = text
        return self.texts.get(key)


@dataclass(slots=True)
class Feed:
    """A policy's context that is fed one recording: its prompts, and the wall time that it took.

    Messages that stand in many prompts as one object are made an `Entry` once.
    """

    replayed: Replayed
    seconds: float = 0.0
    _entries: dict[int, tuple[LLMMessage, Entry]] = field(
        default_factory=dict[int, tuple[LLMMessage, Entry]]
    )

    async def add(self, message: LLMMessage) -> None:
        """Add a message of the recording."""
        start = perf_counter()
        await self.replayed.context.add_message(message)
        self.seconds += perf_counter() - start

    async def prompt(self) -> list[Entry]:
        """What the policy would send now."""
        start = perf_counter()
        messages = await self.replayed.context.get_messages()
        self.seconds += perf_counter() - start
        entries = {id(one): self._entries.get(id(one)) or (one, entry(one)) for one in messages}
        self._entries = entries  # only those of the newest prompt, and each with its message: an id lives as long as that
        return [entries[id(one)][1] for one in messages]


async def measure(
    recordings: Iterable[Recording], policy: Policy, meter: Meter, price: Price | None = None
) -> Figures:
    """The figures of `policy`, summed over all model calls of `recordings`.

    Every message of a recording is added to a fresh context of the policy's, and a prompt is asked for before each
    assistant message.
    """
    total = Figures()
    for recording in recordings:
        needs = needs_of(recording.messages, meter)
        total += summed(await replay(recording, needs, policy, meter, price or Price()))
    return total


def summed(calls: Sequence[Figures]) -> Figures:
    """The sums over the model calls of one run, which has one peak."""
    without = sum((replace(call, peaks=()) for call in calls), Figures())
    return replace(without, peaks=(max((call.tokens for call in calls), default=0),))


async def replay(
    recording: Recording,
    needs: Iterable[Sequence[Need]],
    policy: Policy,
    meter: Meter,
    price: Price,
) -> list[Figures]:
    """The figures of each model call of `recording`, whose `needs` are those of `needs_of`."""
    replayed = policy.open(meter)
    try:
        return await _run(recording, iter(needs), replayed, meter, price)
    finally:
        await replayed.close()


async def _run(
    recording: Recording,
    needs: Iterable[Sequence[Need]],
    replayed: Replayed,
    meter: Meter,
    price: Price,
) -> list[Figures]:
    found, before, feed, shelf, waiting = (
        list[Figures](),
        list[Entry](),
        Feed(replayed),
        Shelf(replayed.stored),
        iter(needs),
    )
    for message in recording.messages:
        if isinstance(message, AssistantMessage):
            prompt = await feed.prompt()
            found.append(figures_of(Call(next(waiting), prompt, before), shelf, meter, price))
            before = prompt
            await asyncio.sleep(
                0
            )  # contexts that never wait would keep Ctrl-C out until the run's end
        await feed.add(message)
    return [replace(one, seconds=feed.seconds / len(found)) for one in found]


def figures_of(call: Call, shelf: Shelf, meter: Meter, price: Price) -> Figures:
    """The figures of one call; what is behind the references of its prompt comes from `shelf`."""
    tokens = tokens_of(call.prompt, meter)
    shown = [meter.squash(one.text) for one in call.prompt] if call.needs else []
    named = [need for need in call.needs if any(need.word in text for text in shown)]
    visible = [
        need
        for need in named
        if any(shows(need.word, need.passages, text) for text in shown if need.word in text)
    ]
    hidden = [need for need in call.needs if need not in visible]
    stored = shelf.behind(call.prompt) if hidden else []
    away = [need for need in hidden if any(need.value in text for text in stored)]
    trip = price.trip(tokens, max(need.output for need in away)) if away else 0.0
    return Figures(
        calls=1,
        tokens=tokens,
        cost=price.call(tokens, tokens_of_prefix(call.before, call.prompt, meter)) + trip,
        needed=len(call.needs),
        named=len(named),
        visible=len(visible),
        lost=len(hidden) - len(away),
        trips=int(bool(away)),
        peaks=(tokens,),
    )
