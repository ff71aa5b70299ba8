"""The excerpt: the passages that matter, in order, never above the budget."""

from __future__ import annotations

import ast
import json
import os
import pprint
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import chain, islice, pairwise, permutations
from string import ascii_lowercase
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import messages
from examples import examples
from for_each import for_each
from growth import assert_linear
from memory_context.model.json_object import JsonObject
from memory_context.model.selection import Cost
from memory_context.text.excerpt.error_words import reports_fault
from memory_context.text.excerpt.escapes_in_place import unescaped_in_place
from memory_context.text.excerpt.excerpt import ANSWER, ENDS, PREVIEW, READING, excerpt
from memory_context.text.excerpt.hotspots_of_long_texts import LARGE, LARGE_JSON, hotspots
from memory_context.text.excerpt.long_records import long_records
from memory_context.text.excerpt.objects_of_json import (
    STRING_OR_BRACKET,
    members_of,
    steps_to_names,
)
from memory_context.text.excerpt.rare_lines import telling_lines
from memory_context.text.excerpt.segment_scores import Ranking, score
from memory_context.text.excerpt.segments import split
from memory_context.text.excerpt.segments_within_budget import with_more
from memory_context.text.excerpt.shown_parts_and_gap_marks import Excerpt, show_spans
from memory_context.text.html_pages import words_of_html
from memory_context.text.read.jsonpath import found_values
from memory_context.text.tokens.counter import default_counter, estimating_counter
from memory_context.text.words_and_names import MOST_TERMS, names, occurrences, terms, unescaped
from query_tables import FORMS, shop

LOG = [f"step {number}: nothing to report, and all of it in good time" for number in range(1, 201)]
WORDS = [
    "error",
    "ORA-00942",
    "the",
    "table",
    "why",
    "步骤",
    "👍",
    *"\ud800\0\r\t .",
    "x" * 50,
    "𒀀" * 30,
]
MORE = [
    *WORDS,
    "get_user",
    '"id": 7,',
    "{",
    "}",
    "\\n",
    "a,b,c",
    "|",
    "def f(x):",
    "    ",
    "x" * 300,
    "İstanbul",
]

any_text = st.text(st.characters(exclude_categories=()), max_size=40)
lines_of_text = st.lists(
    st.lists(st.sampled_from(MORE) | any_text, max_size=6).map(" ".join), max_size=25
)
texts = lines_of_text.map("\n".join)
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | any_text
    | st.just("long " * 80)
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(any_text, inner, max_size=6),
    max_leaves=30,
)
containers = st.lists(values, max_size=12) | st.dictionaries(any_text, values, max_size=12)
documents = st.builds(
    json.dumps, containers, indent=st.none() | st.just(2), ensure_ascii=st.booleans()
)
budgets = st.integers(0, 60) | st.integers(0, 1000)
rankings = st.sampled_from([READING, PREVIEW])
costs: st.SearchStrategy[Cost] = st.sampled_from(
    [len, lambda text: len(text) ** 2 // 50, default_counter().count, estimating_counter().count]
)
property_test = examples(150)


def _fragments(shown: str) -> list[str]:
    """What stands between the marks of an excerpt that is no JSON."""
    return [
        part for part in re.split(r"(?:\A|\n)…\d+\n| …\Z|(?:\A|(?<=\n)| )… ", shown) if part.strip()
    ]


@property_test
@given(texts | documents, any_text | texts, budgets, costs, rankings)
@example("[]", "", 0, len, PREVIEW)
def test_an_excerpt_never_costs_more_than_its_budget(
    text: str, question: str, budget: int, cost: Cost, ranking: Ranking
) -> None:
    """Whatever is asked of whatever text, in characters and in tokens, marks of what is missing included."""
    assert cost(excerpt(text, question, budget, cost, ranking=ranking).text) <= budget


@for_each("budget", [30, 40, 60, 100])
@pytest.mark.long
def test_a_budget_for_a_line_shows_one(budget: int) -> None:
    """What is packed fits at once: nothing has to be taken out again until nothing is left."""
    count = default_counter().count
    assert 0 < count(excerpt(messages.LOG, "", budget, count).text) <= budget


@for_each("budget", [-1, 0, 1, 2])
def test_a_budget_for_nothing_shows_nothing(budget: int) -> None:
    """Where not even one word fits, the excerpt is the empty text."""
    assert Excerpt("", is_answer=False) == excerpt("\n".join(LOG), "", budget, len)


@property_test
@given(texts | documents, any_text | texts, budgets, rankings)
def test_the_same_question_gets_the_same_excerpt(
    text: str, question: str, budget: int, ranking: Ranking
) -> None:
    """An excerpt is decided by its arguments alone."""
    first, again = (excerpt(text, question, budget, len, ranking=ranking) for _ in range(2))
    assert first == again


def test_an_excerpt_is_the_same_in_every_process() -> None:
    """The order of a set is another one in each process; what is shown of a text is not."""
    program = (
        "import sys; from memory_context.text.excerpt.excerpt import excerpt, READING;"
        "print(excerpt(sys.stdin.read(), sys.argv[1], 400, len, ranking=READING).text)"
    )
    question = "amount: 000083 P-040 P-033 order_id: 00000 000007 sku:"
    text = FORMS["blocks"](shop(1, 200).orders)
    shown = set[str]()
    for seed in ("5", "6"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", program, question]
        done = subprocess.run(
            command, input=text, env=environment, capture_output=True, text=True, check=True
        )
        shown.add(done.stdout)
    assert len(shown) == 1


@property_test
@given(texts.filter(lambda text: "…" not in text), any_text | texts, budgets, rankings)
@example("a\n\nb", "", 100, PREVIEW)
def test_what_is_shown_stands_there_in_order(
    text: str, question: str, budget: int, ranking: Ranking
) -> None:
    """Each passage is a slice of the text, and the next one stands behind it."""
    place = 0
    for fragment in _fragments(excerpt(text, question, budget, len, ranking=ranking).text):
        found = text.find(fragment.strip("\n"), place)
        assert found >= 0, fragment
        place = found + len(fragment.strip("\n"))


@property_test
@given(
    texts.filter(lambda text: "…" not in text),
    any_text | texts,
    budgets,
    rankings,
    st.integers(1, 50),
)
def test_ranges_are_lines_that_are_shown_whole(
    text: str, question: str, budget: int, ranking: Ranking, first: int
) -> None:
    """Each line of a range stands in the excerpt; ranges come in order and do not touch each other."""
    shown, lines = (
        excerpt(text, question, budget, len, ranking=ranking, first_line=first),
        text.split("\n"),
    )
    for begin, end in shown.ranges:
        assert first <= begin <= end
        assert all(line.strip() in shown.text for line in lines[begin - first : end - first + 1])
    assert all(
        last + 1 < begin
        for (_, last), (begin, _) in zip(shown.ranges, shown.ranges[1:], strict=False)
    )


@property_test
@given(documents, any_text, st.integers(0, 400), rankings)
def test_every_record_of_an_excerpt_is_json(
    text: str, question: str, budget: int, ranking: Ranking
) -> None:
    """Each line is a path and what stands there, of which some members may be left out, and are counted."""
    document, shown = json.loads(text), excerpt(text, question, budget, len, ranking=ranking).text
    if shown == text or not shown.startswith("$"):
        return
    for line in shown.split("\n$"):
        path, value = _split("$" + line.removeprefix("$"))
        if value[:1] in ("{", "["):
            _check_record(_at(document, path), json.loads(value, strict=False))


@for_each("key", ["年柱", "über", '年"柱', "a b"])
def test_the_path_of_a_record_can_be_followed(key: str) -> None:
    """Whatever the key, `retrieve(path=…)` finds what the path in an excerpt stands before."""
    text = json.dumps({key: [{"id": n, "name": f"part-{n}"} for n in range(60)]})
    path, _ = excerpt(text, "part-40", 300, len).text.split(" [")
    assert [json.loads(text)[key]] == list(found_values(text, path).values)


def test_nothing_is_left_out_before_headers_above_json() -> None:
    """An excerpt that begins with a text's first lines has no gap mark before or between them."""
    head = "HTTP/1.1 200 OK\ncontent-type: application/json\nserver: front-77, via varnish\nx-request-id: a-12345"
    text = head + "\n\n" + json.dumps({"items": [{"id": n} for n in range(90)]})
    assert excerpt(text, "", 400, len, ranking=PREVIEW).text.startswith(head)


def _split(line: str) -> tuple[list[str | int], str]:
    """The keys and indexes of a path, and what stands behind it."""
    keys, rest = list[str | int](), line[1:]
    while rest[0] in ".[":
        if rest[0] == ".":
            name = re.match(r"\w+", rest[1:])
            assert name
            keys.append(name[0])
            rest = rest[1 + name.end() :]
        else:
            key, end = json.JSONDecoder(strict=False).raw_decode(rest, 1)
            keys.append(key)
            rest = rest[end + 1 :]
    return keys, rest.removeprefix(":").removeprefix(" ")


def _at(document: Any, path: list[str | int]) -> Any:
    for key in path:
        document = document[key]
    return document


def _check_record(whole: Any, shown: Any) -> None:
    if isinstance(whole, dict):
        if (
            "…" in whole
        ):  # the mark has its name: nothing tells the two apart, and the last one counts
            return
        missing = shown.pop("…", 0)
        assert (
            shown.items() <= whole.items()
            if not missing
            else all(whole[key] == shown[key] for key in shown)
        )
        assert len(shown) + missing >= len(whole)
    else:
        left = [
            value
            for value in shown
            if not (isinstance(value, str) and re.fullmatch(r"… \d+ more", value))
        ]
        assert all(value in whole for value in left)


@property_test
@given(lines_of_text)
def test_a_text_that_fits_is_shown_whole(lines: list[str]) -> None:
    """With nothing asked and room enough, the excerpt is the text."""
    text = "\n".join(lines)
    shown = excerpt(text, "", 10 * len(text) + 1000, len)
    assert text.removesuffix("\n") == shown.text


def test_how_an_excerpt_reads() -> None:
    """Passages under each other; behind a gap, the number of the line that follows; at the end, a mark."""
    lines = [*LOG[:50], "ERROR disk full on node7, no space left on the device", *LOG[50:]]
    shown = excerpt("\n".join(lines), "why is the disk full?", 250, len)
    assert "\n".join(("…50", LOG[49], lines[50], f"{LOG[50]} …")) == shown.text
    assert ((50, 52),) == shown.ranges


def test_lines_of_a_part_keep_their_numbers() -> None:
    """An excerpt of a part of a text numbers its lines as the whole text does."""
    lines = [*LOG[:50], "ERROR disk full on node7, no space left on the device", *LOG[50:]]
    assert excerpt("\n".join(lines), "disk full", 80, len, first_line=1001).text.startswith(
        "…1051\nERROR disk"
    )
    assert excerpt("a\nb", "", 100, len, first_line=7) == Excerpt(
        "a\nb", ((7, 8),), is_answer=False
    )


@for_each(
    "text, budget, is_answer",
    [
        ("\n".join(LOG), 250, False),  # some of it
        ("\n".join(LOG[:2]), 1000, False),  # all of it
        (LOG[0], 10, False),  # the beginning of a line that does not fit
        ("\n".join([*LOG, "a zebra crossed"]), 250, True),
    ],
)
def test_whether_an_excerpt_answers(text: str, budget: int, is_answer: bool) -> None:
    """An excerpt says whether any of it speaks of the question, however little of the text fits."""
    shown = excerpt(text, "zebra", budget, len)
    assert is_answer == shown.is_answer == ("zebra" in shown.text)


def test_lines_with_the_questions_words_come_first() -> None:
    """A line that is asked for is shown with its neighbours, however deep in the text it stands."""
    lines = [*LOG[:120], "ERROR: relation rockets does not exist", *LOG[120:]]
    shown = excerpt("\n".join(lines), "Why does the relation `rockets` not exist?", 200, len)
    assert ((120, 122),) == shown.ranges


def test_rare_words_weigh_more_than_frequent_ones() -> None:
    """Of two lines with one word each, the one whose word stands nowhere else is shown."""
    lines = [*LOG[:50], "exit code 9137", *LOG[50:]]
    assert "exit code 9137" in excerpt("\n".join(lines), "report 9137", 150, len).text


def test_a_line_with_less_than_half_of_the_best_is_not_shown() -> None:
    """Room that is left is not filled with lines that have little to do with the question."""
    lines = [
        "disk is fine, says the monitor that looks at it every day",
        *LOG[:9],
        "disk full on node7",
        *LOG[9:],
    ]
    shown = excerpt("\n".join(lines), "disk full node7", 10_000, len)
    assert "is fine" not in shown.text
    assert "disk full on node7" in shown.text


def test_upper_and_lower_case_are_one() -> None:
    """A question finds its words in any case, beside letters too whose small form is longer."""
    for before in ("", "İİİİ "):
        lines = [*LOG[:50], f"{before}FATAL: Disk FULL", *LOG[50:]]
        assert "Disk FULL" in excerpt("\n".join(lines), "disk full", 150, len).text


def test_a_number_beside_a_script_without_spaces_is_found() -> None:
    """Where no space stands between a number and a word, neither in the question nor in the text."""
    orders = "\n".join(f"{20000 + n},王先生" for n in range(300))
    tolds = "\n".join(f"订单号为{20000 + n}的是王先生" for n in range(300))
    for text in (orders, tolds):
        shown = excerpt(text, "订单号20177的客户是谁", 120, len, ranking=READING)
        assert "20177" in shown.text


def test_a_question_finds_the_middle_of_a_long_line() -> None:
    """Of one line without end, the sentence is shown that is asked for."""
    line = " ".join(
        ["Nothing happened here today."] * 400
        + ["The pump P-101 failed at noon."]
        + ["All is well."] * 400
    )
    shown = excerpt(line, "when did P-101 fail?", 200, len)
    assert "The pump P-101 failed at noon." in shown.text
    assert shown.ranges == ()


def test_a_text_without_breaks_is_shown_by_its_beginning() -> None:
    """There is always something to show, if only characters."""
    assert excerpt("ab" * 5000, "", 300, len).text.startswith("abab")
    assert excerpt("𒀀" * 100, "", 100, lambda text: 3 * len(text)).text.startswith("𒀀")


def test_a_record_comes_whole_for_a_question() -> None:
    """Of a list of records, the one that is asked for comes with all its members, and its path."""
    records = [
        {"id": n, "name": f"order {n}", "city": f"Town {n}", "status": "open", "note": "x" * 70}
        for n in range(90)
    ]
    for indent in (None, 2):
        shown = excerpt(
            json.dumps({"orders": records}, indent=indent), "what is with order 57", 400, len
        ).text
        line = next(line for line in shown.split("\n") if line.startswith("$.orders[57] "))
        assert records[57] == json.loads(line.partition(" ")[2])


def test_a_row_of_a_list_comes_with_its_neighbours_only() -> None:
    """Of a list whose rows all hold a word of the question, the one that is asked for, and a few rows beside it."""
    rows = [
        {"id": f"order-{number}", "customer": f"customer {number * 37 % 991}"}
        for number in range(800)
    ]
    found = excerpt(json.dumps(rows), "Who was the customer of order-612?", 2000, len).text
    shown = json.loads(found.removeprefix("$ "))
    assert rows[611:614] == [row for row in shown if row in rows[611:614]]
    assert len(shown) < 10


def test_a_repr_is_shown_as_json_is() -> None:
    """Python's repr comes in whole records, with their paths and how many are missing; of objects, their fields."""
    rows = [
        {"service": f"part-{number}", "env": "prod", "status": "OK", "note": f"it's {number}"}
        for number in range(90)
    ]
    shown = excerpt(str(rows), "is part-57 ok", 400, len).text
    assert shown.startswith("$ [{") and shown.endswith(' more"]')
    assert rows[57] in ast.literal_eval(shown.removeprefix("$ "))
    items = ", ".join(f"Item(sku='s{n}', at=date({n}), text={'word ' * 40!r})" for n in range(9))
    shown = excerpt(f"Page(total=9, items=[{items}])", "s7", 200, len).text
    assert "$.items[7] {sku='s7', at=date(7)" in shown


def test_left_out_members_are_counted() -> None:
    """A record that is shown in part says how many of its members are missing."""
    record = {f"field_number_{n}": "nothing of interest here, as it were" for n in range(20)}
    record["field_number_7"] = "the flux capacitor is broken"
    shown = excerpt(json.dumps([record]), "flux capacitor", 150, len).text
    shown_record = json.loads(shown.partition(" ")[2])
    assert "the flux capacitor is broken" == shown_record["field_number_7"]
    assert 20 == len(shown_record) - 1 + shown_record["…"]


def test_a_long_string_gives_way() -> None:
    """A record's long text is shown by its passages, beside the record, which stays JSON."""
    record = {
        "id": "T-1",
        "body": "Lorem ipsum dolor sit amet. " * 40 + "The root cause was clock skew.",
    }
    shown = excerpt(json.dumps([record, record | {"id": "T-2"}]), "root cause", 300, len).text
    assert (
        "$[0].body: … The root cause was clock skew." in shown
        or "The root cause was clock skew." in shown
    )
    assert all(
        json.loads(line.partition(" ")[2])
        for line in shown.split("\n")
        if re.match(r"\$\[\d\] ", line)
    )


def test_a_row_keeps_its_header() -> None:
    """Rows of a table come with its first line."""
    rows = [f"{n},customer {n},{n * 7 % 1000}.50,open" for n in range(1, 400)]
    shown = excerpt("\n".join(["id,name,total,status", *rows]), "customer 333", 120, len).text
    assert shown.startswith("id,name,total,status\n")
    assert "333,customer 333," in shown


def test_a_row_is_shown_alone_if_its_header_has_no_room() -> None:
    """A row that matches says more than the names of its columns alone."""
    names = ",".join(f"column_{n}" for n in range(9))
    rows = [f"{n},customer {n},{n * 7 % 1000}.50,open" for n in range(1, 400)]
    shown = excerpt("\n".join([names, *rows]), "customer 333", 80, len)
    assert shown.is_answer
    assert "333,customer 333," in shown.text


def test_a_preview_of_a_wide_table_keeps_its_names() -> None:
    """Only an answer shows a row without its header: a preview without the names would say nothing."""
    names = ",".join(f"column_{n}" for n in range(90))
    rows = "\n".join(",".join(f"{n * row % 97}" for n in range(90)) for row in range(200))
    shown = excerpt(f"{names}\n{rows}", "97", 300, len, ranking=PREVIEW)
    assert "column_0," in shown.text


def wide_rows(state: str) -> list[str]:
    """Return the header and the rows of a table, each row longer than a segment: its name first, its state last."""
    head = f" {'service':12} | {'version':9} | {'host':60} | {'message':60} | state"
    cells = (
        f"{'10.4.0.77 in the cluster of the northern region':60} | {'rolled out to all pods':60}"
    )
    rows = [f" svc-{n:<8} | 1.{n:<7} | {cells} | {state}-{n}" for n in range(100, 200)]
    return [head, "-" * len(head), *rows]


@for_each(
    "state", ["failed", "a state that is told in many more words than fit beside the message"]
)
def test_the_rest_of_a_row_comes_with_its_beginning(state: str) -> None:
    """What is far to the right in a table says which row it belongs to, also where a short rest goes with the next row."""
    text = "\n".join(wide_rows(state))
    shown = excerpt(text, f"{state}-150", 200, default_counter().count, ranking=PREVIEW).text
    rows = [line for line in shown.splitlines() if f"{state}-" in line]
    assert rows
    assert all(row.startswith(" svc-") for row in rows)


def test_the_rest_of_a_row_is_shown_where_its_beginning_has_no_room() -> None:
    """What matches is not lost for the sake of the row that it belongs to."""
    text = "\n".join(wide_rows("failed"))
    shown = excerpt(text, "failed-150", 260, len, ranking=PREVIEW).text
    assert "failed-150" in shown
    assert "svc-150" not in shown


def test_a_title_that_is_in_the_prompt_is_not_worth_showing_again() -> None:
    """The titles that a reader has seen leave the room to those that are new."""
    names = [f"{chr(65 + a)}{chr(97 + b)}rt review of it" for a in range(10) for b in range(6)]
    events = [{"id": number, "title": name} for number, name in enumerate(names)]
    text = json.dumps(events, indent=1)
    shown = excerpt(text, "", 200, len, ranking=PREVIEW, known=set(names[:40])).text
    assert not any(name in shown for name in names[:40])
    assert any(name in shown for name in names[40:])


def test_a_statement_keeps_its_function() -> None:
    """A line of source code comes with the line that says what it belongs to."""
    body = "\n".join(f"    value_{n} = value_{n - 1} + 1" for n in range(1, 40))
    code = "\n\n".join(
        f"def compute_{name}(value_0):\n{body.replace('value', name)}"
        for name in ("alpha", "beta", "gamma")
    )
    shown = excerpt(code, "where is beta_30 set", 150, len).text
    assert "def compute_beta(value_0):" in shown
    assert "beta_30 = beta_29 + 1" in shown


def test_a_statement_behind_a_directive_keeps_its_function() -> None:
    """A line of the preprocessor at the margin does not end the function that it is in."""
    opens = f"static void compute(int value_0, {'const struct options *options, ' * 2}int rest) {{"
    lines = [f"    value_{n} = value_{n - 1};" for n in range(1, 40)]
    lines[20:20] = ["#ifdef KEEP", "    keep(value_20);", "#endif"]
    code = "\n".join([opens, *lines, "}"])
    shown = excerpt(code, "where is value_30 set", 200, len).text
    assert opens in shown
    assert "value_30 = value_29;" in shown


NUMBERED = [
    f"{number:6}\t{line}"
    for number, line in enumerate(
        chain.from_iterable(
            (f"func load{n}(key int) int {{", f"\t// Looks {n} up.", f"\treturn book{n}", "}", "")
            for n in range(60)
        ),
        1,
    )
]


@for_each("opens", ["{", ":"])
def test_a_field_keeps_what_opens_its_block(opens: str) -> None:
    """The id of a resource comes with the line that says whose it is."""
    blocks = [
        f"  # vm.web[{n}] will be updated in-place\n  ~ resource vm web {opens}\n"
        f"        id            = i-{n * 0x9E3779B1 % 2**32:08x}\n"
        "      ~ instance_type = small -> medium\n        tags          = none\n    }\n"
        for n in range(36)
    ]
    shown = excerpt("\n".join(blocks), "", 400, len, ranking=PREVIEW).text
    of_web = re.findall(rf"web {opens}\n +id += i-\w{{8}}", shown)
    assert of_web
    assert len(of_web) == shown.count("id  ")


def test_a_preview_shows_names_and_not_prose() -> None:
    """What no model can guess stays in sight: identifiers, paths, addresses."""
    prose = [
        "This line says nothing in particular, as so many lines do, and it does so at some length."
    ] * 60
    lines = [*prose[:30], "Created deployment web-7f9c in namespace shop_prod", *prose[30:]]
    shown = excerpt(
        "\n".join(lines), "deploy the shop", 60, default_counter().count, ranking=PREVIEW
    ).text
    assert "web-7f9c" in shown
    assert "shop_prod" in shown


def test_a_preview_does_not_repeat_what_is_known() -> None:
    """Names that stand in the prompt already leave their place to others."""
    lines = [
        f"Created volume vol_{letter * 6} for the database of the shop" for letter in "abcdefgh"
    ]
    known = {f"vol_{letter * 6}" for letter in "abcd"}
    shown = excerpt(
        "\n".join(lines), "", 60, default_counter().count, ranking=PREVIEW, known=known
    ).text
    assert known.isdisjoint(names(shown))
    assert names(shown)


def test_a_preview_shows_names_of_several_forms() -> None:
    """Of a hundred names of one form and one of another, the other one is shown."""
    lines = [f"point {n}: x_{n:03} y_{n:03} z_{n:03}" for n in range(100)]
    lines.insert(60, "unit: metres, see transform/README.md")
    shown = excerpt("\n".join(lines), "", 250, default_counter().count, ranking=PREVIEW).text
    assert "transform/README.md" in shown


NOUNS = ["order", "parcel", "crate", "box", "bag", "tube", "sack", "refund", "voucher", "rebate"]


def test_an_error_is_shown_wherever_it_stands() -> None:
    """One line of five thousand that tells of an error is in the preview."""
    lines = [
        f"2026-01-01 12:{n // 60 % 60:02}:{n % 60:02} INFO worker-{n} handled job-{n * 7}"
        for n in range(2500)
    ]
    lines[1200] = "2026-01-01 12:20:00 ERROR worker-1200 failed: connection refused by db-7"
    shown = excerpt("\n".join(lines), "run the jobs", 300, default_counter().count, ranking=PREVIEW)
    assert lines[1200] in shown.text.split("\n")
    assert lines[0] in shown.text.split("\n")


def test_the_cause_of_many_failures_is_shown() -> None:
    """What is reported again and again in the same words stands in none of the first and last lines with an error."""
    names = [f"test_{verb}_{noun}" for verb in ("load", "price", "ship") for noun in NOUNS]
    failures = [
        f"______ ERROR at setup of {name} ______\n\n    mp = patch.MonkeyPatch()\n>   mp.set({name!r}, mp.notset)\n"
        f"E   AttributeError: a patch of the environment has no member for what is not set\n\nconftest.py:20: AttributeError"
        for name in names
    ]
    summary = [f"ERROR tests/test_{name[-1]}.py::{name} - Attribute..." for name in names]
    text = "\n".join(["==== ERRORS ====", *failures, *summary, f"{len(names)} errors in 5.16s"])
    shown = excerpt(text, "", 150, default_counter().count, ranking=PREVIEW).text
    assert "has no member for what is not set" in shown


def test_each_cause_of_many_failures_is_shown() -> None:
    """If some tests fail for one reason and others for another, both are shown, whatever else differs around them."""
    causes = ["AttributeError: no clerk at the till", "KeyError: this is no tariff of the port"]
    failures = [
        f"______ test_{noun}_{number} ______\n\n>   ship({noun!r}, {number})\n"
        f"E   {causes[number % 2]}\ndock.py:{number}: in test_{noun}\n"
        for number, noun in enumerate([*NOUNS, *NOUNS[:14]])
    ]
    text = "\n".join(["==== FAILURES ====", *failures, f"{len(failures)} failed in 5.16s"])
    shown = excerpt(text, "", 150, default_counter().count, ranking=PREVIEW).text
    assert all(cause in shown for cause in causes)


def test_a_line_unlike_the_others_of_a_list_is_shown() -> None:
    """What is out of the ordinary comes, wherever it stands, and so do a list's header and its sum."""
    rows = [f"web-{n:x}  1/1  Running  {n}d" for n in range(1000, 1400)]
    rows[217] = "web-4c1  0/1  Pending  2d"
    text = "\n".join(["NAME  READY  STATUS  AGE", *rows, "399 of 400 are ready"])
    shown = excerpt(text, "", 300, default_counter().count, ranking=PREVIEW).text
    for line in ("NAME  READY  STATUS  AGE", rows[217], "399 of 400 are ready"):
        assert line in shown


def test_a_line_that_is_not_json_makes_lines_text() -> None:
    """A line that only looks like an object is shown as it is, with its number, among lines that are objects."""
    lines = [json.dumps({"level": "info", "msg": f"step {number} done"}) for number in range(60)]
    lines[30] = '{"level":"error"  "msg":"bad"}'
    shown = excerpt("\n".join(lines), "what went wrong", 120, default_counter().count)
    assert lines[30] in shown.text
    assert any(first <= 31 <= last for first, last in shown.ranges)


def test_the_line_that_opens_a_list_makes_no_member_rare() -> None:
    """Of equal members the first is shown, though the line `"items": [` above it is like no other."""
    pods = [
        {"name": f"web-{number}", "phase": "Running", "node": "n1", "restarts": 0}
        for number in range(60)
    ]
    text = json.dumps({"items": pods}, indent=2)
    assert "web-0" in excerpt(text, "", 120, default_counter().count, ranking=PREVIEW).text


def test_blank_text_gives_no_excerpt() -> None:
    """There is no gap to mark where nothing is left out."""
    assert "" == excerpt("\n\n   \n", "why", 2, len).text


def test_a_member_of_json_unlike_the_others_is_shown() -> None:
    """The object itself, though its line begins with the indentation behind the one before it."""
    rows = [{"pod": "a pod", "state": "Running", "restarts": n} for n in range(400)]
    rows[217] = {"pod": "a pod", "state": "waiting again", "restarts": 217}
    text = "[\n" + ",\n".join(f"    {json.dumps(row)}" for row in rows) + "\n]"
    found = split(text)
    scores = score(found, "", PREVIEW, frozenset())
    rare = [
        json.loads(text[one.start : one.end])
        for one, names in zip(found.segments, scores.names, strict=True)
        if any(name.startswith("rare ") for name in names)
    ]
    assert rows[217] in rare
    assert rows[216] not in rare


def test_a_variable_in_source_code_is_no_field() -> None:
    """What is assigned to is worth as much as any other name in source code, unlike the names of fields elsewhere."""
    job = "def job_{0}(queue):\n    option_{0} = 1\n    start(handler_{0})\n    return queue\n"
    code = "import os\n" + "\n".join(map(job.format, range(9)))
    worth = score(split(code), "", PREVIEW, frozenset()).worth
    assert worth["option_3"] == worth["handler_3"]
    worth = score(split("option_3 = 1\nstart(handler_3)"), "", PREVIEW, frozenset()).worth
    assert worth["option_3"] > worth["handler_3"]


ISSUES = [
    {"number": n, "title": f"Crash of part_{n}", "body": "It ends. " * 30, "state": "open"}
    for n in range(40)
]


@for_each(
    "around",
    [
        {
            "results": ISSUES,
            "paging": {"next": {"after": "40800", "link": "https://x.example/?a=40800"}},
        },
        {"page": {"next": "40800"}, "data": {"issues": ISSUES}},
    ],
)
def test_a_preview_shows_where_the_next_page_of_a_list_begins(around: JsonObject) -> None:
    """Nothing else says that the list goes on."""
    shown = excerpt(json.dumps(around), "", 150, default_counter().count, ranking=PREVIEW)
    assert '"40800"' in shown.text


def _mcp_result(text: str) -> str:
    content = [{"type": "text", "text": text, "annotations": None}]
    return json.dumps({"_meta": None, "content": content, "isError": False}, indent=2)


def test_json_in_the_text_of_an_mcp_result_is_shown_by_its_records() -> None:
    """Their paths are those that `retrieve(path=…)` takes; what every result says beside its text is left out."""
    text = _mcp_result(json.dumps({"issues": ISSUES}, indent=2))
    shown = excerpt(text, "", 300, default_counter().count, ranking=PREVIEW)
    first = shown.text.split("\n", 1)[0]
    assert first.startswith(r"$.issues[0] {\"number\": 0, \"title\": \"Crash of part_0\", ")
    assert "annotations" not in shown.text
    assert "isError" not in shown.text
    assert all(member in text for member in re.findall(r'\\"title\\": \\"[^"]+"', shown.text))


@for_each(
    "document, shows",
    [
        ({"fields": {n: {"type": "text", "id": n, "is": "word " * 30} for n in "abcdefghi"}}, True),
        ({"id": 7, "type": "text", "content": "a b", "meta": None, "rest": "word " * 99}, False),
    ],
)
def test_only_what_frames_the_texts_of_an_mcp_result_is_left_out(
    document: Any, shows: bool
) -> None:
    """Fields of the same names in other JSON are shown; those left out are among the number of members left out."""
    shown = excerpt(json.dumps(document), "", 300, len, ranking=PREVIEW).text
    path, value = _split(shown.split("\n")[0])
    members = json.loads(value)
    missing = members.pop("…", 0)
    assert shows == ("type" in members)
    assert len(_at(document, path)) == len(members) + missing


def test_objects_in_sequence_are_shown_by_their_members() -> None:
    """As a filter of JSON prints them, over several lines each, without a list around them."""
    text = "\n".join(json.dumps(issue, indent=2) for issue in ISSUES)
    shown = excerpt(text, "", 300, default_counter().count, ranking=PREVIEW).text
    assert '$[2] {"number": 2, "title": "Crash of part_2", ' in shown


_OWNERS = ["Ada Krall", "Ben Ott", "Cleo Roth"]


def _machines(**extra: object) -> list[dict[str, object]]:
    """Return machines that all have the same kind, and other members of which only the last one is asked for."""
    return [
        {"kind": "machine", "serial": f"mk-{n}00", "owner": owner, "hours": [n] * 90, **extra}
        | {"contact": f"desk-{n}@plant.example", "remark": f"Seen at door_{n}, see ticket AB-{n}7"}
        for n, owner in enumerate(_OWNERS)
    ]


@for_each(
    "written", [json.dumps, str, lambda rows: "\n".join(json.dumps(row, indent=1) for row in rows)]
)
def test_members_of_an_object_in_a_list_come_with_what_names_it(
    written: Callable[[object], str],
) -> None:
    """What tells the objects apart, in words, and the id right before it; not what all of them have."""
    text = written(_machines())
    shown = excerpt(text, "", 160, default_counter().count, ranking=PREVIEW).text
    records = [line for line in shown.splitlines() if "desk-" in line or "door_" in line]
    assert records
    for record in records:
        number = re.findall(r"desk-(\d)|door_(\d)", record)[0]
        assert _OWNERS[int("".join(number))] in record
        assert f"mk-{''.join(number)}00" in record
        assert "kind" not in record


def test_an_object_is_named_by_its_id_if_nothing_in_words_tells_it_apart() -> None:
    """A long text, a link, or a word that others have, too, is no name; a single object needs none."""
    jobs = [
        {
            "url": f"https://ci.example/{n}",
            "state": "done",
            "build": 4711 + n,
            "log": "and so on " * 30,
        }
        for n in range(3)
    ]
    for text in (json.dumps(jobs), str(jobs)):
        found = split(text)
        named = {
            found.shown(head)
            for one in found.segments
            for head in one.heads
            if found.containers[one.container].kind == "object"
        }
        assert [re.findall(r"\d{4}", name) for name in sorted(named)] == [
            ["4711"],
            ["4712"],
            ["4713"],
        ]
    assert not any(one.heads for one in split(json.dumps(jobs[:1])).segments)


def test_members_left_out_are_counted_where_one_is_between_id_and_title() -> None:
    """A member that only one of the objects has, or a key that comes twice, is shown as one of its members."""
    rows = [
        {"id": 40 + n, "title": f"Report {name}", "body": "w " * 99}
        for n, name in enumerate("abcdef")
    ]
    rows[4] = {"id": 44, "pinned": True, "title": "Report e", "body": "w " * 99}
    shown = excerpt(json.dumps(rows), "", 200, default_counter().count, ranking=PREVIEW).text
    assert '$[4] {"id": 44, "pinned": true, "title": "Report e", "…": 1}' in shown
    twice = ", ".join(
        f'{{"id": {n}, "id": {n + 50}, "name": "n{n}", "body": "{"w " * 99}"}}' for n in range(3)
    )
    shown = excerpt(f"[{twice}]", "", 100, default_counter().count, ranking=PREVIEW).text
    assert '$[0] {"id": 0, "id": 50, "name": "n0", "…": 1}' in shown


@for_each(
    "objects, names",
    [
        # A title may have a year in it, and an id by chance no three digits in a row.
        (
            [
                {"node": f"I_kwDO9i5kkGt{c}No1k", "title": f"Of {c * 3}{' 2049' * (c == 'a')}"}
                for c in "abcdefgh"
            ],
            [".node", ".title"],
        ),
        (
            [{"sha": f"9f{c}e8b7ad1{c}", "n": 1, "title": f"The {c * 3}"} for c in "abcdef"],
            [".title"],
        ),
        # One of a few may have no name, or that of another.
        (
            [
                {"id": n, "by": "x", "name": name}
                for n, name in enumerate(["Ada", "Ben", None, "Cleo"])
            ],
            [".name"],
        ),
        (
            [{"id": n, "by": "x", "name": name} for n, name in enumerate(["Ada", "Ben", "Ada"])],
            [".name"],
        ),
        # An event of a series has the title of others; without titles of their own, objects have their ids.
        (
            [
                {"etag": f"{c}90f4e8b7{c}", "by": "x", "title": title}
                for c, title in zip(
                    "abcdef", ("Review", "Lunch", "Review", "Dentist", "Review", "Tea"), strict=True
                )
            ],
            [".title"],
        ),
        (
            [
                {"etag": f"{c}90f4e8b7{c}", "by": "x", "title": title}
                for c, title in zip(
                    "abcdef", ("Review", "Lunch", "Review", "Lunch", "Review", "Tea"), strict=True
                )
            ],
            [".etag"],
        ),
        ([{"id": 1, "name": "Ada"}], []),
        ([{"by": "x", "name": "Ada"}] * 4, []),
    ],
)
def test_what_names_the_objects_of_a_list(objects: list[JsonObject], names: list[str]) -> None:
    """The first member in words that tells nearly all of them apart, or else most, and the id right before it."""
    text = json.dumps(objects)
    spans = [(one.value, one.stop) for one in members_of(text, 0, len(text))]
    assert steps_to_names(text, spans) == names


_TITLES = [f"Crash of {c * 3}" for c in "abcdefghijklmnopqrst"]
_PEOPLE = [f"{c * 3} Okri" for c in "ABCDEFGHIJKLM"]


@for_each(
    "objects",
    [
        [
            {"number": 100 + n, "author": _PEOPLE[n % 13], "state": "open", "title": title}
            for n, title in enumerate(_TITLES)
        ],
        [
            {"sha": f"9f8e7d6c{n}", "author": _PEOPLE[n % 12], "title": title}
            for n, title in enumerate(_TITLES)
        ],
        [{"id": n, "author": _PEOPLE[n % 11], "title": title} for n, title in enumerate(_TITLES)],
        [{"id": n, "state": _PEOPLE[n % 3], "title": title} for n, title in enumerate(_TITLES[:5])],
        [
            {"id": n, "middle": None if n % 2 else _PEOPLE[n], "title": title}
            for n, title in enumerate(_TITLES[:13])
        ],
    ],
)
def test_a_title_of_its_own_names_an_object_rather_than_what_recurs(
    objects: list[JsonObject],
) -> None:
    """Authors, states, or names that only some have, tell more than half of them apart; titles tell nearly all apart."""
    text = json.dumps(objects)
    spans = [(one.value, one.stop) for one in members_of(text, 0, len(text))]
    assert steps_to_names(text, spans)[-1] == ".title"


@for_each(
    "objects, name",
    [
        ([{"duration_ms": n * 3.7, "trace_id": f"7f3adbe19c{n}"} for n in range(20)], ".trace_id"),
        ([{"index": n, "id": f"aBc{n}Def{n * 7}xyZ"} for n in range(20)], ".id"),
        (
            [{"rank": n, "score": n / 7, "doc": f"DOC-2026-{n:04}"} for n in range(20)],
            ".doc",
        ),
        ([{"qty": n, "price": n * 1.3, "sku": f"SKU-{4000 + n}"} for n in range(20)], ".sku"),
    ],
)
def test_an_id_with_letters_names_an_object_rather_than_a_number(
    objects: list[JsonObject], name: str
) -> None:
    """Where nothing in words does: a duration or a price says nothing of which object it is."""
    text = json.dumps(objects)
    spans = [(one.value, one.stop) for one in members_of(text, 0, len(text))]
    assert steps_to_names(text, spans)[-1] == name


def test_names_have_short_members_with_them_only() -> None:
    """What comes with each member of an object does not hold a description of a hundred characters."""
    goods = [
        {"id": n, "title": f"Lamp {n}x", "html": "<p>" + "so " * 40, "body": "w " * 99}
        for n in range(4)
    ]
    found = split(json.dumps(goods))
    heads = {found.shown(head) for one in found.segments for head in one.heads}
    assert heads == {f'"id": {n}, "title": "Lamp {n}x"' for n in range(4)}


def test_what_names_an_object_is_worth_something_itself() -> None:
    """Members are shown with their object's name that would not be worth the price of both alone."""
    classes = ["basic_economy", "economy", "business"]
    cities = ["JFK", "ATL", "SEA", "LAX", "ORD"]
    flights = [
        {
            "flight_number": f"HAT{57 + 79 * n % 300:03}",
            "origin": cities[n % 5],
            "destination": cities[(n + 1) % 5],
            "scheduled_departure_time_est": f"{7 + n:02}:00:00",
            "scheduled_arrival_time_est": f"{9 + n:02}:30:00",
            "status": "available",
            "available_seats": {name: 7 + n + len(name) for name in classes},
            "prices": {name: 60 + 7 * n + len(name) for name in classes},
        }
        for n in range(8)
    ]
    shown = excerpt(json.dumps(flights), "", 240, default_counter().count, ranking=PREVIEW).text
    assert len(re.findall("HAT.*scheduled_departure", shown)) >= 4


def test_objects_of_each_kind_in_large_json_have_names_of_their_own() -> None:
    """The members of results are not named by what names the filters above them."""
    facets = [{"value": f"kind {n}", "count": n} for n in range(24)]
    results = [
        {"unit": n % 3, "text": "so on " * 30, "sku": f"sku-{n}x", "title": f"Lamp of plant_{n}"}
        for n in range(1200)
    ]
    text = json.dumps({"facets": facets, "results": results})
    assert len(text) > LARGE_JSON
    shown = excerpt(text, "", 260, default_counter().count, ranking=PREVIEW).text
    assert shown.count("Lamp of") >= 5


@for_each(
    "text", ['{"' * 1000, '{"{"' * 400, "{'{'" * 400, json.dumps([{"id": 1, "t": '{"' * 600}] * 3)]
)
def test_brackets_in_strings_of_any_depth_are_split(text: str) -> None:
    """A text with thousands of opened strings is split without a limit of Python's being met."""
    assert split(text).text == text


def test_large_json_is_shown_by_its_objects_also_if_they_are_long() -> None:
    """Objects of some thousand characters are read along their members, each with its name, not as bare lines."""
    packages = [
        {
            "name": f"pack-{chr(97 + n % 26)}{chr(97 + n // 26)}",
            "uses": [f"other {m} >= {n}.{m}" for m in range(120)],
            "author": f"author_{n}@example.org",
        }
        for n in range(240)
    ]
    text = json.dumps(packages, indent=1)
    assert len(text) > LARGE_JSON
    shown = excerpt(text, "author_7", 300, default_counter().count, ranking=PREVIEW).text
    assert re.search(r'… \{"name": "pack-ha", .*"author": "author_7@example.org"', shown)


def test_json_of_some_hundred_thousand_characters_is_read_as_a_whole() -> None:
    """Of a list whose objects are long themselves, as those of GitHub are, each object is shown with its title and path."""
    user = {f"address_{n}": f"https://api.example.org/users/ann/{n}" for n in range(130)}
    pulls = [
        {"user": user, "title": f"Mend the {word} of the worker", "base": user}
        for word in ("clock", "queue", "cache", "retry", "limit", "index", "parser", "socket")
    ]
    text = json.dumps(pulls)
    assert LARGE < len(text) < LARGE_JSON
    shown = excerpt(text, "", 300, default_counter().count, ranking=PREVIEW).text
    assert len(re.findall(r'(?m)^\$\[\d\] .*"title": "Mend the', shown)) == len(pulls)


def test_members_without_a_value_do_not_come_with_others() -> None:
    """Half of the members of a charge are null or empty: each is a segment by itself, so that a preview can leave it out."""
    empty: dict[str, object] = {
        "review": None,
        "discounts": [],
        "metadata": {},
        "note": "",
        "source": None,
    }
    charges = [
        {"id": f"ch_{n}x{n * 7}", "title": f"The {word} renewal", **empty, "country": "Norway"}
        for n, word in enumerate(("first", "second", "third", "late", "last") * 4)
    ]
    for text in (json.dumps(charges), json.dumps(charges, indent=1), repr(charges)):
        found = split(text)
        empty_ones = [
            segment.members
            for index, segment in enumerate(found.segments)
            if re.search(r"""null|None|\[]|\{}|""|''""", found.shown(index))
        ]
        assert len(empty) * len(charges) == len(empty_ones) == sum(empty_ones)


def test_what_only_holds_something_empty_is_joined_as_before() -> None:
    """A text that says null, or an object with a member that is null, is not without a value itself."""
    record = {
        "state": "open",
        "says": "x: null (why)",
        "user": {"login": "ann", "mail": None},
        "n": 3,
    }
    record_2 = {**record, "rest": "so on " * 40}
    found = split(json.dumps([record_2, record_2]))
    shown = [found.shown(index) for index in range(len(found.segments))]
    assert (
        '"state": "open", "says": "x: null (why)", "user": {"login": "ann", "mail": null}' in shown
    )


def test_strings_in_a_row_are_shown_as_one_text() -> None:
    """Python prints a long string as several in a row: what a question asks for in them is in sight."""
    said = [f"Sentence {n} is about the harbour of the town." for n in range(120)]
    said[80] = "The ferry to Zembla sank in March."
    text = pprint.pformat({"source": "web", "content": " ".join(said), "type": "TextMessage"})

    shown = excerpt(
        text, "Which ferry to Zembla sank?", 300, default_counter().count, ranking=PREVIEW
    )

    assert "Zembla" in shown.text


@pytest.mark.long
def test_many_members_that_match_take_linear_time() -> None:
    """Each match in an object of thousands of members changes the worth of the members near it only."""

    def preview(text: str) -> None:
        members = {f"retry {n}": f"limit of queue {n * 31}" for n in range(len(text) // 3)}
        excerpt(json.dumps(members), "retry limit", 4 * len(text), len, ranking=PREVIEW)

    assert_linear(preview, "a member, and ")


def test_titles_in_json_that_is_a_text_in_json_are_titles() -> None:
    """Its quotes have escapes, which do not hide that several words behind a colon are a value."""
    events = [{"title": "The plan of the week", "open": True, "log": "and so on " * 9}] * 2
    scores = score(split(_mcp_result(json.dumps(events))), "", PREVIEW, set())
    assert (
        scores.worth["The plan of the week"]
        == score(split(json.dumps(events)), "", PREVIEW, set()).worth["The plan of the week"]
    )


def test_links_gain_nothing_by_recurring() -> None:
    """Ids that recur connect objects; a link that each of them has tells nothing about any."""
    kit = "https://api.example.com/repos/acme/kit"
    sizes = list(range(60))
    pushes = [
        {"kit": kit, "sizes": sizes, "branch": f"fix-{name}/main"} for name in ascii_lowercase
    ]
    shown = excerpt(json.dumps(pushes), "", 40, default_counter().count, ranking=PREVIEW).text
    assert kit not in shown
    assert "fix-b/main" in shown


@for_each("written", [json.dumps, str])
def test_the_titles_of_records_are_names(written: Callable[[object], str]) -> None:
    """A value of several words says what a record is, which its ids and the dates of its changes do not."""
    titles = ["Budget review", "Design critique", "Hiring of a lead", "Lunch with Ada"]
    events = [
        {
            "id": f"{number}b00886fc87a6ed18257",
            "changed": f"2026-10-0{number}T07:11:00.000Z",
            "size": list(range(60)),
            "summary": title,
        }
        for number, title in enumerate(titles)
    ]
    shown = excerpt(written(events), "", 130, default_counter().count, ranking=PREVIEW).text
    assert [title for title in titles if title in shown] == titles


def test_the_repr_of_an_mcp_result_that_was_cut_off_is_shown_by_its_records() -> None:
    """As agents that print a result and keep its first characters have it; no path could be followed there."""
    inner = _mcp_result(json.dumps(ISSUES))
    text = f"meta=None content=[TextContent(type='text', text={inner!r})]"[:6000]
    shown = excerpt(text, "", 300, default_counter().count, ranking=PREVIEW).text
    assert shown.startswith(r'…[0] {\\"number\\": 0, \\"title\\": \\"Crash of part_0\\", ')
    assert "TextContent" not in shown


@for_each("cut", ['{"a": 1, "b": ', '{"a": [1, 2], "b":', '[{"a": 1}, {"b": '])
def test_json_that_was_cut_off_behind_a_key_is_shown(cut: str) -> None:
    """The key has no value, whatever stands before it; looking for one was an IndexError."""
    text = cut.replace("1", "1" * 9_000)
    assert excerpt(cut, "", 10, len).text
    assert excerpt(text, "b", 100, default_counter().count, ranking=PREVIEW).text


def test_the_lines_of_a_string_are_segments() -> None:
    """A line that reports an error is shown alone, not from the middle of the line before it."""
    lines = [f"step {n} went well in all of its parts" for n in range(90)]
    lines[40] = "step 40 failed"
    text = json.dumps({"stdout": "\n".join(lines), "exit_code": 1})
    shown = excerpt(text, "", 120, default_counter().count, ranking=PREVIEW).text
    assert re.search(r"[:…] step 40 failed\\n", shown)


@property_test
@given(texts)
def test_escapes_are_taken_out_in_place(text: str) -> None:
    """Every character but those of escapes stays where it was, and the text reads as the string does."""
    raw = json.dumps(text, ensure_ascii=False)[1:-1]
    plain = unescaped_in_place(raw)
    assert len(plain) == len(raw)
    without = re.compile(r"\\[bfu]|\s")
    if not re.search(r"\\[bfu]", raw):
        assert without.sub("", plain) == without.sub("", text)


@for_each(
    "text, reports",
    [
        ("2 failed, 0 errors", True),
        ("12 passed, 0 failed", False),
        ('"isError": false, "error": null', False),
        ("errors: []", False),
        ("error: 0.5 is no number", True),
        ("Error: connection refused", True),
        ('ERROR:  null value in column "email" violates not-null constraint', True),
        ("Error: None of the servers replied", True),
        ("error: false positive", True),
        ("Failed: 0 of 3 nodes joined", True),
        ("ok=3 changed=1 unreachable=0 failed=0   skipped=2", False),
        ("Failures: 0, Errors: 0 | Skipped: 1", False),
        ('{"errors": 0}', False),
        ("# FAIL:  0\n# XFAIL: 0", False),
        ("FAIL=0", False),
        ("FAIL 0", False),
        ("PASS 5 FAIL 0 ERROR 0", False),
        ("Tests: 0 FAIL", False),
        ("PASS: 5 FAIL: 0", False),
        ("PASS/FAIL", False),
        ("FAIL: 3", True),
        ("--- FAIL: TestTraverse (0.00s)", True),
        ("FAIL\texample.org/cart\t0.012s", True),
        ("FAIL tests/cart.test.ts", True),
        ("--- PASS: TestFlagErrorFunc (0.00s)", False),
        ("=== RUN   TestReadError", False),
        ("    --- PASS: TestCart/returns_an_error_of_none (0.00s)", False),
        ("tests/test_errors.py::test_failed_login PASSED", False),
        ("tests/test_errors.py::test_failed_login FAILED", True),
        ("tests/test_errors.py:12: NameError: x", True),
        ("TestException: boom", True),
        ("test_failures=2", True),
        ("tests_failed 2", True),
        ('"errorMessage": "no such host"', True),
        ("OpenSSL SSL_connect: SSL_ERROR_SYSCALL in connection to db7", True),
        ("RuntimeError: CUDA_ERROR_OUT_OF_MEMORY", True),
        ("pod api-7 is in IMAGE_PULL_FAILED_BACKOFF", True),
        ("vkQueueSubmit returned VK_ERROR_DEVICE_LOST", True),
        ("state=JOB_FAILED_PERMANENTLY", True),
        ("node_errors_total 9", True),
        ('{"event": "AuthenticationFailedEvent", "user": "bob"}', True),
        ("接続がrefusedされました", True),
        ("it may fail", False),
    ],
)
def test_no_error_is_not_an_error(text: str, reports: bool) -> None:
    """The name of a test reports no error, nor does a label, or a count or field of none unless words follow its value."""
    assert reports_fault(text) == reports


def test_failing_tests_among_many_are_shown() -> None:
    """Of a run with a line for each test, those are shown that failed, not those with an error in their names."""
    lines = [f"--- PASS: TestError{number}OfReading (0.00s)" for number in range(300)]
    failed = [f"--- FAIL: TestReading{number} (0.00s)" for number in (120, 170)]
    lines[120:120] = failed[:1]
    lines[170:170] = failed[1:]
    shown = excerpt("\n".join(lines), "", 200, default_counter().count, ranking=PREVIEW).text
    assert all(line in shown for line in failed)


@for_each("word", ["failover", "fail-safe", "PASS/FAIL"])
def test_words_like_those_of_errors_hide_no_error_in_a_long_text(word: str) -> None:
    """Of a text that is too long to be read as a whole, parts with errors are read, not those with words like theirs."""
    lines = [
        f"check of {word} on node {number % 97}: passed for all its shards"
        for number in range(3000)
    ]
    lines.insert(1200, "ERROR lost the connection to db7")
    assert (
        "db7" in excerpt("\n".join(lines), "", 150, default_counter().count, ranking=PREVIEW).text
    )


def test_prose_without_names_is_shown_from_its_beginning() -> None:
    """Nothing in it is worth its price, but a reader should know what it is about."""
    sentence = "The committee met again and spoke about the harbour and its ships for an hour. "
    text = "It is the minutes of the spring meeting. " + sentence * 40
    shown = excerpt(text, "", 200, default_counter().count, ranking=PREVIEW).text
    assert shown.startswith("It is the minutes of the spring meeting. The committee met again")
    assert 30 <= default_counter().count(shown) <= 80


def test_a_lines_form_is_its_words() -> None:
    """Names, numbers and marks are no words, however they are written; the name of a member of JSON is one."""
    files = [f" src/{name}.py | 7 {'+' * n}{'-' * 7}" for n, name in enumerate(ascii_lowercase)]
    members = [f'  "size": {n},' for n in range(26)]
    for lines, other in ((files, " 26 files changed"), (members, '  "total": 325')):
        text = "\n".join([*lines, other])
        [place] = telling_lines(text, [(0, len(text))])
        assert place >= len(text) - len(other)


def test_a_sign_tells_what_kind_of_line_it_is() -> None:
    """What is changed or goes is an exception among much that is new, in a plan with signs before its lines."""
    lines = [f"  + {name} = {n} -> {n + 1}" for n, name in enumerate(["count", "size"] * 20)]
    lines[21] = "  ~ count = 14 -> 3"
    text = "\n".join(lines)
    assert telling_lines(text, [(0, len(text))]) == [text.index("~")]


def test_two_lines_alike_are_exceptions_as_one_is() -> None:
    """Only from three on, lines are a list."""
    lines = [f"disk-{n} is mounted" for n in range(30)]
    lines[7] = "disk-7 has gone away"
    lines[19] = "disk-19 has gone away"
    text = "\n".join(lines)
    gone = {text.index(lines[7]), text.index(lines[19])}
    assert set(telling_lines(text, [(0, len(text))])) == gone


def test_a_sum_below_a_gap_is_telling_in_a_text_without_lists() -> None:
    """A count that is indented least comes first, above indented lines in as many forms as there are lines."""
    words = ["ash", "elm", "oak", "fir", "yew", "bay"]
    blocks = "\n".join("    " + " ".join(some) for some in islice(permutations(words), 40))
    total = "Plan: 5 to add, 2 to destroy."
    text = f"{blocks}\n\n{total}\n\nNote\n{blocks}"
    assert telling_lines(text, [(0, len(text))])[0] == text.index(total)


def test_a_list_has_exceptions_where_its_lines_have_few_forms() -> None:
    """Where every line is in other words, none of them is an exception."""
    words = ["ash", "elm", "oak", "fir", "yew", "bay", "fig", "nut"]
    text = "\n".join(map(" ".join, islice(permutations(words), 40)))
    assert telling_lines(text, [(0, len(text))]) == []


def test_the_sum_of_a_list_is_shown_wherever_it_stands() -> None:
    """Before a list's exceptions, of which there may be many, and before the fields that recur in each of its records."""
    planned = [
        f'  # rack_data.{name} will be created\n  + resource "rack_data" "{name}" {{\n'
        f'      + id   = (known after apply)\n      + name = "{name}"\n'
        f'      + zone = "eu-{n % 3}"\n    }}'
        for n, name in enumerate(["ledger", "depot", "anchor", "copper", "parcel", "beacon"] * 3)
    ]
    outputs = [f'  "name" = "{name}"\n  "port" = {n}' for n, name in enumerate(["a1", "b2", "c3"])]
    total = "Done! Resources: 18 added, 0 changed, 0 destroyed."
    text = "\n\n".join([*planned, total, "Outputs:", "names = [", *outputs, "]"])
    shown = excerpt(text, "", 150, default_counter().count, ranking=PREVIEW).text
    assert total in shown


def test_the_most_telling_lines_come_first() -> None:
    """Of a list, that is the line with a sum, before others in a form of their own; of a manual page, its headings."""
    rows = [f"row {n} is done" for n in range(40)]
    rows[10:10] = ["now the second half begins"]
    rows[30:30] = ["3 of them were late"]
    text = "\n".join([*rows, "that was all of it"])
    assert text.index("3 of them") == telling_lines(text, [(0, len(text))])[0]
    words = ["rain", "sun", "fog", "boat", "gull", "tide", "rope", "sail", "wind", "calm"]
    prose = [" ".join(words[int(digit)] for digit in f"{n * 7919}")[n % 9 :] for n in range(90)]
    names = ("NAME", "USAGE", "AUTHOR")
    sections = [
        f"{name}\n" + "".join(f"     {line}\n" for line in prose[n * 30 : n * 30 + 30])
        for n, name in enumerate(names)
    ]
    page = "\n".join(sections)
    places = telling_lines(page, [(0, len(page))])
    assert {page.index(f"{name}\n") for name in names} == set(places)


def test_headings_above_indented_text_are_shown() -> None:
    """Those of a manual page, each with what stands below it, so that a section can be read by its line."""
    prose = (
        "       The bell of {} is set by ring_time, and by ring_tone_{} unless silent_mode is on.\n"
    )
    sections = ["SYNOPSIS", "OPTIONS", "EXIT STATUS", "SEE ALSO"]
    page = ["BELL(1)\n\nNAME\n       bell - ring when it is time\n"]
    for number, heading in enumerate(sections):
        below = "".join(prose.format(heading.lower(), number * n) for n in range(12))
        page.append(f"{heading}\n{below}")
    text = "\n".join(page)
    shown = excerpt(text, "", 300, default_counter().count, ranking=PREVIEW).text
    assert "bell - ring when it is time" in shown
    for heading in sections:
        assert heading in shown


@pytest.mark.parametrize("opens", ["def price_{}(key):", "func price_{}(key int) {{"])
def test_source_code_is_shown_by_the_definition_that_is_meant(opens: str) -> None:
    """A function far down that holds most of the question is shown, though earlier ones hold some of its words."""
    asked = ["voucher", "customer", "rebate", "lapses"]
    looked_up = {name: ["rate"] * 9 for name in ("order", "parcel", "crate", "box", "bag", "tube")}
    for words, word in zip(looked_up.values(), asked, strict=False):
        words[3] = word
    looked_up["refund"] = [*asked, *asked, "rate"]
    looked_up["sack"] = ["rate"] * 9
    lines = list[str]()
    for number, (name, words) in enumerate(looked_up.items()):
        lines.append(opens.format(name))
        for n, word in enumerate(words):
            lines.append(f"    rate_{n} = book.{word}_of(key, year_{number}{n}, zone_{number}{n})")
        lines.append("")
    question = "The rebate of a customer is wrong where the voucher lapses."
    count = default_counter().count
    shown = excerpt("\n".join(lines), question, 150, count, ranking=PREVIEW).text
    assert opens.format("refund") in shown


def test_what_stands_in_the_definition_that_is_meant_is_shown() -> None:
    """Its names count as those near the beginning do, also in lines that hold no word of the question."""
    books = ["Kelvin/tr", "aa.io", "QX9", "ledger#"]
    lines = list[str]()
    for number in range(60):
        asked = ["voucher", "customer", "rebate", "lapses"] if number == 45 else ["rate"] * 4
        lines.append(f"def price_{number}(key):")
        lines += [f"    {word} = book.{word}(key)" for word in asked]
        lines += [
            f"    # A ledger of this step is kept beside all other ones, in {book}_{number}."
            for book in books
        ]
        lines.append("")
    question = "The rebate of a customer is wrong where the voucher lapses."
    count = default_counter().count
    shown = excerpt("\n".join(lines), question, 400, count, ranking=PREVIEW).text
    assert [book for book in books if f"{book}_45." in shown] == books


def test_a_last_line_with_a_number_is_shown() -> None:
    """It often says how long something took, or how much it was; below a text that is no list, too."""
    nodes = ["Scan", "Sort", "Merge", "Hash", "Limit", "Join", "Group", "Append"]
    steps = [
        f"{'  ' * (n % 9)}-> {nodes[n % 8]} on {nodes[n // 8]}_{n % 7}: key_{n % 5} {'of ' * (n % 4)}rows_{n}"
        for n in range(64)
    ]
    text = "\n".join([*steps, "Execution time: 1331 ms"])
    shown = excerpt(text, "", 120, default_counter().count, ranking=PREVIEW).text
    assert "Execution time: 1331 ms" in shown


def test_base64_is_no_name() -> None:
    """Random letters of encoded bytes are not taken for something that a model will use."""
    blob = "\n".join("iVBORw0KGgo" + "Ab9/" * 16 for _ in range(40))
    text = f"{blob}\nsaved as plot_7.png\n{blob}"
    shown = excerpt(text, "", 100, default_counter().count, ranking=PREVIEW).text
    assert "saved as plot_7.png" in shown


def test_a_needle_in_a_large_text_is_found() -> None:
    """Far behind the part that is looked at closely, the words of the question are found."""
    lines = [
        f"{number} nothing to report about this step, which was a good one"
        for number in range(40_000)
    ]
    lines[31_000] = "31000 the needle lies here"
    text = "\n".join(lines)
    assert len(text) > LARGE
    shown = excerpt(text, "where is the needle?", 200, len)
    assert "31000 the needle lies here" in shown.text
    assert any(first <= 31_001 <= last for first, last in shown.ranges)


def test_a_row_far_down_keeps_its_header() -> None:
    """In a table of a million characters, the row that is asked for comes with the first line."""
    rows = [f"{n},customer {n},{n * 7 % 1000}.50,open" for n in range(1, 30_000)]
    text = "\n".join(["id,name,total,status", *rows])
    assert len(text) > LARGE
    shown = excerpt(text, "customer 23456", 150, len).text
    assert shown.startswith("id,name,total,status\n")
    assert "23456,customer 23456," in shown


@property_test
@given(st.integers(0, 3), st.integers(0, 2000), st.text("ab \n", max_size=40))
def test_regions_are_in_order_and_apart(size: int, offset: int, question: str) -> None:
    """What is looked at closely lies inside the text, in order, and nothing twice."""
    text = ("a b\n" * 100 + "b" * 3000) * (100 * size) + "a" * offset
    found = hotspots(text, question)
    assert all(0 <= start <= end <= len(text) for start, end in found)
    assert all(end < start for (_, end), (start, _) in pairwise(found))


@property_test
@given(texts | documents)
def test_pieces_come_in_order_and_hold_everything(text: str) -> None:
    """Of a text, nothing is lost between the pieces but line breaks; of JSON, nothing but its frame."""
    found = split(text)
    places = [(segment.start, segment.end) for segment in found.segments]
    assert all(end <= start for (_, end), (start, _) in pairwise(places))
    held = "".join(text[start:end] for start, end in places)
    if len(found.containers) == 1:
        assert text.replace("\n", "") == held.replace("\n", "")
    else:
        assert (
            not set(text)
            - set(held)
            - set('{}[],: \n"\\')
            - {c for c in text if not c.isprintable()}
            or len(found.containers) > 2
        )


@for_each(
    "text, words",
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


def test_blank_lines_are_few_segments() -> None:
    """However many blank lines there are, they are one segment beside the texts around them, which can be shown."""
    assert 1 == len(split("\n" * 100_000).segments)
    text = "ERROR: disk sda1 is full" + "\n" * 5000 + "the job ended"
    found = split(text)
    assert 3 == len(found.segments)
    assert found.shown(0).startswith("ERROR") and len(found.shown(0)) < 200
    assert "the job ended" == found.shown(2)


def test_words_among_thousands_of_blank_lines() -> None:
    """Where segments would cost too much because of the blank lines between them, the beginning is shown."""
    text = ("\n" * 5000 + "word\n") * 20
    for question in "", "word":
        shown = excerpt(text, question, 100, default_counter().count).text
        assert shown.startswith("word") and shown.endswith("…")


def test_a_question_has_an_end() -> None:
    """At most 32 words of a question are looked for."""
    assert [f"w{number}" for number in range(MOST_TERMS)] == terms(
        " ".join(f"w{number}" for number in range(1000))
    )


@for_each(
    "text, found",
    [
        ("plain words, Capital Words, and/or", {"and/or"}),
        ("getUserName(user_name) in src/app.py:12", {"getUserName", "user_name", "src/app.py:12"}),
        ('{"page_id": 74804633, "at": "12:30"}', {"page_id", "74804633", "12:30"}),
        ("e.g. it ends. Here", set()),
        ("https://x.org/a?b=c mail bob@example.com", {"https://x.org/a", "bob@example.com"}),
        ("v1 a1 ab12", {"ab12"}),
        (r"C:\new_folder and D:\temp\a_b", {"new_folder"}),
        (r"C:\Users\ann\notes_2026.txt", {"notes_2026.txt"}),
        (r'"C:\\Users\\ann\\notes_2026.txt"', {"notes_2026.txt"}),
        (r"src\tests\test_names.py \newcommand_x", {"test_names.py", "newcommand_x"}),
    ],
)
def test_what_a_name_is(text: str, found: set[str]) -> None:
    """Four characters, and something in them that prose has not."""
    assert found == names(text)


@property_test
@given(texts, st.sampled_from(["error", "table", "步骤", "x", "istanbul"]))
def test_occurrences_are_those_of_the_text(text: str, word: str) -> None:
    """Each place holds the word in some case, whatever letters stand around it."""
    for found, places in occurrences(text, [word]):
        assert all(
            found in text[place : place + len(word) + 2].lower().replace("\u0307", "")
            for place in places
        )


@property_test
@given(texts, st.sampled_from(["groß", "步骤", "é"]))
def test_escaped_letters_are_found_where_they_are(text: str, word: str) -> None:
    """In JSON of JSON, too, each place is where the word begins, with or without escapes."""
    once = json.dumps(f"{text} {word.upper() if word == 'é' else word}")
    for escaped in (once, json.dumps(once)):
        [(_, places)] = occurrences(escaped, [word])
        assert all(unescaped(escaped[place:]).lower().startswith(word) for place in places)
        assert places[-1] >= len(escaped.encode()) - 6 - 7 * len(word)


def test_a_number_is_read_whole() -> None:
    """A question for order 40 or SKU-4 is not answered with order 140 or 404, or SKU-40; in large texts neither."""
    for count, separator in ((1000, "\n"), (9000, " | ")):
        text = separator.join(f"order {n}: SKU-{n} {n * 7919 % 1500} pieces" for n in range(count))
        for question in ("How many pieces are order 40?", "SKU-40"):
            assert "order 40: SKU-40 260 pieces" in excerpt(text, question, 100, len).text


@for_each(
    "lines",
    ["", ', "lines": [{"sku": "S1", "qty": 1}, {"sku": "S2", "qty": 2}, {"sku": "S3", "qty": 30}]'],
)
def test_a_record_of_large_json_is_not_mixed_with_the_next(lines: str) -> None:
    """In a single line of 400,000 characters, too, a record is shown with its own owner, and with no other's."""
    records = [
        f'{{"id": {n}, "name": "part-{n}", "desc": "{"lorem ipsum " * 6}"{lines}, "owner": {{"login": "u{n % 977}"}}}}'
        for n in range(3000)
    ]
    text = f'{{"items": [{", ".join(records)}]}}'
    assert len(text) > LARGE_JSON
    shown = excerpt(text, "Who owns part-2345, which login?", 250, len).text
    [record] = [line for line in shown.split("\n") if "part-2345" in line]
    assert '"owner": {"login": "u391"}' in record
    assert 1 == record.count('"login"')


def test_a_word_before_the_first_segment_is_in_none() -> None:
    """The name of a member that is split stands before the first segment, and is not taken for a word of the last one."""
    text = json.dumps({"summary": "The user asks for a refund of the travel insurance. " * 5})

    assert not excerpt(text, "summary of the meeting", 250, len).is_answer


@pytest.mark.long
@for_each("unit", [" ", "\t", "\r", "a:", "-", "1", "\\", "a.", "[]", "a-", ": "])
def test_long_runs_are_read_in_linear_time(unit: str) -> None:
    """A run of one mark, hundreds of thousands of characters long, is cut and searched for names to its end."""
    text = unit * (400_000 // len(unit))

    assert len(text) == split(text).segments[-1].end
    assert len(names(text)) < 2


def test_a_string_that_a_region_ends_in_is_one_string() -> None:
    """Brackets in it open nothing, and of 5,000 escaped quotes in it none begins another that is read to the end."""
    cut = '{"a": "' + r"{\"" * 5_000

    assert ["{", '"a"', cut[6:-1]] == STRING_OR_BRACKET.findall(cut + '"}', 0, len(cut) - 1)


def test_large_json_with_an_open_parenthesis_is_read_once() -> None:
    """A text that only looks like JSON is not read to its end for each of its objects."""
    text = '[{"a": 1}, ' + '{"b": (}, ' * 80_000

    assert excerpt(text, "needle", 300, len).text


@pytest.mark.long
@for_each("line", ["{0},n{0},{0}", "0.{0}", "alpha beta gamma delta"])
@for_each("ranking", [PREVIEW, replace(PREVIEW, rare=0.0)])
def test_a_preview_shows_either_end(line: str, ranking: Ranking) -> None:
    """Of a large text of which nothing stands out, a preview shows the beginning and the end, whatever the weights."""
    lines = [line.format(number * 7919 % 99991) for number in range(75_000)]
    lines[0], lines[-1] = "it begins here", "it ends here"
    shown = excerpt("\n".join(lines), "", 300, default_counter().count, ranking=ranking)

    assert "it begins here" in shown.text
    assert "it ends here" in shown.text


@for_each("budget", [300, 1000, 2000])
def test_a_preview_of_a_large_text_shows_either_end(budget: int) -> None:
    """Also where other lines are worth all of its budget, and the text costs no more than some times that.

    What lies between two regions that were split is not shown with them: nothing would be left of the budget.
    """
    errors = "\n".join(
        f"Error {n * 7919:x} in m{n * 31:x}: order {n * 104729} failed, E{n}" for n in range(2200)
    )
    text = f"it begins here\n{errors}\nit ends here"
    counted = default_counter().count
    shown = excerpt(text, "", budget, counted, ranking=PREVIEW).text

    assert "it begins here" in shown
    assert "it ends here" in shown
    assert counted(shown) > 0.8 * budget


UNIFORM_TEXTS: dict[str, Callable[[int], str]] = {
    "equal lines": lambda count: "INFO heartbeat ok\n" * count,
    "a log": lambda count: "\n".join(
        f"12:{n // 60 % 60:02}:{n % 60:02} INFO worker-{n % 7} ok" for n in range(count)
    ),
    "numbers": lambda count: "\n".join(map(str, range(count))),
    "CSV": lambda count: "a,b,c\n" + "\n".join(f"{n},{n * 2},x" for n in range(count)),
    "a Markdown table": lambda count: (
        "| a | b | c |\n|---|---|---|\n" + "\n".join(f"| {n} | x | y |" for n in range(count))
    ),
    "a line of numbers": lambda count: json.dumps(list(range(count))),
    "records": lambda count: json.dumps([{"id": n, "state": "ok"} for n in range(count)]),
    "indented records": lambda count: json.dumps([{"id": n} for n in range(count)], indent=2),
    "JSON lines": lambda count: "\n".join(json.dumps({"id": n, "s": "ok"}) for n in range(count)),
    "prose in one line": lambda count: "so the queue was empty and nobody asked, " * count,
    "lines of prose": lambda count: "So the queue was empty, and nobody asked for more.\n" * count,
    "Chinese": lambda count: "一切正常,没有错误。" * count,
    "names": lambda count: "\n".join(f"u_{n * 7919:08x},name{n},Oslo" for n in range(count)),
}


@pytest.mark.long
@for_each("form", list(UNIFORM_TEXTS))
def test_a_preview_of_a_uniform_text_shows_either_end(form: str) -> None:
    """However uniform a large text is, its preview begins with its first word and ends with its last one.

    Records of large JSON come without the brackets of their list.
    """
    text = UNIFORM_TEXTS[form](40_000).strip()
    shown = excerpt(text, "", 200, default_counter().count, ranking=PREVIEW).text
    first, *_, last = text.strip("[]").split() * 2
    shown = shown.removeprefix("… ").strip("[]")
    assert shown.startswith(first[:10])
    assert shown.endswith(last[-10:])


def test_underscores_that_markdown_escapes() -> None:
    """A name is found whose underscores are escaped, as in Markdown."""
    lines = [f"* **doc**: update page {number}" for number in range(400)]
    lines[300] = r"* **src**: update NODE\_MODULE\_VERSION to 88"
    question = "To what was NODE_MODULE_VERSION set?"
    assert lines[300] in excerpt("\n".join(lines), question, 200, len, ranking=READING).text


def test_rows_of_a_databases_table_come_with_their_names() -> None:
    """A row of what psql prints is as useless without the names of its columns as one of Markdown is."""
    rows = "\n".join(f" {n:>4} | {n * 37 % 100} | {n * 7 % 40}" for n in range(400))
    names = "  id  | width | height\n------+-------+--------"
    shown = excerpt(f"{names}\n{rows}\n(400 rows)\n", "What is 312?", 150, len).text
    assert shown.startswith(names)
    assert " 312 |" in shown


def test_a_line_of_a_diff_comes_with_its_file() -> None:
    """However far behind the line that names the file it stands; the next file has a line of its own."""
    files = {
        name: [
            f"diff --git a/{name} b/{name}",
            "@@ -1,90 +1,90 @@",
            *(f" kept {n}" for n in range(90)),
        ]
        for name in ("src/first.py", "src/second.py")
    }
    files["src/second.py"][60] = "+the needle"
    text = "\n".join(line for lines in files.values() for line in lines)
    shown = excerpt(text, "needle", 200, len, ranking=ANSWER).text
    assert shown.startswith("…93\ndiff --git a/src/second.py b/src/second.py\n")
    assert "+the needle" in shown


def test_the_record_of_a_name_comes_whole() -> None:
    """A partial read shows all of the record that the question means, and not its first line among others of that kind."""
    first, last = ["Liam", "Amara", "Hiro", "Zelda", "Wanda"], ["Zhou", "Valdez", "Whitfield"]
    people = [f"{one} {other}" for other in last for one in first]
    records = [
        f"*** {number}. row ***\n      id: {number}\n    name: {name}\n    city: Kiel\n  street: Ring {number}"
        f"\n  status: pending\n  amount: {number * 97 % 1000}"
        for number, name in enumerate(people * 8, 1)
    ]
    records[60] = records[60].replace(people[0], "Liam Falkenberg")
    question = "What is the amount for Liam Falkenberg?"
    shown = excerpt("\n".join(records), question, 200, len).text
    assert "amount: 917" in shown


def test_the_largest_value_is_read_from_its_column() -> None:
    """A partial read knows what the largest of a column is, as recall does."""
    rows = [f"{number},person{number},{number * 37 % 1000}" for number in range(1, 400)]
    text = "\n".join(["id,customer,amount", *rows])
    largest = max(rows, key=lambda row: int(row.split(",")[2]))
    shown = excerpt(text, "Which customer has the largest amount?", 100, len, ranking=READING).text
    assert largest in shown


def test_a_name_in_every_line_does_not_hide_the_line_that_is_meant() -> None:
    """Of the many lines with a service's name, the one with the beginning of the other word is shown."""
    lines = [
        f"2026-01-01 10:{number // 60:02d}:{number % 60:02d} checkout-api GET /cart/{number * 7919:08x} 200"
        for number in range(1300)
    ]
    lines[900] = "2026-01-01 10:15:00 checkout-api GET /api/v2/customerTimeouts 500"
    shown = excerpt("\n".join(lines), "checkout-api customerTimeout", 600, len).text
    assert lines[900] in shown


def test_all_rows_that_a_value_chooses_come_as_far_as_they_fit() -> None:
    """More than twenty rows are meant by their value, so the first of them are an answer."""
    rows = [
        f"{number},person{number},{900 + number if number % 20 == 0 else 5}"
        for number in range(1, 600)
    ]
    text = "\n".join(["id,customer,amount", *rows])
    shown = excerpt(text, "Which customers have an amount over 900?", 200, len).text
    assert rows[19] in shown
    assert rows[39] in shown


def test_messages_of_another_program_have_records() -> None:
    """JSON lines that begin with a role, but are no conversation of ours, are read as any other."""
    lines = [
        json.dumps({"role": "admin", "name": f"person{number}", "amount": number * 37 % 1000})
        for number in range(1, 300)
    ]
    largest = max(lines, key=lambda line: int(json.loads(line)["amount"]))
    shown = excerpt("\n".join(lines), "Which admin has the largest amount?", 200, len).text
    assert json.loads(largest)["name"] in shown


PAGE = "\n".join(
    (
        "<!DOCTYPE html>",
        '<html lang="en"><head><title>Opening hours</title>',
        "<script>",
        *(f'  if (a < {n}) {{ load("tracker-{n}.js"); }}' for n in range(60)),
        "</script><style>.b > .c { color: red }</style></head>",
        '<body class="[&>svg]:w-4"><h2>Branches</h2>',
        "<p>We are open on <b>weekdays</b>,",
        "   and closed on&nbsp;holidays.</p>",
        *(
            f'<tr><td>Branch {n}<td><a href="/branch/{n}">Street {n}</a></td></tr>'
            for n in range(100)
        ),
        "</body></html>",
    )
)


def test_of_a_page_its_words_are_shown() -> None:
    """Of an HTML page there are no tags and programs; lines are numbered as in the page, links have their addresses."""
    shown = excerpt(
        PAGE, "When is the branch at Street 70 closed?", 60, default_counter().count, ranking=ANSWER
    )

    assert shown.text.startswith(
        "…65\n## Branches\n\nWe are open on weekdays, and closed on holidays."
    )
    assert "\n…138\n| Branch 70 | Street 70 (/branch/70) |" in shown.text
    assert "tracker" not in shown.text
    assert "<" not in shown.text
    assert shown.ranges == ()


@for_each(
    "wrapping",
    [
        lambda page: json.dumps({"content": [{"type": "text", "text": page}], "isError": False}),
        lambda page: f"Contents of https://example.org/hours:\n{page}",
        lambda page: f"HTTP/2 200\ncontent-type: text/html\n\n{page}",
        lambda page: f"<!-- saved -->\n<?xml version='1.0'?>\n{page}",
    ],
)
def test_a_page_in_a_result_is_shown_by_its_words(wrapping: Callable[[str], str]) -> None:
    """A page may be in the result of an MCP tool, and after what a tool says about it."""
    shown = excerpt(
        wrapping(PAGE), "closed on holidays", 60, default_counter().count, ranking=ANSWER
    )

    assert "We are open on weekdays, and closed on holidays." in shown.text


def test_declarations_before_a_page_are_not_shown() -> None:
    """What XHTML has before its first tag is no word of the page."""
    page = f"<?xml version='1.0'?>\n<!-- saved -->\n{PAGE}"

    shown = excerpt(page, "", 100, default_counter().count, ranking=PREVIEW)

    assert "?xml" not in shown.text
    assert "saved" not in shown.text


def test_a_preview_of_prose_shows_what_the_question_asks_for() -> None:
    """In prose the words of a question are beside its answer, which comes before the names of the text."""
    words = (
        "it is in the_{0} of the and so as to be with the all of those who had been at the Lab-{0}"
    )
    words += " before they were in the"
    parts = words.split()
    lines = [" ".join(parts[i % 11 :] + parts[: i % 7]).format(i) for i in range(40)]
    lines[20] = "half of the sheep that we had there were ill in the spring"

    shown = excerpt(
        "\n".join(lines),
        "Who was at Lab-7 and how many sheep ill",
        80,
        default_counter().count,
        ranking=PREVIEW,
    )

    assert lines[20] in shown.text


def test_a_preview_shows_the_records_that_its_question_means() -> None:
    """Of the parts that a task names, the rows are shown, wherever in the table they are."""
    rows = [f" P-{1000 + 17 * n} | bearing {n} mm | {n * 7 % 90} | Clavel\n" for n in range(90)]
    table = f" sku    | title | stock | supplier\n--------+-------+-------+------\n{''.join(rows)}"
    parts = ("P-1306", "P-1493", "P-2088")
    question = f"Which of {', '.join(parts)} have to be ordered again? psql parts"

    cost = default_counter().count
    shown = excerpt(table, question, 400, cost, ranking=PREVIEW, known=frozenset(parts)).text

    assert all(row.strip() in shown for row in (rows[18], rows[29], rows[64]))


def test_the_menu_of_a_site_has_no_names_of_a_page() -> None:
    """A preview of prose shows what its sentences name, and not where links to other pages of the site lead."""
    pages = ["runtime-config-locks", "runtime-config-wal", "sql-createtable", "mvcc_intro"]
    menu = [f"* [Next](sql/{page}.html#GUC-{page.upper()})" for page in pages]
    words = "and the one that is next to the other of the two, so that the last is the best"
    lines = [*menu, "The limit of the table is set by max_rows.", *menu, words, words]

    shown = excerpt("\n".join(lines), "", 60, default_counter().count, ranking=PREVIEW)

    assert "max_rows" in shown.text


def test_what_looks_like_a_link_in_source_code_has_names() -> None:
    """A call of what a mapping holds is no link."""
    lines = [f"    count = count + {n}" for n in range(40)]
    lines[20] = "    handlers[name](websocketError)"

    shown = excerpt("\n".join(lines), "", 60, default_counter().count, ranking=PREVIEW)

    assert lines[20] in shown.text


@for_each(
    "text",
    [
        f"# https://example.org\ndef page():\n    return '''{PAGE}'''",
        f"From: Ann\nTo: Bo\nSubject: Hours\nContent-Type: text/html\n\n{PAGE}",
        f"Why does this show nothing?\n{PAGE}",
        "<h1>Hours</h1>\n\nOpen on <b>weekdays</b>, a `List<String>`.\n\n## More",
        PAGE.replace("<!DOCTYPE html>", "<svg>").replace("<html", "<g"),
        json.dumps({"url": "https://example.org", "body_html": "<h1>Hours</h1><b>weekdays</b>"}),
        json.dumps([{"id": 1, "body": f"<html><body>{'<b>weekdays</b>' * 9}</body></html>"}]),
        "url,html\nhttps://a.org,<h1>We are open on <b>weekdays</b></h1>\nhttps://b.org,<h1>No</h1>",
        "# Hours\n\nSee https://example.org.\n\n<table>\n<tr><td><b>weekdays</b></td></tr>\n</table>",
        '<h1 *ngIf="open">On {{ days }}</h1>\n<b>weekdays</b>',
        f"<html><script>days = '<b>weekdays</b>'; {'draw(days);' * 300}</script></html>",
        "<html><h1>502</h1></html>\n" + "* TLS handshake\n" * 200 + "> <b>weekdays</b>\n",
    ],
)
def test_what_only_holds_a_page_keeps_its_tags(text: str) -> None:
    """Programs, mails, drawings, data, Markdown, a program that draws a page, and a log behind a small page are no pages."""
    shown = excerpt(text, "weekdays", 60, default_counter().count, ranking=ANSWER)

    assert "<b>weekdays</b>" in shown.text


def test_a_blank_line_in_a_string_of_json_is_shown_whole() -> None:
    """No escape is cut in two, and there is no gap mark where nothing is left out."""
    note = (
        "Becker here, purchasing. For the change from B to C I need a new quote for all cameras. "
    )
    note += "The order is changed only after the quote. Payment 30 days net."
    rows = [{"n": n, "note": f"{note}\n\nBecker {n}"} for n in range(3)]
    shown = excerpt(json.dumps(rows), "Becker 1 quote", 400, default_counter().count).text
    assert f"$[1].note: {note}\\n\\nBecker 1" in shown


@for_each("paragraph", ["Some words of the shop are here.", "So it goes on in this shop. " * 5])
def test_blank_lines_in_a_string_of_json_are_not_shown_alone(paragraph: str) -> None:
    """They are the cheapest segments of a text that says nothing new, and were shown as dozens of gap marks."""
    rows = [{"file": "a", "content": "\n\n".join([paragraph] * 60)}, {"file": "b"}]
    shown = excerpt(json.dumps(rows), "", 200, default_counter().count).text
    assert paragraph.strip() in shown
    assert re.search(r"\u2026(?:\s|\\n)*\u2026", shown) is None


def test_no_escape_is_cut_behind_a_backslash() -> None:
    """A line of a script that goes on in the next one ends in two backslashes of JSON, and then its line break."""
    script = "\n".join(
        f"docker run --name box{n} \\\n  -v /srv/data{n}:/data \\\n  --env MODE=prod \\\n  image:{n}"
        for n in range(30)
    )
    text = json.dumps([{"file": n, "content": script} for n in range(2)])
    for question in ("", "box7 data7"):
        shown = excerpt(text, question, 150, default_counter().count).text
        ends = re.findall(r"(\\*)(?: \u2026|$)", shown, re.MULTILINE)
        assert [end for end in ends if len(end) % 2] == []


def test_words_of_a_page_stand_beside_each_other() -> None:
    """The address of a link follows its block; what begins no tag is text, and a heading's mark is before its words."""
    page = (
        "<html><a data-href='/no' href='/item/7'><div>Item 7</div></a><p title=don't>a < b &amp; c</p>"
        "<h2><div>Colours</div></h2><script-x>red</script-x><button>Save</button><button>Undo</button></html>"
    )

    shown = excerpt(page, "", 200, len)

    assert shown.text == "Item 7 (/item/7)\n\na < b & c\n\n## Colours\n\nred\nSave\nUndo"


def test_a_row_below_a_cell_across_rows_has_no_bars() -> None:
    """No cell stands under the name of another column; a blank line has the number of the line before it."""
    page = (
        "<html><table><tr><th>City<th>Year<th>Sold</tr>\n<tr><td rowspan='2'>Rome<td>2025<td>7</tr>\n"
        "<tr><td>2026<td>9</tr>\n<tr><td>Oslo<td>2026<td>8</tr></table>\n\n<p>In thousands.</html>"
    )

    words = words_of_html(page)

    assert words is not None
    assert words.text.split("\n")[2:] == [
        "| Rome | 2025 | 7 |",
        "2026 | 9",
        "| Oslo | 2026 | 8 |",
        "",
        "In thousands.",
    ]
    assert words.numbers[:7] == [1, 1, 2, 3, 4, 4, 6]


def test_a_wrapped_page_has_no_numbers_of_lines() -> None:
    """The lines of a page in a JSON string are not those of the stored text."""
    wrapped = json.dumps({"content": [{"type": "text", "text": PAGE}]})

    shown = excerpt(wrapped, "Street 70", 40, default_counter().count, ranking=ANSWER)

    assert "…\n| Branch 70 | Street 70 (/branch/70) |" in shown.text


def test_a_line_that_is_cut_ends_with_a_gap_mark() -> None:
    """The beginning of a line does not look like all of it, also where the next line shown is another one."""
    long = "eni-f54e " + " ".join(f"word{n}" for n in range(60))
    text = "\n".join([long, *("filler" for _ in range(40)), "SECURITYGROUPS sg-1"])

    shown = show_spans(text, [(0, 8), (text.index("SECURITY"), len(text))])

    assert shown.text == "eni-f54e …\n…42\nSECURITYGROUPS sg-1"


def test_fields_between_tabs_are_not_cut() -> None:
    """A long line of fields between tabs is broken before or behind a field, never within one."""
    fields = [f"i-{n:07x} node {n}" for n in range(400)]
    text = "\n".join("\t".join(fields[n : n + 20]) for n in range(0, 400, 20))

    shown = excerpt(text, "node 250", 120, default_counter().count, ranking=PREVIEW)

    pieces = [piece.strip(" …") for piece in re.split(r"\t|\n(?:…\d+\n)?", shown.text)]
    assert fields[250] in pieces
    assert set(pieces) - {""} <= set(fields)


def test_lines_beside_json_have_their_numbers() -> None:
    """Lines of a text that holds JSON, too, come behind the number of their line, as in any other text."""
    settings = [f"setting_{n} = value_{n}" for n in range(60)]
    state = {"resources": [{"id": n, "name": f"db-{n}", "zone": "a"} for n in range(200)]}
    text = "\n".join([*settings, json.dumps(state, indent=1)])

    shown = excerpt(text, "setting_50", 120, default_counter().count, ranking=PREVIEW)

    assert "\n…49\nsetting_48 = value_48\n" in shown.text


def test_lines_behind_a_page_stay_as_they_are_written() -> None:
    """What a program says after a page is no part of it: its lines, their tags and entities stay, with their numbers."""
    said = "\n* Closing <connection> 0\n  GET /?a=1&copy=2"

    words = words_of_html(PAGE + said)

    assert words is not None
    assert words.text.endswith(said)
    assert words.numbers[-1] == PAGE.count("\n") + 3


def test_markup_behind_a_page_belongs_to_it() -> None:
    """A second page does, also one that is cut off, and what a server adds; a tag in a string of a program ends none."""
    cut = PAGE[: len(PAGE) // 2]
    for text in (PAGE + cut, f"{PAGE}\n<!-- cached -->\n<p>Served by web-2</p>"):
        words = words_of_html(text)
        assert words is not None
        assert "<p>" not in words.text
    for inner in ("<script>`<html>…</html>\n`</script>", "<!-- old: </html> -->"):
        page = f"<!DOCTYPE html><html><body>{inner}{'<p>One of the shops is open.</p>' * 20}"
        words = words_of_html(page)
        assert words is not None
        assert "<p>" not in words.text


def test_a_persons_own_page_keeps_its_tags() -> None:
    """Of a message of a person about a page of theirs, the beginning and the end are shown as they are written."""
    text = f"My page for https://example.org shows nothing:\n{PAGE}\nWhat is wrong with <b>it?"

    assert excerpt(text, "", 60, default_counter().count, ranking=ENDS).text.endswith("with <b>it?")


def test_lines_of_code_in_a_page_keep_their_numbers() -> None:
    """Entities do not change the numbers of lines, and what a tool says above a page stays as it is written."""
    code = "\n".join(f"if (a &lt; {n} &amp;&amp; b) call{n}();" for n in range(300))
    page = f"HTTP/2 200\ncontent-type: text/html\nlink: <https://x.org/?page=2>\n\n<html><pre>{code}</pre></html>"

    shown = excerpt(page, "call250", 60, default_counter().count, ranking=ANSWER)

    assert "…252\nif (a < 247 && b) call247();" in shown.text
    assert "link: <https://x.org/?page=2>" in excerpt(page, "", 3000, len).text


def test_lines_of_a_part_of_a_page_keep_their_numbers() -> None:
    """In a part of a text that is HTML, the numbers in gap marks are those of the whole text."""
    part = "<h2>Days</h2>\n" + "\n".join(f"<p>Day {n} is dry.</p>" for n in range(200))

    shown = excerpt(part, "Day 150", 20, default_counter().count, ranking=ANSWER, first_line=1001)

    assert "…1151\nDay 149 is dry.\n\nDay 150 is dry." in shown.text


def test_code_in_a_page_keeps_its_lines() -> None:
    """Within `<pre>` lines and their indentation stay; elsewhere elements alone end a line."""
    page = (
        "<html><body><p>Run\n it:<pre>for a in <i>b</i>:\n    print(a &lt; 1)\n</pre></body></html>"
    )

    assert excerpt(page, "", 60, len).text == "Run it:\n\nfor a in b:\n    print(a < 1)"


def test_an_answer_shows_the_members_of_the_object_that_is_asked_for() -> None:
    """Members behind the objects in it come too, and none of the object beside it."""
    orders = [
        {
            "id": f"order-{1000 + n}",
            "customer": {"name": f"Person {n}", "city": "Linz"},
            "items": [{"sku": f"S-{n}-{i}", "count": i} for i in range(3)],
            "status": "open" if n % 2 == 0 else "shipped",
            "total": 60.5 + n,
        }
        for n in range(60)
    ]
    question = "what is the status of order-1043"
    shown = excerpt(json.dumps(orders), question, 120, default_counter().count).text
    assert '"status": "shipped"' in shown
    assert '"status": "open"' not in shown


def test_a_preview_of_json_shows_titles_before_many_links() -> None:
    """Links are alike, so that the titles of all issues come before the links of the first."""
    links = ("html_url", "labels_url", "comments_url", "events_url", "timeline_url", "patch_url")
    issues = [
        {
            **{key: f"https://api.example.org/{n}/{key}/of/{n * 17}" for key in links},
            "title": f"The pump number {n} isn't heard, says the operator of the plant",
        }
        for n in range(6)
    ]

    shown = excerpt(json.dumps(issues), "issues", 300, default_counter().count, ranking=PREVIEW)

    for n in range(6):
        assert f"The pump number {n} isn't" in shown.text


@for_each("budget", range(40, 200, 20))
@for_each("ranking", [PREVIEW, ANSWER, READING])
def test_an_answer_with_heads_fits_its_budget_with_the_answer(
    budget: int, ranking: Ranking
) -> None:
    """Heads are paid for before a row is taken, so that none is left out after them."""
    text = "\n".join(wide_rows("failed"))
    shown = excerpt(text, "failed-150", budget, default_counter().count, ranking=ranking)
    assert not shown.is_answer or "failed-150" in shown.text
    assert default_counter().count(shown.text) <= budget


def test_only_titles_of_json_count_more_than_names() -> None:
    """In the line of a log, a value of several words is worth as much as a name; in JSON twice as much."""
    title = "The plan of the week"
    for text, worth in (
        (json.dumps([{"title": title}]), 2.0),
        (f'job done, title: "{title}"', 1.0),
    ):
        assert score(split(text), "", PREVIEW, set()).worth[title] == worth


def test_a_segment_is_shown_only_if_its_heads_have_room() -> None:
    """A row's header is paid for, too, where segments are shown in their order."""
    header = ",".join(f"column_{n}" for n in range(40))
    found = split("\n".join([header, *(f"row {n}" + ",1" * 39 for n in range(40))]))
    row = next(index for index, segment in enumerate(found.segments) if segment.heads)
    price = len(found.shown(row)) + 20
    assert with_more(found, [], [row], price, len) == []
    assert with_more(found, [], [row], price + len(header) + 20, len) == [0, row]


def test_each_part_of_a_long_record_in_a_preview_comes_with_the_name_of_the_record() -> None:
    """Beside the one state that reports an error stands whose it is, dozens of lines above it."""
    pods = "\n\n".join(
        f"Name:        pay-x{n}k\n"
        + "".join(f"Option_{one}:   value of option {one}\n" for one in range(30))
        + f"State:       {'Failed: out of memory' if n == 3 else 'Running'}\n"
        for n in range(6)
    )
    shown = excerpt(pods, "", 250, default_counter().count, ranking=PREVIEW).text
    name, state = shown.index("pay-x3k"), shown.index("Failed")
    assert name < state
    assert "pay-x" not in shown[name + 7 : state]


def test_a_text_in_wide_columns_takes_linear_time() -> None:
    """The spaces that align the columns of a table are passed over once."""
    assert_linear(long_records, " ", "name", "|  web\n" * 4)


@for_each("number", ["{1}", "{:6}\t{}"])
def test_a_line_of_a_method_comes_with_its_method_and_its_class(number: str) -> None:
    """What stands above it in an excerpt is what it belongs to, whatever other classes are shown."""
    kinds = [
        f"class Kind{n}(Base):\n    size = {n}\n\n    def convert(self, value):\n"
        f"        if value is None:\n            return default_{n}\n        return value * {n}\n"
        for n in range(60)
    ]
    lines = "\n\n".join(kinds).split("\n")
    text = "\n".join(number.format(n, line) for n, line in enumerate(lines, 1))
    shown = excerpt(text, "default_37", 400, len, ranking=ANSWER).text
    above, _, _ = shown.partition("return default_37")
    expected = ["class Kind37(Base):", "def convert(self, value):", "if value is None:"]
    assert re.findall(r"(?:class|def|if) .*:", above)[-3:] == expected


def test_a_block_that_has_ended_is_no_head() -> None:
    """One resource is not inside another that the same segment ends; a function's body stays below its first line."""
    plan = "\n".join(
        f'resource "aws_security_group_rule" "the_rule_with_a_long_name_{n}" {{\n'
        f'  cidr_blocks = ["10.{n}.0.0/16", "10.{n}.1.0/16", "10.{n}.2.0/16"]\n}}'
        for n in range(9)
    )
    for segment in split(plan).segments:
        assert len(segment.heads) < 2
    code = "\n".join(
        f"def convert_{n}(\n    first: dict[str, list[int]] = {{'one': [1, 2], 'two': [3, 4], 'three': [5, 6]}},\n"
        f"    second: dict[str, list[int]] = {{'four': [1, 2], 'five': [3, 4], 'six': [5, 6]}},\n) -> None:\n"
        f"    if first is not None and second is not None and len(first) > len(second):\n"
        f"        return second_line_of_the_body_{n}(first, second, 'and all of the words that come after')"
        for n in range(9)
    )
    found = split(code)
    for index, segment in enumerate(found.segments):
        if number := re.search(r"second_line_of_the_body_(\d)", found.shown(index)):
            heads = "".join(map(found.shown, segment.heads))
            assert f"def convert_{number[1]}(" in heads + found.shown(index)
