"""LangChain and LangGraph: memory, middleware, tools, a retriever and a store on the memories of `memory_context`.

Names are loaded when they are first used, since the tools and the retriever need only langchain-core.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memory_context.runtime.lazy_names import lazy_names
from memory_context.runtime.missing_packages import needing

if TYPE_CHECKING:
    from langchain_memory_context.chat_model_judge import ChatModelJudge
    from langchain_memory_context.history import MemoryContextChatMessageHistory
    from langchain_memory_context.memory import MemoryContextMemory
    from langchain_memory_context.middleware import MemoryContextMiddleware
    from langchain_memory_context.retriever import MemoryRetriever
    from langchain_memory_context.state_with_small_checkpoints import LeanAgentState
    from langchain_memory_context.store import MemoryStoreAdapter
    from langchain_memory_context.tools import file_tools, memory_tools, note_tools

__all__ = [
    "ChatModelJudge",
    "LeanAgentState",
    "MemoryContextChatMessageHistory",
    "MemoryContextMemory",
    "MemoryContextMiddleware",
    "MemoryRetriever",
    "MemoryStoreAdapter",
    "file_tools",
    "memory_tools",
    "note_tools",
]

_HOMES = {
    "ChatModelJudge": "chat_model_judge",
    "LeanAgentState": "state_with_small_checkpoints",
    "MemoryContextChatMessageHistory": "history",
    "MemoryContextMemory": "memory",
    "MemoryContextMiddleware": "middleware",
    "MemoryRetriever": "retriever",
    "MemoryStoreAdapter": "store",
    "file_tools": "tools",
    "memory_tools": "tools",
    "note_tools": "tools",
}
_load = lazy_names(__name__, _HOMES)
_HOSTS = ("langchain", "langchain_classic", "langchain_core", "langgraph")


def __getattr__(name: str) -> Any:  # noqa: ANN401 - any public name
    """Load a public name from its module."""
    otherwise = f"{name} needs LangChain: pip install 'memory-context[langchain]'"
    with needing(*_HOSTS, otherwise=otherwise):
        return _load(name)


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)
