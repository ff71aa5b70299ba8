"""The page in the browser: what it shows, what it changes, and who gets an answer."""

from __future__ import annotations

import asyncio
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from html import unescape
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, ViewportSize, expect
from starlette.testclient import TestClient

from chainlit_app import SECONDS, headless
from commands import COMMAND
from for_each import for_each
from memory_context import (
    CallRecord,
    Decision,
    FileStore,
    FoldPolicy,
    MemoryContext,
    MemoryManager,
    ModelCall,
    SQLAlchemyStore,
)
from memory_context.exceptions import InvalidArgumentError, MemoryNotFoundError
from memory_context.model.item import MemoryItem
from memory_context.ui import Looked, application, memories_notes_and_sql
from memory_context.ui.links_forms_and_tables import Visit
from messages import LOG, call, results, user

TOKEN = "a-token-for-tests-only"
HOSTILE = '<script>alert(1)</script><img src=x onerror="alert(2)">\x1b[31m'
NOW = datetime.now(UTC)


@pytest.fixture
def store(store_url: str) -> Iterator[SQLAlchemyStore]:
    """A store that keeps calls."""
    with SQLAlchemyStore(store_url) as opened:
        yield opened


def pages_of(looked: Looked) -> TestClient:
    """The pages, asked as by a browser that has their address."""
    return TestClient(application(looked, TOKEN), base_url=f"http://127.0.0.1/{TOKEN}/")


@pytest.fixture
def pages(store: SQLAlchemyStore) -> TestClient:
    """The pages of that store."""
    return pages_of(Looked(store, agent="cli:me"))


def sends(pages: TestClient, change: str, key: str, **fields: str) -> None:
    """A person opens the page of a memory, and sends one of its forms."""
    pages.post(change, data={**form_of(pages, change, key), **fields})


def form_of(pages: TestClient, change: str, key: str) -> dict[str, str]:
    """What a form on the page of a memory sends, if nothing is filled in."""
    text = pages.get("memory", params={"key": key}).text
    [form] = re.findall(rf'<form[^>]*/{change}">(.*?)</form>', text, re.DOTALL)
    fields = re.findall(r'<input type="\w+" name="(\w+)" value="([^"]*)"', form)
    sent = {name: unescape(value) for name, value in fields}
    # As a browser reads it: without the first line break.
    for name, written in re.findall(
        r'<textarea name="(\w+)"[^>]*>\n?(.*?)</textarea>', form, re.DOTALL
    ):
        sent[name] = re.sub("\r\n|\r|\n", "\r\n", unescape(written))
    return sent


def words(html: str) -> str:
    """The texts of a page, without its style."""
    body = html.partition("</head>")[2]
    return " ".join(unescape(re.sub("<[^>]*>", " ", body)).split())


async def talk(store: SQLAlchemyStore, *, record_prompts: bool) -> str:
    """Have a log folded and asked for; returns its key."""
    fold = FoldPolicy(record_prompts=record_prompts)
    context = MemoryContext("ann", store=store, thread_id="nightly", fold=fold)
    for message in (user("Read it."), call("run"), results(LOG)):
        await context.add_message(message)
        await context.get_messages()
    await context.add_message(user("What of worker-123?"))
    await context.get_messages()
    [item] = MemoryManager(store, user_id="ann").search("", types="tool_output")
    return item.memory_key


async def test_a_conversation_call_by_call(store: SQLAlchemyStore, pages: TestClient) -> None:
    """From the list to the timeline, to a call, with what was folded beside its preview, what came back, and why."""
    key = await talk(store, record_prompts=True)
    listed = words(pages.get("").text)
    assert "tokens avoided" in listed
    assert "nightly" in listed
    line = pages.get("thread", params={"id": "nightly"}).text
    assert "<polyline" in line
    assert f"folded {key}" in words(line)
    assert f"lexical opened {key}" in words(line)
    links = [unescape(one) for one in re.findall(rf'href="/{TOKEN}/(call[^"]*)"', line)]
    newest, folding = words(pages.get(links[0]).text), words(pages.get(links[1]).text)
    assert "The prompt" in newest
    assert "What of worker-123?" in newest
    assert "Decided before it" in newest
    assert "what the model sees" in folding
    assert "what is stored" in folding


def test_what_was_out_of_sight(store: SQLAlchemyStore, pages: TestClient) -> None:
    """A call names what was folded by then, but for what came back for it; the timeline says what did."""
    memory = MemoryManager(store, user_id="ann", thread_id="t")
    memory.store("x", key="kept")
    memory.note_call(ModelCall(NOW, 90, 50, 2, folded=("log_a", "log_b")))
    later = NOW + timedelta(seconds=1)
    memory.note_call(ModelCall(later, 95, 60, 4, recalled=("log_a",)))
    # Behind it begins the row of the call before.
    assert re.search(r"brought back log_a \d{4}-", words(pages.get("thread?id=t").text))
    shown = words(pages.get("call", params={"id": "t", "at": later.isoformat()}).text)
    assert "Behind references, out of sight log_b The prompt" in shown


async def test_a_prompt_that_was_not_recorded(store: SQLAlchemyStore, pages: TestClient) -> None:
    """The page of the call says how to have it recorded; texts are there all the same."""
    key = await talk(store, record_prompts=False)
    [newest, *_] = re.findall(r'href="[^"]*/(call[^"]*)"', pages.get("thread?id=nightly").text)
    said = words(pages.get(unescape(newest)).text)
    assert "FoldPolicy(record_prompts=True)" in said
    assert key in said


def test_search_and_one_memory(store: SQLAlchemyStore, pages: TestClient) -> None:
    """A hit has its passage; a memory its content, its facts, and where it was used; a facet narrows."""
    memory = MemoryManager(store, user_id="ann", thread_id="t", audit=True, agent_id="coder")
    memory.store(LOG, key="log", type="tool_output")
    memory.store("we use ruff", key="rule", type="note", tier="project", tier_id="p")
    memory.note_call(ModelCall(NOW, 100, 50, 2, folded=("log",)))
    assert "worker-777 crashed" in words(pages.get("memories?q=worker-777").text)
    assert "log" not in re.findall(r"key=(\w+)", pages.get("memories?type=note").text)
    assert "nothing found" in words(pages.get("memories?q=worker-777&tier=project").text)
    shown = words(pages.get("memory?key=log").text)
    assert "folded t" in shown
    assert "stored by coder" in shown
    assert "ruff" in words(pages.get("notes").text)


@pytest.mark.long
async def test_a_tools_outputs(store: SQLAlchemyStore, pages: TestClient) -> None:
    """The outputs of one tool are chosen by its name, with words and without."""
    await talk(store, record_prompts=False)
    memory = MemoryManager(store, user_id="ann")
    other = memory.remember("crashed, too", type="tool_output", source="probe").memory_key
    assert "<option>any" not in (first := pages.get("memories").text)
    assert {"probe", "run"} <= set(re.findall(r'<option value="([^"]*)"', first))
    for asked in ("memories?tool=probe", "memories?tool=probe&q=crashed"):
        assert [other] == re.findall(r"key=([\w]+)", pages.get(asked).text)


def test_a_whole_text(store: SQLAlchemyStore, pages: TestClient) -> None:
    """What a memory's page leaves out is read line by line; a secret is not."""
    memory = MemoryManager(store, user_id="ann")
    key = memory.store("\n".join(f"line {number}" for number in range(2500)))
    [link] = re.findall(
        r'href="[^"]*/(memory[^"]*whole[^"]*)"', pages.get(f"memory?key={key}").text
    )
    first = words(pages.get(unescape(link)).text)
    assert "line 999 1-1,000 of 2,500" in first
    assert "line 2499" in words(pages.get(unescape(link) + "&from=2000").text)
    secret = memory.store("hunter2 and more", type="secret")
    shown = pages.get(f"memory?key={secret}&whole=1").text
    assert "hunter2" not in shown
    assert "the whole text" not in shown  # there is no such page for it
    ended = memory.store("first\n\nthird\n")
    assert "third 1-3 of 3" in words(pages.get(f"memory?key={ended}&whole=1").text)


def test_who_looks_reads(store: SQLAlchemyStore, pages: TestClient) -> None:
    """Looking at a memory counts as a read and stands in the trail; what shows no content, a secret's page too, does not."""
    memory = MemoryManager(store, user_id="ann")
    for key, kind in (("rule", "note"), ("password", "secret")):
        memory.store(f"the {key}", key=key, type=kind)
        seen = memory.get(key).updated_at.isoformat()
        form = {"key": key, "seen": seen, "day": "2099-01-31"}
        pages.post("expire", data=form, follow_redirects=False)
        assert 0 == memory.get(key).access_count
        pages.get("memory", params={"key": key})
    assert (1, 0) == (memory.get("rule").access_count, memory.get("password").access_count)
    trail = words(pages.get("audit").text)
    assert "expanded rule cli:me" in trail
    assert "expanded password" not in trail


@pytest.mark.long
def test_the_line_that_was_asked_for(store: SQLAlchemyStore, pages: TestClient) -> None:
    """A hit shows the line with the word as it was asked for, however many lines have another form of it."""
    lines = "\n".join(f"02:{i // 60:02}:{i % 60:02} worker-{i} done" for i in range(3000))
    MemoryManager(store, user_id="ann").store(lines, key="log")
    assert "worker-1234 done" in words(pages.get("memories?q=worker-1234").text)


def test_changes(store: SQLAlchemyStore, pages: TestClient) -> None:
    """A note is edited, is given a day on which it is forgotten, and is forgotten; the trail says by whom."""
    memory = MemoryManager(store, user_id="ann", audit=True)
    key = memory.store("we use ruff", key="rule", type="note", tier="project", tier_id="p")
    sends(pages, "edit", key, content="we use ruff\r\nand mypy")
    assert "we use ruff\nand mypy" == memory.fetch(key).content
    sends(pages, "expire", key, day="2030-01-31")
    expires = memory.fetch(key).expires_at
    assert expires
    assert "2030-01-31" == f"{expires.astimezone():%Y-%m-%d}"
    sends(pages, "expire", key, day="")
    assert memory.fetch(key).expires_at is None
    sends(pages, "forget", key)
    with pytest.raises(MemoryNotFoundError, match="forgotten by hand"):
        memory.fetch(key)
    memory.store("another", key="another")
    assert "deleted rule cli:me" in words(pages.get("audit").text)


@for_each("change", ["edit", "expire", "confirm", "forget"])
def test_two_browsers(store: SQLAlchemyStore, pages: TestClient, change: str) -> None:
    """A form of a page that was opened before somebody else changed the memory changes nothing, and says so."""
    memory = MemoryManager(store, user_id="ann")
    noted = memory.remember("ruff", type="note", tier="project", tier_id="p", origin="model")
    key = noted.memory_key
    late = form_of(pages, change, key)
    sends(pages, "edit", key, content="we use ruff and mypy")
    held = memory.get(key)
    answer = pages.post(change, data={**late, "content": "nothing", "day": "2030-01-31"})
    assert 409 == answer.status_code
    assert f"{key} was changed since you opened its page" in words(answer.text)
    assert held == memory.get(key)


@for_each("change", ["edit", "confirm", "forget"])
def test_a_change_just_before(
    store: SQLAlchemyStore, pages: TestClient, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A memory that is changed after a form's check, before its own change, is refused: the store compares, too."""
    memory = MemoryManager(store, user_id="ann")
    noted = memory.remember("ruff", type="note", tier="project", tier_id="p", origin="model")
    form = form_of(pages, change, noted.memory_key)
    check = memories_notes_and_sql._as_seen  # noqa: SLF001 - where another process may come between

    def checked(visit: Visit) -> MemoryItem:
        item = check(visit)
        store.put(memory.scope, replace(noted, content="mypy"), replaces=noted)
        return item

    with monkeypatch.context() as patch:
        patch.setattr(memories_notes_and_sql, "_as_seen", checked)
        assert 409 == pages.post(change, data=form).status_code
    now = memory.get(noted.memory_key)
    assert ("mypy", "model") == (now.content, now.origin)


@for_each(
    "content",
    [
        "\n\nafter two empty lines",
        "a\r\nb\r\n",
        "50%\r100%\ndone",
        "a\r\nb\n",
        "\u05d0\u200f!",
        "\ufeffsoft\xadly",
        "<b> &amp; </textarea>",
    ],
)
def test_saving_what_was_not_changed(
    store: SQLAlchemyStore, pages: TestClient, content: str
) -> None:
    """A note that is saved as it stands in its form stays as it was, to the last invisible character."""
    memory = MemoryManager(store, user_id="ann")
    key = memory.store(content, type="note", tier="project", tier_id="p")
    sends(pages, "edit", key)
    assert content == memory.fetch(key).content


def test_sql(store: SQLAlchemyStore, pages: TestClient) -> None:
    """The box runs a SELECT over memories, and shows what is wrong with another statement."""
    MemoryManager(store, user_id="ann").store([{"a": 1}, {"a": 41}], key="rows")
    shown = words(pages.get("query", params={"sql": "SELECT sum(a) AS s FROM rows"}).text)
    assert "42" in shown
    assert "1 row, from" in shown
    assert "from" not in words(pages.get("query", params={"sql": "SELECT 1"}).text)
    refused = pages.get("query", params={"sql": "DROP TABLE rows"})
    assert 200 == refused.status_code
    assert 'class="error"' in refused.text


def test_a_conversation_without_calls(store: SQLAlchemyStore, pages: TestClient) -> None:
    """Its page says that there are none here, and how they come about."""
    MemoryManager(store, user_id="ann").store("a note", key="k")
    shown = words(pages.get("thread", params={"id": "other"}).text)
    assert "No model calls are kept here" in shown


@for_each(
    "name", ["", "memories", "notes", "query", "health", "audit", "thread?id=x", "memory?key=k"]
)
def test_stored_text_is_text(store: SQLAlchemyStore, pages: TestClient, name: str) -> None:
    """Whatever is stored, no page has an element or a handler of it, nor an address of somewhere else."""
    memory = MemoryManager(store, user_id="ann", thread_id="x", agent_id="<b>", audit=True)
    memory.store(HOSTILE, HOSTILE, key="k", type="note", tier="project", tier_id="p", tags=["<i>"])
    decision = Decision(
        NOW, HOSTILE, HOSTILE, ("k",), "concrete", ("k",), None, (), HOSTILE, 1, 0.1
    )
    memory.note_call(decision)
    memory.note_call(ModelCall(NOW, 10, 5, 1, folded=("k",)))
    text = pages.get(name).text
    assert "<h1>" in text
    assert not re.search(r"<script|<img|<[^>]*\sonerror|\x1b", text)
    assert all(
        one.startswith((f"/{TOKEN}/", "#"))
        for one in re.findall(r'(?:href|action)="([^"]*)"', text)
    )
    assert "src=" not in re.sub(r"&lt;.*?&gt;", "", text)


def test_another_user(store: SQLAlchemyStore, pages: TestClient) -> None:
    """Each user is looked at apart; links stay with the one who is looked at."""
    for name in ("ann", "bob"):
        MemoryManager(store, user_id=name).store(f"secret plan of {name}", key=f"of_{name}")
    shown = pages.get("memories?user=bob").text
    assert "of_bob" in shown
    assert "of_ann" not in shown
    assert 'href="/a-token-for-tests-only/memory?key=of_bob&amp;user=bob"' in shown
    assert 404 == pages.get("memories?user=nobody").status_code


@for_each(
    "path",
    ["memory?key=none", "call?id=x&at=2026-01-31T12:00:00%2B00:00", "nowhere", "thread/else"],
)
def test_what_is_not_there(store: SQLAlchemyStore, pages: TestClient, path: str) -> None:
    """It is 404, with a sentence."""
    MemoryManager(store, user_id="ann").store("x")
    assert 404 == pages.get(path).status_code


@for_each(
    "path",
    [
        "call?id=x&at=yesterday",
        "call?id=x&at=2026-01-31",
        "call?id=x&at=9999-12-31T23:59:59.999999%2B00:00",
        "memories?since=soon",
    ],
)
def test_what_cannot_be_read(store: SQLAlchemyStore, pages: TestClient, path: str) -> None:
    """It is 400, and the page says what would be right."""
    MemoryManager(store, user_id="ann").store("x")
    answer = pages.get(path)
    assert 400 == answer.status_code
    assert "such as" in answer.text or "time zone" in answer.text


@for_each("name", ["", "memories?q=ruff", "memory?key=rule", "notes", "health", "audit"])
def test_a_folder(tmp_path: Path, name: str) -> None:
    """A FileStore has every page, without what it does not keep."""
    with FileStore(tmp_path / "notes") as folder:
        MemoryManager(folder, user_id="ann").store("we use ruff", key="rule", type="note")
        answer = pages_of(Looked(folder)).get(name)
    assert 200 == answer.status_code
    assert 'class="error"' not in answer.text


def test_calls_of_a_folder(tmp_path: Path) -> None:
    """The page shows tomorrow what models were sent by an agent on a FileStore, also where nothing was stored."""
    with FileStore(tmp_path / "notes") as folder:
        memory = MemoryManager(folder, user_id="ann", thread_id="nightly")
        memory.note_call(ModelCall(datetime.now(UTC), 9000, 1000, 3))
    with FileStore(tmp_path / "notes") as folder:
        pages = pages_of(Looked(folder))
        assert "8,000 tokens avoided, of 9,000" in words(pages.get("").text)
        assert "1,000" in words(pages.get("thread", params={"id": "nightly"}).text)


def test_an_empty_database(pages: TestClient) -> None:
    """It says so, and what to do; that is no error."""
    answer = pages.get("")
    assert 200 == answer.status_code
    assert "Nothing is stored" in answer.text
    assert "Run an agent" in answer.text


def test_an_agent_that_has_stored_nothing(store: SQLAlchemyStore, pages: TestClient) -> None:
    """Its calls are there to be seen, as those of an agent that has folded."""
    MemoryManager(store, user_id="ann", thread_id="short").note_call(
        ModelCall(datetime.now(UTC), 10, 10, 1)
    )
    assert ["ann"] == store.users()
    answer = pages.get("")
    assert 200 == answer.status_code
    assert "short" in answer.text


def test_who_gets_an_answer(store: SQLAlchemyStore, pages: TestClient) -> None:
    """Nobody without the token, under another host's name, or by GET for a change; nothing is cached or passed on."""
    memory = MemoryManager(store, user_id="ann")
    memory.store("x", key="k")
    assert 404 == pages.get("http://127.0.0.1/another-token-of-22-chars/").status_code
    assert 400 == pages.get("", headers={"host": "evil.example"}).status_code
    assert 404 == pages.get("forget?key=k").status_code
    assert memory.get("k").content == "x"
    headers = pages.get("").headers
    assert "no-store" == headers["cache-control"]
    assert "no-referrer" == headers["referrer-policy"]
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "script-src" not in headers["content-security-policy"]
    with pytest.raises(InvalidArgumentError, match="16"):
        application(Looked(store), "short")


def test_pages_of_a_long_list(store: SQLAlchemyStore, pages: TestClient) -> None:
    """A list shows a part, says of how many, and leads on and back."""
    memory = MemoryManager(store, user_id="ann")
    for number in range(120):
        store.note_call(
            CallRecord("ann", None, "t", ModelCall(NOW - timedelta(seconds=number), 9, 5, 1))
        )
    memory.store("x")
    first = pages.get("thread?id=t").text
    assert "1-100 of 120" in words(first)
    [onward] = re.findall(r'href="[^"]*/(thread[^"]*from=100[^"]*)"', first)
    second = words(pages.get(unescape(onward)).text)
    assert "101-120 of 120" in second
    assert "← before" in second


@contextmanager
def served(url: str) -> Iterator[str]:
    """The command in a process of its own; gives the address that it prints."""
    command = [*COMMAND, "ui", "--store", url]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            yield process.stdout.readline().strip()
        finally:
            process.send_signal(signal.SIGINT)
    assert 0 == process.returncode


class Reader:
    """Somebody with a browser: their page, and what it said in the console or in a dialog."""

    def __init__(self, browser: Browser, width: int, scheme: Literal["light", "dark"]) -> None:
        size = ViewportSize(width=width, height=800)
        self.page = browser.new_context(viewport=size, color_scheme=scheme).new_page()
        self.page.set_default_timeout(SECONDS * 1000)
        self.width = width
        self.said = list[str]()
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("dialog", lambda dialog: self.said.append(dialog.message))

    def sees(self, text: str) -> None:
        """A text stands on the page, and the page is not wider than the screen."""
        expect(self.page.locator("main")).to_contain_text(text)
        # What it takes the text from may be a page that is about to go: this is asked anew on the next one.
        expect(self.page.locator("html")).to_have_js_property("scrollWidth", self.width)
        self.page.wait_for_load_state()

    def opens(self, link: str) -> None:
        """They click a link."""
        self.page.get_by_role("link", name=link, exact=True).first.click()

    def tabs_to(self, text: str) -> None:
        """They reach a link by the keyboard alone."""
        for _ in range(40):
            self.page.keyboard.press("Tab")
            if text == self.page.evaluate("document.activeElement.innerText"):
                return
        pytest.fail(f"{text} is not reached by the keyboard")


@pytest.mark.long
def test_a_person_with_a_keyboard(tmp_path: Path) -> None:
    """Without a mouse somebody finds a note, changes it and forgets it; all that can be reached can be seen."""
    url = f"sqlite:///{tmp_path}/memory.db"
    with MemoryManager(url, user_id="ann") as memory:
        note = memory.store("first words", type="note", tier="project", tier_id="p")
        memory.store("something else")
    with served(url) as address, headless() as browser:
        reader = Reader(browser, 1000, "light")
        reader.page.goto(address)
        press = reader.page.keyboard.press
        reader.tabs_to("Memories")
        press("Enter")
        reader.sees("Memories")
        expect(reader.page.get_by_label("words")).to_be_focused()
        reader.page.keyboard.type("words")
        press("Enter")
        reader.sees("found by words")
        press("Tab")
        press("Tab")
        assert note == reader.page.locator(":focus").inner_text()
        press("Enter")
        reader.sees("Where it was used")
        reader.tabs_to("edit")
        press("Enter")
        press("Tab")
        press("Control+a")
        reader.page.keyboard.type("second words")
        reader.tabs_to("Save")
        press("Enter")
        reader.sees("second words")
        reader.tabs_to("forget")
        ring: str = reader.page.locator(":focus").evaluate(
            "it => getComputedStyle(it).outlineStyle"
        )
        assert "solid" == ring
        press("Enter")
        reader.tabs_to("Forget it")
        press("Enter")
        reader.sees("1-1 of 1")
        assert [] == reader.said


@pytest.mark.long
@for_each("width,scheme", [(1400, "light"), (800, "dark"), (400, "light"), (400, "dark")])
def test_a_person_in_a_browser(
    tmp_path: Path, width: int, scheme: Literal["light", "dark"]
) -> None:
    """Somebody opens the printed address and goes through the pages, by keyboard and mouse, wide and narrow."""
    url = f"sqlite:///{tmp_path}/memory.db"
    with SQLAlchemyStore(url) as store:
        key = asyncio.run(talk(store, record_prompts=True))
        note = MemoryManager(store, user_id="ann").store(
            HOSTILE, type="note", tier="project", tier_id="p"
        )
    with served(url) as address, headless() as browser:
        reader = Reader(browser, width, scheme)
        reader.page.goto(address)
        reader.sees("tokens avoided")
        reader.tabs_to("to the page")
        reader.tabs_to("nightly")
        reader.page.keyboard.press("Enter")
        reader.sees("Conversation nightly")
        reader.page.locator("main a:has(time)").first.click()
        reader.sees("The prompt")
        reader.opens("Memories")
        reader.page.get_by_label("words").fill("worker-777")
        reader.page.locator("select[name=tool]").select_option("run")
        reader.page.get_by_role("button", name="Find").click()
        reader.sees("worker-777 crashed")
        reader.opens(key)
        reader.sees("Where it was used")
        reader.opens("the whole text, line by line")
        reader.sees("worker-399")
        reader.opens("Notes")
        reader.opens(note)
        reader.page.get_by_text("edit", exact=True).click()
        reader.page.get_by_label("content").fill("seen by a person")
        reader.page.get_by_role("button", name="Save").click()
        reader.sees("seen by a person")
        reader.page.get_by_text("expire", exact=True).click()
        reader.page.get_by_label("forget it on").fill("2099-12-31")
        reader.page.get_by_role("button", name="Set").click()
        reader.opens("Notes")
        reader.sees("2099-12-31")
        reader.opens(note)
        reader.page.get_by_text("forget", exact=True).click()
        reader.page.get_by_role("button", name="Forget it").click()
        reader.opens("Notes")
        reader.sees("no notes yet")
        reader.opens("Query")
        reader.page.get_by_label("one SELECT").fill(f'SELECT count(*) AS lines FROM "{key}"')
        reader.page.get_by_role("button", name="Run").click()
        reader.sees("401")
        for name in ("Query", "Health", "Audit"):
            reader.opens(name)
            reader.sees(name)
        assert [] == reader.said


def test_without_its_extra() -> None:
    """The command says what to install."""
    code = (
        "import sys; sys.modules['starlette'] = None; from memory_context.cli import main; main()"
    )
    command = [sys.executable, "-c", code, "ui", "--store", "files+/tmp"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert 2 == run.returncode
    assert "pip install 'memory-context[ui]'" in run.stderr
