"""What the next step needs: decided by the words it shares with what is stored."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from for_each import for_each
from memory_context.conversation.keyword_judge import Ranges, keyword_matches
from memory_context.model.item import SECRET, Content, MemoryItem

QUESTION = "Explain the ORA-00942 error on table customers"  # explain, error, table, customers: 1 each; ora-00942: 3
LOG = "start\nORA-00942: no such table\nend"


def _item(content: Content, key: str = "k", memory_type: str = "tool_output") -> MemoryItem:
    return MemoryItem(user_id="ann", memory_key=key, content=content, memory_type=memory_type)


def _chosen(question: str, *contents: Content, seen: Ranges = ()) -> list[Content]:
    items = [_item(content, str(number)) for number, content in enumerate(contents)]
    return [
        choice.item.content
        for choice in keyword_matches(question, items, {item.memory_key: seen for item in items})
    ]


@for_each(
    "text, chosen",
    [
        ("ORA-00942: no such table", True),
        ("see ora-00942", False),
        ("ORA-00942\nno such table", True),
        ("ORA-00942\n\nno such table", False),
        ("the error on the customers table, explained", False),
        ("table customers", False),
        ("nothing to do with it", False),
        ("", False),
    ],
)
def test_half_of_what_is_asked_for_is_enough(text: str, *, chosen: bool) -> None:
    """Half of the weight must stand in one place, where a name weighs as three words and cannot be done without."""
    assert chosen == bool(_chosen(QUESTION, text))


@for_each(
    "question, text, chosen",
    [
        ("rockets", "rockets fly", False),
        ("rockets fly", "rockets do not fly", True),
        ("rockets fly high today", "rockets do not fly", True),
        ("rockets fly very high today, friend", "rockets do not fly", False),
        ("rockets.csv", "see rockets.csv", True),
        ("a1 b2 c3 d4 e5 f6", "a1\nb2\nc3", True),
        ("a1 b2 c3 d4 e5 f6", "a1\n\nb2\nc3", False),
        ("What about #4711?", "ticket 4711", True),
        ("Why is it so?", "why is it so", False),
        ("", "anything", False),
    ],
)
def test_one_name_or_two_words_are_the_least(question: str, text: str, *, chosen: bool) -> None:
    """One ordinary word in common is chance; a question of stop words asks for nothing."""
    assert chosen == bool(_chosen(question, text))


@for_each(
    "seen, chosen",
    [
        ((), True),
        (((1, 1), (3, 3)), True),
        (((2, 2),), False),
        (((1, 3),), False),
        (((4, 9),), True),
    ],
)
def test_a_line_that_is_in_sight_is_not_recalled(seen: Ranges, *, chosen: bool) -> None:
    """A memory is brought back for lines that the prompt does not show, not for those that it shows."""
    assert chosen == bool(_chosen("ORA-00942 table", LOG, seen=seen))


def test_only_the_memorys_own_lines_are_in_sight() -> None:
    """What is shown of one memory says nothing about another."""
    items = [_item(LOG, "a"), _item(LOG, "b")]
    assert ["b"] == [
        choice.item.memory_key for choice in keyword_matches("ORA-00942", items, {"a": ((1, 3),)})
    ]


def test_a_weaker_line_in_sight_does_not_stand_for_the_best_one() -> None:
    """The place that holds most of the words counts, not one that holds some of them."""
    text = "customers everywhere\n\nORA-00942 on table customers"
    assert [text] == _chosen(QUESTION, text, seen=((1, 2),))
    assert [] == _chosen(QUESTION, text, seen=((3, 3),))


def test_one_of_several_equal_places_in_sight_is_enough() -> None:
    """A log that says the same a hundred times is not brought back while one of them can be read."""
    assert [] == _chosen("ORA-00942 table", f"{LOG}\n{LOG}", seen=((2, 2),))


def test_secrets_and_binary_content_are_never_recalled() -> None:
    """However well they fit."""
    items = [_item(LOG, "secret", SECRET), _item(LOG.encode(), "binary"), _item(LOG, "text")]
    assert ["text"] == [
        choice.item.memory_key for choice in keyword_matches("ORA-00942", items, {})
    ]


def test_a_choice_says_why() -> None:
    """People read which words were found."""
    (choice,) = keyword_matches("ORA-00942 table", [_item(LOG)], {})
    assert "it holds ora-00942, table" == choice.why


def test_the_best_choice_comes_first() -> None:
    """By what each has of the question; equals keep the order in which they were given."""
    texts = ["a.py again", "nothing", "a.py", "error in a.py"]
    assert ["error in a.py", "a.py again", "a.py"] == _chosen("error a.py", *texts)


@examples(150)
@given(
    st.text(st.characters(exclude_categories=())) | st.just(QUESTION),
    st.lists(
        st.sampled_from(["ORA-00942", "table", "customers", *"\nİẞ "]) | st.text(), max_size=8
    ).map("".join),
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=3).map(tuple),
)
def test_any_question_can_be_asked_of_any_text(question: str, text: str, seen: Ranges) -> None:
    """The answer is the same every time, and never an error; with every line in sight it is no."""
    assert _chosen(question, text, seen=seen) == _chosen(question, text, seen=seen)
    assert [] == _chosen(question, text, seen=((1, text.count("\n") + 1),))
