"""Token counting: one counter per process, right at any limit, and no work that the answer does not need."""

from __future__ import annotations

import logging
import threading
import time
from contextlib import suppress
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from for_each import first_quick, for_each
from memory_context.exceptions import InvalidArgumentError
from memory_context.runtime.after_fork import Lock
from memory_context.text.tokens import counter as _tokens
from memory_context.text.tokens.counter import (
    BLOCK,
    LONGEST_TOKEN,
    BlockCounter,
    CallableCounter,
    TokenCounter,
    _ProcessCounter,
    as_counter,
    blocks,
    default_counter,
    estimating_counter,
    set_default_counter,
)
from memory_context.text.tokens.rank_file_download import load_encoding

RUNS = [*"a \n中𒀀\0\ud800\udfffé0=", "<|endoftext|>", "word ", "\t\n", "aB3+/", "👩‍👩‍👧"]

runs = st.tuples(st.sampled_from(RUNS), st.integers(1, 400) | st.just(17_000)).map(
    lambda run: run[0] * run[1]
)
texts = st.lists(runs | st.text(st.characters(exclude_categories=())), max_size=4).map("".join)
property_test = examples(60)
COUNTERS = [default_counter(), estimating_counter()]
each_counter = pytest.mark.parametrize("counter", COUNTERS, ids=["o200k_base", "estimate"])


class Spy:
    """Counts a token per character, and remembers how long the blocks were that it was given."""

    def __init__(self) -> None:
        """Remember nothing yet."""
        self.lengths: list[int] = []
        self.counter = BlockCounter("spy", self.count_block)

    def count_block(self, block: str) -> int:
        """A token per character."""
        self.lengths.append(len(block))
        return len(block)


@pytest.fixture
def _fresh_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that has not chosen its counter yet."""
    monkeypatch.setattr(_tokens, "_process_counter", _ProcessCounter())


@pytest.mark.long
@property_test
@given(texts)
def test_chunks_put_together_are_the_text(text: str) -> None:
    """Nothing is lost between blocks, none is empty, none is longer than a tokenizer's stack can bear."""
    pieces = list(blocks(text))
    assert text == "".join(pieces)
    assert all(0 < len(piece) <= BLOCK <= 16_384 for piece in pieces)


@for_each(
    "text, length",
    [
        ("x" * 3000 + "\n" + "y z" * 5000, 3001),
        ("x\n" * 20_000, BLOCK),
        ("x" * 3000 + " " + "y" * 10_000, 3000),
        ("\n" + " x" * 100 + "y" * 20_000, BLOCK),
        ("x" * 20_000, BLOCK),
        ("x" * BLOCK, BLOCK),
    ],
)
def test_chunks_end_with_a_line_or_a_word(text: str, length: int) -> None:
    """A block ends behind the last line break of its second half, else in front of the last space there, else full."""
    assert length == len(next(blocks(text)))


@each_counter
@property_test
@given(text=texts)
def test_a_count_is_the_sum_over_the_chunks(counter: TokenCounter, text: str) -> None:
    """Any text has a count, at least one token per 128 characters and at most four per character."""
    count = counter.count(text)
    assert sum(counter.count(block) for block in blocks(text)) == count
    assert len(text) <= LONGEST_TOKEN * count
    assert count <= 4 * len(text)


@each_counter
@property_test
@given(text=texts, limit=st.integers(-2, 20_000), near=st.integers(-2, 2))
def test_exceeds_compares_the_count_with_the_limit(
    counter: TokenCounter, text: str, limit: int, near: int
) -> None:
    """The quick answer is the one that counting gives, for any text and any limit."""
    count = counter.count(text)
    assert (count > limit) == counter.exceeds(text, limit)
    assert (near < 0) == counter.exceeds(text, count + near)


@each_counter
def test_no_text_exceeds_a_negative_limit_by_accident(counter: TokenCounter) -> None:
    """The empty text has 0 tokens: more than -1, not more than 0."""
    assert [True, False] == [counter.exceeds("", limit) for limit in (-1, 0)]


@each_counter
@for_each("char", ["a", " ", "\n", "=", "0", "中", "\0"])
def test_long_runs_are_counted(counter: TokenCounter, char: str) -> None:
    """A million times the same character neither panics a tokenizer nor takes it long."""
    assert counter.count(char * 1_000_000) > 0


@pytest.mark.long
def test_the_default_counter_is_exact() -> None:
    """Where the ranks of o200k_base are at hand, counts are those of tiktoken."""
    encoding = load_encoding()
    assert encoding
    assert default_counter().name == "o200k_base"
    for text in ("tiktoken is great!", "naïve 中文 👍", "x = {'a': [1, 2]}\n", " " * 300):
        assert len(encoding.encode_ordinary(text)) == default_counter().count(text)


def test_how_a_word_is_written_is_estimated() -> None:
    """Plain words, names, and words in capitals are each estimated for what they are."""
    counter = estimating_counter()

    assert 4 == counter.count("Hello World This Is") == counter.count("hello world this is")
    assert 11 == counter.count("SELECT NAME FROM USERS WHERE ORDER LIMIT GROUP")


def test_control_tokens_are_ordinary_text() -> None:
    """``<|endoftext|>`` in a tool's output is seven tokens of text, not an error and not one token."""
    assert 7 == COUNTERS[0].count("<|endoftext|>")


@pytest.mark.long
def test_the_bounds_that_exceeds_relies_on() -> None:
    """The longest token of o200k_base has 128 bytes."""
    encoding = load_encoding()
    assert encoding
    assert max(map(len, encoding.token_byte_values())) == LONGEST_TOKEN


BASE64 = "aGVsbG8gd29ybGQhISEh" * 2500
CHEAP = {
    "10 MB of a letter": ("a" * 10_000_000, 500, 0),
    "a million spaces": (" " * 1_000_000, 500, 0),
    "a large base64": (BASE64 * 100, 500, 0),
    "base64": (BASE64, 500, 1),
    "far below": ("short text", 500, 0),
    "far below, and long": ("x" * 100_000, 400_000, 0),
    "above at once": ("x" * 60_000, 500, 1),
    "in the second block": (" ".join(map(str, range(20_000))), BLOCK + 1, 2),
    "equal blocks once": ("x" * 60_000, 3 * BLOCK, 1),
}


@for_each("text, limit, looks", CHEAP.values())
def test_no_more_is_tokenised_than_the_answer_takes(text: str, limit: int, looks: int) -> None:
    """Whether megabytes are above a threshold is known without tokenising them."""
    spy = Spy()
    assert (len(text) > limit) == spy.counter.exceeds(text, limit)
    assert looks == len(spy.lengths)
    assert sum(spy.lengths) <= looks * BLOCK


def test_a_text_that_is_just_below_is_looked_at_once() -> None:
    """At worst every block is counted once."""
    spy = Spy()
    text = " ".join(map(str, range(20_000)))
    assert not spy.counter.exceeds(text, len(text))
    assert sum(spy.lengths) <= len(text)


def test_a_counter_of_ones_own() -> None:
    """A callable becomes a counter, and an object with the two methods is one already."""
    words = as_counter(lambda text: len(text.split()))
    assert (3, True, False) == (
        words.count("a b c"),
        words.exceeds("a b c", 2),
        words.exceeds("a b c", 3),
    )
    assert words is as_counter(words)
    spy = Spy().counter
    assert spy is as_counter(spy)
    assert ("len", "partial") == (as_counter(len).name, as_counter(partial(int, base=10)).name)


class OnlyCounts:
    """Half a counter."""

    def count(self, text: str) -> int:
        """The length of `text`."""
        return len(text)


@for_each("nonsense", [7, "o200k_base", object(), OnlyCounts()])
def test_what_cannot_count_is_refused(nonsense: object) -> None:
    """Neither a counter nor a callable: the error quotes it."""
    with pytest.raises(InvalidArgumentError, match="token counter"):
        as_counter(nonsense)  # type: ignore[arg-type]


def _in_threads(number: int) -> list[TokenCounter]:
    """The default counters that so many threads get within five minutes if they ask at once."""
    counters: list[TokenCounter] = []
    together = threading.Barrier(number)

    def ask() -> None:
        together.wait(300)
        counters.append(default_counter())

    threads = [threading.Thread(target=ask, daemon=True) for _ in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
    return counters


@pytest.mark.usefixtures("_fresh_choice")
def test_the_counter_is_chosen_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight threads that ask at once get one counter, and one of them chose it."""
    chosen: list[TokenCounter] = []

    def choose() -> TokenCounter:
        time.sleep(0.1)
        chosen.append(Spy().counter)
        return chosen[-1]

    monkeypatch.setattr(_tokens, "choose_counter", choose)
    counters = _in_threads(8)
    assert len(counters) == 8
    assert chosen == list(set(counters)) == [default_counter()]


@pytest.mark.usefixtures("_fresh_choice")
def test_ones_own_counter_becomes_the_default() -> None:
    """What was set is used wherever none is given; nonsense is refused and changes nothing."""
    spy = Spy().counter
    set_default_counter(spy)
    assert spy is default_counter() is as_counter(None)
    with pytest.raises(InvalidArgumentError):
        set_default_counter(7)  # type: ignore[arg-type]
    assert spy is default_counter()
    set_default_counter(len)
    assert isinstance(default_counter(), CallableCounter)


@pytest.mark.usefixtures("_fresh_choice")
def test_ones_own_counter_wins_over_a_choice_that_is_being_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A counter that is set while the ranks are still being fetched is not replaced when they arrive."""
    spy = Spy().counter

    def choose() -> TokenCounter:
        set_default_counter(spy)
        return estimating_counter()

    monkeypatch.setattr(_tokens, "choose_counter", choose)
    default_counter()
    assert spy is default_counter()


@pytest.mark.usefixtures("_fresh_choice")
@pytest.mark.parametrize("error", first_quick([KeyboardInterrupt, OSError]))
def test_a_failed_choice_does_not_hang_the_next(
    monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    """Ctrl-C during the download, or any failure of it, leaves a process that still can count."""

    def fail() -> TokenCounter:
        raise error

    with monkeypatch.context() as patch, suppress(error):
        patch.setattr(_tokens, "choose_counter", fail)
        default_counter()
    assert _in_threads(1), "default_counter() hangs"


def test_a_child_process_chooses_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """A choice that another thread was making when the process forked is made again in the child."""
    choice, counter = _ProcessCounter(), Spy().counter
    choosing, released = threading.Event(), threading.Event()

    def choose() -> TokenCounter:
        if threading.current_thread() is parent:
            choosing.set()
            released.wait(300)
        return counter

    monkeypatch.setattr(_tokens, "choose_counter", choose)
    monkeypatch.setattr(_tokens, "_process_counter", choice)
    parent = threading.Thread(target=choice.get, daemon=True)
    parent.start()
    assert choosing.wait(300)
    choice.lock = Lock()  # what its own lock becomes in a child
    assert [counter] == _in_threads(1)
    choice.lock = Lock()  # what its own lock becomes in a child
    assert [counter] == _in_threads(1)
    released.set()
    parent.join()


@pytest.mark.usefixtures("_fresh_choice")
def test_without_ranks_tokens_are_estimated(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """One warning says so, once per process; counting goes on."""
    monkeypatch.setattr(_tokens, "load_encoding", lambda: None)
    with caplog.at_level(logging.WARNING, "memory_context"):
        counters = {default_counter() for _ in range(5)}
    assert ["estimate"] == [counter.name for counter in counters]
    assert default_counter().count("some words, and more of them") > 0
    (record,) = caplog.records
    assert (logging.WARNING, "memory_context") == (record.levelno, record.name)
    assert "o200k_base" in record.getMessage()
    assert "TIKTOKEN_CACHE_DIR" in record.getMessage()
    assert "memory-context[exact]" in record.getMessage()


@each_counter
def test_a_counter_names_what_it_counts_by(counter: TokenCounter) -> None:
    """Its name stands in its repr, for logs and people."""
    assert f"<TokenCounter {counter.name}>" == repr(counter)
    assert counter.name in {"o200k_base", "cl100k_base", "estimate"}
