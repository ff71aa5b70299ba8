"""Decide which references in a text may be passed on to tools, by who wrote the text (see docs/threat-model.md).

Anybody can put a reference into what a tool returns, and an agent may repeat it. So a reference is trusted
- in a person's words, except in what they quote;
- in another agent's words, if its key was generated, because a stranger cannot have guessed it;
- in a model's words, if this process has heard a model say them, and that model's conversation may pass it on: `note_said`;
- between an agent and an agent that it calls as a tool in the same process, if the one that mentions it may pass it on:
  `RunningCall`.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache

from memory_context.conversation.texts_in_json_and_its_schema import strings_in
from memory_context.memory.manager import MemoryManager
from memory_context.model.item import hash_content
from memory_context.model.reference import leading_key, referenced_keys
from memory_context.runtime.after_fork import Lock
from memory_context.text.quotations_of_people import without_quotations

_calling: ContextVar[RunningCall | None] = ContextVar("memory_context_calling", default=None)
KEPT = 20_000

# For each text in the arguments of running calls, by user and hash: the keys that each call allows.
_calls = dict[tuple[str, str], list[frozenset[str]]]()
_calls_lock = Lock()


@dataclass(frozen=True, slots=True)
class RunningCall:
    """A running call of a tool. If the tool is an agent, the messages of its "user" come from the calling model.

    Attributes:
        user_id: The user whose conversation made the call.
        allowed: The keys that this conversation may pass on.
        written: The tool's arguments, as the model wrote them.
        told: The keys that conversations inside the tool have mentioned and may pass on.
    """

    user_id: str
    allowed: frozenset[str]
    written: object = None
    told: set[str] = field(default_factory=set[str])

    @contextmanager
    def running(self) -> Generator[None]:
        """Mark this call as running, so that conversations that begin inside the tool know that a model speaks to them.

        A conversation in another task or thread than the tool's cannot be recognised. There, as long as the tool runs,
        only the exact texts in the tool's arguments are known to be a model's.
        """
        texts = filter(referenced_keys, strings_in(self.written))
        entries = [(self.user_id, hash_content(text)) for text in texts]
        with _calls_lock:
            for entry in entries:
                _calls.setdefault(entry, []).append(self.allowed)
        token = _calling.set(self)
        try:
            yield
        finally:
            _calling.reset(token)
            with _calls_lock:
                for entry in entries:
                    _calls[entry].remove(self.allowed)
                    if not _calls[entry]:
                        del _calls[entry]

    def told_in(self, text: str) -> list[str]:
        """Return the keys in *text*, the tool's result, that conversations inside the tool may pass on."""
        return [key for key in referenced_keys(text) if key in self.told]


def tell_caller(user_id: str, keys: Iterable[str]) -> None:
    """If this runs inside a tool that a conversation of the same user called, let that conversation pass on *keys*, too."""
    call = _calling.get()
    if call and call.user_id == user_id:
        call.told.update(keys)


# `lru_cache` serves as a bounded map that is safe under threads. A value is an empty set, which callers fill.
@lru_cache(KEPT)
def _noted(what: str, user_id: str, digest: str) -> set[str]:  # noqa: ARG001 - the key of the map
    """Return the set of keys noted for the text with this hash; *what* is ``made`` or ``said``, by this process."""
    return set()


def note_made(user_id: str, placeholder: str) -> None:
    """Note that this process has made *placeholder*, which an agent may pass on as a tool's result in a handoff."""
    key = leading_key(placeholder)
    if key:
        _noted("made", user_id, hash_content(placeholder)).add(key)


def made_here(user_id: str, text: str) -> set[str]:
    """Return the key of *text*, a tool's result, if it is a placeholder that this process has made; else an empty set."""
    if leading_key(text):
        return _noted("made", user_id, hash_content(text))
    return set()


def note_said(user_id: str, text: str, keys: Iterable[str]) -> None:
    """Note that a model has said *text* in this process, and that its conversation may pass on *keys*."""
    _noted("said", user_id, hash_content(text)).update(keys)


def said_here(user_id: str, text: str) -> set[str]:
    """Return the keys that the models that said *text* in this process may pass on; empty if none has said it."""
    if referenced_keys(text):
        return _noted("said", user_id, hash_content(text))
    return set()


def in_tool_call() -> bool:
    """Return whether this runs inside a tool, where messages of the "user" come from a model."""
    return _calling.get() is not None


def typed_in(user_id: str, text: str) -> list[str]:
    """Return the keys of the references in a person's words, without those in quotations.

    If a calling model wrote the words, return only the keys that its conversation may pass on.
    """
    keys = referenced_keys(without_quotations(text))
    if not keys:
        return keys
    call = _calling.get()
    allowed = [*_calls.get((user_id, hash_content(text)), ())]
    if call:
        allowed.append(call.allowed)
    passable = set(keys).intersection(*allowed)
    return [key for key in keys if key in passable]


def generated_in(manager: MemoryManager, text: str) -> list[str]:
    """Return the keys of the references in another agent's words that were generated and that the user can redeem.

    Raises:
        StoreError: The store failed.
    """
    keys = dict.fromkeys(referenced_keys(text))
    return manager.known_keys(list(keys), {"generated_key": True})
