"""Fakes and checks to test agents and stores with: the ones that memory-context is tested with itself.

`ScriptedChatClient` and `check_prompt` need AutoGen, `MemoryStoreContract` needs pytest; each is loaded when it is
first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memory_context.testing._autogen import PromptError, ScriptedChatClient, check_prompt
    from memory_context.testing._stores import MemoryStoreContract

__all__ = ["MemoryStoreContract", "PromptError", "ScriptedChatClient", "check_prompt"]

_HOMES = {
    "MemoryStoreContract": "_stores",
    "PromptError": "_autogen",
    "ScriptedChatClient": "_autogen",
    "check_prompt": "_autogen",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - any public name
    """Load a public name from its home."""
    if name not in _HOMES:
        message = f"module 'memory_context.testing' has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(importlib.import_module(f"memory_context.testing.{_HOMES[name]}"), name)
