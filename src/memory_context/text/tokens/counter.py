"""Count tokens: exactly if tiktoken's rank file is available, otherwise by an estimate; chosen once per process.

Neither choosing nor counting can hang.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from math import ceil, inf
from typing import Protocol, SupportsFloat, runtime_checkable

from memory_context.exceptions import InvalidArgumentError
from memory_context.runtime import log_events
from memory_context.runtime.after_fork import Lock
from memory_context.text.tokens.estimate import estimate_tokens
from memory_context.text.tokens.rank_file_download import O200K, load_encoding

# A tokenizer's time is quadratic in the length of a run without spaces, and its stack grows with the length.
BLOCK = 4096
CACHED_BLOCKS = 256
# In bytes: o200k_base has no longer token.
LONGEST_TOKEN = 128
WIDEST_CHARACTER = 4


@runtime_checkable
class TokenCounter(Protocol):
    """Counts tokens. Any object with these two methods and a name will do, and so will a ``Callable[[str], float]``."""

    @property
    def name(self) -> str:
        """Return the name of the encoding or method that it counts with, such as ``o200k_base`` or ``estimate``."""
        ...

    def count(self, text: str) -> int:
        """Return the number of tokens of `text`."""
        ...

    def exceeds(self, text: str, limit: int) -> bool:
        """Return whether ``count(text) > limit``, without counting more than is necessary."""
        ...


class BlockCounter:
    """Counts block by block, so that neither time nor a tokenizer's stack grows faster than the text.

    `exceeds` uses two bounds that hold for o200k_base: a token has at least one byte, and at most 128.
    """

    def __init__(self, name: str, count_block: Callable[[str], int]) -> None:
        """Count with `count_block`, which gets at most 4,096 characters at a time; its results are cached."""
        self.name = name
        self._count_block = lru_cache(CACHED_BLOCKS)(count_block)

    def __repr__(self) -> str:
        return f"<TokenCounter {self.name}>"

    def count(self, text: str) -> int:
        """Return the number of tokens of `text`, in time linear in its length."""
        return sum(self._count_block(block) for block in blocks(text))

    def exceeds(self, text: str, limit: int) -> bool:
        """Return whether ``count(text) > limit``, counting no more blocks than is necessary."""
        # A character has at least one byte, so this many characters cannot fit into so few tokens.
        if limit < 0 or len(text) > LONGEST_TOKEN * limit:
            return True
        total = 0
        rest = len(text)
        for block in blocks(text):
            # A token has at least one byte, and a character at most four.
            if total + rest * WIDEST_CHARACTER <= limit:
                return False
            total += self._count_block(block)
            rest -= len(block)
            if total > limit:
                return True
        return False


class CallableCounter:
    """A token counter that calls the user's function."""

    def __init__(self, count: Callable[[str], float]) -> None:
        """Count with `count`."""
        self.name = getattr(count, "__name__", type(count).__name__)
        self._count = count

    def count(self, text: str) -> int:
        """Return the result of the callable, rounded up: ``len(text) / 4`` is a common one.

        Raises:
            InvalidArgumentError: It returned no number, or a negative one.
        """
        tokens: object = self._count(text)
        if isinstance(tokens, SupportsFloat) and 0 <= float(tokens) < inf:
            return ceil(tokens)
        raise InvalidArgumentError(
            f"a token counter returns a number, 0 or more; {self.name} returned {tokens!r:.80}"
        )

    def exceeds(self, text: str, limit: int) -> bool:
        """Return whether ``count(text) > limit``."""
        return self.count(text) > limit


def blocks(text: str) -> Iterator[str]:
    """Yield `text` in blocks of at most 4,096 characters, cut after a line break or before a space if there is one."""
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


def as_counter(counter: TokenCounter | Callable[[str], float] | None) -> TokenCounter:
    """Return a counter as it is, a callable as a counter, or the process's default counter for None.

    Raises:
        InvalidArgumentError: `counter` is none of these.
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
    """Return a counter for o200k_base: exact if its rank file is found or arrives within 5 seconds, else estimating."""
    encoding = load_encoding()
    if encoding is None:
        log_events.TOKENS_ESTIMATED.log(ranks=O200K)
        return estimating_counter()
    return BlockCounter(O200K, lambda block: len(encoding.encode_ordinary(block)))


def estimating_counter() -> TokenCounter:
    """Return the counter that needs no rank file; its error is measured by ``benchmarks/tokens.py``."""
    return BlockCounter("estimate", _estimate_block)


def _estimate_block(block: str) -> int:
    # Never fewer than if all tokens had the greatest length: `exceeds` relies on this.
    return max(estimate_tokens(block), -(-len(block) // LONGEST_TOKEN))


class _ProcessCounter:
    """The counter of this process: the user's own, or one that the first thread to ask chooses for all."""

    def __init__(self) -> None:
        self.own: TokenCounter | None = None
        self.lock = Lock()
        self._chosen: TokenCounter | None = None

    def get(self) -> TokenCounter:
        """Return the user's own counter, or the chosen one, which is chosen at the first call."""
        if self.own is not None:
            return self.own
        with self.lock:
            if self._chosen is None:
                self._chosen = choose_counter()
            return self._chosen


_process_counter = _ProcessCounter()


def default_counter() -> TokenCounter:
    """Return the process's counter: exact if o200k_base is available, else an estimate; the same one every time.

    The first call may take up to 5 seconds, for one attempt to download the rank file, so keep it off an event loop.
    """
    return _process_counter.get()


def set_default_counter(counter: TokenCounter | Callable[[str], float]) -> None:
    """Make `counter` the counter that this process uses wherever none is given."""
    _process_counter.own = as_counter(counter)
