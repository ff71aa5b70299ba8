"""`memory-context demo`: run an agent on real data of this machine, with a scripted model or a real one."""

from __future__ import annotations

import asyncio
import importlib.util
import pkgutil
import shlex
import tempfile
from dataclasses import dataclass
from pathlib import Path

from memory_context import sentences_models_read as prompts
from memory_context.demo.agent import DemoAgent, Setting
from memory_context.demo.machine_tools import MachineTools
from memory_context.demo.printed_conversation_and_tokens import Meter
from memory_context.display.safe_terminal_output import command, make_console
from memory_context.exceptions import (
    InvalidArgumentError,
    MemoryContextError,
    MissingDependencyError,
)
from memory_context.model.scope import Scope
from memory_context.runtime import log_events
from memory_context.stores import SQLAlchemyStore

USER = "demo"
QUESTIONS = (prompts.DEMO_FIRST, prompts.DEMO_SECOND, prompts.DEMO_THIRD)


@dataclass(frozen=True, slots=True)
class DemoHost:
    """A framework that the demo runs on.

    Attributes:
        needs: The modules that it needs, each with the package that contains it.
        extra: The extras of memory-context that install these packages.
        client: The package that calls real models.
        agent: The class that makes the agent, as ``MODULE:CLASS`` in this package; the module imports the framework.
    """

    needs: dict[str, str]
    extra: str
    client: str
    agent: str


HOSTS = {
    "autogen": DemoHost(
        {"autogen_core": "autogen-core", "autogen_agentchat": "autogen-agentchat"},
        "demo",
        "autogen-ext[openai]",
        "autogen_agent:AutoGenDemo",
    ),
    "langchain": DemoHost(
        {"langchain": "langchain", "langgraph": "langgraph"},
        "demo,langchain",
        "langchain-openai",
        "langchain_agent:LangChainDemo",
    ),
    "agent-framework": DemoHost(
        {"agent_framework": "agent-framework-core"},
        "demo,agent-framework",
        "agent-framework-openai",
        "framework_agent:FrameworkDemo",
    ),
}


def run_demo(
    *,
    host: str,
    model: str | None,
    base_url: str | None,
    store_url: str | None,
) -> None:
    """Run the demo on a framework (the *host*) and show it on standard output.

    Without *model* the model is scripted. Without *store_url* the database is a SQLite file in a temporary folder.
    *base_url* is an OpenAI-compatible server that has the model.

    Raises:
        MemoryContextError: An argument is wrong, a package or a key is missing, or the database or the model does not
            answer.
    """
    if base_url and not model:
        raise InvalidArgumentError("--base-url needs the name of the server's model: --model NAME")
    framework = HOSTS[host]
    for module, package in {**framework.needs, "pytest": "pytest"}.items():
        if importlib.util.find_spec(module) is None:
            raise MissingDependencyError(
                f"the demo needs {package}: pip install 'memory-context[{framework.extra}]'"
            )
    console = make_console()
    with (
        tempfile.TemporaryDirectory(
            prefix="memory-context-demo-", ignore_cleanup_errors=True
        ) as folder,
        SQLAlchemyStore(store_url or f"sqlite:///{folder}/memory.db") as store,
    ):
        store.count(Scope(USER))  # an unreachable database is reported before the agent starts
        tools = MachineTools(Path(folder))
        meter = Meter(console, tools.outputs)
        setting = Setting(store, USER, tools, model or "", base_url)
        agent = _new_agent(framework, setting, meter)
        shown_model = model or "a script (--model NAME asks a real one)"
        console.print(f"host: {host}; model: {shown_model}; everything else is real")
        console.print(f"database: {store.url or 'in memory'}", soft_wrap=True)
        try:
            asyncio.run(_show(agent, meter))
        except KeyboardInterrupt:
            # The agent's threads go on, and would log that the database, which is deleted now, is gone.
            log_events.logger.disabled = True
            raise
    if store_url and store.url:
        console.print("\nThe memories stay in the database. Look around in it:")
        database = f"--store {shlex.quote(store.url)}"
        command(console, f"memory-context list {database} --user {USER}")
        command(console, f"memory-context search 14-weeks {database} --user {USER}")
        command(console, f"memory-context demo {database}")
    else:
        console.print("\nThe database has been deleted. To keep it and look around in it:")
        command(console, "memory-context demo --store sqlite:///demo.db")


def _new_agent(host: DemoHost, setting: Setting, meter: Meter) -> DemoAgent:
    """Return the agent.

    Raises:
        MissingDependencyError: The package to call a real model is not installed.
        InvalidArgumentError: The real model is unknown, or its key is missing.
    """
    try:
        agent: DemoAgent = pkgutil.resolve_name(f"{__name__}.{host.agent}")(setting, meter)
    except ImportError as error:
        raise MissingDependencyError(
            f"--model needs {host.client} ({error}): pip install '{host.client}'"
        ) from error
    except Exception as error:
        if not setting.model:
            raise
        # Each client has errors of its own for a missing key and for an unknown model.
        raise InvalidArgumentError(
            f"--model {setting.model} needs a known name and its provider's key in the environment, such as "
            f"OPENAI_API_KEY, or an OpenAI-compatible server: --base-url URL ({error!s:.80})"
        ) from error
    return agent


async def _show(agent: DemoAgent, meter: Meter) -> None:
    """Ask the questions; show what the agent does, and the tokens that were used."""
    for question in QUESTIONS:
        meter.question(question)
        try:
            await agent.ask(question)
        except OSError:  # from the console, whose reader has gone; clients have errors of their own
            raise
        except Exception as error:
            raise MemoryContextError(
                f"the model did not answer: {type(error).__name__}: {error}"
            ) from error
    meter.balance(await agent.close())
