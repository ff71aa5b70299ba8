"""Microsoft Agent Framework: a context provider that keeps an agent's conversation small, and the memory tools."""

from memory_context.runtime.missing_packages import needing

with needing(
    "agent_framework",
    otherwise="MemoryContextProvider needs Microsoft Agent Framework: "
    "pip install 'memory-context[agent-framework]'",
):
    from memory_context.agent_framework.context_provider import MemoryContextProvider
    from memory_context.agent_framework.tools import file_tools, memory_tools

__all__ = ["MemoryContextProvider", "file_tools", "memory_tools"]
