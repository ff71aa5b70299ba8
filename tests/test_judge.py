"""What the next step needs: decided by the terms that the message shares with what is stored."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from for_each import for_each
from growth import assert_linear
from memory_context.conversation.message import Message, MessageFacts
from memory_context.conversation.recall.judge_records import (
    Question,
)
from memory_context.conversation.recall.keyword_judge import is_answered, judge_by_keywords
from memory_context.conversation.recall.recall_request_from_messages import recall_request
from memory_context.model.item import SECRET, Content, MemoryItem
from memory_context.text.excerpt.excerpt import show_records
from memory_context.text.excerpt.record_around_place import Record, record_at, row_at
from memory_context.text.relevance import numbers_with_names as named_numbers
from memory_context.text.relevance import places_in_records, term_occurrences
from memory_context.text.relevance.question_terms import (
    AskedTerm,
    asked_terms,
    is_pointed_at,
)
from memory_context.text.relevance.reasons_for_records import Expansion
from memory_context.text.relevance.recall_candidates_and_their_calls import Ranges, RecallCandidate

QUESTION = "Explain the ORA-00942 error on table customers"
LOG = "start\nORA-00942: no such table\nend"
ORDERS = "\n".join(f"order {number}: {number * 7} items" for number in range(1, 1500))


def _item(content: Content, key: str = "k", memory_type: str = "tool_output") -> MemoryItem:
    return MemoryItem(user_id="ann", memory_key=key, content=content, memory_type=memory_type)


def _opened(question: str, items: list[MemoryItem], seen: Ranges = ()) -> tuple[Expansion, ...]:
    candidates = tuple(RecallCandidate(item, seen) for item in items)
    return judge_by_keywords(
        Question(question, "", candidates, has_memories=False, in_sight=lambda _: False)
    ).expand


def _chosen(question: str, *contents: Content, seen: Ranges = ()) -> list[Content]:
    items = [_item(content, str(number)) for number, content in enumerate(contents)]
    return [contents[int(expansion.key)] for expansion in _opened(question, items, seen)]


def _shown(question: str, text: str) -> list[str]:
    return [
        text[record.start : record.stop]
        for expansion in _opened(question, [_item(text)])
        for record in expansion.records
    ]


@for_each(
    "question, text, chosen",
    [
        (QUESTION, "ORA-00942: no such table", True),
        (QUESTION, "see ora-00942", True),
        (QUESTION, "ORA-0094: no such table", False),
        (QUESTION, "ORA-009421: no such table", False),
        (QUESTION, "nothing to do with it", False),
        (QUESTION, "", False),
        ("rockets", "rockets fly", True),
        ("I like rockets.", "rockets fly", False),
        ("rockets.csv", "see rockets.csv", True),
        ("What about #4711?", "ticket 4711", True),
        ("What about #4711?", "ticket 14711", False),
        ('Where is "blue heron" now?', "the blue heron is here", True),
        ('Where is "blue heron" now?', "the blue bird and the heron", False),
        ("Wo ist der „blue heron“ jetzt?", "the blue heron is here", True),
        ("Wo ist der „blue heron“ jetzt?", "the blue bird and the heron", False),
        ("What is the plan of kestrel?", '{"login": "kestrel", "plan": "basic"}', True),
        ("Keep the answers short, please.", "id,name\n1,short\n2,long", False),
        ("What is the name of short?", "id,name\n1,short\n2,long\n3,odd", True),
        ("I don't think so.", 'boss="don"', False),
        ("Why is it so?", "why is it so", False),
        ("Thanks, that is all.", "thanks, that is all", False),
        ("What is 17 times 23?", "order 17: 23 items", False),
        ("", "anything", False),
    ],
)
def test_names_open_and_common_words_do_not(question: str, text: str, *, chosen: bool) -> None:
    """A name is met whole or not at all; ordinary words, thanks, and short numbers alone ask for nothing."""
    assert chosen == bool(_chosen(question, text))


ON_CALL = """name,role,phone
Priya Raman,primary,+46 70 555 0187
Karim Daoud,secondary,+46 70 555 0142
Jun Seo,shift lead,+46 70 555 0166"""
ANSWER = (
    "I have read the disks and the rota. The host db-3 worries me most; Priya Raman is on call."
)


@for_each(
    "question, answer, record",
    [
        ("What's her phone number?", ANSWER, "Priya Raman,primary,+46 70 555 0187"),
        ("Wie ist ihre phone number?", ANSWER, "Priya Raman,primary,+46 70 555 0187"),
        (
            "What's the phone number of Karim, is it known?",
            ANSWER,
            "Karim Daoud,secondary,+46 70 555 0142",
        ),
        ("Can you translate it into French?", ANSWER, ""),
        ("Her phone number is known to me.", ANSWER, ""),
        ("What's the weather in her town?", ANSWER, ""),
        ("What's her phone number?", "", ""),
    ],
)
def test_a_pronoun_means_what_the_answer_before_named(
    question: str, answer: str, record: str
) -> None:
    """A question with a pronoun gets the record of the name that it asks about; its own words come first."""
    (item,) = _called("rota", ON_CALL)
    asked = Question(
        question,
        "",
        (RecallCandidate(item),),
        has_memories=False,
        in_sight=lambda _: False,
        answer=answer,
    )
    shown = [
        item.text[one.start : one.stop]
        for expansion in judge_by_keywords(asked).expand
        for one in expansion.records
    ]
    assert ([record] if record else []) == shown


@for_each("number", [1, 22, 102, 1022])
def test_a_number_is_met_whole(number: int) -> None:
    """Not inside another number, nor in another place of the line."""
    asked = f"Who is the customer of order {number}?"
    assert [f"order {number}: {number * 7} items"] == _shown(asked, ORDERS)


@for_each("asked", ["51cb3902", "51cb3902-0624", "51CB3902-0624-9dc2"])
def test_the_beginning_of_an_id_is_met(asked: str) -> None:
    """People quote the first letters of a UUID; and a row that begins with what was named comes alone."""
    rows = [f"{n:08x}-0624-9dc2-f9f3-{n:012x} session of Jo took {n} s" for n in range(300)]
    rows[57] = "51cb3902-0624-9dc2-f9f3-a9c2dd873924 session of Ann took 7 s"
    assert [rows[57]] == _shown(f"How long was session {asked}, and who was it?", "\n".join(rows))


def test_two_names_bring_two_records() -> None:
    """Every distinctive term of the message is covered."""
    shown = _shown("Compare order 22 with order 1022, please.", ORDERS)
    assert ["order 1022: 7154 items", "order 22: 154 items"] == sorted(shown)


MONTHS = ["January", "February", "March", "April", "May", "June"]
ALIKE = {
    "logs": [
        "\n".join(
            f"10:{n // 60:02}:{n % 60:02} web-{host} request {n} took {n * host} ms"
            for n in range(300)
        )
        for host in range(12)
    ],
    "lists": [
        "\n".join(f"file-{number} line {n}: value {n * number}" for n in range(300))
        for number in range(12)
    ],
    "tables": [
        "Month,Customer,Total\n" + "\n".join(f"{month},Customer {n},{n * 7}.00" for n in range(200))
        for month in MONTHS
    ],
    "headings": [
        f"Report of {month}\n\n" + "\n".join(f"Customer {n} paid {n * 7}.00" for n in range(200))
        for month in MONTHS
    ],
    "objects": [
        json.dumps(
            [
                {"branch": branch, "name": month, "sold": n, "town": f"Town {n}"}
                for month in MONTHS
                for n in range(40)
            ]
        )
        for branch in ("north", "south", "east", "west", "centre")
    ],
}


@pytest.mark.long
@for_each(
    "form, question, place, record",
    [
        (
            "logs",
            "How long did request 57 take on web-7?",
            7,
            "10:00:57 web-7 request 57 took 399 ms",
        ),
        (
            "logs",
            "How long did request 257 take on web-7?",
            7,
            "10:04:17 web-7 request 257 took 1799 ms",
        ),
        ("lists", "What is line 250 of file-7?", 7, "file-7 line 250: value 1750"),
        ("lists", "file-11 line 33?", 11, "file-11 line 33: value 363"),
        ("tables", "How much did Customer 77 pay in March?", 2, "March,Customer 77,539.00"),
        ("headings", "What has Customer 77 paid in March?", 2, "Customer 77 paid 539.00"),
        (
            "objects",
            "How much did April sell in Town 31 of the west branch?",
            3,
            '{"branch": "west", "name": "April", "sold": 31, "town": "Town 31"}',
        ),
    ],
)
def test_two_names_together_mean_one_record(
    form: str, question: str, place: int, record: str
) -> None:
    """Each of them stands in many texts of one form; what holds both comes alone."""
    texts = ALIKE[form]
    items = [_item(text, str(number)) for number, text in enumerate(texts)]
    (expansion,) = _opened(question, items)
    (shown,) = expansion.records
    assert str(place) == expansion.key
    assert record in texts[place][shown.start : shown.stop]
    assert shown.stop - shown.start < 2 * len(record) + 60


SERVICES = ["payments", "orders", "checkout", "mailer", "gateway", "auth", "billing", "reports"]
TICKETS = "\n".join(
    [
        "ticket,assignee,title,state",
        *(
            f"SUP-{400 + n},{('anna', 'bo', 'chen')[n % 3]},"
            f"{('Printer jams', 'Slow VPN', 'Login loop', 'Broken link')[n % 4]} for "
            f"{('Acme', 'Zenit', 'Bolt', 'Kern', 'Orbit')[n % 5]},{('open', 'closed')[n % 2]}"
            for n in range(120)
        ),
    ]
)
PODS = "\n".join(
    ["NAME                         READY   STATUS             RESTARTS"]
    + [
        f"{f'{name}-{7919 * (n + 1) % 99991:05}-{chr(98 + n) * 4}':<28} 1/1     Running            {n}"
        for name in ("payments-api", "inventory-sync", "search-indexer")
        for n in range(6)
    ]
)
ISSUES = json.dumps(
    [
        {
            "id": 9000001 + n,
            "number": 300 + n,
            "title": f"{('Crash', 'Leak', 'Typo')[n % 3]} in part {chr(97 + n)}",
            "comments": n % 4,
        }
        for n in range(24)
    ]
)
PULL_REQUESTS = "id,title,author\n" + "\n".join(
    f"{200 + n},Change {chr(97 + n % 26)}{chr(97 + n // 26)} of the parser,ann" for n in range(60)
)
MAILS = "\n----\n".join(
    f"From: {who}\nTo: ann@example.com\nSubject: {about}\n\nHello Ann,\n\n{said}\n\nBest regards\n"
    for who, about, said in (
        ("hr@example.com", "Interview", "Strong on systems. Salary expectation 78k, free in May."),
        (
            "petra.holm@example.com",
            "Re: Offsite",
            "The hotel can take 14 people from 11 to 14 March.",
        ),
        (
            "legal@bluefin.example",
            "Renewal",
            "The notice period is six weeks, the price rises by 4%.",
        ),
    )
)
SOURCE = '''
"""Wrap text, with functions for each case."""

__all__ = ["wrap", "dedent", "indent"]


def wrap(text):
    """Wrap lines; dedent() them before."""
    return text


def dedent(text):
    """Take away what all lines begin with."""
    return text


if __name__ == "__main__":
    # A test of dedent.
    print(dedent("Hello."))
'''


def _deployed(run: int) -> str:
    lines = [
        f"{env:<8} {name:<12} version=1.{run}.{n} status=OK pods=2/2"
        for env in ("staging", "prod")
        for n, name in enumerate(SERVICES)
    ]
    return "\n".join([f"Deployment report {run}", *lines])


def _called(tool: str, *texts: str, arguments: str = "{}") -> list[MemoryItem]:
    facts = {"source": tool, "arguments": arguments}
    return [
        replace(_item(text, f"{tool}_{n}"), content_metadata=facts) for n, text in enumerate(texts)
    ]


def _brought(question: str, items: list[MemoryItem]) -> list[str]:
    """Return the records that come back of texts that came in this order."""
    candidates = tuple(RecallCandidate(item, (), place) for place, item in enumerate(items))
    asked = Question(question, "", candidates, has_memories=False, in_sight=lambda _: False)
    texts = {item.memory_key: item.text for item in items}
    return [
        texts[expansion.key][record.start : record.stop]
        for expansion in judge_by_keywords(asked).expand
        for record in expansion.records
    ]


def _lines(text: str, *parts: str) -> list[str]:
    return [line for line in text.split("\n") if all(part in line for part in parts)]


@for_each(
    "question, tool, text, parts",
    [
        ("Which tickets are about the slow VPN for Zenit?", "tickets", TICKETS, ["VPN for Zenit"]),
        ("Show me Chen's tickets for Kern", "tickets", TICKETS, [",chen,", "Kern"]),
        ("Is a printer of Orbit still open?", "tickets", TICKETS, ["Printer", "Orbit", "open"]),
        ("how often did inventory-sync restart?", "pods", PODS, ["inventory-sync"]),
        ("and search-indexer?", "pods", PODS, ["search-indexer"]),
    ],
)
def test_all_records_that_are_meant_come(
    question: str, tool: str, text: str, parts: list[str]
) -> None:
    """Where several rows hold what a message asks with, or its name, none is picked among them."""
    meant = _lines(text, *parts)
    assert len(meant) > 3
    assert sorted(meant) == sorted(_brought(question, _called(tool, text)))


def test_records_beyond_a_few_hundred_tokens_are_counted() -> None:
    """Of thirty orders of one customer those come that fit, and it is said how many do not."""
    rows = [f"{1000 + n},Wei-{n % 10},{'note ' * 20}{n}" for n in range(300)]
    items = _called("orders", "\n".join(["order,customer,note", *rows]))
    (expansion,) = _opened("Show me the orders of Wei-7", items)
    assert 5 < len(expansion.records) < 20
    assert 30 == len(expansion.records) + expansion.more


@for_each("copies", [1, 2, 3, 12])
@for_each(
    "question, parts",
    [
        ("Which version of gateway is in prod?", ["prod ", " gateway "]),
        ("What is the status of billing in staging?", ["staging", " billing "]),
        ("which version of reports runs on staging?", ["staging", " reports "]),
    ],
)
def test_of_a_call_that_was_made_again_the_newest_answer_comes(
    question: str, parts: list[str], copies: int
) -> None:
    """However often the same words stand in what a tool has answered before."""
    runs = list(map(_deployed, range(copies)))
    assert _lines(runs[-1], *parts) == _brought(question, _called("deploy", *runs))


@for_each("width", range(20))
def test_a_name_is_not_the_beginning_of_another_one(width: int) -> None:
    """Wherever a part of the text that is read by itself ends, `test_1` is not what is left there of `test_101`."""
    text = "\n".join(f"{'-' * width} test_{number} took {number} ms" for number in range(400))
    assert [f"{'-' * width} test_1 took 1 ms"] == _shown("How long did test_1 take?", text)


def test_colours_of_a_terminal_are_between_words() -> None:
    """`took` is a word of a line in which a colour stands directly before it."""
    text = "\n".join(f"\x1b[1mjob-{n}\x1b[0m \x1b[2mwaited\x1b[22m" for n in range(90))
    text += "\n\x1b[1mjob-91\x1b[0m \x1b[2mcollided\x1b[22m"
    assert [text.splitlines()[-1]] == _shown("Which job collided?", text)


def test_a_name_in_many_copies_is_met_in_the_newest() -> None:
    """Each of ten answers has other figures."""
    tables = [
        "host,cpu,state\n"
        + "\n".join(f"db-{n},{(n + copy) * 37 % 100}%,{copy}" for n in range(1, 30))
        for copy in range(10)
    ]
    shown = _brought("how is db-7 doing?", _called("hosts", *tables))
    assert _lines(tables[-1], "db-7,") == shown


def test_answers_to_other_arguments_are_no_copies() -> None:
    """Each of five customers was looked up by a call of its own."""
    items = list[MemoryItem]()
    for n, city in enumerate(["Oslo", "Graz", "Oslo", "Porto", "Oslo"]):
        text = json.dumps([{"id": f"C-{n}", "name": f"Name {n}", "city": city}])
        (item,) = _called("get_customer", text, arguments=f'{{"id": {n}}}')
        items.append(replace(item, memory_key=f"get_customer_{n}"))
    shown = _brought("Which customers are in Oslo?", items)
    assert ["C-4", "C-2", "C-0"] == [json.loads(record)["id"] for record in shown]


@for_each(
    "question, tool, text, shown",
    [
        ("what's issue 304 about?", "list_issues", ISSUES, "Leak in part e"),
        ("what is #304 about?", "list_issues", ISSUES, "Leak in part e"),
        ("Tell me about issue #317", "list_issues", ISSUES, "Typo in part r"),
        ("what's PR 233 about?", "list_prs", PULL_REQUESTS, "233,Change hb"),
        ("merge #233", "list_prs", PULL_REQUESTS, "233,Change hb"),
        ("what's up with sup 433?", "list_tickets", TICKETS, "SUP-433,"),
        ("Is 304 a prime number?", "list_issues", ISSUES, None),
        ("How many hours are in 304 minutes?", "list_issues", ISSUES, None),
        ("We need 233 chairs for the party.", "list_prs", PULL_REQUESTS, None),
    ],
)
def test_a_short_number_is_met_as_the_id_of_a_record(
    question: str, tool: str, text: str, shown: str | None
) -> None:
    """With a number sign, or a noun that its text is about, it is the one that stands first in a record."""
    brought = _brought(question, _called(tool, text))
    assert (shown is None) == (not brought)
    assert shown is None or (len(brought) == 1 and shown in brought[0])


def test_a_record_begins_where_its_number_does() -> None:
    """The verb before a number is no part of its name, though it ends the row before."""
    text = TICKETS.replace("closed", "close")
    assert _lines(text, "SUP-440,") == _brought("Close SUP-440", _called("tickets", text))


@for_each(
    "question, text, shown",
    [
        ("what is the salary expectation of the candidate?", MAILS, "78k"),
        ("What did Petra write?", MAILS, "petra.holm@"),
        ("show me the function dedent", SOURCE, "def dedent(text)"),
        ("what is the salary expectation of Miller?", MAILS, None),
        ("What does the word expectation mean?", MAILS, None),
        ("What is the last test?", SOURCE, None),
    ],
)
def test_one_word_that_stands_nowhere_does_not_silence_a_question(
    question: str, text: str, shown: str | None
) -> None:
    """If the others stand together; a name that stands nowhere does."""
    brought = _brought(question, _called("read", text))
    assert (shown is None) == (not brought)
    assert shown is None or shown in brought[0]


def test_the_function_of_a_name_is_meant_where_no_text_says_function() -> None:
    """Only the definition comes, not what calls it."""
    bodies = {"indent": "text", "dedent": "text.strip()", "z": "dedent(text)"}
    source = "\n\n".join(f"def {n}(text):\n    return {body}\n" for n, body in bodies.items())
    for asked in ("show me the function dedent", "how does the function dedent work?"):
        [shown] = _shown(asked, source)
        assert shown.startswith("def dedent(text)")


def test_a_question_for_a_reason_is_answered_around_its_name() -> None:
    """The summary of a test run says most of the question again; the reason stands where the failure is told."""
    cases = [f"{number}-{unit}" for unit in ("days", "weeks", "years") for number in range(10, 20)]
    passed = [f"tests/test_durations.py::test_seconds[{one}] FAILED" for one in cases]
    failures = [
        f"""____ test_seconds[{one}] ____

text = '{one}'

    def test_seconds(text, expected):
        found = seconds(text)
>       assert found == expected, text
E       AssertionError: {one}: not {number * 4321}

tests/test_durations.py:9: AssertionError
---- Captured log call ----
INFO     durations:durations.py:22 reading '{one}'"""
        for number, one in enumerate(cases, 100)
    ]
    summary = [
        f"FAILED tests/test_durations.py::test_seconds[{one}] - Assertio..." for one in cases
    ]
    text = "\n".join([*passed, "==== FAILURES ====", *failures, "==== summary ====", *summary])
    shown = _shown("Why does test_seconds[14-weeks] fail? Quote the assertion.", text)
    assert "14-weeks: not 492594" in "\n".join(shown)


def test_parts_of_one_long_line_do_not_overlap() -> None:
    """Each word of a question stands in the line; around each is a part of it, and one of those that overlap comes."""
    long_talk = "it was a long talk on the {0} and its cost. " * 20
    subjects = ("roof", "harbour", "garden", "road", "school")
    paragraphs = [f"Jane said about the {one}: {long_talk.format(one)}" for one in subjects]
    shown = _shown("Who said what about the harbour?", "\n\n".join(paragraphs))
    assert shown
    assert 1 == sum("said about the harbour" in part for part in shown)


def test_what_a_tool_was_asked_for_belongs_to_each_record_of_its_answer() -> None:
    """A file's name stands in the arguments of the call, and not in its lines."""
    text = "\n".join(f"line {n}: {n * n}" for n in range(300))
    items = [
        replace(
            _item(f"{text}\nend {number}", str(number)),
            content_metadata={"arguments": json.dumps({"path": f"logs/file-{number}.txt"})},
        )
        for number in range(12)
    ]
    (expansion,) = _opened("What is in line 250 of file-7.txt?", items)
    (record,) = expansion.records
    assert ("7", "line 250: 62500") == (expansion.key, text[record.start : record.stop])


CHINESE = [f"第{n}条：客户王先生的订单号为{20000 + n}，金额{n % 90}元。" for n in range(300)]  # noqa: RUF001 - Chinese has signs of its own
JAPANESE = [f"注文番号{20000 + n}の担当者は田中さん、金額は{n % 90}円です。" for n in range(300)]
KOREAN = [f"주문번호 {20000 + n}의 담당자는 김씨이고 금액은 {n % 90}원입니다." for n in range(300)]


@pytest.mark.long
@for_each(
    "lines, question",
    [
        (CHINESE, "订单号20077的金额是多少？"),  # noqa: RUF001
        (CHINESE, "订单号 20077 的金额是多少？"),  # noqa: RUF001
        (CHINESE, "20077"),
        (CHINESE, "order 20077?"),
        (JAPANESE, "注文番号20077の担当者は誰ですか？"),  # noqa: RUF001
        (KOREAN, "주문번호 20077의 담당자는 누구입니까?"),
    ],
)
def test_a_number_ends_where_a_script_without_spaces_begins(
    lines: list[str], question: str
) -> None:
    """In the message and in the text: such scripts write no space between a number and a word."""
    assert [lines[77]] == _shown(question, "\n".join(lines))


HOUSES = [f"仓库{n}号存放水泥{n % 7}吨，负责人是王{n}伟。" for n in range(300)]  # noqa: RUF001


@for_each("question", ["仓库77号由谁负责？", "那77号呢？"])  # noqa: RUF001
def test_a_short_number_comes_with_the_noun_behind_it(question: str) -> None:
    """As "order 22" does in English: in Chinese, the noun of a number is written behind it, and more words behind that."""
    assert [HOUSES[77]] == _shown(question, "\n".join(HOUSES))


@for_each("question", ["王77伟负责哪个仓库？", "Where is José Groß-77?"])  # noqa: RUF001
def test_letters_that_json_has_escaped_are_found(question: str) -> None:
    """`json.dumps` of Python escapes all letters but those of ASCII, and so do the results of many servers."""
    names = [{"name": f"王{n}伟", "alias": f"José Groß-{n}"} for n in range(300)]
    assert [json.dumps(names[77])] == _shown(question, json.dumps(names))


@for_each(
    "question",
    ["Which pump is in berlin-77?", "Where is unit 77?", "What is the rating of Okafor-77?"],
)
def test_words_behind_an_escaped_line_break_are_found(question: str) -> None:
    """In a string of JSON a word or a number may begin right after the `n` of a line break, or the `t` of a tab."""
    units = [{"text": f"unit\t{n}\nberlin-{n}-graz has a pump\nOkafor-{n}"} for n in range(300)]
    assert [json.dumps(units[77])] == _shown(question, json.dumps(units))


def test_a_record_comes_with_its_head() -> None:
    """The header of a table says what the cells are."""
    rows = [f"{number},u{number},Town {number}" for number in range(100)]
    text = "\n".join(["id,login,city", *rows])
    (expansion,) = _opened("Where does u57 live?", [_item(text)])
    (record,) = expansion.records
    assert ["id,login,city", "57,u57,Town 57"] == [text[start:stop] for start, stop in record.spans]


TRACES = {
    "Python": 'Traceback (most recent call last):\n  File "app.py", line {n}, in run\n    run({n})\n{error}: row {n}\n',
    "Java": "java.lang.{error}: row {n}\n\tat App.run(App.java:{n})\nCaused by: {error}: io {n}\n\tat Io.read(Io.java:7)\n",
    "Go": "panic: {error} row {n}\n\ngoroutine {n} [running]:\nmain.run(0x{n})\n\t/app/main.go:{n} +0x1d\nexit status 2\n",
}


@for_each("trace", TRACES.values())
def test_an_entry_of_a_log_comes_with_its_own_exception(trace: str) -> None:
    """Entries follow one another, so that the exception of each stands right before the next one's line."""
    entries = [
        f"2026-11-01 02:{n % 60:02}:00,123 ERROR pod-{n} failed\n"
        + trace.format(n=n, error=("KeyError", "IOError", "TypeError")[n * n % 3])
        for n in range(100, 200)
    ]
    (shown,) = _shown("Why did pod-157 fail?", "".join(entries))
    assert entries[57].removesuffix("\n") == shown


@for_each(
    "stamp",
    [
        "Jan  2 10:{0:02}:33 host app[{0}]:",
        "ERROR 2026-01-02 10:{0:02}:33",
        "02.01.2026 10:{0:02}:33",
        "Fri Jan 02 10:{0:02}:33 2026",
    ],
)
def test_an_entry_begins_with_its_time_in_any_form(stamp: str) -> None:
    """Also with the level or the weekday before its time, an entry comes with its own exception alone."""
    entries = [
        f"{stamp.format(n)} Request {n} broke\n{TRACES['Java'].format(n=n, error='IOError')}"
        for n in range(60)
    ]
    (shown,) = _shown("Why did Request 33 break?", "".join(entries))
    assert entries[33].removesuffix("\n") == shown


NOTATIONS = {
    "psql": ("", "-[ RECORD {n} ]---\nid    | {n}\nlogin | {login}\nowner | {owner}\n"),
    "vCard": ("", "BEGIN:VCARD\nUID:{n}\nNICKNAME:{login}\nORG:{owner}\nEND:VCARD\n"),
    "sections": ("", "[account {n}]\nlogin={login}\nowner={owner}\n"),
    "rules": ("", "id = {n}\nlogin = {login}\nowner = {owner}\n--------\n"),
    "blank lines": ("", "id={n}\n\nlogin={login}\n\nowner={owner}\n\n\n"),
    "XML": (
        "<all>\n",
        " <one>\n  <id>{n}</id>\n  <login>{login}</login>\n  <o>{owner}</o>\n </one>\n",
    ),
    "Markdown": ("# All\n\n", "## Number {n}\n\n- Login: {login}\n\nBelongs to {owner}.\n\n"),
    "mails": ("", "From {n}\nFrom: {login}\nSubject: hi\n\nDear all,\nit is {owner}.\nRegards\n\n"),
    "braces": (
        "",
        "account {n} {{\n    login {login};\n    at {{\n        owner {owner};\n    }}\n}}\n",
    ),
}


@for_each("head, record", NOTATIONS.values())
def test_a_record_comes_whole_in_any_notation(head: str, record: str) -> None:
    """Its lines are known by coming again in the next one, wherever blank lines and indentation stand."""
    text = head + "".join(
        record.format(n=n, login=f"u-{n * 37}-x", owner=f"own_{n * 7919:06}")
        for n in range(100, 200)
    )
    (shown,) = _shown("Who owns the account of u-5550-x at the moment?", text)
    assert "150" in shown
    assert "u-5550-x" in shown
    assert "own_1187850" in shown
    assert "own_1179931" not in shown
    assert "own_1195769" not in shown


def test_a_record_within_a_long_one_comes_with_what_opens_that() -> None:
    """An account that does not say whose it is stands below the line that does, however far that is."""
    accounts = "".join(
        f"## Owner own_{n // 50}\n\n" * (n % 50 == 0)
        + f"### User {n}\n\nLogin u-{n}-x.\n\nCode c{n}.\n\n"
        for n in range(200)
    )
    (expansion,) = _opened("Which owner has u-57-x?", [_item(accounts)])
    (record,) = expansion.records
    shown = [accounts[start:stop] for start, stop in record.spans]
    assert ["## Owner own_1", "### User 57\n\nLogin u-57-x.\n\nCode c57."] == shown


FIRST_NAMES = ("Ada", "Ben", "Cleo", "Dag", "Eva", "Finn", "Gil")
LAST_NAMES = ("Byron", "Cole", "Dahl", "Ek", "Funk")
CONTACTS = json.dumps(
    [
        {
            "id": n,
            "of": {"first": FIRST_NAMES[n % 7], "key": n, "last": LAST_NAMES[n % 5]},
            "phone": f"555-{n}",
        }
        for n in range(35)
    ]
)


def test_a_name_in_two_fields_of_a_record_names_it() -> None:
    """As in a list of contacts: of the many who have one of the two names, none is meant."""
    asked = "What is the phone number of Eva Byron, and whose is that of Gil Cole?"
    shown = [json.loads(one)["id"] for one in _shown(asked, CONTACTS)]
    assert [6, 25] == sorted(shown[:2])
    assert len(shown) <= 3


def test_a_name_outside_of_lists_does_not_hide_the_records_of_it() -> None:
    """Below a table stands who wrote it, who is in some of its rows, too."""
    rows = [f"{n},Jo Lind{n % 30},{n * 7}" for n in range(150)]
    text = "\n".join(
        ["order,customer,items", *rows, "", "Exported last week, by Jo Lind7 herself."]
    )
    shown = _shown("Compare Jo Lind7 with the others.", text)
    assert {row for row in rows if ",Jo Lind7," in row} <= set(shown)


@for_each("indent", [None, 4])
def test_a_member_of_a_long_item_of_a_list_comes_with_the_id_of_the_item(
    indent: int | None,
) -> None:
    """An API gives a payment some thirty fields, in objects of which the one that is asked for does not name it."""
    charges = [
        {
            "id": f"ch_{n * 7919}x",
            **{f"field_{k}": f"value {n} of {k}" for k in range(30)},
            "outcome": {"risk": {"score": n * 31}},
        }
        for n in range(40)
    ]
    text = json.dumps({"data": charges}, indent=indent)
    (expansion,) = _opened("What is the risk score of ch_71271x?", [_item(text)])
    (record,) = expansion.records
    shown = show_records(text, [record], 4000, len).text
    assert re.findall(r"ch_\d+x", shown) == ["ch_71271x"]
    assert re.findall(r'"score": (\d+)', shown) == ["279"]


CELLS = {
    "psql": (
        " order | customer | items\n-------+----------+------\n",
        " {n:>5} | Jo Lind{n} | {m}\n",
    ),
    "CSV": ("order_id,customer,items\n", "{n},Jo Lind{n},{m}\n"),
    "Markdown": ("| Order | Customer | Items |\n|---|---|---|\n", "| {n} | Jo Lind{n} | {m} |\n"),
    "columns": ("ORDER  CUSTOMER    ITEMS\n", "{n:<5}  Jo Lind{n:<4}  {m}\n"),
    "a later column": ("CUSTOMER    ORDER  ITEMS\n", "Jo Lind{n:<4}  {n:<5}  {m}\n"),
    "an id": ("orders\nid | customer | items\n", "{n} | Jo Lind{n} | {m}\n"),
    "attributes": ("<all>\n", ' <order id="{n}" by="Jo Lind{n}" items="{m}"/>\n'),
    "a sign": ("", "#{n} by Jo Lind{n}, {m} items\n"),
}


@for_each("head, row", CELLS.values())
def test_a_number_is_met_where_a_column_or_a_sign_names_it(head: str, row: str) -> None:
    """Also where the word that it is called by does not stand right before it; and no row beside it comes."""
    rows = [row.format(n=n, m=n + 7).strip("\n") for n in range(1, 200)]
    shown = _shown("Who is the customer of order 22?", head + "\n".join(rows))
    assert [rows[21]] == [part for part in shown if part in rows]


@for_each("question", ["How does the price relate to the stock?", "Tell me about stock and price."])
def test_names_of_fields_mean_no_record(question: str) -> None:
    """Every record of a list has them, so that none is meant more than the others."""
    rows = [{"id": n, "price": n * 3 + 1, "stock": n * 7 % 50} for n in range(60)]
    assert [] == _shown(question, json.dumps(rows))


@for_each("question", ["What is wrong with db-3?", "Restart db-3, please.", "Why did db-3 stop?"])
def test_a_name_brings_every_record_of_a_list_that_holds_it(question: str) -> None:
    """Each of them is about what has the name, also where no other word of the message stands anywhere."""
    rows = [{"id": n, "host": f"db-{n % 9}", "state": "up"} for n in range(90)]
    assert len(_shown(question, json.dumps(rows))) == 10


@for_each("message, count", [("Rename `abort` in src/v4, please.", 0), ("What is in src/v4?", 9)])
def test_an_order_that_names_a_folder_brings_no_list_of_paths(message: str, count: int) -> None:
    """The folder says where to work, and each path of a repository may be below it; a question asks for the paths."""
    files = "\n".join(f" ok src/v4/tests/file_{n}.test.ts ({n} tests) 4ms" for n in range(9))
    assert len(_shown(message, files)) == count


def test_an_order_that_names_a_host_brings_its_records() -> None:
    """The host of an address stands before a slash, too, and is no folder."""
    rows = [{"id": n, "dsn": f"postgres://db-{n % 9}/orders", "state": "up"} for n in range(90)]
    assert len(_shown("Restart db-3, please.", json.dumps(rows))) == 10


def test_a_capitalised_word_needs_something_else_of_the_message_beside_it() -> None:
    """Many a text mentions somebody who is called the same."""
    text = "We met early.\n\nYesterday Marcel repaired the pump.\n\nNothing else happened."
    asked = (
        "Please write to Marcel about the {}, which we want to discuss with everybody next week."
    )
    assert ["Yesterday Marcel repaired the pump."] == _shown(asked.format("pump"), text)
    assert [] == _shown(asked.format("holidays"), text)


def test_a_row_of_columns_comes_alone_with_its_header() -> None:
    """Not with those beside it, though they are indented alike, or begin with words that come again."""
    groups = ("shop", "infra", "batch")
    rows = [f"{groups[n % 3]:<9} web-{n}-x  {n:>4} Running" for n in range(100)]
    text = "\n".join(["GROUP     POD       RESTARTS", *rows])
    assert [rows[57]] == _shown("Why is web-57-x slow?", text)
    indented = "\n".join(f"{n:>6} B  Jo  Note {n} of May" for n in range(5, 200, 3))
    assert ["    50 B  Jo  Note 50 of May"] == _shown('How large is "Note 50 of May"?', indented)


def test_what_a_key_opens_comes_without_what_stands_beside_it() -> None:
    """An entry of a mapping is a record, found by its key or in it, and is below no other entry."""
    entries = [f"  web-{n}-x:\n    image: r/{n}-img\n    owner: jo{n}\n" for n in range(100)]
    text = "services:\n" + "".join(entries)
    assert [entries[57].rstrip()] == _shown("Who owns web-57-x?", text)
    (expansion,) = _opened("What uses r/57-img?", [_item(text)])
    (record,) = expansion.records
    shown = [text[start:stop].strip() for start, stop in record.spans]
    assert ["services:", entries[57].strip()] == shown


@for_each(
    "question, comes",
    [
        ("What's the phone number of our landlord?", True),
        ("How do landlords number the houses of a street?", False),
    ],
)
def test_what_a_question_takes_as_known(question: str, *, comes: bool) -> None:
    """Two of its words are enough to open a passage, where any other question needs three."""
    texts = [f"Page {n}. " + "Nothing is said of it. " * 400 for n in range(10)]
    said = "The landlord of the flat is called Verhoeven, his number is 445."
    texts[4] += f"\n{said}\n" + "Nothing is said of it. " * 400
    items = [_item(text, str(n)) for n, text in enumerate(texts)]
    assert (["4"] if comes else []) == [expansion.key for expansion in _opened(question, items)]


THINGS = [
    "apple",
    "river",
    "stone",
    "cloud",
    "table",
    "window",
    "garden",
    "kettle",
    "lantern",
    "needle",
]
FAQ = "\n".join(
    f"Q: How do I repair a {thing}?\nA: Take the {thing} to shop {n}; they call you in {n + 3} days.\n"
    for n, thing in enumerate(
        [*THINGS, *(f"{thing} {of}" for of in ("box", "rack", "bag") for thing in THINGS[:9])]
    )
)
MINUTES = "\n".join(
    [
        *(
            f"Speaker {n}: we come to part {n} of what was sent to us, and then go on."
            for n in range(90)
        ),
        "The Chair: a number of seniors are not well. Will the Prime Minister help?",
    ]
)
FLIGHTS = "\n".join(
    json.dumps({"flight_number": f"HAT{n:03}", "economy": n, "business": 90 - n}) for n in range(90)
)
LICENSE = "\n\n".join(
    [
        "A Licence for Sources",
        '"Licensor" is whoever offers the work, and "Covered Source" is the work in its form for editing.',
        *(
            f"{n}. The Licensor grants rights in Covered Source to each recipient of part {n}." * 9
            for n in range(9)
        ),
        "Terms of Patents",
        "Whoever sues over what is inside loses what was granted here, from the day of the suit on.",
        *(
            f"A recipient of part {n} keeps what was granted, as long as it lasts." * 9
            for n in range(9)
        ),
    ]
)


@for_each(
    "question, text, shown",
    [
        (
            "How do I repair a needle?",
            FAQ,
            "Q: How do I repair a needle?\nA: Take the needle to shop 9;",
        ),
        ("How many days does the repair of a needle take?", FAQ, "Take the needle to shop 9;"),
        ("Who is the Licensor?", LICENSE, '"Licensor" is whoever offers'),
        ("What is Covered Source?", LICENSE, '"Covered Source" is the work'),
        ("What are the terms of patents?", LICENSE, "Terms of Patents\n\nWhoever sues"),
        ("Who loses what was granted?", LICENSE, "Whoever sues over"),
        ("Let's call it a day.", FAQ, ""),
        ("Needles and windows!", FAQ, ""),
        ("How do I repair a violin?", FAQ, ""),
        ("What is a recipient?", LICENSE, ""),
        ("What is a prime number?", MINUTES, ""),
        ("I would like to book Flight Option 2, please.", FLIGHTS, ""),
    ],
)
def test_a_passage_that_holds_all_that_is_asked_comes(question: str, text: str, shown: str) -> None:
    """In plain words, too; what defines a name comes before what uses it, and a heading with what it heads."""
    found = _shown(question, text)
    assert shown in "\n".join(found)
    assert bool(shown) == bool(found)


def test_beside_a_name_the_rest_of_a_question_may_mean_a_passage() -> None:
    """A question about what was said brings the name's sentence and, since that is no entry of a list, what else is asked."""
    filler = "\n".join(
        f"Speaker {n}: Yes, the river was high in the week of the {n}th, and we waited."
        for n in range(60)
    )
    named = "Speaker 7: Then Okonkwo wrote to us."
    meant = "Speaker 9: The festival budget was cut by a third because the harbour is closed."
    talk = f"{filler}\n{named}\n{filler}\n{meant}\n{filler}"
    shown = "\n".join(
        _shown("What was decided about the festival budget after Okonkwo wrote?", talk)
    )
    assert named.partition(": ")[2] in shown
    assert meant in shown


def test_what_speakers_say_is_no_record() -> None:
    """A transcript's lines begin with who speaks; each speaker's next turn is no record of the same kind."""
    speakers = ("Project Manager", "Project Designer", "Industrial Designer")
    begins = ("So", "Then", "And", "But", "Still", "Now", "First", "Next", "Here", "There")
    text = "\n".join(
        f"{speakers[n % 3]}: we looked at number {n}.\n{begins[n % 10]} we weighed {n * 7} grams."
        for n in range(90)
    )
    place = text.index("number 45.")
    assert not record_at(text, place, place + 9).comes_again


@for_each("name", ["محمد النجار", "ليلى الشامي الكبير", "राजेश शर्मा", "吴敏", "Ελένη Παπα"])
def test_a_name_is_one_in_any_script(name: str) -> None:
    """Among letters that have capitals, words of a script without them are a name, met whole."""
    part = name[0] if len(name) == 2 else name.split(maxsplit=1)[0]
    others = [
        f"name:{part}丽 code:{n}" if len(name) == 2 else f"name: {part} Al{n}" for n in range(50)
    ]
    text = "\n".join([*others[:25], f"name:{name} code:abc", *others[25:]])
    assert [f"name:{name} code:abc"] == _shown(f"Please check which code {name} has now.", text)


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
    candidates = (
        RecallCandidate(_item(LOG, "a"), ((1, 3),)),
        RecallCandidate(_item(LOG, "b"), (), 1),
    )
    question = Question("ORA-00942", "", candidates, has_memories=False, in_sight=lambda _: False)
    assert ["b"] == [expansion.key for expansion in judge_by_keywords(question).expand]


def test_secrets_and_binary_content_are_never_recalled() -> None:
    """However well they fit."""
    items = [_item(LOG, "secret", SECRET), _item(LOG.encode(), "binary"), _item(LOG, "text")]
    assert ["text"] == [expansion.key for expansion in _opened("ORA-00942", items)]


def test_a_choice_says_why() -> None:
    """People read which terms were found."""
    (expansion,) = _opened("ORA-00942 table", [_item(LOG)])
    assert 'k holds "ORA-00942" and "table"' == expansion.why


def test_the_newest_of_two_copies_is_opened() -> None:
    """Two copies of one log do not switch recall off, and do not come both."""
    candidates = tuple(
        RecallCandidate(_item(LOG, key), (), place) for place, key in enumerate("ab")
    )
    question = Question("ORA-00942", "", candidates, has_memories=False, in_sight=lambda _: False)
    assert ["b"] == [expansion.key for expansion in judge_by_keywords(question).expand]


@for_each(
    "query, held, answered",
    [
        ("rockets fly", ["rockets"], True),
        ("rockets fly high today", ["rockets"], False),
        ("error in a.py", ["error"], False),
        ("error in a.py", ["a.py"], True),
        ("why is it so", [], False),
    ],
)
def test_half_of_a_query_is_enough(query: str, held: list[str], *, answered: bool) -> None:
    """Of another conversation half of the words will do, among them a name, if the query has one."""
    assert answered == is_answered(query, held)


@pytest.mark.long
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


def test_all_entries_of_a_log_that_name_something() -> None:
    """They begin alike, with a time, and go on differently: what was started, and what came of it."""
    said = ("started", "copied 3 files", "checked", "sent to host-4", "finished: ok")
    log = "\n".join(
        f"2026-11-24 03:{job:02}:{second:02} INFO [job-{7000 + job}] {words}"
        for job in range(60)
        for second, words in enumerate(said)
    )
    shown = _shown("How did job-7030 go?", log)
    assert {line.rpartition("] ")[2] for line in shown} == set(said)


def test_a_name_that_stands_often_in_one_record() -> None:
    """A file's name stands four times in the head of its hunks: what changed in it is one record."""
    files = "".join(
        f"diff --git a/shop/{name}.py b/shop/{name}.py\n--- a/shop/{name}.py\n+++ b/shop/{name}.py\n"
        f"@@ -1,2 +1,2 @@\n import os\n-LIMIT = 0\n+LIMIT_OF_{name} = 5\n"
        for name in ("cart", "tax", "mail", "users", "search")
    )
    [shown] = _shown("What changed in tax.py?", files)
    assert "+LIMIT_OF_tax = 5" in shown
    assert "mail" not in shown


@pytest.mark.long
def test_a_number_at_many_places(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a number that is everywhere the records are looked at in a few places alone, and in a long line in none."""
    looked_at = list[int]()

    def looked(text: str, start: int, stop: int) -> Record:
        looked_at.append(start)
        return record_at(text, start, stop)

    monkeypatch.setattr(named_numbers, "record_at", looked)
    one_line = json.dumps([{"id": 22, "qty": n, "note": "some words"} for n in range(4000)])
    for text in (one_line, "id 22 x\n" * 2000):
        found = [1 for part in _shown("What about invoice 22?", text) if "22" in part]
        assert len(found) <= 60
    assert len(looked_at) <= 2 * term_occurrences.MOST_RECORDS


@for_each(
    "name, line",
    [("_fix_ends", "    def _fix_ends(self):"), ("fix_ends", "        self.fix_ends = fix_ends")],
)
def test_a_private_name_is_another_one(name: str, line: str) -> None:
    """A sign before a name of a program tells it from the one without; behind it and around it signs say nothing."""
    text = (
        "class Text:\n    def __init__(self, fix_ends):\n        self.fix_ends = fix_ends\n\n"
        "    def _fix_ends(self):\n        return 5\n\n\nx = 1\n"
    )
    assert name in [term.text for term in asked_terms(f"Show me {name}, please.")]
    assert any(line in shown for shown in _shown(f"Show me {name}, please.", text))
    assert ["fix"] == [term.text for term in asked_terms("_fix_")]


def test_a_row_beside_a_line_of_blanks() -> None:
    """A line of blanks beside a row, however long, is no row, and is gone through once."""
    assert row_at("a  b  c\n" + " " * 200_000 + "\n", 0, 7) is None


def test_of_a_pasted_log_the_beginning_says_what_is_meant() -> None:
    """What a question takes as known is looked for as far as its terms are read, and no further."""
    [term] = asked_terms("server")
    question = "Why is the server slow?"
    assert is_pointed_at(question, term)
    assert not is_pointed_at("and so on " * 2000 + question, term)


CONTAINERS = "\n".join(
    [
        "CONTAINER ID   IMAGE            STATUS                   NAMES",
        *(
            f"9a77{n:08x}   acme/web:{n}       Up {n} hours              web_{n}"
            for n in range(2, 9)
        ),
        "ab90c2f1177d   acme/exporter:9  Up 6 weeks (unhealthy)   metrics_exporter",
        *(
            f"8b66{n:08x}   acme/web:{n}       Up {n} hours              web_{n}"
            for n in range(2, 9)
        ),
    ]
)
CUSTOMERS = "\n".join(
    [
        "id,name,city,plan",
        *(f"{n},Customer {n},Graz,basic" for n in range(300)),
        "300,Ngozi Adeyemi,Cork,platinum",
    ]
)
REQUESTS = "\n".join(
    [
        *(f"13:{n}:07 GET /item/{n} from 10.0.0.{n} 200 in {n * 7} ms" for n in range(10, 60)),
        "14:00:03 DELETE /account/5519 from 10.0.0.9 403 in 98 ms",
    ]
)


@for_each(
    "question, text, needed",
    [
        ("Which container is unhealthy?", CONTAINERS, "metrics_exporter"),
        ("Who has the platinum plan?", CUSTOMERS, "300,Ngozi Adeyemi"),
        ("Which city is Adeyemi from?", CUSTOMERS, "300,Ngozi Adeyemi"),
    ],
)
def test_a_header_says_what_is_in_its_rows(question: str, text: str, needed: str) -> None:
    """A word of a question may stand in the header of the row that the other one stands in."""
    assert [needed in shown for shown in _shown(question, text)] == [True]


@for_each(
    "question, comes",
    [
        ("Who tried to delete an account?", True),
        ("Who tried to delete an account of Zanzibar?", False),
        ("Who tried to delete an account of the 8812?", False),
        ("Who tried hard to delete an account yesterday?", True),
        ("We tried to delete an account.", False),
    ],
)
def test_a_word_that_stands_nowhere_is_the_asker_s_own(question: str, *, comes: bool) -> None:
    """A question about a row may have one for two words that stand there; a name that stands nowhere is another thing."""
    assert comes == any("/account/5519" in shown for shown in _shown(question, REQUESTS))


STAMPS = {
    "plain": "14:{minute:02}:{second:02} worker took job {number}",
    "a web server's": "10.0.0.7 [11/Mar/2026:14:{minute:02}:{second:02} +0100] GET /item/{number}",
    "with a zone": '{{"ts": "2026-03-11T14:{minute:02}:{second:02}Z", "job": {number}}}',
}


@for_each("stamp", list(STAMPS))
def test_a_time_of_day_brings_the_lines_of_that_minute(stamp: str) -> None:
    """All that a log tells of it comes as one piece, and nothing of the minutes beside it."""
    lines = [
        STAMPS[stamp].format(minute=number // 5, second=number % 5 * 11, number=number)
        for number in range(200)
    ]
    shown = _shown("What happened at 14:05?", "\n".join(lines))
    assert ["\n".join(lines[25:30])] == shown
    assert [] == _shown("What happened at 05:22?", "\n".join(lines))
    assert [] == _shown("Remind me at 14:05.", "\n".join(lines))


def test_a_minute_with_many_lines_is_cut() -> None:
    """As many of its lines come as a record may have, from the first one on."""
    lines = [f"14:05:{number % 60:02} worker took job {number}" for number in range(900)]
    [shown] = _shown("What happened at 14:05?", "\n".join(["14:04:59 idle", *lines]))
    assert shown.startswith(lines[0])
    assert 1000 < len(shown) <= 1200


def test_the_last_minute_of_a_log_comes_to_its_end() -> None:
    """Its last line, too, which no line break ends."""
    lines = ["14:03:00 idle", "14:04:00 idle", "14:05:01 worker took job", "14:05:02 worker fell"]
    assert ["\n".join(lines[2:])] == _shown("What happened at 14:05?", "\n".join(lines))


@for_each("between", [", ", " ", "\n"])
def test_a_minute_in_long_lines_comes_in_pieces(between: str) -> None:
    """Of a line that holds many stamps comes what stands beside those that are asked for, and no text as a whole."""
    rows = [
        {"at": f"2026-03-11T14:{n // 6:02}:{n % 6}0Z", "note": f"job {n} " + "of many " * 30}
        for n in range(120)
    ]
    text = between.join(map(json.dumps, rows))
    if between == "\n":
        text = text.replace("of many " * 30, "of many " * 300)
    shown = _shown("What happened at 14:05?", text)
    assert shown
    assert all("14:05" in record and len(record) <= 1200 for record in shown)


def test_a_place_far_in_a_long_line_costs_no_copy_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Minified JSON is one line of megabytes: for each place of a name only what is near is compared."""
    compared = list[int]()

    def form(line: str) -> str:
        compared.append(len(line))
        return line

    monkeypatch.setattr(places_in_records, "_form", form)
    rows = [{"id": n, "host": f"host-{n % 97}", "note": f"job {n}"} for n in range(3000)]
    assert _shown("What is with host-12?", json.dumps(rows))
    assert max(compared, default=0) < 10_000


def test_of_calls_that_are_not_known_no_answer_is_newer() -> None:
    """Outputs of a tool whose arguments nobody kept are of different calls; a program may keep any facts of them."""
    items = [
        replace(_item(text, key), content_metadata={"source": "look", **facts})
        for key, text, facts in (
            ("a", "kestrel-7 is in Graz", {}),
            ("b", "kestrel-7 weighs 80 kg", {}),
            ("c", "kestrel-7 is three years old", {"arguments": {"name": "kestrel-7"}}),
        )
    ]
    opened = _opened("What do we know of kestrel-7?", items)
    assert {"a", "b", "c"} == {expansion.key for expansion in opened}


def test_prose_is_asked_in_its_own_words() -> None:
    """What people said to each other in sentences is met whole: a word that they did not say asks for something else."""
    said = [f"Marketing: I like colour {n}.\nDesigner: Number {n} it is." for n in range(50)]
    said.insert(20, "Designer: So do I.\nMarketing: They ate fruit and vegetables.")
    assert [] == _shown("Is a tomato a fruit or a vegetable?", "\n".join(said))


def _turn(number: int, asked: str, lines: Mapping[str, Ranges]) -> list[Message]:
    """A question, what a tool gave, and an answer."""
    return [
        Message(f"q{number}", "user", "user", {0: asked}),
        Message(f"t{number}", "tool", "read", {0: "rows"}, facts=MessageFacts(lines=lines)),
        Message(f"a{number}", "assistant", "coder", {0: "Done."}),
    ]


def test_who_asks_the_same_again_wants_it_anew() -> None:
    """What tools answered when the same was asked, in whatever words of courtesy, is not brought back."""
    asked = ["Show the sales of May, please.", "Show the sales of June.", "show sales May"]
    turns = [_turn(number, text, {f"rows_{number}": ()}) for number, text in enumerate(asked)]
    question = Message("q", "user", "user", {0: "Please show the sales of May."})

    request = recall_request(question, [*chain.from_iterable(turns), question])
    assert {"rows_1"} == set(request.references)


def test_a_question_costs_the_same_in_a_long_conversation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Earlier questions are not read once more for each new one, but those that ask with the same words."""
    read = list[str]()

    def asked_terms_noted(text: str) -> list[AskedTerm]:
        read.append(text)
        return asked_terms(text)

    monkeypatch.setattr(
        "memory_context.conversation.recall.recall_request_from_messages.asked_terms",
        asked_terms_noted,
    )
    turns = [
        _turn(number, f"Show the sales of shop {number}.", {f"rows_{number}": ()})
        for number in range(200)
    ]
    question = Message("q", "user", "user", {0: "Show the sales of shop 77."})

    request = recall_request(question, [*chain.from_iterable(turns), question])
    assert "rows_77" not in request.references
    assert 2 == len(read)


@for_each(
    "asked, shown",
    [
        ("Where do I find the moonpetal?", True),
        ("How high is the moonpetal?", True),
        ("Who needs moonpetal?", True),
        ("where do moonpetals grow", True),
        ("are there any moonpetals left", True),
        ("wo finde ich moonpetals", True),
        ("Quand fleurit moonpetal ?", True),
        ("price of moonpetals?", True),
        ("Who needs anything of moonpetal?", True),
        ("Which gatherer found the pale moonpetal?", False),
        ("Comment puis-je cueillir moonpetal ?", False),
        ("Who sells cheap moonpetals?", True),
        ("Do moonpetals sleep?", False),
        ("How will moonpetals sleep?", False),
        ("How did moonpetals sleep?", True),
        ("What do we pay for moonpetals?", True),
        ("What colour have moonpetals?", True),
        ("Wann schlafen die Pflanzen moonpetal?", True),
        ("When do the Pflanzen moonpetal sleep?", False),
        ("When did the Hatter in a hat buy moonpetal?", False),
        ("Was ist moonpetal Blau?", False),
        ("What causes moonpetals at night?", False),
        ("Can we plant moonpetals without light?", False),
        ("I like your moonpetal and it is great.", False),
        ("Take the path and show your moonpetal.", False),
        ("Rename the moonpetal; delete the tests; run everything.", False),
        ("How  many moonpetals sleep?", True),
        ("Do moonpetals grow in a chapel?", True),
        ("Who is the keeper of our altar?", True),
        ("Tell me another.", False),
        ("Why is the sky over moonpetal blue?", False),
        ("What is a moonpetal?", False),
        ("Please write a poem on moonpetals.", False),
        ("Which of the seven kings of Naboo has seen the moonpetal?", False),
        ("Where do I buy lanterns?", False),
    ],
)
def test_a_question_in_other_words_gets_the_record_of_its_rare_word(
    asked: str, *, shown: bool
) -> None:
    """What one record alone holds is meant, by a question that asks for a fact, or that the record holds most of."""
    walks = [f"On day {n} we walked to village {n * 3} and lit lanterns." for n in range(40)]
    walks[17] = "In the Sunken Chapel grows the moonpetal, behind the altar."
    assert ([walks[17]] if shown else []) == _shown(asked, "\n".join(walks))


@for_each(
    "asked, shown",
    [
        ("allowance for Szwecji", True),
        ("alowance for Szwecja", True),
        ("allowancee for Szwecja", True),
        ("allownace for Szwecja", True),
        ("allowance for Szwajcaria", False),
        ("allowance for Kestrol", False),
        ("allowance for Malti", False),
    ],
)
def test_a_word_spelt_nearly_as_in_the_text_is_that_word(asked: str, *, shown: bool) -> None:
    """It must have six letters, begin alike, differ by one letter or two in turn, and be the only such word."""
    rows = [f"Day {n}: we walked to village {n * 3} and lit lanterns." for n in range(40)]
    rows[7] = "Szwecja has an allowance of 64 euros, Malta 37, Kestrel and Kestral none."
    assert ([rows[7]] if shown else []) == _shown(asked, "\n".join(rows))


@for_each("places, shown", [((3,), (3,)), ((3, 9, 15), (3, 9, 15)), ((3, 9, 15, 27), ())])
def test_records_that_hold_as_much_of_a_question_are_shown_together(
    places: tuple[int, ...], shown: tuple[int, ...]
) -> None:
    """If more than three do, and a part of the question stands in none of them, none is meant."""
    walks = [f"On day {n} we walked to village {n * 3} and lit lanterns." for n in range(40)]
    for place in places:
        walks[place] = f"In chapel {place} grows the moonpetal, behind the altar."
    text = "\n".join(walks)
    assert [walks[place] for place in shown] == _shown("Where do I find the moonpetal?", text)


def test_a_word_spelt_otherwise_stands_there_inexactly(monkeypatch: pytest.MonkeyPatch) -> None:
    """A place is exact if it writes a term as the message does, in any case; not if it only spells it nearly so."""
    exact = dict[str, bool]()

    def noted(_: str, found: term_occurrences.FoundTerms) -> tuple[list[Expansion], bool]:
        for place in found.occurrences.values():
            exact[place.text[place.start : place.stop]] = place.is_exact
        return [], True

    monkeypatch.setattr("memory_context.conversation.recall.keyword_judge.relevant", noted)
    text = "\n".join(f"Day {n}: we walked." for n in range(9)) + "\nthe SZWECJA pays for Oslo."
    for asked, is_exact in (("Szwecja", True), ("Szwecji", False), ("Szwecjaa", False)):
        exact.clear()
        _opened(f"allowance for {asked} and oslo", [_item(text)])
        assert {"SZWECJA": is_exact, "Oslo": True} == exact


def test_records_that_hold_nearly_as_much_of_a_question_are_shown_too() -> None:
    """Lanterns stand in one more text than the moonpetal, so their text holds a little less of the question."""
    others = [f"On day {n} we walked from village {n * 3} to the next one." for n in range(30)]
    flower = "In the chapel grows the moonpetal, behind the altar."
    lamp = "Beside the altar stands a lantern of brass."
    texts = [flower, *others, lamp, "Nobody had a lantern."]
    items = [_item(text, f"text_{n}") for n, text in enumerate(texts)]
    assert [flower, lamp] == _brought("Who owns moonpetal, lantern and altar?", items)


def test_the_less_certain_the_best_record_the_more_others_come() -> None:
    """Up to three come if it holds little of the question; a row that holds most of it comes alone."""
    walks = [f"On day {n} we walked to village {n * 3} and lit lanterns." for n in range(40)]
    walks[7] = "The glade has moonpetal and a spring."
    walks[22] = "In moss grows moonpetal."
    text = "\n".join(walks)
    assert [walks[7]] == _shown("Which glade with a spring has moonpetal in moss?", text)
    assert [walks[7], walks[22]] == _shown(
        "Which glade with a spring has wild moonpetal in moss of the valley?", text
    )


def test_each_clause_of_a_question_is_answered() -> None:
    """What the records hold that were found for all of it is not looked for again."""
    walks = [f"On day {n} we walked to village {n * 3} and lit lanterns." for n in range(40)]
    walks[7] = "Behind the altar of the Sunken Chapel grows the moonpetal, in moss and shade."
    walks[22] = "A ferry crosses to the island with three donkeys."
    text = "\n".join(walks)
    asked = "Where does the moonpetal grow in moss, and when does our ferry leave?"
    assert [walks[7], walks[22]] == _shown(asked, text)
    assert [walks[7]] == _shown("Where does the moonpetal grow in moss, and our ferry?", text)
    assert [walks[7]] == _shown("Does the moonpetal grow in moss? Take our ferry.", text)
    padded = f"{asked} {' ' * 15_000}Thanks"
    assert [walks[7], walks[22]] == _shown(padded, text)
    pasted = "Does it compile?\n" + "int ferry;\n" * 9
    assert not _shown(pasted, text)


def test_a_question_that_does_not_refer_back_gets_less_prose() -> None:
    """Its answer is mostly in the best windows; about what was said, people want to know more."""
    filler = "Nothing else of note was told about the matter on that long day. " * 6
    fee = "The council raised the harbour fee for tugs again. "
    pages = [f"{n}. {filler}{fee if n % 12 == 0 else ''}{filler}" for n in range(150)]
    text = "\n".join(pages)
    windows = _shown("Which harbour fee would tugs owe a council if they raise it?", text)
    reported = _shown("What did they say about council harbour fees for tugs?", text)
    assert 0 < sum(map(len, windows)) <= 3000 < sum(map(len, reported)) <= 7000


def test_in_much_text_a_plain_word_stands_somewhere_by_chance() -> None:
    """There a question must take the thing as known, as "the moonpetal" does."""
    walks = [f"On day {n} we walked to village {n * 3} and lit lanterns." for n in range(6000)]
    walks[17] = "In the Sunken Chapel grows the moonpetal, behind the altar."
    text = "\n".join(walks)
    assert [walks[17]] == _shown("Where do I find the moonpetal?", text)
    assert not _shown("Who cooks moonpetal?", text)
    assert not _shown("Who sells moonpetal?", text)
    assert [walks[17]] == _shown("Who sells moonpetal?", "\n".join(walks[:40]))


@for_each(
    "asked, row",
    [
        ("大阪支店の店長は誰ですか?", 1),
        ("札幌支店の店長の名前は?", 2),
        ("福岡支店の店長は誰ですか?", None),
        ("りんごはいくらですか?", 3),
    ],
)
def test_particles_of_japanese_ask_for_nothing(asked: str, row: int | None) -> None:
    """What is written in hiragana beside other letters joins the words of a question."""
    lines = [
        "拠点,店長,開店",
        "大阪支店,藤堂千代子,9:00",
        "札幌支店,水野京,10:00",
        "りんご売場,森,8:00",
    ]
    lines += [f"第{n}支店,係{n},7:{n}" for n in range(10, 40)]
    shown = _shown(asked, "\n".join(lines))
    assert shown == ([] if row is None else [lines[row]])


def test_the_header_of_a_table_is_no_record() -> None:
    """It names what stands in each row, and is not what a question about one of them means."""
    rows = [f"site {n} west,Person {n},7:{n}" for n in range(10, 40)]
    table = "\n".join(["site,manager,opens", "osaka branch,Toyo Chi,9:00", *rows])
    shown = ["osaka branch,Toyo Chi,9:00"]
    assert shown == _shown("Who is the manager of the osaka branch?", table)
    assert shown == _shown("Which manager does osaka have?", table)


@for_each(
    "message, shown",
    [
        ("number of the printer room", True),
        ("printer room - what does it cost", True),
        ("I fixed the printer", False),
        ("the printer is ill today", False),
        ("see you at the printer", False),
        ("They moved the printer (it works.)", False),
        ("I fixed it: printer. :)", False),
        ("thanks for the printer", False),
        ("Remind me at 09:07", False),
    ],
)
def test_what_is_named_alone_is_asked_for(message: str, *, shown: bool) -> None:
    """People in a hurry write no sentence. A statement needs no full stop, and brings nothing."""
    rows = [f"09:{n:02} room {n} is free, says desk {n}" for n in range(40)]
    rows[31] = "The printer room has the number 4711."
    assert ([rows[31]] if shown else []) == _shown(message, "\n".join(rows))


@for_each(
    "asked, shown",
    [
        ("Who works as a glassblower?", True),
        ("What may the glassblower do?", True),
        ("May I go?", False),
        ("ガラス職人は誰ですか。", True),
        ("硝子工在吗", True),
        ("Is a glassblower an artist?", False),
        ("Is a sculptor a glassblower?", False),
    ],
)
def test_a_modal_is_no_month_and_a_question_may_end_in_a_word(asked: str, *, shown: bool) -> None:
    """Who asks of a kind ("Is a sculptor …?") means none of the records."""
    rows = [f"P{n},clerk,In May {n} days" for n in range(40)]
    rows[7] = "Mirela Ask,glassblower ガラス職人 硝子工,none"
    assert ([rows[7]] if shown else []) == _shown(asked, "\n".join(["name,job,leave", *rows]))


@for_each(
    "message, shown",
    [
        ("Kill the session that updates prices.", True),
        ("Kill the session that drops prices.", False),
        ("Which bus goes there?", True),
        ("12 * (7 + 5) / 3 = ?", False),
    ],
)
def test_what_the_asker_adds_need_not_stand_in_a_record(message: str, *, shown: bool) -> None:
    """The verb of an order, and "goes there"; numbers alone ask for nothing, though rows hold them."""
    rows = [f"{4400 + n} | session {n} | idle | SELECT {n} FROM stock" for n in range(40)]
    meant = {
        "Kill the session that updates prices.": "4471 | session 12 | active | UPDATE prices SET net = 7",
        "Which bus goes there?": "4473 | session 5 | active | SELECT bus FROM lines",
    }
    rows[12], rows[30] = meant.values()
    assert ([meant[message]] if shown else []) == _shown(message, "\n".join(rows))


@for_each("message", ["Good morning Petri.", "Thanks, Petri!", "It's from Petri.", "ok Petri"])
def test_a_name_in_passing_asks_for_nothing(message: str) -> None:
    """A message with one capitalised word and nothing else of a record means none, though a record has the name."""
    rows = [f"{n},cashier,Till {n} opens at nine" for n in range(40)]
    rows[7] = "Petri,manager,Till 7 closes at six"
    assert [] == _shown(message, "\n".join(["name,job,note", *rows]))


def test_a_drawn_table_has_a_header() -> None:
    """Its bars are drawn with box characters."""
    rows = [f"\u2502 pkg-{n} \u2502 MIT \u2502 {n} kB \u2502" for n in range(40)]
    rows[7] = "\u2502 icons-x \u2502 CC-BY-4.0 \u2502 7 kB \u2502"
    header = "\u2502 name \u2502 licence \u2502 size \u2502"
    (expansion,) = _opened("Which licence does icons-x have?", [_item("\n".join([header, *rows]))])
    (record,) = expansion.records
    text = "\n".join([header, *rows])
    assert [header, rows[7]] == [text[start:stop] for start, stop in record.spans]


def test_a_record_goes_on_over_its_inner_rules() -> None:
    """An invoice begins with its title, whatever fields of two words and rules stand in it."""
    firms = [*(f"Firm{chr(65 + n)}x" for n in range(9)), "AquaNord"]
    invoices = [
        f"INVOICE No. 24{n}\n{firm}, Markt {n}\nVAT ID: DE3081{n}\nInvoice date: 2024-09-1{n}\n"
        f"Customer number: 36{n}\n--------\n1 cleaning {25 + n}.00\n--------\nNet 90.00, total 107.{n} EUR\n"
        f"Payable within {7 * n} days\nStatus: PAID on 2024-10-1{n}\n"
        for n, firm in enumerate(firms)
    ]
    text = "\n".join(invoices)
    assert [invoices[9].strip()] == _shown("How many days do we have to pay AquaNord?", text)


def test_where_a_row_holds_all_that_is_asked_nothing_else_comes() -> None:
    """A question in the past tense may be about talk elsewhere, but not if a row of a list answers it."""
    rows = [f"c{n:04}x fixed the layout of page {n}" for n in range(40)]
    rows[12] = "c0012x removed the flag of dark mode"
    talk = "\n\n".join(f"{n} people spoke of lamps, and nobody of pages." for n in range(900))
    talk += "\n\nThe dark room has a mode for the flag, says the caretaker.\n\n" + talk
    items = [_item("\n".join(rows), "log"), _item(talk, "talk")]
    opened = _opened("Which commit was it that removed the flag of dark mode?", items)
    assert ["log"] == [expansion.key for expansion in opened]


@pytest.mark.long
@for_each("unit", ["1", "_ ", "ss!"])
def test_a_long_message_is_read_once(unit: str) -> None:
    """A number of thousands of digits, and a line of thousands of sentences, are not read to their end from each."""
    assert_linear(asked_terms, unit)
