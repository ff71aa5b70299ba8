"""Parts of a text: pages that put together give it back, and lines by their numbers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from for_each import for_each
from memory_context.exceptions import InvalidLinesError
from memory_context.model.selection import Cost
from memory_context.text.read.lines_by_number import LineSpan, parse_lines, span_of_lines
from memory_context.text.read.paging import next_page
from memory_context.text.tokens.counter import default_counter, estimating_counter

PIECES = [
    "word ",
    "\n",
    "\n\n",
    "\r\n",
    "}\n",
    "//",
    "𒀀",
    "中文",
    " ",
    "x" * 300,
    "\ud800",
    "\0",
    "\x85",
    "1234567890",
]

texts = st.lists(
    st.sampled_from(PIECES) | st.text(st.characters(exclude_categories=())), max_size=40
).map("".join)
costs: st.SearchStrategy[Cost] = st.sampled_from(
    [len, default_counter().count, estimating_counter().count]
)
property_test = examples(150)


def _pages(text: str, start: int, end: int, budget: int, cost: Cost) -> Iterator[LineSpan]:
    while start < end:
        page = next_page(text, start, end, budget, cost)
        assert start == page.start < page.end <= end
        yield page
        start = page.end


@property_test
@given(texts, st.integers(0, 100), costs)
def test_pages_give_the_text_back(text: str, budget: int, cost: Cost) -> None:
    """Nothing is left out, repeated or changed between one page and the next."""
    assert text == "".join(
        text[page.start : page.end] for page in _pages(text, 0, len(text), budget, cost)
    )


@property_test
@given(texts, st.integers(1, 100), costs)
def test_a_page_fits_its_budget(text: str, budget: int, cost: Cost) -> None:
    """A page costs no more than its budget, unless one character alone does."""
    for page in _pages(text, 0, len(text), budget, cost):
        assert cost(text[page.start : page.end]) <= budget or page.end - page.start == 1


@property_test
@given(texts, st.integers(1, 50))
def test_a_page_knows_its_lines(text: str, budget: int) -> None:
    """`first` and `last` are the lines of the page's first and last character."""
    for page in _pages(text, 0, len(text), budget, len):
        assert text[: page.start].count("\n") + 1 == page.first
        assert text[: page.end - 1].count("\n") + 1 == page.last


@property_test
@given(texts, st.data())
def test_pages_of_a_part_stay_in_it(text: str, data: st.DataObject) -> None:
    """Pages of some lines begin and end with them."""
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    assert text[start:end] == "".join(
        text[page.start : page.end] for page in _pages(text, start, end, 10, len)
    )


@for_each(
    "text, budget, page",
    [
        ("one\ntwo\nthree\n", 10, "one\ntwo\n"),
        ("one\ntwo\nthree\n", 4, "one\n"),
        ("one\ntwo\nthree\n", 14, "one\ntwo\nthree\n"),
        ("one\ntwo\nthree", 100, "one\ntwo\nthree"),
        ("abcdefgh\nij", 5, "abcde"),
        ("abc", 0, "a"),
        ("", 10, ""),
    ],
)
def test_a_page_ends_with_a_line_if_one_ends_in_it(text: str, budget: int, page: str) -> None:
    """A page is cut behind a line break; a line that is longer than a page is cut where the page is full."""
    span = next_page(text, 0, len(text), budget, len)
    assert page == text[span.start : span.end]


def test_a_page_is_well_filled() -> None:
    """Of a long text a page takes most of what it may."""
    text = "some words in a line\n" * 2000
    span = next_page(text, 0, len(text), 1000, default_counter().count)
    assert 700 < default_counter().count(text[: span.end]) <= 1000


def test_a_page_is_priced_a_few_times_only() -> None:
    """However long the text is, no more of it is priced than could be on the page."""
    priced: list[int] = []

    def price(text: str) -> int:
        priced.append(len(text))
        return len(text)

    next_page("x" * 1_000_000, 0, 1_000_000, 100, price)
    assert max(priced) <= 800
    assert len(priced) <= 5


@property_test
@given(
    st.lists(st.text(st.characters(exclude_characters="\n")), min_size=1, max_size=20),
    st.booleans(),
    st.data(),
)
def test_lines_are_found_by_their_numbers(
    lines: list[str], ended: bool, data: st.DataObject
) -> None:
    """Lines `first` to `last`, without the last one's line break."""
    text = "\n".join(lines) + "\n" * ended
    first = data.draw(st.integers(1, len(lines)))
    last = data.draw(st.integers(first, len(lines)))
    span = span_of_lines(text, first, last)
    assert "\n".join(lines[first - 1 : last]) == text[span.start : span.end]
    assert (first, last) == (span.first, span.last)


@for_each(
    "lines, first, last",
    [
        ("120-180", 120, 180),
        ("500-", 500, 600),
        ("-40", 561, 600),
        ("7", 7, 7),
        ("600", 600, 600),
        ("1-600", 1, 600),
        ("590-9999", 590, 600),
        ("-600", 1, 600),
        ("-9999", 1, 600),
        (" 3 - 4 ", 3, 4),
        ("5-5", 5, 5),
    ],
)
def test_how_lines_are_asked_for(lines: str, first: int, last: int) -> None:
    """From-to, from, the last ones, or one; what goes beyond the end ends there."""
    assert (first, last) == parse_lines(lines, 600)


@for_each(
    "lines",
    [
        *(
            "",
            " ",
            "-",
            "--",
            "a",
            "1-b",
            "1,3",
            "1:3",
            "1.5",
            "--4",
            "1-2-3",
            "L7",
            "7\n8",
            "12 34",
            "0x10",
            "last",
        ),
        *(
            "0000000000015",
            "0",
            "0-5",
            "-0",
            "601",
            "601-700",
            "601-",
            "7-3",
            "999999999999",
            "9" * 13,
        ),
    ],
)
def test_lines_that_mean_nothing_are_refused(lines: str) -> None:
    """Garbage, a range that runs backwards and lines that the text does not have are an error that quotes them."""
    with pytest.raises(InvalidLinesError) as error:
        parse_lines(lines, 600)
    assert f"lines={lines!r}" in str(error.value)


def test_a_range_that_runs_backwards_is_called_so() -> None:
    """The lines are there, only in the other order: to say that the text lacks them would send a model elsewhere."""
    with pytest.raises(InvalidLinesError, match="lines='50-10' ends before it begins"):
        parse_lines("50-10", 600)
    with pytest.raises(InvalidLinesError, match=r"lines='500-' lies outside the text.*itself"):
        parse_lines("500-", 100)


@for_each("lines", ["1", "1-", "-40", "0"])
def test_an_empty_text_has_no_lines(lines: str) -> None:
    """No line of an empty text can be asked for, from whichever end."""
    with pytest.raises(InvalidLinesError):
        parse_lines(lines, 0)


@examples(300)
@given(st.text("0123456789- \n,a", max_size=16), st.integers(1, 50))
def test_lines_lie_in_the_text_or_are_refused(lines: str, count: int) -> None:
    """Whatever is asked for, the answer is a range of the text's lines or an InvalidLinesError."""
    try:
        first, last = parse_lines(lines, count)
    except InvalidLinesError:
        return
    assert 1 <= first <= last <= count
