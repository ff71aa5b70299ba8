"""Token counting: exact where tiktoken's ranks are at hand, else estimated; chosen once per process, never stuck."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Protocol, runtime_checkable

from memory_context.exceptions import InvalidArgumentError
from memory_context.runtime import events
from memory_context.runtime.after_fork import Lock
from memory_context.text.tokens.estimate import estimate_tokens
from memory_context.text.tokens.ranks import O200K, load_encoding

# A tokenizer's time grows with the square of a run without spaces, and its stack with its length.
BLOCK = 4096
CACHED_BLOCKS = 256
# Bytes: o200k_base has no longer token.
LONGEST_TOKEN = 128
WIDEST_CHARACTER = 4


@runtime_checkable
class TokenCounter(Protocol):
    """Counts tokens. Anything with these two methods and a name will do; so will a plain ``Callable[[str], int]``."""

    @property
    def name(self) -> str:
        """Return what it counts by, as ``o200k_base`` or ``estimate``."""
        ...

    def count(self, text: str) -> int:
        """Return the number of tokens of `text`."""
        ...

    def exceeds(self, text: str, limit: int) -> bool:
        """Return whether ``count(text) > limit``, at no more work than the answer takes."""
        ...


class BlockCounter:
    """Counts block by block, so that neither time nor a tokenizer's stack grows faster than the text.

    `exceeds` uses two bounds that hold for o200k_base: a token has at most 128 bytes, and at least one.
    """

    def __init__(self, name: str, count_block: Callable[[str], int]) -> None:
        """Count by `count_block`, which is given at most 4,096 characters at a time; equal blocks are counted once."""
        self.name = name
        self._count_block = lru_cache(CACHED_BLOCKS)(count_block)

    def __repr__(self) -> str:
        return f"<TokenCounter {self.name}>"

    def count(self, text: str) -> int:
        """Return the number of tokens of `text`, in time linear in its length."""
        return sum(self._count_block(block) for block in blocks(text))

    def exceeds(self, text: str, limit: int) -> bool:
        """Return whether ``count(text) > limit``, looking at no more blocks than it takes."""
        # Characters are bytes at least, so so many characters cannot fit into so few tokens.
        if limit < 0 or len(text) > LONGEST_TOKEN * limit:
            return True
        total, rest = 0, len(text)
        for block in blocks(text):
            # A token is a byte at least, and a character four bytes at most.
            if total + rest * WIDEST_CHARACTER <= limit:
                return False
            total += self._count_block(block)
            rest -= len(block)
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
        """Return what the callable says."""
        return self._count(text)

    def exceeds(self, text: str, limit: int) -> bool:
        """Return whether ``count(text) > limit``."""
        return self.count(text) > limit


def blocks(text: str) -> Iterator[str]:
    """Yield `text` in blocks of at most 4,096 characters, cut behind a line break or before a space if there is one."""
    start = 0
    while start < len(text):
        end = start + BLOCK
        if end < len(text):
            middle = start + BLOCK // 2
            line_break = text.rfind("\n", middle, end)
            space = text.rfind(" ", middle, end)
            if line_break > 0:
                end = line_break + 1
            elif space > 0:
                end = space
        yield text[start:end]
        start = end


def as_counter(counter: TokenCounter | Callable[[str], int] | None) -> TokenCounter:
    """Return `counter` itself, a callable as a counter, or the process's default for None.

    Raises:
        InvalidArgumentError: It is neither.
    """
    if counter is None:
        return default_counter()
    if isinstance(counter, TokenCounter):
        return counter
    if callable(counter):
        return CallableCounter(counter)
    raise InvalidArgumentError(
        f"a token counter has count(text) and exceeds(text, limit), or is a callable; {counter!r} is neither"
    )


def choose_counter() -> TokenCounter:
    """Return a counter by o200k_base, exact if its ranks are here or come within 5 seconds."""
    encoding = load_encoding(O200K)
    if encoding is None:
        events.TOKENS_ESTIMATED.log(ranks=O200K.name)
        return estimating_counter()
    return BlockCounter(O200K.name, lambda block: len(encoding.encode_ordinary(block)))


def estimating_counter() -> TokenCounter:
    """Return the counter that needs no ranks; its error is measured in ``benchmarks/tokens.py``."""
    return BlockCounter("estimate", _estimate_block)


def _estimate_block(block: str) -> int:
    # Not fewer than tokens of the greatest length would be: `exceeds` relies on it.
    return max(estimate_tokens(block), -(-len(block) // LONGEST_TOKEN))


class _ProcessCounter:
    """The counter of this process: the user's own, or one that the first thread which asks chooses for all."""

    def __init__(self) -> None:
        self.own: TokenCounter | None = None
        self.lock = Lock()
        self._chosen: TokenCounter | None = None

    def get(self) -> TokenCounter:
        """Return the user's own counter, or the one that is chosen now if none was before."""
        if self.own is not None:
            return self.own
        with self.lock:
            if self._chosen is None:
                self._chosen = choose_counter()
            return self._chosen


_process_counter = _ProcessCounter()


def default_counter() -> TokenCounter:
    """Return the process's counter: exact where o200k_base is at hand, else an estimate; the same one every time.

    The first call may take up to 5 seconds for one attempt to download the ranks. It belongs off an event loop.
    """
    return _process_counter.get()


def set_default_counter(counter: TokenCounter | Callable[[str], int]) -> None:
    """Make `counter` the one that this process uses wherever none is given."""
    _process_counter.own = as_counter(counter)
