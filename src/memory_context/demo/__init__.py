"""`memory-context demo`: a real agent on this machine's own data, with a scripted model or a real one."""

from __future__ import annotations

import asyncio
import importlib.util
import shlex
import shutil
import tempfile
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from memory_context.display import command, make_console
from memory_context.exceptions import InvalidArgumentError, MissingDependencyError
from memory_context.model.scope import Scope
from memory_context.stores import SQLAlchemyStore

USER = "demo"
TURNS = 200
NEEDED = {
    "autogen_core": "autogen-core",
    "autogen_agentchat": "autogen-agentchat",
    "pytest": "pytest",
}


@dataclass(frozen=True, slots=True)
class DemoOptions:
    """What the demo is asked to do.

    Attributes:
        model: The name of a real model; the script without one.
        base_url: An OpenAI-compatible server.
        store: The URL of a database; a SQLite file in a temporary folder without one.
        keep: Whether that file stays.
        long: Whether a team works for many turns, in place of one agent for two questions.
        turns: How many; 200 without it.

    Raises:
        InvalidArgumentError: A server without a model, turns without a team, or a team with a real model.
    """

    model: str | None = None
    base_url: str | None = None
    store: str | None = None
    keep: bool = False
    long: bool = False
    turns: int | None = None

    def __post_init__(self) -> None:
        """Check what belongs together."""
        if self.base_url and not self.model:
            message = "--base-url needs the name of the model there: --model NAME"
            raise InvalidArgumentError(message)
        if self.model and self.long:
            message = "--scenario long is scripted: so many calls of a real model cost money; leave --model away"
            raise InvalidArgumentError(message)
        if self.turns and not self.long:
            message = "--turns needs the scenario that has them: --scenario long"
            raise InvalidArgumentError(message)


def run_demo(options: DemoOptions) -> None:
    """Run the demo and show it on standard output.

    Raises:
        MissingDependencyError: AutoGen, pytest, or what a real model needs is not installed.
        InvalidArgumentError: There is no key for the model, or `store` is no URL of a supported database.
        StoreError: The database cannot be reached.
        MemoryContextError: The model gave no answer.
        KeyboardInterrupt: The long scenario was interrupted; what is done so far has been shown.
    """
    check_installed()
    console, scenario = make_console(), _team if options.long else _conversation
    work = scenario(options)
    with _database(options) as url, SQLAlchemyStore(url) as store:
        store.count(Scope(USER))
        stopped = work(store, console)
        _show_next(console, store, options)
    if stopped:
        raise KeyboardInterrupt


def _conversation(options: DemoOptions) -> Callable[[SQLAlchemyStore, Console], bool]:
    from memory_context.demo.run import client_for, converse  # noqa: PLC0415 - needs what was just checked

    client = client_for(options.model, options.base_url)

    def work(store: SQLAlchemyStore, console: Console) -> bool:
        console.print(
            f"model: {options.model or 'a script (--model NAME asks a real one)'}; everything else is real"
        )
        console.print(f"database: {store.url or 'in memory'}", soft_wrap=True)
        with tempfile.TemporaryDirectory() as project:
            asyncio.run(converse(client, store, USER, Path(project), console))
        return False

    return work


def _team(options: DemoOptions) -> Callable[[SQLAlchemyStore, Console], bool]:
    from memory_context.demo.long import run_long  # noqa: PLC0415 - needs what was just checked

    def work(store: SQLAlchemyStore, console: Console) -> bool:
        console.print("model: a script for each agent; everything else is real")
        console.print()
        return run_long(store, USER, options.turns or TURNS, console)

    return work


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
        command(console, shlex.join([*_again(options), "--keep"]))
        return
    console.print("The memories stay in the database. Look around in it:")
    for line in _commands(store.url, options):
        command(console, line)


def _again(options: DemoOptions) -> list[str]:
    return ["memory-context", "demo", *(["--scenario", "long"] if options.long else [])]


def _commands(url: str, options: DemoOptions) -> Iterator[str]:
    word = "argparse" if options.long else "14-weeks"
    for verb in (["list"], ["search", word]):
        yield shlex.join(["memory-context", *verb, "--store", url, "--user", USER])
    yield shlex.join([*_again(options), "--store", url])
