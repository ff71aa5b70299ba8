"""Microsoft Agent Framework: a context provider that keeps an agent's conversation small, and the memory tools."""

from memory_context.exceptions import MissingDependencyError

try:
    from memory_context.agent_framework.provider import MemoryContextProvider
    from memory_context.agent_framework.tools import file_tools, memory_tools
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] != "agent_framework":
        raise
    raise MissingDependencyError(
        "MemoryContextProvider needs Microsoft Agent Framework: "
        "pip install 'memory-context[agent-framework]'"
    ) from error

__all__ = ["MemoryContextProvider", "file_tools", "memory_tools"]
