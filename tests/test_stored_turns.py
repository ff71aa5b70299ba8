"""Turns that come back: what was said before what tools gave, and a correction with what it corrects."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from autogen_core.models import AssistantMessage

from for_each import for_each
from memory_context import MemoryContext, MemoryManager
from memory_context.conversation.message import FunctionCall, Message, as_lines
from memory_context.conversation.recall.judge_records import (
    Question,
)
from memory_context.conversation.recall.keyword_judge import judge_by_keywords
from memory_context.conversation.recall.stored_turns_within_budget import least_cost, show_turns
from memory_context.model.item import CONVERSATION, MemoryItem
from memory_context.text.excerpt.excerpt import excerpt
from memory_context.text.excerpt.record_around_place import Record
from memory_context.text.excerpt.turns_of_conversations import turn_at
from memory_context.text.relevance.recall_candidates_and_their_calls import RecallCandidate
from memory_context.tools.retrieve_search_store import SEARCHING
from messages import call, results, user
from test_context import fill, shown

PAGE = "".join(f"<li>shelf {i} of oak, 74.{i:02} euros</li>\n" for i in range(24))


def turn(asked: str, answered: str, *given: str) -> list[Message]:
    """A question, what a tool gave, and an answer."""
    calls = tuple(FunctionCall(str(n), "look", "{}") for n in range(len(given)))
    called = [Message("c", "assistant", "coder", {}, calls)] if given else []
    tools = [Message("t", "tool", "look", {0: text}) for text in given]
    answer = Message("a", "assistant", "coder", {0: answered})
    return [Message("u", "user", "user", {0: asked}), *called, *tools, answer]


def stored(*turns: list[Message]) -> tuple[str, list[Record]]:
    """A conversation as it is stored, and its turns."""
    text, records, start = as_lines([one for turn in turns for one in turn]), list[Record](), 0
    while start < len(text):
        record = Record(*turn_at(text, start, text.index("\n", start)))
        records.append(record)
        start = record.stop + 1
    return text, records


MOVERS = (
    turn("The movers come at 9 am.", "Noted.", PAGE),
    turn("The movers called: it will be 10 am.", "10 am then.", PAGE),
)


def test_a_brief_turn_is_shown_once() -> None:
    """A brief turn that is the end of the turn before it, and is meant itself, is not shown twice."""
    text, turns = stored(turn("Dinner is on Monday.", "OK."), turn("No, on Tuesday.", "Fine."))
    brief = Record(text.rindex('{"role": "user"'), len(text))
    found = show_turns(text, [*turns, brief], "dinner", 900, len)
    assert 1 == found.text.count("Tuesday")
    assert found.text.index("Monday") < found.text.index("Tuesday")


@for_each("budget", [30, 60, 80, 200, 900])
def test_the_correction_stays(budget: int) -> None:
    """However little fits, the newest turn is there; what tools gave is left out before what was said."""
    text, turns = stored(*MOVERS)
    found = show_turns(text, turns, "When do the movers come?", budget * 4, len)

    assert "10 am" in found.text
    assert len(found.text) <= budget * 4
    assert "at 9 am" in found.text
    assert "oak" not in found.text


def test_of_what_a_tool_gave_that_comes_which_is_asked_for() -> None:
    """Of a tool's long result the lines come that are asked for; that message does not count as in sight."""
    text, turns = stored(turn("Which shelves are there?", "24 of oak.", PAGE, "open till six"))
    found = show_turns(text, turns, "What does shelf 17 cost?", 2000, len)

    assert "74.17" in found.text
    assert "74.03" not in found.text
    assert "look: open till six" in found.text
    assert found.ranges == ((1, 2), (4, 5))


def test_of_a_text_that_is_kept_apart_the_reference_is_shown() -> None:
    """What stands in a turn as a reference with a preview comes as the reference: its text is looked for by itself."""
    reference = "[MemoryRef: look_ab12 - CSV 300 rows - 4000 tokens]"
    text, turns = stored(
        turn("Get the orders.", "I have them.", f"{reference}\nid,city\n{'7,Oslo ' * 9}")
    )
    found = show_turns(text, turns, "orders of Oslo", 2000, len)
    assert f"look: {reference}\nassistant:" in found.text


def test_long_answers_are_cut_before_a_correction_is_dropped() -> None:
    """Where not even what was said fits, persons' words come before answers, and these are cut."""
    long = "The movers bring boxes. " * 80
    text, turns = stored(turn("The movers come at 9 am.", long), turn("No, movers at 10.", long))
    found = show_turns(text, turns, "When do the movers come?", 500, len)

    assert "user: The movers come at 9 am." in found.text
    assert "user: No, movers at 10." in found.text
    assert least_cost(text, turns, len) > 2 * len(long)
    assert found.ranges == ()


def _judged(message: str, *items: MemoryItem) -> tuple[str, ...]:
    candidates = tuple(map(RecallCandidate, items))
    question = Question(message, "", candidates, False, lambda _: False)
    return tuple(expansion.key for expansion in judge_by_keywords(question).expand)


def _item(key: str, text: str, kind: str = "tool_output") -> MemoryItem:
    return MemoryItem(
        user_id="ann",
        memory_key=key,
        content=text,
        memory_type=kind,
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
    )


ORDERS = "order_id,customer,status\n" + "\n".join(f"70{i},Ann,shipped" for i in range(100, 300))
FILLERS = [turn(f"Write a rhyme with {word}.", f"The {word} sings.") for word in "abcdefgh" * 4]


def test_a_preview_says_nothing_of_its_turn() -> None:
    """A turn that shows the preview of a text does not come back for words of that; nor, beside the row, for a tool's."""
    preview = "[MemoryRef: log_ab12 - log, 600 lines - 9000 tokens]\nPOST /api/orders status 201"
    small = json.dumps({"orders": 3, "status": "fine"})
    spoken = turn("Look at the log of web-3.", "I have seen it.", preview)
    given = turn("Is the shop up?", "It is.", small)
    text, _ = stored(*FILLERS, spoken, given)
    chat = _item("chat", text, CONVERSATION)

    asked = "What is the status of order 70155?"
    assert _judged(asked, _item("orders", ORDERS), chat) == ("orders",)
    assert _judged("What was the status of the orders?", chat) == ("chat",)
    previews, _ = stored(*FILLERS, spoken)
    assert _judged("Which orders had status 201?", _item("chat", previews, CONVERSATION)) == ()


@for_each(
    "asked, comes",
    [
        ("Сколько осталось на рекламу?", True),
        ("Quand le bureau ferme-t-il ?", True),
        ("Qui teste la restauration ?", True),
        ("¿Cuándo cierra la oficina?", True),
        ("Wann schließt das Lager?", True),
        ("Почему небо голубое?", False),
        ("Quelle est la capitale du Portugal ?", False),
        ("Why is the sky blue?", False),
    ],
)
def test_question_words_of_other_languages(asked: str, *, comes: bool) -> None:
    """A word that begins a question and stands nowhere may be a question word of any language, and is not looked for."""
    lines = [
        "Осталось на рекламу 40 тысяч.",
        "Le bureau ferme à 18 h.",
        "La capitale est loin.",
        "Marek teste la restauration.",
        "La oficina cierra a las 19.",
        "Голубая плитка там.",
        "Das Lager schließt um 20 Uhr.",
        "The blue tiles are here.",
    ]
    text = "\n\n".join([*lines, *(f"Item {n} is of no colour." for n in range(20))])
    assert bool(_judged(asked, _item("handbook", text))) is comes


@pytest.mark.parametrize(
    "message", ["¿Cuál es la capital de Portugal?", "Warum ist der Himmel blau?"]
)
def test_small_words_alone_bring_no_turn(message: str) -> None:
    """A turn of the same language has words like "es la" and "ist der" with every message."""
    spoken = turn("La mudanza es el 12 de abril.", "Bien.")
    other = turn("Der Umzug ist am 12. April.", "Gut.")
    text, _ = stored(*FILLERS, spoken, other)
    assert _judged(message, _item("chat", text, CONVERSATION)) == ()


@pytest.mark.long
@for_each("max_tokens", [1500, 2500])
async def test_no_old_answer_without_its_correction(max_tokens: int) -> None:
    """After compactions an answer comes with what corrected it, though tools gave much in both turns."""
    context = MemoryContext("ann", store="sqlite://", max_tokens=max_tokens)
    told = [
        ("Let us begin.", "Gladly."),
        ("The movers come at 9 am on 3 March, they want 18,500.", "Noted: 9:00."),
        ("Whose desk goes to the window?", "That is open."),
        ("The movers called: it will be 10 am, not 9.", "10 am then."),
    ]
    for number, (asked, answered) in enumerate(told):
        given = results(f"{PAGE}{number}", number=number)
        said = AssistantMessage(content=answered, source="coder")
        await fill(context, user(asked), call("look", number=number), given, said)
    for number in range(30):
        said = AssistantMessage(content=f"Here it is: {'word ' * 60}{number}", source="coder")
        await fill(context, user(f"Shorten paragraph {number}."), said)
    prompt = await fill(context, user("When do the movers come?"))

    text = "\n".join(map(shown, prompt))
    assert "at 9 am" in text
    assert "it will be 10 am" in text


def _records(message: str, candidate: RecallCandidate) -> list[str]:
    question = Question(message, "", (candidate,), False, lambda _: False)
    text = candidate.item.text
    return [
        text[record.start : record.stop]
        for expansion in judge_by_keywords(question).expand
        for record in expansion.records
    ]


def test_an_earlier_question_does_not_hide_the_row() -> None:
    """Whoever asks again in the same words gets the record that answers, and not only the turn that asked before."""
    asked = "What is the status of order 70155?"
    text, _ = stored(*FILLERS, turn(asked, "One moment, please."))
    chat = _item("chat", text, CONVERSATION)
    assert ("orders", "chat") == _judged(asked, _item("orders", ORDERS), chat)


def test_of_turns_that_say_as_much_all_come() -> None:
    """The first of equals comes with the others, and with what may correct them."""
    said = turn("The heron nests at the weir.", "Noted.")
    text, _ = stored(*FILLERS[:4], said, *FILLERS, said, turn("The heron has moved.", "Where to?"))
    found = _records("Where does the heron nest?", RecallCandidate(_item("chat", text)))
    assert 2 == sum("at the weir" in one for one in found)
    assert any("has moved" in one for one in found)


def test_one_word_brings_a_turn_only_if_it_is_taken_as_known() -> None:
    """People use the same words about many things: one of them is enough only behind "the", "our" and the like."""
    text, _ = stored(*FILLERS, turn("The kettle is broken.", "I ordered another one."))
    chat = RecallCandidate(_item("chat", text))
    assert [True, False] == [
        bool(_records(asked, chat)) for asked in ("Where is our kettle?", "Who invented kettle?")
    ]


def test_a_later_turn_corrects_with_few_of_the_same_words() -> None:
    """What was said later comes, too, if it holds only one of the words that the outdated turn holds."""
    said = turn("The billing service uses port 7443.", "Noted.")
    later = turn("We moved billing to 7555.", "OK.")
    text, _ = stored(*FILLERS[:8], said, *FILLERS, later, *FILLERS[:4])
    found = _records(
        "Which port does the billing service use?", RecallCandidate(_item("chat", text))
    )
    assert any("7555" in one for one in found)


def test_long_data_of_a_host_is_not_what_was_said() -> None:
    """Words in the middle of the data that a host keeps with a message bring no turn."""
    data = {
        "reasoning": "so it goes on " * 400 + "pallets in the Marseille depot " + "and on " * 400
    }
    lines = [
        {"role": "human", "text": "Do ships float?", "data": {}},
        {"role": "ai", "text": "They do.", "data": data},
    ]
    text = "\n".join(map(json.dumps, [*lines, {"role": "human", "text": "Thank you.", "data": {}}]))
    chat = RecallCandidate(_item("chat", text, CONVERSATION))
    assert not _records("How many pallets are in the Marseille depot?", chat)


def test_a_name_that_no_turn_holds_does_not_silence_all_turns() -> None:
    """Whoever asks may name somebody or something else as well; a question about nothing but that stays quiet."""
    said = turn("The new microservice is tern and listens on port 7443.", "Noted.")
    text, _ = stored(*FILLERS, said)
    chat = RecallCandidate(_item("chat", text, CONVERSATION))
    assert _records("Hi Copilot, what is the port of the new microservice?", chat)
    # One word of it is in the turn, but not the name, which tells more.
    assert not _records("What is the port of Hamburg?", chat)


@for_each(
    "message, comes",
    [
        ("Close BUG-4411.", True),
        ("Restart heron-2.", True),
        ("Assign BUG-4411 to Kim, please.", True),
        ("Write a letter to Zuzana.", True),
        (
            "Say hello to everybody in Zuzana, Peter, Ivan, Olga, Hugo and the others, please.",
            False,
        ),
        ("Close it.", False),
    ],
)
def test_a_name_is_enough_for_an_order_unless_it_is_little_of_it(message: str, comes: bool) -> None:
    """Identifiers in capitals and names of persons bring what was said of them, but not one of many names."""
    said = (
        "BUG-4411 is about the login of heron-2.",
        "Zuzana is my tutor, her address is Kirchgasse 4.",
    )
    text, _ = stored(*FILLERS, *(turn(words, "Noted.") for words in said))
    assert comes is bool(_records(message, RecallCandidate(_item("chat", text, CONVERSATION))))


def test_an_order_brings_the_turn_that_it_takes_as_known() -> None:
    """An order needs half of its words in a turn, one of them behind "our" and the like, or a name with a digit."""
    text, _ = stored(*FILLERS, turn("Our staging server is projector-7 in Oslo.", "Noted."))
    chat = RecallCandidate(_item("chat", text))
    assert _records("Deploy the branch to our staging server.", chat)
    assert _records("Remind me about projector-7, please.", chat)
    assert not _records("Write a story in which Sonja travels from Bergen to Oslo.", chat)


def test_the_newest_of_turns_that_say_the_same_comes() -> None:
    """Three turns come at most, and of those that hold as much as the best, the one that was said last is among them."""
    said = [turn(f"The budget of the fair is {n} euros.", "Noted.") for n in range(810, 850, 10)]
    text, _ = stored(*FILLERS[:4], *said, *FILLERS)
    found = _records("What is the budget of the fair?", RecallCandidate(_item("chat", text)))
    assert 3 == len(found)
    assert "840 euros" in found[-1]


def test_three_turns_come_for_many_names() -> None:
    """A message that is full of names brings three turns at most, whatever each name would bring."""
    names = ("heron-1", "tern-2", "gull-3", "rook-4", "swift-5")
    text, _ = stored(*FILLERS, *(turn(f"The nest of {name} is new.", "Noted.") for name in names))
    asked = f"Which nest is new: that of {', '.join(names[:-1])} or {names[-1]}?"
    assert 3 == len(_records(asked, RecallCandidate(_item("chat", text))))


def test_beside_a_record_a_result_of_a_tool_brings_no_turn() -> None:
    """What only a tool's result in a turn holds does not come beside the record that says the same."""
    rows = "order_id,customer,status\n70155,Ann,shipped\n70156,Bob,open"
    text, _ = stored(*FILLERS, turn("Load them.", "Loaded.", rows))
    chat = _item("chat", text, CONVERSATION)
    asked = "What is the status of order 70155?"
    assert ("orders",) == _judged(asked, _item("orders", ORDERS), chat)
    assert ("chat",) == _judged(asked, chat)


def test_a_follow_up_in_a_stored_chat_comes_with_what_it_corrects() -> None:
    """Only the words that were said make a turn brief, not the data that a stored chat keeps with it."""
    said = [
        ("human", "The kickoff with the Baltic team is on Monday."),
        ("human", "No, make that Tuesday."),
    ]
    facts = {"data": {}, "at": "2026-11-30T05:14:39.955588+00:00", "id": "0bc86334746d4ee59b4beb5c"}
    text = "\n".join(json.dumps({"role": role, "text": words, **facts}) for role, words in said)
    assert (0, len(text)) == turn_at(text, 0, text.index("\n"))


def test_records_with_a_role_and_a_source_are_no_conversation() -> None:
    """Records of another program that begin as stored messages do, but hold no texts, are read as records."""
    text = "\n".join(
        json.dumps({"role": "user", "source": "ldap", "user": f"u{n}", "quota": n * 37 % 1000})
        for n in range(300)
    )
    found = _records("Which user has the largest quota?", RecallCandidate(_item("users", text)))
    assert 1 == len(found)
    assert '"quota": 999' in found[0]


def test_a_question_comes_with_its_answer_behind_long_results() -> None:
    """A turn ends with its answer, however long the results of tools before that are."""
    text, [first] = stored(turn("What is in the contract?", "Three months.", PAGE * 80, PAGE * 80))
    assert first.stop == len(text)


def test_another_value_of_a_result_that_was_cut_brings_the_turn_again() -> None:
    """A turn whose words are in sight comes for what its tool's result holds, if that was not shown whole."""
    text, _ = stored(turn("Which shelves are there?", "24 of oak.", PAGE))
    chat = RecallCandidate(_item("chat", text), seen=((1, 2), (4, 4)))
    assert not _records("Which shelves are there?", chat)
    assert _records("What does shelf 17 of oak cost in euros?", chat)


def test_of_a_turn_of_thousands_of_messages_the_line_comes() -> None:
    """An agent that works alone says all in one turn, of which only the neighbourhood of a place is read."""
    steps = [Message("t", "tool", "look", {0: f"Step {n} is done."}) for n in range(5000)]
    steps[2500] = Message("a", "assistant", "coder", {0: "Half of it is done."})
    text = as_lines([*turn("Go on.", "Yes."), *steps])
    place = text.index("Half of it")
    line = text.rindex("\n", 0, place) + 1, text.index("\n", place)
    assert line == turn_at(text, *line)


def test_reading_by_a_question_brings_the_correction() -> None:
    """A conversation that is read by a question gives the turns that recall brings."""
    met = turn("We meet at the harbour office on Friday.", "Friday at ten.")
    text, _ = stored(*FILLERS, met, *FILLERS, turn("The harbour office is shut on Friday.", "Ah."))
    shown = excerpt(text, "When do we meet at the harbour office?", 900, len).text
    assert "Friday at ten" in shown
    assert "is shut" in shown


def test_search_memory_shows_who_said_what() -> None:
    """A message is no JSON there, and takes one line, so that the numbers of lines are those of the stored text."""
    hello, asked = turn("Hello.", "Hello."), turn("Where does truck 17 go?", "To Basel.\nAt nine.")
    with MemoryManager("sqlite://", user_id="ann") as memory:
        memory.store(as_lines([*hello * 99, *asked]), type=CONVERSATION)
        answer = SEARCHING.called(memory, {"query": "truck Basel"}, 500).text

    said = "\n…199\nuser: Where does truck 17 go?\nassistant: To Basel. At nine."
    assert answer.endswith(said)


@for_each(
    "line",
    [
        '{"role": "user", "content": "truck 17"}',
        '{"role": "user", "source": "ann", "content": "truck 17"}',
        '{"role": "user", "source": "ann", "texts": ["truck 17", ' + "[" * 9000,
    ],
)
def test_search_memory_shows_logs_of_other_programs(line: str) -> None:
    """A line that begins as a message of ours is shown as it is if it is none, however deep it is."""
    with MemoryManager("sqlite://", user_id="ann") as memory:
        memory.store(f"{line}\n", key="log")
        answer = SEARCHING.called(memory, {"query": "truck 17"}, 5000).text

    assert line[-39:] in answer
