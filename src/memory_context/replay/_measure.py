"""One policy on recorded runs: what its prompts hold, and what they cost."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from autogen_core.models import AssistantMessage, FunctionExecutionResultMessage, LLMMessage

from memory_context._refs import MemoryRef
from memory_context.autogen._messages import calls_of, texts_of
from memory_context.replay._meter import Meter
from memory_context.replay._policies import Policy, Replayed
from memory_context.replay._prices import Entry, Price, entry, spoken, text_of, tokens_of, tokens_of_prefix
from memory_context.replay._recordings import Recording
from memory_context.replay._values import is_visible, needed_values


@dataclass(frozen=True, slots=True)
class Figures:
    """Sums over model calls.

    Attributes:
        calls: Model calls.
        tokens: Tokens of their prompts.
        cost: What they cost, trips included, in tokens at full price.
        needed: Values that the recorded model used and that stood only in earlier outputs.
        visible: Those of them that stood in the prompt.
        lost: Those that neither stood there nor behind a reference.
        trips: Calls that needed a value from behind a reference.
        peaks: The tokens of the largest prompt of each run.
    """

    calls: int = 0
    tokens: int = 0
    cost: float = 0.0
    needed: int = 0
    visible: int = 0
    lost: int = 0
    trips: int = 0
    peaks: tuple[int, ...] = ()

    def __add__(self, other: Figures) -> Figures:
        return Figures(
            self.calls + other.calls,
            self.tokens + other.tokens,
            self.cost + other.cost,
            self.needed + other.needed,
            self.visible + other.visible,
            self.lost + other.lost,
            self.trips + other.trips,
            self.peaks + other.peaks,
        )


@dataclass(frozen=True, slots=True)
class Past:
    """What came before a model call in its recording: the outputs of tools, and everything else."""

    outputs: tuple[str, ...]
    others: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Call:
    """A model call of a recording, with a policy's prompt in place of the recorded one.

    Attributes:
        reply: What the recorded model answered.
        past: What came before it in the recording.
        prompt: What the policy would have sent.
        before: What it would have sent for the call before; nothing at a run's first.
    """

    reply: AssistantMessage
    past: Past
    prompt: Sequence[Entry]
    before: Sequence[Entry] = ()


@dataclass(slots=True)
class Shelf:
    """The stored texts of one run, by their keys, each read once."""

    read: Callable[[str], str | None]
    texts: dict[str, str] = field(default_factory=dict[str, str])

    def behind(self, prompt: Iterable[Entry]) -> list[str]:
        """The texts behind the references of a prompt, and behind those in such texts."""
        found, waiting = dict[str, str](), [one.text for one in prompt]
        while waiting:
            for ref in MemoryRef.find_all(waiting.pop()):
                text = None if ref.key in found else self._text(ref.key)
                if text is not None:
                    found[ref.key] = text
                    waiting.append(text)
        return list(found.values())

    def _text(self, key: str) -> str | None:
        if key not in self.texts and (text := self.read(key)) is not None:
            self.texts[key] = text
        return self.texts.get(key)


async def measure(recordings: Iterable[Recording], policy: Policy, meter: Meter, price: Price | None = None) -> Figures:
    """The figures of `policy`, summed over all model calls of `recordings`.

    Every message of a recording is added to a fresh context of the policy's, and a prompt is asked for before each
    assistant message.
    """
    total = Figures()
    for recording in recordings:
        replayed = policy.open(meter)
        try:
            total += await _run(recording, replayed, meter, price or Price())
        finally:
            replayed.close()
    return total


async def _run(recording: Recording, replayed: Replayed, meter: Meter, price: Price) -> Figures:
    total, before, shelf = Figures(), list[Entry](), Shelf(replayed.stored)
    for place, message in enumerate(recording.messages):
        if isinstance(message, AssistantMessage):
            prompt = [entry(one) for one in await replayed.context.get_messages()]
            call = Call(message, past_of(recording.messages[:place]), prompt, before)
            total += figures_of(call, shelf, meter, price)
            before = prompt
        await replayed.context.add_message(message)
    return replace(total, peaks=(max(total.peaks, default=0),))


def past_of(messages: Iterable[LLMMessage]) -> Past:
    """The outputs and the other texts of `messages`."""
    outputs, others = list[str](), list[str]()
    for message in messages:
        if isinstance(message, FunctionExecutionResultMessage):
            outputs += texts_of(message)
        else:
            others.append(text_of(message))
    return Past(tuple(outputs), tuple(others))


def figures_of(call: Call, shelf: Shelf, meter: Meter, price: Price) -> Figures:
    """The figures of one call; what is behind the references of its prompt comes from `shelf`."""
    tokens = tokens_of(call.prompt, meter)
    needed = needed_values(said(call.reply), call.past.outputs, call.past.others)
    hidden = list(_hidden(needed, call, meter))
    stored = shelf.behind(call.prompt) if hidden else []
    away = [value for value in hidden if any(value in text for text in stored)]
    fetched = max((meter.count(newest_with(value, call.past.outputs)) for value in away), default=None)
    trip = 0.0 if fetched is None else price.trip(tokens, fetched)
    return Figures(
        calls=1,
        tokens=tokens,
        cost=price.call(tokens, tokens_of_prefix(call.before, call.prompt, meter)) + trip,
        needed=len(needed),
        visible=len(needed) - len(hidden),
        lost=len(hidden) - len(away),
        trips=int(fetched is not None),
        peaks=(tokens,),
    )


def said(reply: AssistantMessage) -> str:
    """The text of `reply` and the arguments of its calls: what it used values in."""
    return "\n".join((*spoken(reply), *(call.arguments for call in calls_of(reply))))


def newest_with(value: str, outputs: Sequence[str]) -> str:
    """The newest of `outputs` that holds `value`."""
    return next(output for output in reversed(outputs) if value in output)


def _hidden(needed: Iterable[str], call: Call, meter: Meter) -> Iterator[str]:
    shown = [meter.squash(one.text) for one in call.prompt]
    for value in needed:
        if not is_visible(value, [meter.squash(output) for output in call.past.outputs if value in output], shown):
            yield value
