"""The Chainlit app of examples/chainlit, started and driven in a headless browser (see `chainlit_app`)."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect

from chainlit_app import Person, browser, chainlit, headless, served
from memory_context import MemoryManager

pytestmark = pytest.mark.long


def order(number: int) -> str:
    """A line of the report of the agent's tool."""
    return f"order {number}: {number * 37 % 500} EUR, customer {number * 7919 % 1000}"


@pytest.mark.parametrize("fixture", ["sqlite_url", "postgres_url"])
def test_two_people_and_a_resumed_conversation(
    request: pytest.FixtureRequest, fixture: str, tmp_path: Path, told: Callable[[str], None]
) -> None:
    """A large output is folded into the front end's database; its user alone opens it, also when they resume."""
    url = str(request.getfixturevalue(fixture))
    database = url.replace("+psycopg", "+asyncpg").replace("sqlite:", "sqlite+aiosqlite:")

    with headless() as opened:
        with served(tmp_path, database) as address:
            stranger = Person(opened, address)
            stranger.sign_in("ann", "bob's")
            expect(stranger.page.locator(".alert, [role=alert]").first).to_be_visible()

            ann = Person(opened, address)
            ann.sign_in("ann", "ann's")
            [key] = re.findall(r"report is here: (\w+)", ann.ask("How were the sales?"))
            first = ann.thread_id
            assert order(1234) in ann.ask("What was order 1234?")
            ann.begin_again()
            assert order(777) in ann.ask("And what was order 777?")
            second = ann.thread_id

            bob = Person(opened, address)
            bob.sign_in("bob", "bob's")
            assert "There is no memory with the key" in bob.ask(f"Open {key}")
            assert 0 == bob.page.get_by_text("How were the sales?").count()

        with served(tmp_path, database) as address:
            again = Person(opened, address)
            again.sign_in("ann", "ann's", f"/thread/{first}")
            # A page that is asked for before the answer to the form has brought the cookie is the form again.
            expect(again.page.locator("#chat-input")).to_be_visible()
            again.page.goto(f"{address}/thread/{first}")
            expect(again.answers).to_have_count(2)
            assert order(42) in again.ask("What was order 42?")
            assert first == again.thread_id != second

    with MemoryManager(url, user_id="ann") as memory:
        [report] = memory.memory_store.query(memory.scope)
    assert (key, first, 2000) == (report.memory_key, report.thread_id, report.line_count)
    told(f"Chainlit on {fixture}: two users, two threads, {report.token_count:,} tokens folded")


def test_what_is_missing_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without a browser, or without Chainlit, the test fails with a sentence that says how to get it."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("MEMORY_CONTEXT_TEST_CHAINLIT", str(tmp_path / "chainlit"))

    with pytest.raises(pytest.fail.Exception, match="apt-get install chromium"):
        browser()
    with pytest.raises(pytest.fail.Exception, match="`make chainlit`"):
        chainlit()
