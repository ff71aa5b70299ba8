"""The policies that can be replayed, by name and settings."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from autogen_core.model_context import (
    BufferedChatCompletionContext,
    ChatCompletionContext,
    HeadAndTailChatCompletionContext,
    UnboundedChatCompletionContext,
)
from autogen_core.models import LLMMessage

from memory_context._describe import describe
from memory_context._items import hash_content
from memory_context._refs import MemoryRef, generated_keys
from memory_context._tokens import TokenCounter
from memory_context.autogen._messages import parts_of, with_texts
from memory_context.autogen.context import MemoryContext
from memory_context.exceptions import InvalidArgumentError

Settings: TypeAlias = dict[str, Any]

REFERENCE_ONLY: Settings = {"preview_tokens": 0, "recall": False}
LINE = 200
GAP = "… lines {first}-{last} of {count} not shown …"


def _nothing(_key: str) -> None:
    return None


def _no_work() -> None:
    pass


@dataclass(frozen=True, slots=True)
class Replayed:
    """A context that one recording is fed into.

    Attributes:
        context: It makes the prompts.
        stored: The text behind a reference, by its key; None if there is none.
        close: Lets go of what the context holds.
    """

    context: ChatCompletionContext
    stored: Callable[[str], str | None] = _nothing
    close: Callable[[], None] = _no_work


@dataclass(frozen=True, slots=True)
class Policy:
    """What makes prompts of messages: a name, and a fresh context for each recording."""

    name: str
    open: Callable[[TokenCounter], Replayed]


def default_policies(threshold: int = 500) -> list[Policy]:
    """The policies that every report shows; `threshold` is that of those that fold."""
    folding = [f"reference:threshold={threshold}", f"lines:threshold={threshold}", f"memory:threshold={threshold}"]
    reading = [f"memory:threshold={threshold},fold=after_reading"] if "fold" in _allowed(_memory) else []
    return [parse_policy(text) for text in ("unbounded", "buffered:size=20", "ends:head=4,tail=16", *folding, *reading)]


def parse_policy(text: str) -> Policy:
    """The policy that `text` names, as ``memory:threshold=500,recall=false``.

    ``unbounded``; ``buffered`` (``size``) and ``ends`` (``head``, ``tail``): AutoGen's own; ``memory``: a
    `MemoryContext` with the settings of that name; ``reference``: the same without preview and recall; ``lines``
    (``threshold``, ``count``): a reference and that many lines of either end.

    Raises:
        InvalidArgumentError: There is no such policy or setting. A value is looked at when the policy is replayed.
    """
    name, _, rest = text.partition(":")
    if name not in _POLICIES:
        message = f"there is no policy {name!r}; there are {', '.join(_POLICIES)}"
        raise InvalidArgumentError(message)
    make, settings = _POLICIES[name], dict(_setting(part) for part in rest.split(",") if part)
    if unknown := settings.keys() - _allowed(make):
        message = f"{name!r} has no setting {', '.join(sorted(unknown))}; it has {', '.join(sorted(_allowed(make)))}"
        raise InvalidArgumentError(message)
    return Policy(text, lambda counter: make(counter, **settings))


def _setting(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        message = f"a setting is written name=value, not {text!r}"
        raise InvalidArgumentError(message)
    return name.strip(), _value(value.strip())


def _value(text: str) -> Any:  # noqa: ANN401 - a setting of any kind
    words: dict[str, Any] = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    try:
        return float(text) if "." in text else int(text)
    except ValueError:
        return text


def _allowed(make: Callable[..., Replayed]) -> set[str]:
    """The settings that `make` takes; those that stand for any are a MemoryContext's."""
    parameters = inspect.signature(make).parameters.values()
    named = {one.name for one in parameters if one.kind is inspect.Parameter.KEYWORD_ONLY}
    passed_on = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters)
    return named | (set(inspect.signature(MemoryContext).parameters) - _OURS if passed_on else set())


_OURS = {"user_id", "store", "counter", "judge", "model_client", "initial_messages", "source_thresholds"}


def _unbounded(_counter: TokenCounter) -> Replayed:
    return Replayed(UnboundedChatCompletionContext())


def _buffered(_counter: TokenCounter, *, size: int = 20) -> Replayed:
    return Replayed(BufferedChatCompletionContext(size))


def _ends(_counter: TokenCounter, *, head: int = 4, tail: int = 16) -> Replayed:
    return Replayed(HeadAndTailChatCompletionContext(head, tail))


def _memory(counter: TokenCounter, **settings: Any) -> Replayed:  # noqa: ANN401 - those of MemoryContext
    context = MemoryContext("replay", store="sqlite://", counter=counter, **settings)
    manager = context.manager

    def stored(key: str) -> str | None:
        item = manager.memory_store.get(manager.scope, key)
        return item.text if item else None

    return Replayed(context, stored, manager.close)


def _reference(counter: TokenCounter, **settings: Any) -> Replayed:  # noqa: ANN401 - those of MemoryContext
    return _memory(counter, **{**REFERENCE_ONLY, **settings})


def _lines(counter: TokenCounter, *, threshold: int = 500, count: int = 5) -> Replayed:
    context = LinesContext(counter, threshold, count)
    return Replayed(context, context.texts.get)


_POLICIES: Mapping[str, Callable[..., Replayed]] = {
    "unbounded": _unbounded,
    "buffered": _buffered,
    "ends": _ends,
    "reference": _reference,
    "lines": _lines,
    "memory": _memory,
}


class LinesContext(UnboundedChatCompletionContext):
    """Keeps of each large output a reference and some lines of either end, cut to 200 characters: a baseline."""

    def __init__(self, counter: TokenCounter, threshold: int, count: int) -> None:
        super().__init__()
        self.texts: dict[str, str] = {}
        self._counter, self._threshold, self._count = counter, threshold, count

    async def add_message(self, message: LLMMessage) -> None:
        """Add a copy of `message`, its large results shown by their ends."""
        large = [part for part in parts_of(message) if part.source is None and self._is_large(part.text)]
        texts = {part.index: self._shown(part.text, part.origin) for part in large}
        await super().add_message(with_texts(message, texts))

    def _is_large(self, text: str) -> bool:
        return self._counter.exceeds(text, self._threshold)

    def _shown(self, text: str, origin: str) -> str:
        key = next(generated_keys(origin, hash_content(text)))
        self.texts[key] = text
        ref = MemoryRef(key, describe(text), self._counter.count(text))
        return "\n".join((ref.render(), *ends_of(text, self._count)))


def ends_of(text: str, count: int) -> list[str]:
    """The first and last `count` lines of `text`, each cut to 200 characters, and a line on what is between them."""
    lines = text.split("\n")
    if len(lines) <= 2 * count:
        return [line[:LINE] for line in lines]
    gap = GAP.format(first=count + 1, last=len(lines) - count, count=len(lines))
    return [*(line[:LINE] for line in lines[:count]), gap, *(line[:LINE] for line in lines[-count:])]
