"""The excerpt: the lines that matter for a question, in order, never above the budget."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_context._excerpt import MAX_TERMS, Cost, Excerpt, excerpt, shorten, terms
from memory_context._tokens import default_counter, estimating_counter

LOG = [f"step {number}: nothing to report" for number in range(1, 201)]
WORDS = ["error", "ORA-00942", "the", "table", "why", "步骤", "👍", *"\ud800\0\r\t .", "x" * 50, "𒀀" * 30]

any_text = st.text(st.characters(exclude_categories=()), max_size=40)
lines_of_text = st.lists(st.lists(st.sampled_from(WORDS) | any_text, max_size=6).map(" ".join), max_size=25)
texts = lines_of_text.map("\n".join)
budgets = st.integers(0, 60) | st.integers(0, 1000)
costs: st.SearchStrategy[Cost] = st.sampled_from(
    [len, lambda text: len(text) ** 2 // 50, default_counter().count, estimating_counter().count]
)
property_test = settings(max_examples=200, deadline=None)


def _lines(text: str) -> list[str]:
    """The lines of `text` as an editor numbers them; an empty text is one empty line here."""
    return text.removesuffix("\n").split("\n")


@property_test
@given(texts, any_text | texts, budgets, costs)
def test_an_excerpt_never_costs_more_than_its_budget(text: str, question: str, budget: int, cost: Cost) -> None:
    """Whatever is asked of whatever text, in characters and in tokens, notes on what is missing included."""
    assert cost(excerpt(text, question, budget, cost).render()) <= budget


@pytest.mark.parametrize("budget", [-1, 0, 1, 5])
def test_a_budget_for_nothing_shows_nothing(budget: int) -> None:
    """Where not even one line fits, the excerpt has no lines and is the empty text."""
    shown = excerpt("\n".join(LOG), "", budget, len)
    assert ((), "") == (shown.lines, shown.render())


@property_test
@given(texts, any_text | texts, budgets, costs)
def test_what_is_shown_stands_there(text: str, question: str, budget: int, cost: Cost) -> None:
    """Lines come in order under their own numbers, and each is the text's line unless it is marked as shortened."""
    shown, lines = excerpt(text, question, budget, cost), _lines(text)
    numbers = [number for number, _ in shown.lines]
    assert sorted(set(numbers)) == numbers
    assert len(lines) == shown.line_count
    assert {number for number, line in shown.lines if line != lines[number - 1]} == shown.shortened


@property_test
@given(texts, any_text | texts, budgets, costs)
def test_ranges_cover_the_lines_that_are_shown_whole(text: str, question: str, budget: int, cost: Cost) -> None:
    """No more, no less, in runs that do not touch each other."""
    shown = excerpt(text, question, budget, cost)
    covered = [number for first, last in shown.ranges for number in range(first, last + 1)]
    assert [number for number, _ in shown.lines if number not in shown.shortened] == covered
    assert all(last + 1 < first for (_, last), (first, _) in zip(shown.ranges, shown.ranges[1:], strict=False))


@property_test
@given(st.integers(1, 60), any_text, budgets)
def test_every_line_is_shown_or_named_in_a_gap(count: int, question: str, budget: int) -> None:
    """Read from top to bottom, an excerpt accounts for every line of the text, once."""
    text = "\n".join(f"line {number}" for number in range(1, count + 1))
    shown = excerpt(text, f"{question} {count // 2}", budget, len)
    accounted: list[int] = []
    for line in shown.render().splitlines():
        gap = re.fullmatch(rf"… lines (\d+)-(\d+) of {count} not shown …", line)
        accounted += range(int(gap[1]), int(gap[2]) + 1) if gap else [int(line.removeprefix("line "))]
    assert accounted == (list(range(1, count + 1)) if shown.lines else [])


@property_test
@given(texts, texts, budgets)
def test_the_same_question_gets_the_same_lines(text: str, question: str, budget: int) -> None:
    """An excerpt is decided by its arguments alone."""
    assert excerpt(text, question, budget, len) == excerpt(text, question, budget, len)


@property_test
@given(lines_of_text)
def test_a_text_that_fits_is_shown_whole(lines: list[str]) -> None:
    """With nothing asked and room enough, the excerpt is the text."""
    text = "\n".join(lines)
    shown = excerpt(text, "", 10 * len(text) + 1000, len)
    assert "\n".join(_lines(text)) == shown.render()
    assert frozenset() == shown.shortened


def test_how_an_excerpt_reads() -> None:
    """Lines under each other; a line of its own stands for each run of lines that is left out."""
    shown = Excerpt(lines=((1, "a"), (2, "b"), (6, "f")), line_count=9, shortened=frozenset({6}))
    assert "a\nb\n… lines 3-5 of 9 not shown …\nf\n… lines 7-9 of 9 not shown …" == shown.render()
    assert ((1, 2),) == shown.ranges


def test_without_a_question_beginning_and_end_are_shown() -> None:
    """Both ends, about equally, and a note on what lies between."""
    rendered = excerpt("\n".join(LOG), "", 300, len).render().split("\n")
    assert (LOG[0], LOG[-1]) == (rendered[0], rendered[-1])
    head = rendered.index(next(line for line in rendered if "not shown" in line))
    assert abs(head - (len(rendered) - 1 - head)) <= 1


def test_a_question_that_finds_nothing_gets_both_ends() -> None:
    """Words that stand nowhere in the text are as good as none."""
    assert excerpt("\n".join(LOG), "", 300, len) == excerpt("\n".join(LOG), "xylophone ORA-1", 300, len)


def test_lines_with_the_questions_words_come_first() -> None:
    """A line that is asked for is shown with its neighbours, however deep in the text it stands."""
    lines = [*LOG[:120], "ERROR: relation rockets does not exist", *LOG[120:]]
    shown = excerpt("\n".join(lines), "Why does the relation `rockets` not exist?", 200, len)
    assert {120, 121, 122} <= {number for number, _ in shown.lines}
    assert "relation rockets" in shown.render()


def test_rare_words_weigh_more_than_frequent_ones() -> None:
    """Of two lines with one word each, the one whose word stands nowhere else is shown."""
    lines = [*LOG[:50], "exit code 9137", *LOG[50:]]
    shown = excerpt("\n".join(lines), "report 9137", 150, len)
    assert "exit code 9137" in shown.render()


def test_a_line_with_more_of_the_words_beats_one_with_fewer() -> None:
    """With room for one of them, the better line is shown, though it comes later."""
    lines = ["disk full", "x" * 100, "y" * 100, "disk full on node7", "z" * 100]
    shown = excerpt("\n".join(lines), "disk full node7", 100, len)
    assert [(4, "disk full on node7")] == list(shown.lines)


def test_a_line_with_less_than_half_of_the_best_is_not_shown() -> None:
    """Room that is left is not filled with lines that have little to do with the question."""
    lines = ["disk is fine", *LOG[:9], "disk full on node7", *LOG[9:]]
    shown = excerpt("\n".join(lines), "disk full node7", 10_000, len)
    assert {10, 11, 12} == {number for number, _ in shown.lines}


def test_a_name_weighs_more_than_other_words() -> None:
    """Of two lines that are equally rare, the one with the name is shown."""
    lines = ["disk full", *LOG[:9], "node7 down"]
    shown = excerpt("\n".join(lines), "disk full node7", 10_000, len)
    assert "node7 down" in shown.render()
    assert [(11, "node7 down")] == list(excerpt("\n".join(lines), "disk full node7", 100, len).lines)


def test_upper_and_lower_case_are_one() -> None:
    """A question finds its words in any case."""
    lines = [*LOG[:50], "FATAL: Disk FULL", *LOG[50:]]
    assert "Disk FULL" in excerpt("\n".join(lines), "disk full", 150, len).render()


def test_a_long_line_keeps_its_beginning_and_its_end() -> None:
    """A line that would eat the budget loses its middle, and says how much of it."""
    line = "BEGIN" + "x" * 10_000 + "END"
    shown = excerpt(f"first\n{line}\nlast", "", 400, len)
    parts = re.fullmatch(r"(BEGINx*) … (\d+) characters not shown … (x*END)", dict(shown.lines)[2])
    assert parts
    assert len(line) == len(parts[1]) + int(parts[2]) + len(parts[3])
    assert len(dict(shown.lines)[2]) <= 200
    assert {2} == shown.shortened
    assert ((1, 1), (3, 3)) == shown.ranges


def test_a_single_long_line_fills_the_budget() -> None:
    """A text without line breaks is shown by its beginning and end."""
    shown = excerpt("a" * 5000 + "b" * 5000, "", 300, len).render()
    assert 200 < len(shown) <= 300
    assert shown.startswith("aaa")
    assert shown.endswith("bbb")


def test_a_line_of_dear_characters_is_shortened_too() -> None:
    """Where each character costs three tokens, a part of the line is shown instead of nothing."""
    shown = excerpt("𒀀" * 100, "", 100, lambda text: 3 * len(text))
    assert {1} == shown.shortened
    assert shown.render().startswith("𒀀")


@property_test
@given(st.lists(st.sampled_from(WORDS) | any_text, max_size=20).map("".join), budgets, costs)
def test_a_shortened_line_fits(line: str, budget: int, cost: Cost) -> None:
    """A line is itself, or fits into the budget; what is left of it are its two ends."""
    short = shorten(line, budget, cost)
    assert cost(short) <= budget or short == ""
    head, _, tail = short.partition(" … ")
    assert short == line or (line.startswith(head) and line.endswith(tail.rpartition(" … ")[2]))


@pytest.mark.parametrize(("text", "count"), [("", 1), ("\n", 1), ("a", 1), ("a\n", 1), ("a\n\n", 2), ("a\r\nb", 2)])
def test_lines_of_an_excerpt_are_counted_as_an_editor_does(text: str, count: int) -> None:
    """A line break at the end begins no line."""
    assert count == excerpt(text, "", 100, len).line_count


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        ("Why is it so?", []),
        ("the Table orders, TABLE users, the table", ["table", "orders", "users"]),
        ("see src/app.py:12 and ORA-00942.", ["see", "src/app.py:12", "ora-00942"]),
        ("mail bob@example.com #42", ["mail", "bob@example.com", "42"]),
        ("x y 7 错", ["错"]),
        ("___ ... ---", []),
    ],
)
def test_the_words_that_say_something(text: str, words: list[str]) -> None:
    """Names are kept together, stop words and single letters left out, frequent words first."""
    assert words == terms(text)


def test_a_question_has_an_end() -> None:
    """At most 32 words of a question are looked for."""
    assert [f"w{number}" for number in range(MAX_TERMS)] == terms(" ".join(f"w{number}" for number in range(1000)))
