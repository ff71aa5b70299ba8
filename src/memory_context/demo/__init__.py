"""`memory-context demo`: a real agent on this machine's own data, with a scripted model or a real one."""

from __future__ import annotations

import asyncio
import importlib.util
import shlex
import tempfile
from pathlib import Path

from memory_context.display import command, make_console
from memory_context.exceptions import InvalidArgumentError, MissingDependencyError
from memory_context.model.scope import Scope
from memory_context.stores import SQLAlchemyStore

USER = "demo"
NEEDED = ("autogen-core", "autogen-agentchat", "pytest")


def run_demo(
    *, model: str | None = None, base_url: str | None = None, store_url: str | None = None
) -> None:
    """Run the demo and show it on standard output.

    Without *model* the model is scripted; without *store_url* the database is a SQLite file in a
    temporary folder. *base_url* is an OpenAI-compatible server to ask.

    Raises:
        MemoryContextError: An argument is wrong, a package or a key is missing, or the database or
            the model does not answer.
    """
    if base_url and not model:
        message = "--base-url needs the name of the model there: --model NAME"
        raise InvalidArgumentError(message)
    for name in NEEDED:
        if importlib.util.find_spec(name.replace("-", "_")) is None:
            message = f"the demo needs {name}: pip install 'memory-context[demo]'"
            raise MissingDependencyError(message)
    # Imported after the check above: these load AutoGen.
    from memory_context.demo.agent_run import run_agent  # noqa: PLC0415
    from memory_context.demo.model_clients import real_client, scripted_client  # noqa: PLC0415

    client = real_client(model, base_url) if model else scripted_client()
    console = make_console()
    with (
        tempfile.TemporaryDirectory(prefix="memory-context-demo-") as folder,
        SQLAlchemyStore(store_url or f"sqlite:///{folder}/memory.db") as store,
    ):
        store.count(Scope(USER))  # an unreachable database is reported before the agent starts
        said = model or "a script (--model NAME asks a real one)"
        console.print(f"model: {said}; everything else is real")
        console.print(f"database: {store.url or 'in memory'}", soft_wrap=True)
        asyncio.run(run_agent(client, store, USER, Path(folder), console))
    if store_url and store.url:
        console.print("\nThe memories stay in the database. Look around in it:")
        database = f"--store {shlex.quote(store.url)}"
        command(console, f"memory-context list {database} --user {USER}")
        command(console, f"memory-context search 14-weeks {database} --user {USER}")
        command(console, f"memory-context demo {database}")
    else:
        console.print("\nThe database has been deleted. To keep it and look around in it:")
        command(console, "memory-context demo --store sqlite:///demo.db")
