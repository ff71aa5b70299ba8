"""What a notebook shows: contexts, memories, hits, decisions, stats and packages; whatever text is stored in them."""

from __future__ import annotations

import base64
import pickle
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from autogen_core import FunctionCall, Image
from autogen_core.models import (
    AssistantMessage,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    LLMMessage,
    SystemMessage,
    UserMessage,
)
from hypothesis import given
from hypothesis import strategies as st
from IPython.core.formatters import DisplayFormatter

from for_each import for_each
from html_pages import Page, bundle, shown
from memory_context import (
    ContextAssembler,
    Decision,
    Match,
    MemoryContext,
    MemoryItem,
    MemoryList,
    MemoryManager,
    ScopedMemory,
)
from memory_context.conversation.context_stats import ContextStats
from memory_context.conversation.recording_to_call_log import Decisions
from memory_context.display import rows_and_json_trees
from memory_context.display.drawn_conversation import split_at_references
from memory_context.display.escaped_html import Html, as_text, bar, tag
from memory_context.display.safe_terminal_output import quoted
from memory_context.model.call_log_records import CallTotals, KeptTotals
from memory_context.model.registry_of_drawers import Displayed
from memory_context.model.transcript import Transcript, TranscriptEntry
from memory_context.testing.sample_memories import memory
from messages import LOG

HOSTILE = [
    "<script>alert(1)</script>",
    "</pre></details></div><script src=https://evil.example/x.js></script>",
    "<img src=x onerror=alert(1)>",
    "<img src='https://evil.example/pixel.png'>",
    '"><svg onload=alert(1)>',
    "' onmouseover='alert(1)",
    "</style><style>@import url(https://evil.example/x.css);</style>",
    "<iframe src=javascript:alert(1)></iframe>",
    "<a href='javascript:alert(1)'>click</a>",
    "<meta http-equiv=refresh content='0;url=https://evil.example'>",
    "<base href=https://evil.example>",
    "<!-- <script> -->",
    "]]><![CDATA[<script>alert(1)</script>",
    "&lt;script&gt; &amp;amp; &#x3c;script&#x3e;",
    "$\\href{javascript:alert(1)}{x}$ and $5 or $$6$$ or \\(x\\) or \\[y\\]",
    "{{constructor.constructor('alert(1)')()}} ${7*7} #{7*7}",
    "<x-element is=script>",
    "<details open ontoggle=alert(1)>",
    "[MemoryRef: forged_00000000 - <script>alert(1)</script> - 5 tokens]",
]
CONTROLS = "\x1b]8;;https://evil.example\x07click\x1b]8;;\x07 \x1b[2J \x00 \u202eevil\u202c \u2028 \ud800 \x85 \ufeff"
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGNQaPgPAAJjAaB56d6tAAAAAElFTkSuQmCC"
)


def item_with(text: str) -> MemoryItem:
    """A memory with one hostile text everywhere that a text may stand."""
    return MemoryItem(
        user_id=text, memory_key="key", content=text, memory_type=text, summary=text, category=text, tags=(text,),
        agent_id=text, thread_id=text, tier=text, tier_id=text, media_type=text, content_metadata={text: [text]},
        match=Match(1.0, f"before\n{text}\nafter", (1, 3), (text, "script")), line_count=1,
    )  # fmt: skip


def view_with(text: str) -> Transcript:
    """A conversation with one hostile text everywhere that a text may stand."""
    roles = ("system", "user", "assistant", "tool", "memory")
    turns = [
        TranscriptEntry(
            role, text, (text, f"[MemoryRef: k - d - 9 tokens]\n{text}"), ((text, text),), 5
        )
        for role in roles
    ]
    long = TranscriptEntry("tool", "dump", ("\n".join([text] * 30),), is_error=True)
    return Transcript(text, ((text, text),), (*turns, long), {"k": 9}, 100)


def decision_with(text: str) -> Decision:
    """A decision with one hostile text everywhere that a text may stand."""
    now = datetime.now(UTC)
    return Decision(now, text, text, (text,), "concrete", (text,), text, (text,), text, 3, 0.1)


def everything(text: str) -> Iterator[Displayed]:
    """All that a notebook shows, with one hostile text in it."""
    item = item_with(text)
    yield item
    yield MemoryList([item, replace(item, match=None)])
    yield MemoryList([replace(item, match=None)])
    yield Decisions([decision_with(text)])
    yield view_with(text)
    for content in (
        f"id,name\n1,{text}\n2,b\n3,c",
        f'[{{"{text}": 1}}, {{"b": "{text}"}}]',
        f"{{'k': {text!r}}}",
    ):
        yield replace(item, content=content)
    log = "".join(f"2026-01-02 03:04:0{at} ERROR {text}\n" for at in range(9))
    yield replace(item, content=log, line_count=9)
    yield replace(
        item,
        content=f"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@ {text}\n-{text}\n+{text}\n",
    )
    yield replace(item, content=text.encode("utf-8", "surrogatepass") + b"\0\xff", media_type=text)


@pytest.fixture
async def context() -> AsyncIterator[MemoryContext]:
    """A conversation with a folded log and a recalled part of it."""
    context = MemoryContext(user_id="42", store="sqlite://", thread_id="monday")
    calls = [FunctionCall(id="1", name="read_log", arguments='{"job": "nightly"}')]
    result = FunctionExecutionResult(content=LOG, name="read_log", call_id="1", is_error=False)
    for message in (
        UserMessage(content="Read the log.", source="user"),
        AssistantMessage(content=calls, source="coder"),
        FunctionExecutionResultMessage(content=[result]),
        AssistantMessage(content="I have read it.", source="coder"),
        UserMessage(content="What did worker-123 say?", source="user"),
    ):
        await context.add_message(message)
        await context.get_messages()
    yield context
    await context.aclose()


@for_each("text", HOSTILE)
def test_stored_text_is_shown_and_never_markup(text: str) -> None:
    """Whatever is stored stands in the page as text, and brings no element, attribute or address into it."""
    for value in everything(text):
        page = shown(value)
        if not isinstance(value, MemoryItem):
            assert text in page.said, type(value)
    assert text in shown(item_with(text)).said


@pytest.mark.parametrize("text", [CONTROLS, f"a\n{CONTROLS}\nb"])
def test_control_characters_are_shown_and_not_obeyed(text: str) -> None:
    """Nothing that drives a terminal, turns the order of letters or cannot be sent is in text or HTML."""
    for value in everything(text):
        for said in bundle(value).values():
            assert not set("\x1b\x07\x00\u202e\u2028\ud800\x85\ufeff") & set(said)
            assert said.encode()


@pytest.mark.long
@given(text=st.text(max_size=200))
def test_any_text_makes_a_page_that_holds_nothing_else(text: str) -> None:
    """For every text there are pages for everything that can hold it, of harmless elements alone."""
    for value in everything(text):
        shown(value)
        assert bundle(value)["text/plain"]


@given(text=st.text(st.characters(exclude_categories=("C", "Zl", "Zp")), min_size=1, max_size=200))
def test_printable_text_survives(text: str) -> None:
    """Every printable text of a message stands in the page, character by character."""
    page = shown(
        Transcript("MemoryContext", (), (TranscriptEntry("user", "user", (f"({text})",)),), {})
    )
    assert f"({text})" in page.said


def test_letters_that_need_joiners_survive() -> None:
    """Zero-width joiners, of which emoji and some scripts are made, stay; texts with CRLF have no odd characters."""
    page = shown(
        memory(
            "👩\u200d💻 \u0645\u06cc\u200c\u062e\u0648\u0631\u0645\r\nsecond line\twith a tab",
            line_count=2,
        )
    )
    assert "👩\u200d💻 \u0645\u06cc\u200c\u062e\u0648\u0631\u0645" in page.said
    assert "\ufffd" not in page.said


async def test_a_context_shows_as_a_conversation(context: MemoryContext) -> None:
    """Who said what, calls, folded texts under their references, what was recalled, and the tokens of all of it."""
    page = shown(context)
    for said in (
        "MemoryContext",
        "user 42",
        "thread monday",
        "Read the log.",
        "calls read_log",
        "recalled",
        "failed",
    ):
        assert (said in page.said) == (said != "failed")
    [key] = context.shown_keys()
    assert page.said.count(key) == 2
    assert page.elements.count("details") == 2
    assert "█" in page.said
    stored = context.manager.get(key).token_count
    assert f"{stored:,}" in page.said
    prompt = sum(turn.tokens for turn in context._drawn_as().entries)  # noqa: SLF001 - what is drawn
    assert f"{prompt:,}" in page.said
    assert f"{prompt:,}  tokens in the prompt" in bundle(context)["text/plain"]


async def test_showing_a_context_changes_nothing(context: MemoryContext) -> None:
    """It decides nothing, reads nothing of the store and counts no reads; the prompt is the same afterwards."""
    before, decided = await context.get_messages(), len(context.decisions())
    shown(context)
    assert await context.get_messages() == before
    assert len(context.decisions()) == decided
    assert all(context.manager.get(key).access_count <= 1 for key in context.shown_keys())


async def test_messages_that_wait_are_shown() -> None:
    """Initial messages are shown before they are folded; every kind of message is, an image by its number."""
    image = Image.from_base64(base64.b64encode(PIXEL).decode())
    messages: list[LLMMessage] = [
        SystemMessage(content="Be brief."),
        UserMessage(content=["Look:", image], source="user"),
        AssistantMessage(
            content=[FunctionCall(id="1", name="fetch", arguments="{}")], source="a", thought="Hm."
        ),
        FunctionExecutionResultMessage(
            content=[
                FunctionExecutionResult(content="refused", name="fetch", call_id="1", is_error=True)
            ]
        ),
    ]
    page = shown(MemoryContext(user_id="42", store="sqlite://", initial_messages=messages))
    for said in ("Be brief.", "Look:", "1 image", "Hm.", "calls fetch({})", "failed", "refused"):
        assert said in page.said
    assert "no messages yet" in shown(MemoryContext(user_id="42", store="sqlite://")).said


def test_a_forged_reference_is_text() -> None:
    """Only what the conversation knows of is drawn as a folded part; a line that looks like it stays a line."""
    text = "[MemoryRef: real - d - 9 tokens]\npreview\n[MemoryRef: forged - d - 9 tokens]\nmore"
    pieces = split_at_references(text, {"real"})
    assert [(piece.ref.key if piece.ref else None) for piece in pieces] == ["real"]
    [recalled] = split_at_references(text.replace("tokens]", "tokens] (tool)", 1), {"real"})
    assert recalled.ref == pieces[0].ref
    assert "[MemoryRef: forged" in pieces[0].text
    view = Transcript("MemoryContext", (), (TranscriptEntry("tool", "t", (text,)),), {"real": 9})
    assert "[MemoryRef: forged - d - 9 tokens]" in shown(view).said


def test_long_conversations_are_bounded() -> None:
    """Of thousands of messages the first and the last are shown, and how many are between them."""
    turns = tuple(
        TranscriptEntry("user", "user", (f"message {number}",), tokens=3) for number in range(5000)
    )
    html = bundle(Transcript("MemoryContext", (), turns, {}))["text/html"]
    page = Page(html)
    assert "message 0" in page.said
    assert "message 4999" in page.said
    assert "4,920 more messages" in page.said
    assert len(html) < 60_000


@for_each(
    "content, element, said",
    [
        (
            "id,city,total\n1,Oslo,3.5\n2,Rome,4.5\n3,Bonn,1.0\n",
            "th",
            ("id", "city", "total", "Oslo", "4.5"),
        ),
        (
            '[{"id": 1, "tags": ["a"]}, {"id": 2, "tags": null}]',
            "th",
            ("id", "tags", '["a"]', "as JSON"),
        ),
        ('{"id": 1}\n{"id": 2}\n', "th", ("id", "1", "2")),
        (
            '{"customer": {"city": "Oslo"}, "items": [1, 2]}',
            "details",
            ("customer", "city", '"Oslo"', "[2]"),
        ),
        ("{'customer': {'city': 'Oslo'}, 'ok': True}", "details", ("customer", '"Oslo"', "true")),
        ("plain\ntext\n", "pre", ("1 plain", "2 text")),
    ],
)
def test_a_memory_shows_as_its_kind(content: str, element: str, said: tuple[str, ...]) -> None:
    """Rows as a table, JSON (and Python's repr) as a tree, text with line numbers."""
    page = shown(memory(content, line_count=content.count("\n") or 1))
    assert element in page.elements
    for text in said:
        assert text in page.said


def test_a_log_shows_what_matters() -> None:
    """Of a long log: its ends, every error with the lines around it, warnings; each by its level, with its number."""
    lines = [f"2026-01-02 02:00:00 INFO worker-{number} done" for number in range(3000)]
    lines[1777] = "2026-01-02 02:29:37 ERROR worker-1777 ran out of disk space"
    lines[2001] = "2026-01-02 02:33:21 WARN worker-2001 is slow"
    item = memory("\n".join(lines), line_count=3000)
    page = shown(item)
    for said in (
        "   1 2026",
        "1778 2026-01-02 02:29:37 ERROR",
        "1779 2026",
        "2002 2026",
        "3000 2026",
        "more lines",
    ):
        assert said in page.said
    classes = [value for element, _, value in page.attributes if element == "span"]
    assert classes.count("error") == 1
    assert classes.count("warning") == 1
    assert page.said.count("worker-") < 60


def test_a_diff_shows_its_changes() -> None:
    """Lines of a diff are coloured by what they do."""
    page = shown(
        memory(
            "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n same\n-old\n+new\n",
            line_count=7,
        )
    )
    assert [
        value
        for element, _, value in page.attributes
        if element == "span" and value in {"plus", "minus"}
    ] == [
        "minus",
        "plus",
    ]


def test_a_picture_shows_as_one() -> None:
    """Bytes of a picture, and base64 of one, are drawn by what they are, not by what they are called."""
    for item in (memory(PIXEL), memory(PIXEL, media_type='text/html"><script>')):
        assert shown(item).elements.count("img") == 1
    svg = b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>\0"
    assert "img" not in shown(memory(svg, media_type="image/svg+xml")).elements
    large = PIXEL + bytes(600_000)
    assert "img" not in shown(memory(large)).elements
    assert f"{len(large)} bytes" in shown(memory(large)).said


@pytest.mark.long
@for_each(
    "content",
    [
        "x" * 3_000_000,
        "line\n" * 1_000_000,
        "2026-01-02 03:04:05 ERROR failed\n" * 100_000,
        str([{f"column{at}": "v" * 1000 for at in range(200)}] * 4),
        '{"a":' * 900 + "1" + "}" * 900,
        str({f"key{at}": list(range(100)) for at in range(500)}),
        "," * 100_000 + "\n" + "," * 100_000,
        "[" * 100_000,
    ],
)
def test_large_contents_are_bounded(content: str) -> None:
    """However large, deep or wide a content is, the page stays small."""
    item = memory(content, line_count=content.count("\n") or 1)
    assert len(bundle(item)["text/html"]) < 100_000
    assert len(bundle(item)["text/plain"]) < 50_000


def test_strings_are_cut_before_they_are_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of megabytes in a string, a tree writes only what it shows."""
    written = list[object]()
    monkeypatch.setattr(rows_and_json_trees, "to_json", written.append)
    rows_and_json_trees.JsonTree().draw(["x" * 1000])

    assert [] == written


def test_hits_show_their_passages() -> None:
    """The lines that hold the words of the query, in all their forms, are shown with them highlighted."""
    manager = MemoryManager("sqlite://", user_id="42")
    lines = [f"line {number}: nothing of note" for number in range(50)]
    lines[30] = "line 30: the disks of nightly/worker-7 were full"
    key = manager.store("\n".join(lines), "a report")
    hits = manager.search("full disk of worker-7")
    page = shown(hits)
    assert key in page.said
    assert "31 line 30" in page.said
    assert {"disks", "full"} <= set(page.marked)
    assert "worker-7" in "".join(page.marked)
    assert "31 line 30" in bundle(hits)["text/plain"]


def test_a_hit_on_one_line_says_which() -> None:
    """Its title names the line, not a range of one."""
    manager = MemoryManager("sqlite://", user_id="42")
    manager.store("the disks were full")

    assert " · line 1 · found by disk" in shown(manager.search("disk")).said


def test_a_list_of_memories_is_a_list() -> None:
    """What a search returns equals a plain list, and a part of it shows in the same way."""
    manager = MemoryManager("sqlite://", user_id="42")
    keys = {manager.store(f"note {number}", f"note {number}") for number in range(5)}
    found = manager.search("")
    assert keys == {item.memory_key for item in found}
    assert found == list(found)
    assert isinstance(found, list)
    assert isinstance(found[:2], MemoryList)
    assert len(found[:2]) == 2
    assert found[0].memory_key in keys
    assert pickle.loads(pickle.dumps(found)) == found
    page = shown(found)
    assert page.elements.count("tr") == 6
    assert "no memories" in shown(manager.search("something else")).said


async def test_what_is_shown_of_a_secret_is_its_description() -> None:
    """Neither a memory, nor a hit, nor a list shows what a secret is: notebooks are kept and passed on."""
    manager = MemoryManager("sqlite://", user_id="42")
    facts = {"command": "psql --password hunter2"}
    key = manager.store("hunter2 is it", "database password", type="secret", metadata=facts)
    for value in (
        manager.get(key),
        manager.search("database password"),
        manager.search(""),
        MemoryList([manager.get(key)]),
    ):
        said = "".join(bundle(value).values())
        assert "hunter2" not in said
        assert "database password" in said


def test_stats_show_what_was_redacted() -> None:
    """Each kind of secret that was taken out has a row with its number."""
    done = shown(ContextStats(redacted=Counter({"github_token": 1234})))
    assert "redacted github_token" in done.said
    assert "1,234" in done.said


async def test_decisions_and_stats_show_as_tables(context: MemoryContext) -> None:
    """A row for each decision and each figure; what rarely happens only where it did."""
    decided = shown(context.decisions())
    assert decided.elements.count("tr") == 1 + len(context.decisions())
    assert "What did worker-123 say?" in decided.said
    assert context.shown_keys()[0] in decided.said
    stats = context.stats()
    done = shown(stats)
    assert f"{stats.tokens_folded:,}" in done.said
    assert f"{stats.tokens_saved:,}" in done.said
    assert "compactions" not in done.said
    assert "compactions" in shown(ContextStats(compactions=2)).said
    assert "no decisions yet" in shown(Decisions()).said


def test_the_figures_of_stats_add_up() -> None:
    """The tokens of notes, which make the prompts larger, have a row like the other figures."""
    done = ContextStats(folds=1, tokens_folded=900, tokens_shown=100, tokens_noted=77)
    assert "77" in shown(done).said


def test_one_more_is_singular() -> None:
    """A single row that is left out is "1 more row", and a single line in a terminal "1 more line"."""
    rows = "\n".join(f"{number},n{number}" for number in range(21))
    said = shown(memory(f"id,name\n{rows}")).said
    assert "1 more row" in said
    assert "1 more rows" not in said
    _, remark = quoted("a\nb", 1).renderables
    assert "… and 1 more line" == str(remark)


def test_totals_say_how_many_are_not_drawn() -> None:
    """Of the totals of 53 conversations 50 are drawn, and the remark below them says that there are 3 more."""
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    totals = [CallTotals(f"t{number}", 1, 9, 5, 0, moment, moment) for number in range(53)]
    assert "3 more" in shown(KeptTotals(totals)).said


def test_a_package_shows_what_went_in_and_what_did_not() -> None:
    """Budget, the tiers with their shares, each entry with its text, and why others were left out."""
    notes = ScopedMemory("sqlite://", user_id="42", task_id="t1")
    for number in range(20):
        notes.save(
            f"The rocket {number} <b>needs</b> a rollback plan {'and a ticket ' * 9}CHG-{number}.",
            tier="task",
        )
    package = ContextAssembler(notes.manager, task_id="t1").build("launch rocket 3", 250)
    page = shown(package)
    for said in (
        f"{package.tokens:,} of 250 tokens",
        "task",
        "left out",
        "<b>needs</b>",
        package.left_out[0].reason,
    ):
        assert said in page.said
    assert page.elements.count("details") == len(package.entries) + 1
    notes.close()


async def test_ipython_gets_what_it_asks_for(context: MemoryContext) -> None:
    """IPython's own formatter takes text and HTML from it; only what is asked for is drawn."""
    formatter: Any = DisplayFormatter()
    formatter.active_types = ["text/plain", "text/html"]
    for value in (context, context.stats(), context.decisions(), context.manager.search("worker")):
        data, _ = formatter.format(value)
        assert {"text/plain", "text/html"} == set(data)
        assert data == bundle(value)
    assert ["text/plain"] == list(context._repr_mimebundle_(include=["text/plain"]))


@pytest.mark.long
def test_values_do_not_load_what_draws_them() -> None:
    """A record is made without the modules that draw it, and drawn without IPython and without a host."""
    program = """
import sys
from memory_context.model.item import MemoryItem
item = MemoryItem(user_id="42", memory_key="k", content="a text")
assert not any(name.startswith("memory_context.display") for name in sys.modules)
assert "a text" in item._repr_mimebundle_()["text/html"]
assert not {"IPython", "autogen_core", "langchain_core", "mcp", "typer"} & set(sys.modules), sys.modules
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_value_that_nothing_draws() -> None:
    """A value of a type without a drawer shows its `repr`, as text; one of a subtype shows what its base shows."""

    class Unknown(Displayed):
        def __repr__(self) -> str:
            return "<Unknown>"

    class Memories(MemoryList):
        pass

    assert {"text/plain": "<Unknown>"} == Unknown()._repr_mimebundle_()
    assert bundle(MemoryList([item_with("a")])) == bundle(Memories([item_with("a")]))


def test_details_begin_on_a_line_of_their_own() -> None:
    """In a terminal, what a notebook unfolds is not joined to the words before it."""
    folded = tag("details", tag("summary", "facts"), "user 42")
    assert "1 more row\nfacts\nuser 42" == as_text(Html(tag("span", "1 more row") + folded)).strip()


@given(part=st.floats(0, 1))
def test_a_bar_is_as_long_as_its_part(part: float) -> None:
    """A bar has at most 16 characters, shows everything above nothing, and grows with what it stands for."""
    text = as_text(bar(part))
    assert len(text) <= 16
    assert bool(text) == (part > 0)
    assert text.count("█") == int(max(round(part * 128), part > 0) // 8)
