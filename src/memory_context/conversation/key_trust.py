"""Which references in a text may be passed on to tools: those that this library has put there, or a person has typed.

What a tool returns can hold any reference, and so can the words of an agent that has read it. References still travel
in such texts: a handoff, a summary of results, an answer. So the process remembers by their hashes which placeholders
it has made for a user, which words an agent said with references that its own conversation could pass on, and, while a
tool runs, which words a model wrote into its arguments.
"""

from __future__ import annotations

from collections.abc import Container, Generator, Iterable
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache

from memory_context.model.item import hash_content
from memory_context.model.reference import MemoryRef, found_at, leading_key
from memory_context.runtime.after_fork import Lock

KEPT = 20_000

# Inside a tool's call a message "of the user" was written by the model that made the call: an agent that is a tool.
_calling: ContextVar[frozenset[str] | None] = ContextVar("memory_context_calling", default=None)
_calls = dict[tuple[str, str], list[frozenset[str]]]()
_noting = Lock()


# The caches are bounded maps that stand threads and forks: each place is a set that is filled afterwards.
@lru_cache(KEPT)
def _placeholders(user_id: str, key: str) -> set[tuple[int, str]]:  # noqa: ARG001 - the place
    """The length and hash of each placeholder of a memory."""
    return set()


@lru_cache(KEPT)
def _words(user_id: str, digest: str) -> set[str]:  # noqa: ARG001 - the place
    """The keys that words with this hash have named."""
    return set()


def vouch_for_placeholder(user_id: str, text: str) -> None:
    """Note that this library has made `text`, which begins with its reference."""
    key = leading_key(text)
    if key is not None:
        _placeholders(user_id, key).add((len(text), hash_content(text)))


def vouch_for_words(user_id: str, text: str, trusted: Container[str]) -> None:
    """Note that a model said `text` in a conversation that may pass on the keys `trusted`."""
    keys = {ref.key for ref in MemoryRef.find_all(text) if ref.key in trusted}
    if keys:
        _words(user_id, hash_content(text)).update(keys)


def vouched_in(user_id: str, text: str) -> list[str]:
    """The keys in `text`, whoever wrote it, that stand there in a placeholder or in words that were vouched for."""
    found = list(found_at(text))
    said = _words(user_id, hash_content(text)) if found else set[str]()
    return [
        ref.key
        for place, ref in found
        if ref.key in said
        or any(
            hash_content(text[place : place + length]) == made
            for length, made in _placeholders(user_id, ref.key)
        )
    ]


def typed_in(user_id: str, text: str) -> list[str]:
    """The keys of the references in words of a person; of those of a calling model, the ones that it may pass on."""
    keys = [ref.key for ref in MemoryRef.find_all(text)]
    if not keys:
        return keys
    calls = _calls.get((user_id, hash_content(text)), ())
    allowed = [one for one in (_calling.get(), *calls) if one is not None]
    return [key for key in keys if all(key in one for one in allowed)]


@contextmanager
def called_with(
    user_id: str, trusted: Iterable[str], written: Iterable[str] = ()
) -> Generator[None]:
    """While a tool runs: conversations that begin in it hear a model, which may pass on the keys `trusted`.

    One that begins in another task or thread than the tool's is not known to be in it. There the texts `written`, the
    strings in the tool's arguments, are known for those of a model as long as the tool runs.
    """
    allowed = frozenset(trusted)
    places = [(user_id, hash_content(text)) for text in written if MemoryRef.find_all(text)]
    with _noting:
        for place in places:
            _calls.setdefault(place, []).append(allowed)
    token = _calling.set(allowed)
    try:
        yield
    finally:
        _calling.reset(token)
        with _noting:
            for place in places:
                _calls[place].remove(allowed)
                if not _calls[place]:
                    del _calls[place]
