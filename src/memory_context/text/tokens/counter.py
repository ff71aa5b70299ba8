"""Token counting: exact where tiktoken's ranks are at hand, else estimated; chosen once per process, never stuck."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import Protocol, runtime_checkable

import tiktoken

from memory_context.exceptions import InvalidArgumentError
from memory_context.runtime import events
from memory_context.runtime.forks import in_child
from memory_context.text.tokens.estimate import estimate_tokens
from memory_context.text.tokens.ranks import load_encoding, rank_file_for

CHUNK = 4096
CACHED_CHUNKS = 256
LONGEST_TOKEN = 128
WIDEST_CHARACTER = 4
LOOK_IN_SECONDS = 0.02


@runtime_checkable
class TokenCounter(Protocol):
    """Counts tokens. Anything with these two methods and a name will do; so will a plain ``Callable[[str], int]``."""

    @property
    def name(self) -> str:
        """What it counts by, as ``o200k_base`` or ``estimate``."""
        ...

    def count(self, text: str) -> int:
        """The number of tokens of `text`."""
        ...

    def exceeds(self, text: str, limit: int) -> bool:
        """Whether ``count(text) > limit``, at no more work than the answer takes."""
        ...


class ChunkedCounter:
    """Counts chunk by chunk, so that neither time nor a tokenizer's stack grows faster than the text.

    `exceeds` uses two bounds that hold for o200k_base and cl100k_base: a token has at most 128 bytes, and at least one.
    """

    def __init__(self, name: str, count_chunk: Callable[[str], int]) -> None:
        """Count by `count_chunk`, which is given at most 4,096 characters at a time; equal chunks are counted once."""
        self.name = name
        self._count_chunk = lru_cache(CACHED_CHUNKS)(count_chunk)

    def __repr__(self) -> str:
        """Name what it counts by."""
        return f"<TokenCounter {self.name}>"

    def count(self, text: str) -> int:
        """The number of tokens of `text`, in time linear in its length."""
        return sum(self._count_chunk(chunk) for chunk in chunks(text))

    def exceeds(self, text: str, limit: int) -> bool:
        """Whether ``count(text) > limit``, looking at no more chunks than it takes."""
        if limit < 0 or len(text) > LONGEST_TOKEN * limit:
            return True
        total, rest = 0, len(text)
        for chunk in chunks(text):
            if total + rest * WIDEST_CHARACTER <= limit:
                return False
            total, rest = total + self._count_chunk(chunk), rest - len(chunk)
            if total > limit:
                return True
        return False


class CallableCounter:
    """A counter of the user's own, given as a callable."""

    def __init__(self, count: Callable[[str], int]) -> None:
        """Count by `count`."""
        self.name = getattr(count, "__name__", type(count).__name__)
        self._count = count

    def count(self, text: str) -> int:
        """What the callable says."""
        return self._count(text)

    def exceeds(self, text: str, limit: int) -> bool:
        """Whether ``count(text) > limit``."""
        return self.count(text) > limit


def chunks(text: str) -> Iterator[str]:
    """`text` in pieces of at most 4,096 characters, cut behind a line break or before a space where there is one."""
    start = 0
    while start < len(text):
        end = start + CHUNK
        if end < len(text):
            middle = start + CHUNK // 2
            cut = text.rfind("\n", middle, end)
            end = cut + 1 if cut > 0 else max(text.rfind(" ", middle, end), 0) or end
        yield text[start:end]
        start = end


def _encode_count(encoding: tiktoken.Encoding, text: str) -> int:
    return len(encoding.encode_ordinary(text))


def as_counter(counter: TokenCounter | Callable[[str], int] | None) -> TokenCounter:
    """`counter` itself, a callable as a counter, or the process's default.

    Raises:
        InvalidArgumentError: It is neither.
    """
    if counter is None:
        return default_counter()
    if isinstance(counter, TokenCounter):
        return counter
    if callable(counter):
        return CallableCounter(counter)
    message = f"a token counter has count(text) and exceeds(text, limit), or is a callable; {counter!r} is neither"
    raise InvalidArgumentError(message)


def counter_for_model(model: str | None = None) -> TokenCounter:
    """A counter for a model's name, exact if the ranks of its encoding are here or come within 5 seconds."""
    file = rank_file_for(model)
    encoding = load_encoding(file)
    if encoding is not None:
        return ChunkedCounter(file.name, partial(_encode_count, encoding))
    events.TOKENS_ESTIMATED.log(ranks=file.name)
    return estimating_counter()


def estimating_counter() -> TokenCounter:
    """The counter that needs no ranks; its error is measured in ``benchmarks/tokens.py``."""
    return ChunkedCounter("estimate", _estimate_count)


def _estimate_count(chunk: str) -> int:
    return max(estimate_tokens(chunk), -(-len(chunk) // LONGEST_TOKEN))


class _Choice:
    """One choice per process. One thread makes it; the others look in until it is made, or until they must make it."""

    def __init__(self) -> None:
        self._choosing = threading.Lock()
        self._made = threading.Event()
        self._own: TokenCounter | None = None
        self._chosen: TokenCounter | None = None

    def get(self) -> TokenCounter:
        """The user's own, or the chosen one."""
        while (counter := self._own or self._chosen) is None:
            choosing = self._choosing
            if choosing.acquire(blocking=False):
                try:
                    self._chosen = counter_for_model()
                finally:
                    choosing.release()
                self._made.set()
            else:
                self._made.wait(LOOK_IN_SECONDS)
        return counter

    def set(self, counter: TokenCounter) -> None:
        self._own = counter
        self._made.set()

    def after_fork(self) -> None:
        if self._own is None and self._chosen is None:
            self.__init__()  # type: ignore[misc] # a choice that another thread was making when the process forked


_choice = _Choice()
in_child(_choice)


def default_counter() -> TokenCounter:
    """The process's counter: exact where o200k_base is at hand, else an estimate; the same one every time.

    The first call may take up to 5 seconds for one attempt to download the ranks. It belongs off an event loop.
    """
    return _choice.get()


def set_default_counter(counter: TokenCounter | Callable[[str], int]) -> None:
    """Make `counter` the one that this process uses wherever none is given."""
    _choice.set(as_counter(counter))
