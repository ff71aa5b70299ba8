"""Which references in a text may be passed on to tools, by who wrote it. The threat model is in docs/threat-model.md.

What a tool returns can hold any reference, and so can the words of an agent that has read it. A person's words count,
but for what they quote; another agent's count for generated keys, which nobody can have guessed. What stands there as a
model's words may be another agent's or this one's own, and counts for what its speaker may pass on: `note_said`. Where
an agent is a tool, caller and agent are in one process and know more than the texts between them say: `RunningCall`.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache

from memory_context.conversation.nested_json import strings_in
from memory_context.memory.manager import MemoryManager
from memory_context.model.item import hash_content
from memory_context.model.reference import MemoryRef, leading_key
from memory_context.runtime.after_fork import Lock
from memory_context.text.quoting import without_quotations

_calling: ContextVar[RunningCall | None] = ContextVar("memory_context_calling", default=None)
KEPT = 20_000

_calls = dict[tuple[str, str], list[frozenset[str]]]()
_noting = Lock()


@dataclass(frozen=True, slots=True)
class RunningCall:
    """A call of a tool, which may be an agent: there a message "of the user" was written by the calling model.

    Attributes:
        user_id: Whose conversation calls.
        allowed: The keys that it may pass on.
        written: The tool's arguments, as the model wrote them.
        told: The keys that conversations inside of the tool have named, and may pass on.
    """

    user_id: str
    allowed: frozenset[str]
    written: object = None
    told: set[str] = field(default_factory=set[str])

    @contextmanager
    def running(self) -> Generator[None]:
        """While the tool runs: conversations that begin in it know who speaks to them.

        One that begins in another task or thread than the tool's is not known to be in it. There the texts in the
        tool's arguments are known for those of a model as long as the tool runs.
        """
        texts = filter(MemoryRef.find_all, strings_in(self.written))
        places = [(self.user_id, hash_content(text)) for text in texts]
        with _noting:
            for place in places:
                _calls.setdefault(place, []).append(self.allowed)
        token = _calling.set(self)
        try:
            yield
        finally:
            _calling.reset(token)
            with _noting:
                for place in places:
                    _calls[place].remove(self.allowed)
                    if not _calls[place]:
                        del _calls[place]

    def told_in(self, text: str) -> list[str]:
        """Return the keys in *text*, which the tool gives, that the conversations inside of it may pass on."""
        return [ref.key for ref in MemoryRef.find_all(text) if ref.key in self.told]


def tell_caller(user_id: str, keys: Iterable[str]) -> None:
    """Tell the conversation that called the tool in which this one takes place which keys may be passed on."""
    call = _calling.get()
    if call is not None and call.user_id == user_id:
        call.told.update(keys)


# A bounded map that stands threads: each place is a set that is filled afterwards.
@lru_cache(KEPT)
def _noted(what: str, user_id: str, digest: str) -> set[str]:  # noqa: ARG001 - the place
    """The keys that are noted of the text with this hash, if this process has made it or heard it said."""
    return set()


def note_made(user_id: str, placeholder: str) -> None:
    """Note that this process has made *placeholder*: an agent may hand it on as the tool's result that it stands for."""
    place = _noted("made", user_id, hash_content(placeholder))
    place.update(filter(None, [leading_key(placeholder)]))


def made_here(user_id: str, text: str) -> set[str]:
    """Return the key of *text*, a tool's result, if it is a placeholder that this process has made."""
    return _noted("made", user_id, hash_content(text)) if leading_key(text) else set()


def note_said(user_id: str, text: str, keys: Iterable[str]) -> None:
    """Note that a model has said *text* in this process, and may pass on these *keys* in it."""
    _noted("said", user_id, hash_content(text)).update(keys)


def said_here(user_id: str, text: str) -> set[str]:
    """Return the keys in words of a model that the one which has said them in this process may pass on."""
    return _noted("said", user_id, hash_content(text)) if MemoryRef.find_all(text) else set()


def in_tool_call() -> bool:
    """Return whether this runs inside of a tool, where nobody but a model speaks."""
    return _calling.get() is not None


def typed_in(user_id: str, text: str) -> list[str]:
    """Return the keys of the references in words of a person; of those of a calling model, the ones that it may pass on."""
    keys = [ref.key for ref in MemoryRef.find_all(without_quotations(text))]
    if not keys:
        return keys
    call = _calling.get()
    allowed = [*_calls.get((user_id, hash_content(text)), ())]
    if call is not None:
        allowed.append(call.allowed)
    return [key for key in keys if all(key in one for one in allowed)]


def generated_in(manager: MemoryManager, text: str) -> list[str]:
    """Return the keys of the references in words of another agent that were generated, and that the user can redeem.

    Raises:
        StoreError: The store failed.
    """
    keys = dict.fromkeys(ref.key for ref in MemoryRef.find_all(text))
    return manager.known_keys(list(keys), {"generated_key": True})
