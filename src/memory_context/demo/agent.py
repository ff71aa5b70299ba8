"""What an agent of the demo is made of, and how it is asked, whichever host it is on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from memory_context.conversation.context_stats import ContextStats
from memory_context.demo.machine_tools import MachineTools
from memory_context.stores import MemoryStore

MAX_ITERATIONS = 10


@dataclass(frozen=True, slots=True)
class Setting:
    """What an agent is made of.

    Attributes:
        store: Where its memories are.
        user_id: Whose they are.
        tools: Its tools.
        model: The name of a real model; "" for the script.
        base_url: The OpenAI-compatible server that has it; None for its provider's.
    """

    store: MemoryStore
    user_id: str
    tools: MachineTools
    model: str = ""
    base_url: str | None = None


class DemoAgent(Protocol):
    """An agent whose prompts are metered."""

    async def ask(self, question: str) -> None:
        """Let the agent answer."""
        ...

    async def close(self) -> ContextStats:
        """End, and return what was done."""
        ...
