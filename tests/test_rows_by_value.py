"""Recall of the rows of a table that a message asks for by a value: the largest, the smallest, or those beyond a number."""

from __future__ import annotations

import json

from for_each import for_each
from memory_context.conversation.recall.judge_records import (
    Question,
)
from memory_context.conversation.recall.keyword_judge import judge_by_keywords
from memory_context.model.item import MemoryItem
from memory_context.text.relevance.recall_candidates_and_their_calls import RecallCandidate
from memory_context.text.relevance.superlatives_and_bounds import asked_value

PODS = "\n".join(
    [
        "NAME           READY   STATUS             RESTARTS   AGE",
        *(
            f"web-{n:02}-7d9f    1/1     Running            {n % 4}          {n}d"
            for n in range(10, 40)
        ),
        "cache-01-aaaa  0/1     CrashLoopBackOff   57         3d",
        "queue-01-bbbb  1/1     Running            12         90d",
    ]
)
TOP = "\n".join(["NAME   CPU(cores)", *(f"web-{n}  {n * 37 % 50}m" for n in range(10, 40))])
CUSTOMERS = ("Miller", "Lopez", "Chan")
ORDERS = [
    {"id": 9000 - n, "customer": CUSTOMERS[n % 3], "total": n * 7.5, "placed": f"2025-03-{n:02}"}
    for n in range(1, 29)
]
STAFF = "\n".join(
    [
        "name,department,salary,started",
        *(
            f"Person {n},{'IT' if n % 2 else 'HR'},{30_000 + n * 100},{1990 + n}-05-01"
            for n in range(30)
        ),
    ]
)
TESTS = "\n".join(
    ["test,duration_ms,retries", *(f"test_{n},{n * 13 % 97},{n % 5}" for n in range(30))]
)
BUILD = "\n".join(f"12:00:{n:02} compiled module_{n} in {n * 37 % 50 + 9} ms" for n in range(50))
STEPS = "\n".join(f"step {n}: done in {n % 4}m {n}s, 3 files" for n in range(30))
CITIES = "\n".join(["city,age", *(f"city{n},{40 + n}" for n in range(10))])
TASKS = "\n".join(
    ["task,elapsed", *(f"task{n},{n} {unit}" for unit in "smh" for n in range(1, 11))]
)
MILLISECONDS = "\n".join(["task,duration_ms", *(f"task{n},{n * 97}" for n in range(40))])
CARS = "\n".join(["car,speed", *(f"car{n},{100 + n}" for n in range(20))])
SPANS = "\n".join(["step,took", *(f"step{n},3m{n}s" for n in range(3, 28))])
LISTING = "\n".join(
    [
        "total 64",
        *(
            f"-rw-r--r-- 1 ann ann {1000 + n * 457 % 5000} Nov {n + 1:2} 10:00 file{n}"
            for n in range(27)
        ),
    ]
)
REQUESTS = "\n".join(
    f"10:00:{n:02} request id={n} duration={n * 7 % 31}ms timeout=30s retry in {n}s"
    for n in range(40)
)
LEDGER = """account,amount
rent,"(1,900.00)"
sales,"1,200.50"
fees,(45.10)
supplies,300.00
travel,80.00
"""
SHIPPED = json.dumps(
    [{"shipping": {"price": 90 - n}, "product": f"p-{n}", "price": 10 + n} for n in range(30)]
)
HOTELS = json.dumps(
    [{"hotel": f"h-{n}", "price_per_night": 60 + n, "rating": 3 * n % 10.5} for n in range(7)]
)
USERS = json.dumps(
    {
        "data": [
            {
                "id": f"usr_{n}",
                "type": "user",
                "attributes": {
                    "plan": "pro" if n % 2 else "free",
                    "limits": {"seats": n * 7 % 31, "storage_gb": n * 37 % 50},
                },
            }
            for n in range(30)
        ]
    }
)
CAMEL = json.dumps([{"orderId": 9000 - n, "total": n * 7.5} for n in range(1, 20)])


def _rows(question: str, text: str) -> list[str]:
    """Return the rows that a question brings back, each on one line."""
    item = MemoryItem(user_id="ann", memory_key="k", content=text, memory_type="tool_output")
    candidates = (RecallCandidate(item),)
    asked = Question(question, "", candidates, has_memories=False, in_sight=lambda _: False)
    rows = list[str]()
    for expansion in judge_by_keywords(asked).expand:
        for record in expansion.records:
            parts = [(record.start, record.stop), *record.rest]
            row = " ".join(text[start:stop] for start, stop in parts)
            rows.append(" ".join(row.split()))
    return rows


@for_each(
    "question, text, begins",
    [
        ("Which one has the most restarts?", PODS, ["cache-01-aaaa"]),
        ("which pod has been restarted most often?", PODS, ["cache-01-aaaa"]),
        ("Welcher hat die meisten Restarts?", PODS, ["cache-01-aaaa"]),
        ("which ones have more than 10 restarts?", PODS, ["cache-01", "queue-01"]),
        ("what is the oldest by AGE", PODS, ["queue-01"]),
        ("Which pod uses the most CPU?", TOP, ["web-27 "]),
        ("Who has the highest salary?", STAFF, ["Person 29,"]),
        ("Who has the lowest salary in HR?", STAFF, ["Person 0,"]),
        ("who has the highest salary in HR?", STAFF, ["Person 28,"]),
        ("¿Quién tiene el salary más alto?", STAFF, ["Person 29,"]),
        ("Qui a le salary le moins élevé ?", STAFF, ["Person 0,"]),
        ("who of the IT department is newest?", STAFF, ["Person 29,"]),
        ("slowest test?", TESTS, ["test_22,"]),
        ("which test is the fastest?", TESTS, ["test_0,"]),
        ("Which module took the longest to compile?", BUILD, ["12:00:27 compiled module_27 in 58"]),
        ("which module compiled fastest?", BUILD, ["12:00:00 compiled module_0 in 9"]),
        ("what was the slowest step", STEPS, ["step 27:"]),
        ("slowest step?", SPANS, ["step27,"]),
        ("Which request was slowest?", REQUESTS, ["10:00:22 request id=22 "]),
        ("quel city est le plus petit par age ?", CITIES, ["city0,"]),
        ("which task elapsed over 9 hours?", TASKS, ["task10,10 h"]),
        ("tasks with duration over 3600?", MILLISECONDS, ["task38,", "task39,"]),
        ("which tests have at least 97 duration", TESTS, []),
        ("which have a duration of at least 92?", TESTS, ["test_22,"]),
        ("which file is the newest?", LISTING, ["-rw-r--r-- 1 ann ann 2882 Nov 27"]),
        ("Which account has the lowest amount?", LEDGER, ["rent,"]),
        ("Which account has the highest amount?", LEDGER, ["sales,"]),
        ("which accounts have an amount under 100?", LEDGER, ["rent,", "fees,", "travel,"]),
        ("which hotels have a price per night and a rating over 8?", HOTELS, ['{"hotel": "h-3"']),
        ("which hotel has low rating and highest price per night?", HOTELS, ['{"hotel": "h-6"']),
        (
            "Which product has the lowest price?",
            SHIPPED,
            ['{"shipping": {"price": 90}, "product": "p-0"'],
        ),
        ("Which user has the most storage?", USERS, ['{"id": "usr_27",']),
        ("Which free user has the most seats?", USERS, ['{"id": "usr_22",']),
        ("Dearest order?", CAMEL, ['{"orderId": 8981,']),
        ("What is the largest total of an order?", CAMEL, ['{"orderId": 8981,']),
    ],
)
def test_rows_with_the_value_come(question: str, text: str, begins: list[str]) -> None:
    """The column is the one that the message names, that its superlative is about, or the only one with numbers.

    Of lines without columns, the durations in them are compared.
    """
    shown = _rows(question, text)
    assert len(shown) == len(begins)
    assert all(map(str.startswith, shown, begins))


@for_each("indent", [None, 1])
def test_objects_of_json_come_by_their_values(indent: int | None) -> None:
    """Rows that hold a name of the message are compared by themselves; an id is a name, and no value."""
    text = json.dumps({"orders": ORDERS}, indent=indent)
    [largest] = _rows("What is the largest order?", text)
    assert '"total": 210.0' in largest
    [of_miller] = _rows("What is the largest order of Miller?", text)
    assert '"total": 202.5' in of_miller
    assert len(_rows("which orders are over 200?", text)) == 2


@for_each(
    "message, text",
    [
        ("What is the tallest mountain of Europe?", STAFF),
        ("who is the oldest human alive?", STAFF),
        ("What is the best way to sort orders?", json.dumps({"orders": ORDERS})),
        ("I have the highest salary of all.", STAFF),
        ("Which one has the most, retries or duration?", STAFF),
        ("Which animal is the fastest?", BUILD),
        ("Can you write at least one test for it?", TESTS),
        ("Add a test that runs in under 5 seconds, can you?", TESTS),
        ("What changed over 3 test runs?", CARS.replace("car", "test")),
        ("Why does the test status matter most?", TESTS),
        ("who has the second largest salary?", STAFF),
        ("which task took over 2 seconds?", MILLISECONDS),
        (
            "What is the largest of the orders?",
            json.dumps({"orders": [{}, {}], "note": "a b " * 99}),
        ),
    ],
)
def test_other_superlatives_bring_nothing(message: str, text: str) -> None:
    """A message must ask, and hold enough of what stands in the table; a name that stands nowhere is about something else."""
    assert not _rows(message, text)


def test_a_speed_is_no_duration() -> None:
    """The only column with numbers is not what "fastest" is about, unless it holds durations."""
    assert not any("100" in row for row in _rows("which car is the fastest?", CARS))


def test_a_list_is_no_answer() -> None:
    """More than forty rows beyond a number bring nothing."""
    rows = "\n".join(f"order {n},{n}" for n in range(100))
    assert _rows("which total is over 97?", f"name,total\n{rows}") == ["order 98,98", "order 99,99"]
    assert not any("order" in row for row in _rows("which total is over 9?", f"name,total\n{rows}"))


@for_each(
    "message, is_largest, bound",
    [
        ("deals over 30k", True, "30k"),
        ("below 1,500 euros", False, "1,500"),
        ("the most recent one", True, ""),
        ("the least expensive one", False, ""),
        ("何が一番高いですか", True, ""),
        ("der älteste Eintrag", False, ""),
        ("show me everything", None, ""),
    ],
)
def test_what_a_message_asks_of_a_value(message: str, is_largest: bool | None, bound: str) -> None:
    """A number with its unit counts before a superlative, and of superlatives the one that says more."""
    asked = asked_value(message)
    assert (asked and asked.is_largest) is is_largest
    assert asked is None or asked.bound.strip() == bound


@for_each("indent", [None, 1])
def test_a_row_with_a_long_text_is_found_by_its_other_cells(indent: int | None) -> None:
    """A row that is too long to be shown whole comes with the fields beside the long one."""
    files = [{"text": "word " * (n * 70), "title": f"plan-{n}", "size": n} for n in range(6)]
    shown = _rows("Which title has the largest size?", json.dumps(files, indent=indent))
    assert any('"plan-5"' in row and '"size": 5' in row for row in shown)
