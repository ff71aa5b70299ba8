"""The model calls of a recording, and what each of them needed: the same for every policy, so found once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from autogen_core.models import AssistantMessage, FunctionExecutionResultMessage, LLMMessage

from memory_context.autogen.messages import calls_of, texts_of
from memory_context.replay.needed_values import needed_values, passages, squash
from memory_context.replay.prices import spoken, text_of
from memory_context.replay.token_meter import Meter


@dataclass(frozen=True, slots=True)
class Past:
    """What came before a model call in its recording: the outputs of tools, and everything else."""

    outputs: tuple[str, ...]
    others: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Need:
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


def needs_of(messages: Iterable[LLMMessage], meter: Meter) -> list[tuple[Need, ...]]:
    """What each model call of a recording needed, in order: one tuple for each `AssistantMessage`."""
    found, outputs, others = list[tuple[Need, ...]](), list[str](), list[str]()
    for message in messages:
        if isinstance(message, AssistantMessage):
            found.append(needs(message, Past(tuple(outputs), tuple(others)), meter))
        told = past_of([message])
        outputs += told.outputs
        others += told.others
    return found


def needs(reply: AssistantMessage, past: Past, meter: Meter) -> tuple[Need, ...]:
    """What `reply` used of `past`."""
    return tuple(
        _need(value, past, meter) for value in needed_values(said(reply), past.outputs, past.others)
    )


def _need(value: str, past: Past, meter: Meter) -> Need:
    holding = [output for output in past.outputs if value in output]
    word = squash(value)
    shown = passages(word, map(meter.squash, dict.fromkeys(holding)))
    return Need(value, word, shown, meter.count(holding[-1]))


def past_of(messages: Iterable[LLMMessage]) -> Past:
    """The outputs and the other texts of `messages`."""
    outputs, others = list[str](), list[str]()
    for message in messages:
        if isinstance(message, FunctionExecutionResultMessage):
            outputs += texts_of(message)
        else:
            others.append(text_of(message))
    return Past(tuple(outputs), tuple(others))


def said(reply: AssistantMessage) -> str:
    """The text of `reply` and the arguments of its calls: what it used values in."""
    return "\n".join((*spoken(reply), *(call.arguments for call in calls_of(reply))))
