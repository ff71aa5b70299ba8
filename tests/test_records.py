"""What a record of a text is: whole, with what says whose it is, and without what stands beside it."""

from __future__ import annotations

import json
import re
import time
from string import ascii_lowercase
from typing import Any

from for_each import for_each
from memory_context.text.excerpt.excerpt import excerpt, show_records
from memory_context.text.excerpt.headed_sections import section_at
from memory_context.text.excerpt.long_records import long_records
from memory_context.text.excerpt.record_around_place import record_at
from memory_context.text.rows.names_above_rows import end_of_names

SERVICES = ("web", "api", "worker", "redis", "postgres", "minio", "grafana", "loki")


def _shown(text: str, wanted: str) -> str:
    """Return what is shown of the record around the first place of some words."""
    start = text.index(wanted)
    record = record_at(text, start, start + len(wanted))
    return show_records(text, [record], 4000, len).text


def _of_each(form: str, names: tuple[str, ...] = SERVICES) -> str:
    return "".join(form.format(name=name, n=n) for n, name in enumerate(names))


VOLUMES = "volumes:\n  data: {}\n"
SERVICES_ALIKE = "services:\n" + _of_each(
    "  {name}:\n    image: shop/{name}:1.{n}\n    deploy:\n      limits:\n        memory: {n}00M\n"
)
SERVICES_UNLIKE = """services:
  web:
    image: nginx
    ports: ["80:80"]

  postgres:
    build:
      context: ./db
    shm_size: 256m

  # only for metrics
  redis:
    image: redis:7

"""
OTHERS = "".join(
    _of_each(
        f"  {age}-{{name}}:\n    image: {{name}}:{{n}}\n    command: run all the {age} {{name}} has\n\n"
    )
    for age in ("old", "new")
)
COMPOSE, UNLIKE = SERVICES_ALIKE + VOLUMES, SERVICES_UNLIKE + OTHERS + VOLUMES
JOBS = "on: [push]\njobs:\n" + _of_each(
    "  {name}:\n    timeout: {n}5\n    steps:\n      - uses: checkout\n      - run: make {name}\n"
)
HOSTS = "all:\n" + _of_each(
    "  {name}:\n    hosts:\n      {name}1:\n        port: {n}1\n      {name}2:\n        port: {n}2\n"
)
TERRAFORM = _of_each(
    'resource "vm" "{name}" {{\n  size = {n}0\n\n  tags {{\n    n = {n}\n  }}\n}}\n\n'
)
PLAN = "Actions:\n\n  + create\n\n" + _of_each(
    '  # vm.{name} will be made\n  + resource "vm" "{name}" {{\n      + size = {n}0\n    }}\n\n'
)
SOURCE = "import re\n\n\n" + _of_each(
    "def {name}(text):\n    if text:\n        return {n}\n\n    left = {n}0\n    return left\n\n\n"
)
LOCKED = "version = 3\n\n" + _of_each(
    '[[package]]\nname = "{name}"\nversion = "{n}.0"\ndependencies = [\n "libc",\n]\n\n'
)


@for_each(
    "text, wanted, shown",
    [
        (
            COMPOSE,
            "  web:",
            "  web:\n    image: shop/web:1.0\n    deploy:\n      limits:\n        memory: 000M",
        ),
        (
            COMPOSE,
            "600M",
            "  grafana:\n    image: shop/grafana:1.6\n    deploy:\n      limits:\n        memory: 600M",
        ),
        (
            COMPOSE,
            "loki:1.7",
            "  loki:\n    image: shop/loki:1.7\n    deploy:\n      limits:\n        memory: 700M",
        ),
        (UNLIKE, "256m", "  postgres:\n    build:\n      context: ./db\n    shm_size: 256m"),
        (UNLIKE, "redis:7", "  redis:\n    image: redis:7"),
        (
            JOBS,
            "make loki",
            "  loki:\n    timeout: 75\n    steps:\n      - uses: checkout\n      - run: make loki",
        ),
        (HOSTS, "api2:", "  api:\n    hosts:\n…12\n      api2:\n        port: 12"),
        (TERRAFORM, "n = 7", 'resource "vm" "loki" {\n  size = 70\n\n  tags {\n    n = 7\n  }\n}'),
        (
            PLAN,
            "size = 60",
            '  # vm.grafana will be made\n  + resource "vm" "grafana" {\n      + size = 60\n    }',
        ),
        (
            PLAN,
            '"vm" "api"',
            '  # vm.api will be made\n  + resource "vm" "api" {\n      + size = 10\n    }',
        ),
        (
            SOURCE,
            "left = 30",
            "def redis(text):\n    if text:\n        return 3\n\n    left = 30\n    return left",
        ),
        (
            LOCKED,
            "redis",
            '[[package]]\nname = "redis"\nversion = "3.0"\ndependencies = [\n "libc",\n]',
        ),
    ],
)
def test_what_a_name_opens_is_a_record(text: str, wanted: str, shown: str) -> None:
    """Whatever is below names of the same kind, the first, a middle and the last one come whole, and none beside them."""
    found = _shown(text, wanted)
    heads, _, record = found.partition(shown)
    assert found == f"{heads}{shown}{record}"
    assert record in ("", " …")
    assert all(
        line in ("services:", "jobs:", "all:", "Actions:") or "…" in line
        for line in heads.splitlines()
    )


def test_of_a_long_function_its_beginning_comes() -> None:
    """Of what a name opens and what is too long for a record comes the name with as much as one may have."""
    steps = "".join(f"        step({n})\n\n" for n in range(300))
    found = _shown(
        f"class Work:\n    def start(self):\n{steps}\n\n    def stop(self):\n        end()\n",
        "start",
    )
    assert found.startswith(
        "class Work:\n    def start(self):\n        step(0)\n\n        step(1)\n"
    )
    assert len(found) < 1300


ALLMAN = """\
static bool Load(const char* path, bool retried)
{
    Item item;

    if (!path)
    {
        int ceiling = 32;

        retry(ceiling);
    }
    return item;
}
"""
BLACK = """\
class Pool:
    scheme = "tcp"

    def open(
        self,
        host: str,
    ) -> Conn:
        host = host.lower()

        if self.is_full:
            return None

        # Made here.
        conn = dial(host)
"""
RUST = """\
fn refill<M>(pool: &Pool<M>)
where
    M: Manager,
{
    let least = 4;

    pool.grow(least);
}
"""
DIRECTIVES = """\
int keep_alive(int fd) {
    int value = 1;

    set(fd, value);
#ifdef __linux__

    value = most(fd);

#endif
    return set(fd, value);
}
"""


@for_each(
    "text,wanted,heads",
    [
        (ALLMAN, "retry", ["static bool Load(const char* path, bool retried)", "    if (!path)"]),
        (BLACK, "dial", ["class Pool:", "    def open("]),
        (RUST, "grow", ["fn refill<M>(pool: &Pool<M>)"]),
        (DIRECTIVES, "most", ["int keep_alive(int fd) {"]),
    ],
)
def test_the_heads_of_a_line_of_code_are_what_it_is_in(
    text: str, wanted: str, heads: list[str]
) -> None:
    """They are the first lines of its function and blocks, not a brace, the end of a list of arguments or a directive."""
    start = text.index(wanted)
    record = record_at(text, start, start + len(wanted))
    assert [text[begin:end] for begin, end in record.heads] == heads


def test_an_indentation_of_tabs_has_no_cells() -> None:
    """Lines of code below each other, indented with tabs, are no rows: they come with what they are in."""
    text = (
        "while read ref\ndo\n\t\tif known\n\t\tthen\n\t\t\told=$ref\n\t\t\tnew=$sha\n\t\tfi\ndone\n"
    )
    assert _shown(text, "new=").startswith("while read ref\n")


def test_the_first_paragraph_of_a_function_is_not_all_of_it() -> None:
    """The record of a comment above a function goes on behind the blank lines within the function."""
    text = "/* Saves it. */\nvoid save(int n) {\n  int rate = n;\n\n  write(rate);\n}\n\nvoid load() {\n}\n"
    assert "write(rate);" in _shown(text, "Saves")


HUNKS = "diff --git a/conf.py b/conf.py\n--- a/conf.py\n+++ b/conf.py\n" + _of_each(
    "@@ -{n},3 +{n},3 @@\n # of {name}\n-{name}_size = {n}\n+{name}_size = {n}00\n \n"
)
FILES = _of_each(
    "diff --git a/{name}.py b/{name}.py\n--- a/{name}.py\n+++ b/{name}.py\n"
    "@@ -3 +3 @@\n-{name}\n+{name} {n}\n@@ -9 +9 @@\n-end\n+end of {name}\n"
)
WITHOUT_GIT = _of_each("--- a/{name}\n+++ b/{name}\n@@ -3 +3 @@\n-{name}\n+{name} {n}\n")
DEEP = (
    f"--- {'deep/' * 40}old.py\t2026-01-01\n+++ new.py\t2026-01-02\n@@ -1,2 +1,2 @@\n-a\n+b\n c\n"
)
NEW_FILE = "diff --git a/n.py b/n.py\n--- /dev/null\n+++ b/n.py\n@@ -0,0 +1,300 @@\n" + "".join(
    f"+def handler_{n}():\n+    return {n * 7}\n" for n in range(150)
)
COMMIT = f"commit {'4e' * 20}\nAuthor: Ann\n\n    Of it\n\n"


@for_each(
    "text, wanted, shown",
    [
        (
            HUNKS,
            "-web_size",
            ["diff --git a/conf.py b/conf.py", "@@ -0,3 +0,3 @@", "-web_size = 0\n+web_size = 000"],
        ),
        (
            HUNKS,
            "+loki_size",
            ["diff --git", "@@ -7,3 +7,3 @@\n # of loki\n-loki_size = 7\n+loki_size = 700"],
        ),
        (
            FILES,
            "redis.py",
            [FILES[FILES.index("diff --git a/redis") : FILES.index("\ndiff --git a/postgres")]],
        ),
        (FILES, "end of api", ["diff --git a/api.py b/api.py", "@@ -9 +9 @@\n-end\n+end of api"]),
        (WITHOUT_GIT, "+api", ["--- a/api\n", "@@ -3 +3 @@\n-api\n+api 1"]),
        (DEEP, "old.py", [DEEP.strip()]),
        (
            NEW_FILE,
            "handler_120",
            ["diff --git a/n.py", "@@ -0,0", "+def handler_120():\n+    return 840"],
        ),
        (
            COMMIT + HUNKS,
            "+api_size",
            [f"commit {'4e' * 20}\nAuthor: Ann", "conf.py", "-api_size = 1\n+api_size"],
        ),
    ],
)
def test_a_hunk_comes_with_its_file(text: str, wanted: str, shown: list[str]) -> None:
    """What was there before comes with what is there now; the name of a file brings all of its hunks."""
    found = _shown(text, wanted)
    assert all(part in found for part in shown)
    assert not any(
        f"{name}_size" in found or f"{name}.py" in found for name in SERVICES if name not in wanted
    )
    assert len(found) < 1600


def _failure(name: str, lines: int) -> str:
    steps = "".join(f"        step_{n} = prepare(order, {n})\n" for n in range(lines))
    return (
        f"________ test_{name} ________\n\n    def test_{name}():\n{steps}>       assert {name}(5) == 7\n"
        f"E       assert 6 == 7, not {name}\n\ntests/test_it.py:9: AssertionError\n"
    )


PASSED = "".join(f"tests/test_it.py::test_{n} PASSED\n" for n in range(400))
RUN = f"======== test session starts ========\n{PASSED}\n======== FAILURES ========\n"
FOOT = "======== short test summary info ========\nFAILED test_web\n======== 1 failed ========\n"
SEVERAL = RUN + "".join(_failure(name, 3) for name in SERVICES) + FOOT
GO = _of_each(
    "=== RUN   Test{name}\n--- FAIL: Test{name} (0.0s)\n    it_test.go:{n}: want {n}, got 9\n"
)
CARGO = "failures:\n\n" + _of_each(
    "---- it::{name} stdout ----\npanicked at it.rs:{n}\nleft: {n}\n\n"
)
JEST = _of_each(
    "  ● refunds > {name}\n\n    expect(a).toBe(b)\n\n    Expected: {n}\n    Received: 9\n\n"
)


@for_each(
    "text, wanted, shown, other",
    [
        (SEVERAL, "_ test_web", "E       assert 6 == 7, not web", "not api"),
        (SEVERAL, "def test_redis", "E       assert 6 == 7, not redis", "not postgres"),
        (SEVERAL, "_ test_loki", "E       assert 6 == 7, not loki", "not grafana"),
        (RUN + _failure("web", 2) + FOOT, "_ test_web", "E       assert 6 == 7, not web", "FAILED"),
        (
            RUN + _failure("web", 90) + FOOT,
            "_ test_web",
            "E       assert 6 == 7, not web",
            "step_1 ",
        ),
        (RUN + _failure("web", 90) + FOOT, "6 == 7", "________ test_web ________", "step_1 "),
        (GO, "FAIL: Testredis", "want 3, got 9", "want 4"),
        (CARGO, "it::redis", "left: 3", "left: 4"),
        (JEST, "> redis", "Expected: 3\n    Received: 9", "Expected: 4"),
    ],
)
def test_a_failed_test_comes_with_what_it_says(
    text: str, wanted: str, shown: str, other: str
) -> None:
    """Its heading brings the lines that tell why, however long it is, and these bring the heading."""
    found = _shown(text, wanted)
    assert shown in found
    assert other not in found
    assert len(found) < 1600


RULE = "-" * 40
MAILS = f"\n{RULE}\n".join(
    f"From: {name}@x.org\nSubject: Of {name}\n\nHello,\n\nbody {n} is here.\n\nBye\n"
    for n, name in enumerate(SERVICES)
)
RESULTS = _of_each("{n}. The {name}\n   URL: https://{name}.org\n   Snippet: It has {n}00 g.\n\n")
TITLES = _of_each("The {name}\nURL: https://{name}.org\nPrice: {n}00\n\n")


@for_each(
    "text, wanted, shown",
    [
        (MAILS, "Of web", "From: web@x.org\nSubject: Of web\n\nHello,\n\nbody 0 is here.\n\nBye"),
        (
            MAILS,
            "body 3",
            "From: redis@x.org\nSubject: Of redis\n\nHello,\n\nbody 3 is here.\n\nBye",
        ),
        (
            MAILS,
            "Of loki",
            "From: loki@x.org\nSubject: Of loki\n\nHello,\n\nbody 7 is here.\n\nBye",
        ),
        (
            RESULTS,
            "The redis",
            "3. The redis\n   URL: https://redis.org\n   Snippet: It has 300 g.",
        ),
        (RESULTS, "700 g", "7. The loki\n   URL: https://loki.org\n   Snippet: It has 700 g."),
        (TITLES, "Price: 300", "The redis\nURL: https://redis.org\nPrice: 300"),
    ],
)
def test_the_last_of_a_list_is_one_of_it(text: str, wanted: str, shown: str) -> None:
    """Of things that a rule, a number or a title parts the first and the last one come as the others do: whole, alone."""
    found = _shown(text, wanted)
    assert found.removesuffix(" …").split("\n", found.startswith("…"))[-1] == shown


PSQL = (
    " id | name     | owner \n----+----------+-------\n"
    + _of_each("  {n} | {name:<8} | jo{n}   \n")
    + "(8 rows)\n"
)
BARRED = "+----+----------+-------+\n| id | name     | owner |\n+----+----------+-------+\n" + (
    _of_each("|  {n} | {name:<8} | jo{n}   |\n") + "+----+----------+-------+\n8 rows in set\n"
)


@for_each(
    "table, name", [(table, name) for table in (PSQL, BARRED) for name in ("web", "redis", "loki")]
)
def test_the_last_row_of_a_table_with_a_foot_is_a_row(table: str, name: str) -> None:
    """It comes alone, with the table's header."""
    found = _shown(table, f"{name} ")
    lines = [line for line in found.splitlines() if any(map(str.isalpha, line))]
    assert ["id", name] == [line.strip("| ").split()[n and 2] for n, line in enumerate(lines)]


def _diff(files: int) -> str:
    hunk = "@@ -{at},4 +{at},4 @@ def run():\n # of {name}\n-{name}_{n} = 0\n+{name}_{n} = 1\n the end\n"
    return "".join(
        f"diff --git a/m{name}.py b/m{name}.py\n--- a/m{name}.py\n+++ b/m{name}.py\n"
        + "".join(hunk.format(at=9 * n, name=f"m{name}", n=n) for n in range(20))
        for name in range(files)
    )


def test_a_hunk_far_down_in_a_diff_has_its_file() -> None:
    """Where what is read before a hunk begins within a file, too."""
    assert "diff --git a/m35.py b/m35.py" in _shown(_diff(40), "+m35_5 = 1")


def test_a_hunk_of_a_diff_without_git_has_its_file() -> None:
    """`diff -u` names a file only by its old and its new name."""
    text = "".join(
        f"--- a/{name}.py\t2026\n+++ b/{name}.py\t2026\n@@ -1,2 +1,2 @@\n # of {name}\n-{name} = 1\n+{name} = 2\n"
        for name in SERVICES
    )
    shown = _shown(text, "+redis = 2")
    assert "--- a/redis.py" in shown
    assert "postgres" not in shown


def test_a_record_far_down_in_its_owner_has_the_owners_head() -> None:
    """An order comes with the customer whose it is, even if more than eight thousand characters of orders are between."""
    orders = [{"order": n, "note": "as ordered " * 30} for n in range(1000, 1060)]
    text = json.dumps([{"customer": "Ann", "orders": orders}, {"customer": "Bob", "orders": []}])
    shown = _shown(text, '"order": 1050')
    assert '{"customer": "Ann"' in shown
    assert '"order": 1049' not in shown


def test_of_a_long_line_of_a_hunk_comes_what_is_near() -> None:
    """A minified file is one line; beside what is looked for its file is shown."""
    head = "diff --git a/app.min.js b/app.min.js\n--- a/app.min.js\n+++ b/app.min.js\n@@ -1 +1 @@\n"
    line = "".join(f"var a{n}=function(b){{return b+{n}}};" for n in range(900))
    shown = _shown(f"{head}-var b=1;\n+{line}\n", "a450=")
    assert "a450=" in shown
    assert "diff --git a/app.min.js" in shown


def test_headings_are_looked_for_near_a_place_in_a_long_line() -> None:
    """However long the line is: minified JSON has megabytes."""
    text = "x" * 20_000_000

    def cost() -> float:
        started = time.process_time()
        assert section_at(text, 0) is None
        return time.process_time() - started

    # The cheapest of many: a collection of garbage or a busy machine makes single ones dear.
    assert min(cost() for _ in range(20)) < 0.01


def test_a_heading_of_html_stands_above_what_follows_it() -> None:
    """Up to the next one of its level; the headings of a menu above the title make no difference."""
    topics = [
        f"<h2>Topic {n}</h2>\n<p>Press {n} keys.</p>\n<h3>Hint</h3>\n<p>Not {n * 7}.</p>"
        for n in range(9)
    ]
    text = "<h3>Menu</h3>\n<p>Home</p>\n<h1>Manual</h1>\n" + "\n".join(topics)
    place = text.index("Topic 4")
    record = record_at(text, place, place + 7)
    assert text[record.start : record.stop] == topics[4]
    place = text.index("Not 28")
    record = record_at(text, place, place + 6)
    shown = [text[start:stop] for start, stop in record.spans]
    assert shown == ["<h1>Manual</h1>", "<h2>Topic 4</h2>", "<h3>Hint</h3>\n<p>Not 28.</p>"]


def test_a_line_unlike_those_beside_it_comes_with_what_it_is_below() -> None:
    """The fields of the only block of a text are told apart by their names; the rows of a list are not."""
    assert _shown("server:\n  host: db-7\n  port: 5432\n", "db-7") == (
        "server:\n  host: db-7\n  port: 5432"
    )


def test_a_line_below_a_diff_is_not_of_it() -> None:
    """What follows the last hunk is shown itself, and not the hunk."""
    assert _shown(f"{HUNKS}Reviewed by Ann.\n", "Reviewed").endswith("\nReviewed by Ann.")
    assert "conf.py" not in _shown(f"{HUNKS}Reviewed by Ann.\n", "Reviewed")


def test_a_question_comes_with_its_answer() -> None:
    """In minutes, the turn below a question answers it; in a list of questions, the one below does not."""
    minutes = (
        "ANN: We begin.\nBEN: Is there a training?\nCARL: Yes, on Saturday.\nDORA: And the buses?\n"
    )
    assert _shown(minutes, "training") == "…2\nBEN: Is there a training?\nCARL: Yes, on Saturday. …"
    questions = "\n".join(f"Question {n} is about topic{n}?" for n in range(9))
    assert _shown(questions, "topic4").count("topic") == 1
    windows = minutes.replace("\n", "\r\n")
    assert "on Saturday" in _shown(windows, "training")
    assert "on Saturday" in _shown(minutes.replace("training?", "*training?*  "), "training")
    assert "Chapter" not in _shown("ANN: We begin.\nWho pays?\n\n# Chapter\n", "pays")
    assert "None" not in _shown("See https://x.example/fees?\nNone of it.\n", "fees")
    copyright_file = "Files:\n tools/tool-common.?\nCopyright: Ann Lee\nLicence: MIT\n"
    assert "Ann" not in _shown(copyright_file, "tool-common")


def test_a_document_of_yaml_is_a_record() -> None:
    """What stands between lines of three hyphens makes sense together; a longer document is shown in parts."""
    names = ("checkout", "reports", "nightly-export")
    documents = [
        f"apiVersion: batch/v1\nkind: CronJob\nmetadata:\n  name: {name}\nspec:\n  schedule: 25 {hour} * * *\n"
        for hour, name in enumerate(names)
    ]
    text = "---\n".join(documents)
    place = text.index("nightly-export")
    record = record_at(text, place, place + len("nightly-export"))
    assert text[record.start : record.stop] == documents[-1].rstrip()
    of_second = record_at(text, text.index("reports"), text.index("reports") + 7)
    assert text[of_second.start : of_second.stop] == documents[1].rstrip()
    longer = text.replace("spec:", "spec:\n" + "  - a line of many\n" * 100)
    place = longer.index("reports")
    record = record_at(longer, place, place + 7)
    assert record.stop - record.start < 1200


def test_other_texts_between_lines_of_hyphens_keep_their_records() -> None:
    """A row of a table, below a line with a key, is one row."""
    rows = "\n".join(f"name{n},{n}" for n in range(20))
    text = f"report: a\n{rows}\n---\nreport: b\n{rows}\n"
    place = text.rindex("name7")
    record = record_at(text, place, place + 5)
    assert text[record.start : record.stop].count("name") < 3


_DUCKDB = """\
┌───────┬─────────┐
│  id   │  name   │
│ int32 │ varchar │
├───────┼─────────┤
│     1 │ ann     │
│     2 │ ben     │
└───────┴─────────┘
"""


@for_each(
    "text, names",
    [
        (" id | name\n----+------\n  1 | ann\n  2 | ben\n(2 rows)\n", 2),
        (
            "+----+------+\n| id | name |\n+----+------+\n|  1 | ann  |\n|  2 | ben  |\n+----+------+",
            3,
        ),
        ("id  name\n--  ----\n1   ann\n2   ben\n", 2),
        (_DUCKDB, 4),
        ("====  ====\nid    name\n====  ====\n1     ann\n2     ben\n====  ====\n", 3),
    ],
)
def test_a_row_comes_with_the_names_above_the_rule(text: str, names: int) -> None:
    """The names of the columns, with the rules around them, are the head of each row of a database's table."""
    lines = text.splitlines()
    *head, row = _shown(text, "ben").splitlines()
    assert head[:names] == lines[:names]
    assert "ben" in row or "ben" in head[-1]
    assert end_of_names(text, 0, len(text)) == len("\n".join(lines[:names]))


def test_an_underlined_heading_names_no_columns() -> None:
    """A single run of hyphens may stand below a title."""
    assert end_of_names("Changes\n=======\nadded a\nadded b\nadded c\n", 0, 40) == 0


@for_each(
    "text",
    [
        "total 736\n-rw-r--r--  1 ann  staff  512 Nov  2 10:00 a.py\ndrwxr-xr-x  9 bo   staff  640 Nov  3 10:00 lib\n",
        "-rw-r--r--  1 ann  staff  512 Nov  2 10:00 a.py\ndrwxr-xr-x  9 bo   staff  640 Nov  3 10:00 lib\n"
        * 2,
        "MISE EN PLACE\n2 onions, chopped\n3 carrots, peeled\n1 leek, sliced\n",
        "## Timeline (UTC)\n10:02 the pool is full\n10:05 orders time out\n10:09 the pool grows\n",
    ],
)
def test_no_names_above_lines_with_numbers(text: str) -> None:
    """A title, or the size of a folder, names no columns, even if each line below has a number."""
    assert end_of_names(text, 0, len(text)) == 0


_PODS = """\
NAME         PORTS        STATUS
web-7f9c     80/tcp       Running 12d
redis-5d2a                Pending 1d
loki-88ab    3100/tcp     Running 7d
"""
_QUOTED = 'id,name,note\n1,web,"fast, small"\n2,redis,\n3,loki,"two\nlines"\n'
_WSL = """\
  NAME      STATE      VERSION
* web       Running    2
  redis     Stopped    1
"""
_DPKG = """\
Desired=Unknown/Install/Remove
| Status=Not/Inst/Conf-files
||/ Name           Version      Architecture Description
+++-==============-============-============-====

ii  loki           2.31.1       amd64        Logs
ii  redis          5:7.0.1      amd64        Store of keys
ii  web            1.30.0       amd64        Server
"""
_TITLED = """\
---------------------
|     Instances     |
+------+------------+
|  id  |    name    |
+------+------------+
|  1   |  web       |
|  2   |  redis     |
+------+------------+
"""


@for_each(
    "text, names",
    [
        (_PODS, "NAME         PORTS        STATUS"),
        (f"up 12 days, load 4.08\nTasks: 180\n\n{_PODS}", "NAME         PORTS        STATUS"),
        (_QUOTED, "id,name,note"),
        (f"SET\nTiming is on.\n{PSQL}", " id | name     | owner "),
        (f"SHELL | USED\n------+-----\n zsh  | 3\n(1 row)\n\n{PSQL}", " id | name     | owner "),
        (_TITLED, "|  id  |    name    |"),
    ],
)
def test_a_row_comes_with_the_names_of_its_own_table(text: str, names: str) -> None:
    """Whatever the form of the table, and whatever stands above it: a title, a summary, another table."""
    lines = _shown(text, "redis").splitlines()
    assert names in lines
    assert "redis" in lines[-1]
    assert not any("SHELL" in line or "Tasks" in line for line in lines)
    preview = excerpt(text, "redis", len(text), len).text.splitlines()
    assert names.strip() in map(str.strip, preview)


@for_each(
    "text, names",
    [
        (_WSL, "  NAME      STATE      VERSION"),
        (_DPKG, "||/ Name           Version      Architecture Description"),
    ],
)
def test_a_row_comes_with_what_may_be_names(text: str, names: str) -> None:
    """Above columns whose names are not certain, the first line with as many cells and no digits comes."""
    lines = _shown(text, "redis").splitlines()
    assert names in lines
    assert not any("web" in line for line in lines)


def test_lines_below_a_table_have_nothing_of_it() -> None:
    """Notes that somebody wrote below a table's last row are no rows of it."""
    assert "name" not in _shown(f"{_QUOTED}\n# notes\n# the budget left is 3,870\n", "budget")


def test_rows_of_a_table_pay_for_its_names_once() -> None:
    """As many rows come as fit below names that are shown once."""
    rows = [record_at(PSQL, PSQL.index(name), PSQL.index(name) + 3) for name in SERVICES[:4]]
    assert show_records(PSQL, rows, 200, len).text.count("\n") >= 5


_DESCRIBED = """\
  Table "public.{name}"
 Column | Type
--------+-----
 id     | int
 at{n}   | date
Indexes:
    "{name}_pk" btree (id)

"""


def test_a_short_table_below_a_title_comes_whole() -> None:
    """What psql tells of a table is one record, whichever of its rows is asked for, also by the title."""
    for wanted in ("public.redis", "at3"):
        found = _shown(_of_each(_DESCRIBED), wanted)
        assert found.count("Table") == 1
        assert "at3   | date" in found
        assert "redis_pk" in found


LONG_FILES: list[dict[str, Any]] = [
    {
        "content": f"Step {n} of the plan. " * 90,
        "name": f"plan-{n}.docx",
        "owner": f"user{n}@example.org",
        "shared": {"ann@example.org": "r"},
        "size": 1000 + n * 37 % 100,
    }
    for n in range(6)
]
LONG_FILES_IN_YAML = "".join(
    f"- content: |\n{content}  name: {one['name']}\n  owner: {one['owner']}\n"
    f"  shared:\n    ann@example.org: r\n\n  size: {one['size']}\n"
    for one in LONG_FILES
    for content in [f"    {str(one['content'])[:80]}\n" * 24]
)


@for_each(
    "text",
    [LONG_FILES_IN_YAML, json.dumps(LONG_FILES, indent=2), json.dumps({"files": LONG_FILES})],
)
def test_a_record_with_a_long_value_is_shown_by_its_short_fields(text: str) -> None:
    """Of a file with its content, the name comes with the owner, what is below another field, and the size."""
    shown = _shown(text, "plan-3.docx")
    for told in ("user3@example.org", "ann@example.org", "1011"):
        assert told in shown
    assert "plan-2" not in shown
    assert "plan-4" not in shown
    assert len(shown) < 450


MAPPING = {f"key_{n}": f"value {n} of many" for n in range(400)}


@for_each(
    "text, longest",
    [
        (json.dumps(MAPPING), 620),
        (json.dumps(MAPPING, indent=1), 60),
        ("config:\n" + "".join(f"  {key}: {value}\n" for key, value in MAPPING.items()), 60),
    ],
)
def test_of_a_mapping_with_many_members_come_those_near(text: str, longest: int) -> None:
    """A long mapping without a long value is shown by what stands near, and not as a record."""
    shown = _shown(text, "key_200")
    assert "value 200" in shown
    assert len(shown) <= longest


@for_each("indent", [None, 2])
@for_each("length", [10, 400])
def test_an_object_comes_with_the_key_that_leads_to_it(indent: int | None, length: int) -> None:
    """Of a mapping to objects, the key of the object comes with it, and not the mapping's first key."""
    services = {
        f"svc-{n}": {"note": "words " * length, "port": 5400 + n, "owner": f"team-{n}"}
        for n in range(20)
    }
    shown = _shown(json.dumps({"services": services}, indent=indent), "5404")
    assert "svc-4" in shown
    assert "team-4" in shown
    assert "svc-0" not in shown


@for_each("indent", [None, 2])
def test_of_long_members_the_beginnings_come(indent: int | None) -> None:
    """Of a file that is its path and its content, the content's beginning comes; of a nested object its first members."""
    files = [
        {
            "path": f"plan-{n}.md",
            "content": f"Crane {n}. " * 150,
            "by": {"login": f"ann{n}", "urls": ["u"] * 99},
        }
        for n in range(4)
    ]
    shown = _shown(json.dumps(files, indent=indent), "plan-2.md")
    assert "Crane 2." in shown
    assert "ann2" in shown
    assert len(shown) < 600


@for_each("indent", [None, 2])
def test_of_a_long_object_links_come_last(indent: int | None) -> None:
    """The objects of web APIs are full of addresses; what such an object says comes before them."""
    link = "https://api.example.com/issues/" + "x" * 200
    issues = [
        {
            "url": link,
            "title": f"Pump {n} stops",
            "labels_url": link,
            "comments_url": link,
            "events_url": link,
            "repository_url": link,
            "text": "It stops at night. " * 50,
            "html_url": link,
            "state": f"closed-{n}",
        }
        for n in range(4)
    ]
    text = json.dumps(issues, indent=indent)
    assert '"state": "closed-2"' in _shown(text, "Pump 2")
    assert link in _shown(text, link)


def test_a_cue_of_subtitles_begins_with_its_number() -> None:
    """Each block between blank lines is a record, although a time begins a line within it."""
    cues = [
        f"5f1c-{n}\n00:{n:02}:01.000 --> 00:{n:02}:04.000\n<v Ann>The {name} is next.\n"
        for n, name in enumerate(ascii_lowercase)
    ]
    assert _shown("WEBVTT\n\n" + "\n".join(cues), "The k is") == f"…43\n{cues[10].rstrip()} …"


def test_a_gap_has_one_mark() -> None:
    """Above an object that is indented, the mark with the number of its line is enough."""
    docks = {"docks": [{"name": name, "cranes": [7, 9]} for name in ascii_lowercase]}
    shown = _shown(json.dumps(docks, indent=2), '"k"')
    assert '"name": "k"' in shown
    assert "\n… " not in shown


def test_in_a_long_member_what_is_near_comes() -> None:
    """Of a place far into a file's content comes what is near it, and the file's name."""
    files = [{"path": f"plan-{n}.md", "content": f"Crane {n}. " * 700, "size": n} for n in range(3)]
    text = json.dumps(files).replace("Crane 1. " * 300, "Crane 1. " * 299 + "The hook broke. ", 1)
    shown = _shown(text, "The hook broke.")
    assert "plan-1.md" in shown
    assert len(shown) < 900


def test_no_number_is_cut() -> None:
    """Where not all short members have room, none is shown in part: a part of a number is another number."""
    members = {f"size_{n}": 123_472_600 + n for n in range(60)}
    text = json.dumps([{"body": "words " * 300, **members}])
    for n in range(0, 60, 7):
        shown = _shown(text, f"size_{n}")
        assert set(re.findall(r"\d{3,}", shown)) <= set(map(str, members.values()))
    for length in range(7_960, 8_000):
        shown = _shown(json.dumps({"name": "tide", "body": "w" * length, "size": 123_472}), "tide")
        assert set(re.findall(r"\d{3,}", shown)) <= {"123472"}


ORDER = {
    "order_id": 1048811,
    "customer": {"name": "Marta Hollweg", "email": "marta@example.org"},
    "lines": [{"sku": f"TNT-{n}", "text": f"Tent {n} for two, olive", "qty": n} for n in range(40)],
    **{f"field_{n}": f"value {n}" for n in range(40)},
    "coupon_code": "MAI7",
}


@for_each("wanted", ["Marta Hollweg", "1048811"])
def test_with_a_record_come_the_members_that_are_asked_for_of_objects_around_it(
    wanted: str,
) -> None:
    """A customer's name, or an order's number, comes with the coupon of a long order if that is asked for."""
    text = json.dumps([ORDER, ORDER | {"coupon_code": "NEU10"}])
    start = text.index(wanted)
    record = record_at(text, start, start + len(wanted), [text.index("coupon_code")])
    shown = show_records(text, [record], 4000, len).text
    assert wanted in shown
    assert '"coupon_code": "MAI7"' in shown
    assert "NEU10" not in shown


def test_a_member_that_is_asked_for_comes_whole() -> None:
    """An object that is asked for by its key comes whole, however far it is from the place."""
    reporter = {"self": "https://example.org/" + "5b" * 100, "name": "Rosa Lindqvist"}
    fields = {f"field_{n}": "long " * 40 for n in range(20)}
    text = json.dumps({"key": "PAY-1187", **fields, "reporter": reporter})
    start = text.index("PAY-1187")
    record = record_at(text, start, start + 8, [start, text.index("reporter")])
    assert "Rosa Lindqvist" in show_records(text, [record], 4000, len).text


def test_of_lists_and_objects_in_other_members_nothing_comes_with_a_record() -> None:
    """The same word in a list beside a record is somebody else's: neither is it shown, nor is the record's own left out."""
    order = {
        "customer": {"name": "Rosa Lindqvist"},
        "status": "processing",
        "items": [{"sku": f"TNT-{n}", "text": f"Tent {n} for two, olive"} for n in range(40)],
        "related_orders": [{"id": n, "status": f"cancelled by {n}"} for n in range(12)],
    }
    text = json.dumps([order])
    start = text.index("Rosa")
    places = [match.start() for match in re.finditer("status", text)]
    shown = show_records(text, [record_at(text, start, start + 4, places)], 4000, len).text
    assert '"status": "processing"' in shown
    assert "cancelled" not in shown


def test_beside_a_long_member_come_those_behind_it() -> None:
    """The owner of a file comes with what is asked for in its content, however long the content before that is."""
    content = "word " * 6000 + "the zebra crossing is closed " + "word " * 200
    text = json.dumps([{"file": "a.md", "content": content, "owner": "Marta Hollweg"}])
    start = text.index("zebra")
    record = record_at(text, start, start + 5, [start, text.index("owner")])
    assert "Marta Hollweg" in show_records(text, [record], 4000, len).text


def test_only_of_the_innermost_objects_members_come_with_a_record() -> None:
    """Of a thousand objects around a record, four are read, so that the time is linear."""
    record: dict[str, Any] = {"name": "Rosa"}
    for depth in range(8):
        record = {"within": record, f"note_{depth}": "long " * 300, f"coupon_{depth}": "MAI7"}
    text = json.dumps(record)
    start = text.index("Rosa")
    places = [match.start() for match in re.finditer("coupon", text)]
    shown = show_records(text, [record_at(text, start, start + 4, places)], 4000, len).text
    assert "coupon_3" in shown
    assert "coupon_4" not in shown


def test_members_with_terms_come_before_nearer_ones() -> None:
    """Where not all members have room, those come that are asked for."""
    fields = {f"field_{n}": "long " * 50 for n in range(12)}
    whole = {"name": "a" * 20, "body": "word " * 400, **fields, "owner": "Marta " + "Hollweg " * 34}
    text = json.dumps(whole)
    start = text.index("a" * 20)
    record = record_at(text, start, start + 20, [text.index("owner")])
    assert "Marta Hollweg" in show_records(text, [record], 4000, len).text


def _pod(n: int) -> dict[str, Any]:
    """A pod as an API tells of it: its name, its node and its restarts are far from each other."""
    return {
        "kind": "Pod",
        "metadata": {
            "annotations": {f"checks/{one}": f"sha256-{one * 7}" for one in range(20)},
            "name": f"pay-x{n}k",
            "namespace": "shop",
        },
        "spec": {
            "env": {f"variable_{one}": f"value {one}" for one in range(20)},
            "nodeName": f"node-{n}",
        },
        "status": {
            "conditions": {f"condition_{one}": one % 3 for one in range(20)},
            "lastState": "OOMKilled" if n == 3 else "Completed",
            "restarts": 40 + n,
        },
    }


def _in_yaml(value: dict[str, Any], depth: int = 2) -> str:
    return "".join(
        f"{' ' * depth}{key}:\n{_in_yaml(inner, depth + 2)}"
        if isinstance(inner, dict)
        else f"{' ' * depth}{key}: {inner}\n"
        for key, inner in value.items()
    )


def _in_table(value: dict[str, Any]) -> str:
    return "".join(
        f"||{key.center(40)}||\n|+{'-' * 38}+|\n{_in_table(inner)}"
        if isinstance(inner, dict)
        else f"||  {key:20}|  {inner!s:15}||\n"
        for key, inner in value.items()
    )


PODS = [_pod(n) for n in range(6)]
LONG_RECORDS = {
    "a list in YAML": "items:\n" + "".join(f"- {_in_yaml(pod)[2:]}" for pod in PODS),
    "JSON on several lines": json.dumps({"items": PODS}, indent=4),
    "an INI file": "\n".join(
        f"[pod:{n}]\n"
        + "\n".join(f"option_{one} = {one}" for one in range(40))
        + f"\nname = pay-x{n}k\nnodeName = node-{n}\nlastState = {pod['status']['lastState']}\n"
        for n, pod in enumerate(PODS)
    ),
    "kubectl describe": "\n\n".join(
        f"Name:      pay-x{n}k\nNode:      node-{n}\nContainers:\n  app:\n"
        + "".join(f"    Option {one}:    {one}\n    Limit_{one}:    {one}\n" for one in range(30))
        + f"    Last State:    {pod['status']['lastState']}\n"
        for n, pod in enumerate(PODS)
    ),
    "aws --output table": "".join(f"||{'Pods'.center(40)}||\n{_in_table(pod)}" for pod in PODS),
}


@for_each("text", LONG_RECORDS.values())
def test_a_field_of_a_long_record_comes_with_the_name_of_the_record(text: str) -> None:
    """Which pod it was that ran out of memory is told, though dozens of lines are between its name and its state."""
    shown = _shown(text, "OOMKilled")
    assert re.findall(r"pay-x\dk", shown) == ["pay-x3k"]
    assert len(shown) < 1500


@for_each("text", LONG_RECORDS.values())
def test_the_name_of_a_long_record_comes_with_the_fields_that_are_asked_for(text: str) -> None:
    """Who asks for the state of a pod by its name gets that of this pod, wherever it is in the record."""
    wanted = re.compile("pay-x3k|lastState|Last State")
    asked = [place.start() for place in wanted.finditer(text)]
    start = text.index("pay-x3k")
    shown = show_records(text, [record_at(text, start, start + 7, asked)], 4000, len).text
    assert "OOMKilled" in shown
    assert "Completed" not in shown
    assert "pay-x2k" not in shown


def test_what_is_below_the_last_long_record_is_not_of_it() -> None:
    """What is indented less than the records of a list does not get the name of the last one."""
    options = "".join(f"    option_{n}: {n}\n" for n in range(50))
    text = f"services:\n  web:\n{options}  api:\n{options}{VOLUMES}"
    assert "api" not in _shown(text, "data: {}")


FORMATTER = '''import textwrap


class Formatter:
    width = 80

    def write(
        self,
        rows: list[str],
    ) -> None:
        """Write the rows."""

        column = min(self.width, 30)

        for row in rows:
            self.put(row)
            self.put(column)

    def put(self, row: str) -> None:
        self.rows.append(row)
'''


@for_each("number", ["{:6}\t{}", "{:>3}→{}", "{1}"])
@for_each(
    "wanted, first, last", [("def write", 7, 17), ("column = min", 13, 17), ("put(self", 19, 20)]
)
def test_line_numbers_of_a_viewer_change_no_record(
    number: str, wanted: str, first: int, last: int
) -> None:
    """A function comes with its body, below a signature of several lines, too, and with its class."""
    lines = [number.format(n, line) for n, line in enumerate(FORMATTER.split("\n"), 1)]
    shown = _shown("\n".join(lines), wanted).removesuffix(" …")
    assert shown.endswith("\n".join(lines[first - 1 : last]))
    assert lines[3] in shown


def _names_of_long_records(text: str) -> list[str]:
    return [text[slice(*record.name)].strip(" ,") for record in long_records(text)]


_FIELDS = "".join(f"Field_{n}: value of the field {n}\n" for n in range(30))


def test_a_long_record_is_named_by_its_own_fields_before_those_of_things_inside_it() -> None:
    """An order is not called as its first line is; a pod, none of whose own fields tells it apart, is as its metadata."""
    orders = [
        {
            "lines": [{"name": f"shoe{n}"}],
            **{f"field_{k}": f"value of {k}" for k in range(30)},
            "order_id": n,
        }
        for n in range(5)
    ]
    assert _names_of_long_records(json.dumps(orders, indent=2)) == [
        f'"order_id": {n}' for n in range(5)
    ]
    pods = "".join(
        f"- kind: Pod\n  metadata:\n    name: web-{n}\n  spec:\n"
        + "".join(f"    option_{k}: value of the option {k}\n" for k in range(30))
        for n in range(5)
    )
    assert _names_of_long_records(pods) == [f"name: web-{n}" for n in range(5)]


@for_each("title", ["web-{}:\n", "web-{}:\n\n", "web {}\n"])
def test_records_below_titles_of_their_own_are_no_long_records(title: str) -> None:
    """Otherwise the title of each would be in the record before it, and its values below another name."""
    assert not long_records("".join(title.format(n) + f"Host: h{n}\n{_FIELDS}" for n in range(5)))


def test_what_follows_the_last_long_record_is_not_of_it() -> None:
    """An error below it is not the last machine's."""
    text = "\n".join(f"Host: h{n}\n{_FIELDS}" for n in range(5))
    assert _names_of_long_records(text) == [f"Host: h{n}" for n in range(5)]
    error = f"{text}\nError: disk pressure on node-3\n"
    assert long_records(error)[-1].stop < error.index("Error")


def test_a_form_within_records_that_differ_makes_no_long_records() -> None:
    """Packages without the field that others have would count as parts of the one above them."""
    packages = "\n".join(
        f"Package: p{n}\n"
        + (f"Source: s{n}\n" if n % 2 else "")
        + "".join(f"{'ab'[n % 2]}_{k}: value of the field {k}\n" for k in range(30))
        for n in range(12)
    )
    assert not long_records(packages)
