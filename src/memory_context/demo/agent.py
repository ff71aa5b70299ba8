"""The settings and the interface of the demo's agent, which are the same on all frameworks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from memory_context.conversation.context_stats import ContextStats
from memory_context.demo.machine_tools import MachineTools
from memory_context.stores import MemoryStore

MAX_ITERATIONS = 10


@dataclass(frozen=True, slots=True)
class Setting:
    """The settings of the agent.

    Attributes:
        store: The store of its memories.
        user_id: The user whose memories these are.
        tools: Its tools.
        model: The name of a real model; "" for the script.
        base_url: An OpenAI-compatible server that has the model; None for the provider's own.
    """

    store: MemoryStore
    user_id: str
    tools: MachineTools
    model: str = ""
    base_url: str | None = None


class DemoAgent(Protocol):
    """An agent whose prompts are metered."""

    async def ask(self, question: str) -> None:
        """Let the agent answer a question."""
        ...

    async def close(self) -> ContextStats:
        """Close the agent, and return the figures of what it did."""
        ...
