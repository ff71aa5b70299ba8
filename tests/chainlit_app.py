"""The app of examples/chainlit in a process of its own, and a person at a headless browser before it."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

import pytest
from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright

from free_ports import free_port

ROOT = Path(__file__).parents[1]
APP = ROOT / "examples/chainlit/app.py"
VARIABLE = "MEMORY_CONTEXT_TEST_CHAINLIT"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
SECONDS = 300  # for whatever a page or server does on a busy machine
expect.set_options(timeout=SECONDS * 1000)


def chainlit() -> str:
    """The command `chainlit` of an environment that has it; AutoGen's protobuf keeps it out of the suite's own."""
    command = Path(os.environ.get(VARIABLE) or ROOT / ".venv-chainlit/bin/chainlit")
    if not command.exists():
        pytest.fail(
            f"there is no {command}: `make chainlit` makes the environment that this test needs; or name the command"
            f" `chainlit` of another one, with this package in it, in {VARIABLE}"
        )
    return str(command)


def browser() -> str:
    """A browser that is installed."""
    for name in BROWSERS:
        if path := shutil.which(name):
            return path
    pytest.fail(
        "the Chainlit app is driven in a headless browser, and there is none: on Debian and Ubuntu, `apt-get install"
        f" chromium`; any of {', '.join(BROWSERS)} on the PATH will do"
    )


@contextmanager
def served(folder: Path, database: str) -> Iterator[str]:
    """Run the app on a database; gives its address."""
    port = free_port()
    environment = os.environ | {
        "CHAINLIT_APP_ROOT": str(folder),  # where it writes its settings
        "CHAINLIT_AUTH_SECRET": "a secret of this test, long enough for HS256",
        "CHAT_DATABASE": database,
    }
    command = [chainlit(), "run", str(APP), "--headless", "--port", str(port)]
    address, log = f"http://127.0.0.1:{port}", folder / "server.log"
    with log.open("ab") as output:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=output, stderr=subprocess.STDOUT
        )
        try:
            _wait_for(address, process, log)
            yield address
        finally:
            process.terminate()
            process.wait(SECONDS)


def _wait_for(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            urlopen(address).close()
        except OSError:
            time.sleep(0.2)
        else:
            return
    pytest.fail(f"the app does not answer:\n{log.read_text('utf-8')[-4000:]}")


@contextmanager
def headless() -> Iterator[Browser]:
    """A browser without a window."""
    with sync_playwright() as playwright:
        # Chromium's own sandbox needs rights that containers do not have, and no page of others is opened here.
        opened = playwright.chromium.launch(
            executable_path=browser(), args=["--no-sandbox"], timeout=SECONDS * 1000
        )
        yield opened
        opened.close()


class Person:
    """Somebody with a browser of their own."""

    def __init__(self, opened: Browser, address: str) -> None:
        self.address = address
        self.page: Page = opened.new_context().new_page()
        self.page.set_default_timeout(SECONDS * 1000)

    def sign_in(self, name: str, password: str, path: str = "/") -> None:
        """Fill in the form, and send it."""
        self.page.goto(self.address + path)
        self.page.fill("#email", name)
        self.page.fill("#password", password)
        self.page.press("#password", "Enter")

    def ask(self, question: str) -> str:
        """Send a message; gives the answer."""
        before = self.answers.count()
        self.page.fill("#chat-input", question)
        self.page.click("#chat-submit:enabled")
        expect(self.answers).to_have_count(before + 1)
        # The text follows the element.
        expect(self.answers.last).not_to_have_text("")
        return self.answers.last.inner_text()

    def begin_again(self) -> None:
        """Begin a new conversation."""
        self.page.click("#new-chat-button")
        self.page.click("#confirm")
        expect(self.page.locator("[data-step-type]")).to_have_count(0)

    @property
    def answers(self) -> Locator:
        """What the agent has said in the conversation that the browser shows."""
        return self.page.locator('[data-step-type="assistant_message"]')

    @property
    def thread_id(self) -> str:
        """The conversation that the browser shows."""
        self.page.wait_for_url("**/thread/*")
        return self.page.url.rpartition("/")[2]
