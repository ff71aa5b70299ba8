"""The model calls of a recording, and what each needed: the same for every policy, so found once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from memory_context.conversation.message import Message
from memory_context.replay.needed_values import needed_values, passages, squash
from memory_context.replay.token_meter import TokenMeter


@dataclass(frozen=True, slots=True)
class Past:
    """What came before a model call in its recording: the outputs of tools, and everything else."""

    outputs: tuple[str, ...]
    others: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NeededValue:
    """A value that a model call used, and that only earlier outputs had told.

    Attributes:
        value: The value.
        word: The value as it stands in squashed texts.
        passages: What shows it: see `passages`.
        output: The tokens of the newest output that holds it.
    """

    value: str
    word: str
    passages: frozenset[str]
    output: int


def needs_by_call(messages: Iterable[Message], meter: TokenMeter) -> list[tuple[NeededValue, ...]]:
    """Return what each model call of a recording needed: one tuple for each message of the assistant."""
    calls = list[tuple[NeededValue, ...]]()
    outputs = list[str]()
    others = list[str]()
    for message in messages:
        if message.role == "assistant":
            calls.append(needs_of(message, Past(tuple(outputs), tuple(others)), meter))
        told = past_of([message])
        outputs += told.outputs
        others += told.others
    return calls


def needs_of(reply: Message, past: Past, meter: TokenMeter) -> tuple[NeededValue, ...]:
    """Return what `reply`, its text and the arguments of its calls, used of the outputs of `past`."""
    said = "\n".join((*reply.texts.values(), *(call.arguments for call in reply.calls)))
    needed = list[NeededValue]()
    for value in needed_values(said, past.outputs, past.others):
        holding = [output for output in past.outputs if value in output]
        word = squash(value)
        shown = passages(word, map(meter.squash, dict.fromkeys(holding)))
        needed.append(NeededValue(value, word, shown, meter.count(holding[-1])))
    return tuple(needed)


def past_of(messages: Iterable[Message]) -> Past:
    """Return the outputs and the other texts of `messages`."""
    outputs = list[str]()
    others = list[str]()
    for message in messages:
        if message.role == "tool":
            outputs += message.texts.values()
        else:
            others += message.billed()
    return Past(tuple(outputs), tuple(others))
