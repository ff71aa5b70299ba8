"""Fakes and checks to test agents and stores with: the ones that memory-context is tested with itself.

`ScriptedChatClient` and `check_prompt` need AutoGen, `MemoryStoreContract` needs pytest; each is loaded when it is
first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memory_context.testing._autogen import PromptError, ScriptedChatClient, check_prompt
    from memory_context.testing._faults import Fault, FaultyStore, Injected, random_faults
    from memory_context.testing._stores import MemoryStoreContract

__all__ = [
    "Fault",
    "FaultyStore",
    "Injected",
    "MemoryStoreContract",
    "PromptError",
    "ScriptedChatClient",
    "check_prompt",
    "random_faults",
]

_HOMES = {
    "Fault": "_faults",
    "FaultyStore": "_faults",
    "Injected": "_faults",
    "MemoryStoreContract": "_stores",
    "PromptError": "_autogen",
    "ScriptedChatClient": "_autogen",
    "check_prompt": "_autogen",
    "random_faults": "_faults",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - any public name
    """Load a public name from its home."""
    if name not in _HOMES:
        message = f"module 'memory_context.testing' has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(importlib.import_module(f"memory_context.testing.{_HOMES[name]}"), name)
