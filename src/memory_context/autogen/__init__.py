"""AutoGen: the context that folds, and the tools that open what it folded."""

from memory_context.exceptions import MissingDependencyError

try:
    import autogen_core as _autogen_core  # noqa: F401 - only to see whether it is there
except ImportError as error:
    _message = "MemoryContext needs AutoGen: pip install 'memory-context[autogen]'"
    raise MissingDependencyError(_message) from error

from memory_context.autogen.context import ContextStats, MemoryContext, MemoryContextConfig
from memory_context.autogen.tools import RetrieveMemoryTool, SearchMemoryTool, StoreMemoryTool

__all__ = [
    "ContextStats",
    "MemoryContext",
    "MemoryContextConfig",
    "RetrieveMemoryTool",
    "SearchMemoryTool",
    "StoreMemoryTool",
]
