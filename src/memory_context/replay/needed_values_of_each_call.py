"""Find the values that each model call of a recording needed: once, since they are the same for every policy."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from memory_context.conversation.message import Message
from memory_context.replay.identifiers_needed_and_shown import needed_values, passages, squash
from memory_context.replay.token_meter import TokenMeter


@dataclass(frozen=True, slots=True)
class NeededValue:
    """A value that a model call used, and that was only in earlier outputs.

    Attributes:
        value: The value.
        word: The value as it is in squashed texts.
        passages: The places where it was seen, each with neighbouring text: see `passages`.
        output: The tokens of the newest output that holds it.
    """

    value: str
    word: str
    passages: frozenset[str]
    output: int


def needs_by_call(messages: Iterable[Message], meter: TokenMeter) -> list[tuple[NeededValue, ...]]:
    """Return the values that each model call of a recording needed: one tuple for each message of the assistant."""
    calls = list[tuple[NeededValue, ...]]()
    outputs = list[str]()
    others = list[str]()
    for message in messages:
        if message.is_reply:
            arguments = [call.arguments for call in message.calls]
            reply = "\n".join([*message.texts.values(), *arguments])
            needed = list[NeededValue]()
            for value in needed_values(reply, outputs, others):
                holding = [output for output in outputs if value in output]
                word = squash(value)
                shown = passages(word, map(meter.squash, dict.fromkeys(holding)))
                needed.append(NeededValue(value, word, shown, meter.count(holding[-1])))
            calls.append(tuple(needed))
        if message.is_result:
            outputs += message.texts.values()
        else:
            others += message.billed()
    return calls
