"""`memory-context demo`: a real agent on this machine's own data, with a scripted model or a real one."""

from __future__ import annotations

import asyncio
import importlib.util
import shlex
import shutil
import sys
import tempfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from memory_context._scopes import Scope
from memory_context.display import command, make_console
from memory_context.exceptions import InvalidArgumentError, MissingDependencyError
from memory_context.stores import SQLAlchemyStore

USER = "demo"
NOT_IN_DOUBLE_QUOTES = frozenset('"$`\\!')
NEEDED = {"autogen_core": "autogen-core", "autogen_agentchat": "autogen-agentchat", "pytest": "pytest"}


@dataclass(frozen=True, slots=True)
class DemoOptions:
    """What the demo is asked to do.

    Attributes:
        model: The name of a real model; the script without one.
        base_url: An OpenAI-compatible server.
        store: The URL of a database; a SQLite file in a temporary folder without one.
        keep: Whether that file stays.

    Raises:
        InvalidArgumentError: A server without a model.
    """

    model: str | None = None
    base_url: str | None = None
    store: str | None = None
    keep: bool = False

    def __post_init__(self) -> None:
        """Check what belongs together."""
        if self.base_url and not self.model:
            message = "--base-url needs the name of the model there: --model NAME"
            raise InvalidArgumentError(message)


def run_demo(options: DemoOptions) -> None:
    """Run the demo and show it on standard output.

    Raises:
        MissingDependencyError: AutoGen, pytest, or what a real model needs is not installed.
        InvalidArgumentError: There is no key for the model, or `store` is no URL of a supported database.
        StoreError: The database cannot be reached.
        MemoryContextError: The model gave no answer.
    """
    check_installed()
    from memory_context.demo._run import client_for, converse  # noqa: PLC0415 - needs what was just checked

    client, console = client_for(options.model, options.base_url), make_console()
    with _database(options) as url, SQLAlchemyStore(url) as store, tempfile.TemporaryDirectory() as project:
        store.count(Scope(USER))
        console.print(f"model: {options.model or 'a script (--model NAME asks a real one)'}; everything else is real")
        console.print(f"database: {store.url or 'in memory'}", soft_wrap=True)
        asyncio.run(converse(client, store, USER, Path(project), console))
        _show_next(console, store, options)


def check_installed() -> None:
    """Raise MissingDependencyError if a package that the demo runs is not installed."""
    missing = [name for module, name in NEEDED.items() if importlib.util.find_spec(module) is None]
    if missing:
        message = f"the demo needs {' and '.join(missing)}: pip install 'memory-context[demo]'"
        raise MissingDependencyError(message)


@contextmanager
def _database(options: DemoOptions) -> Generator[str, None, None]:
    if options.store:
        yield options.store
        return
    folder = tempfile.mkdtemp(prefix="memory-context-demo-")
    try:
        yield f"sqlite:///{folder}/memory.db"
    finally:
        if not options.keep:
            shutil.rmtree(folder, ignore_errors=True)


def _show_next(console: Console, store: SQLAlchemyStore, options: DemoOptions) -> None:
    """Where the memories are, and what to do with them; or how to keep them."""
    console.print()
    if store.url is None or not (options.store or options.keep):
        console.print("The database is deleted now. To keep it and look around in it:")
        command(console, "memory-context demo --keep")
        return
    console.print("The memories stay in the database. Look around in it:")
    for line in _commands(store.url):
        command(console, line)


def _commands(url: str) -> Iterator[str]:
    file = url.removeprefix("sqlite:///")
    if file != url:
        yield shlex.join(["sqlite3", file, "select memory_key, token_count, summary from agent_memories"])
    search = f"MemoryManager({url!r}, user_id={USER!r}).search('11-weeks')"
    yield _python(f"from memory_context import MemoryManager; print(*[hit.match.passage for hit in {search}])")
    yield shlex.join(["memory-context", "demo", "--store", url])


def _python(code: str) -> str:
    """A command that runs `code`, in double quotes where the shell leaves those alone: they are easier to read."""
    if NOT_IN_DOUBLE_QUOTES & set(code):
        return shlex.join([sys.executable, "-c", code])
    return f'{shlex.quote(sys.executable)} -c "{code}"'
