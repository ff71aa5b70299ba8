"""AutoGen: a model context that stores large texts and shows references, and the tools that read the stored texts."""

from memory_context.runtime.missing_packages import needing

with needing(
    "autogen_core",
    otherwise="MemoryContext needs AutoGen: pip install 'memory-context[autogen]'",
):
    from memory_context.autogen.build_for_web_front_ends import build_model_context
    from memory_context.autogen.chat_client_judge import LLMJudge
    from memory_context.autogen.code_executor import MemoryCodeExecutor
    from memory_context.autogen.context import MemoryContext
    from memory_context.autogen.context_config import MemoryContextConfig
    from memory_context.autogen.llm_summarizer import LLMSummarizer
    from memory_context.autogen.memory_tools_with_strict_schemas import (
        AgentFilesTool,
        AskMemoryTool,
        ClearMemoryTool,
        DeleteMemoryTool,
        GetMemoryTool,
        ListCategoriesTool,
        QueryMemoryTool,
        RetrieveMemoryTool,
        SaveMemoryTool,
        SearchMemoryTool,
        StoreMemoryTool,
        file_tools,
        memory_tools,
        note_tools,
    )
    from memory_context.autogen.sql_memory import SQLMemory
    from memory_context.autogen.workbench import MemoryWorkbench
    from memory_context.conversation.context_stats import ContextStats

__all__ = [
    "AgentFilesTool",
    "AskMemoryTool",
    "ClearMemoryTool",
    "ContextStats",
    "DeleteMemoryTool",
    "GetMemoryTool",
    "LLMJudge",
    "LLMSummarizer",
    "ListCategoriesTool",
    "MemoryCodeExecutor",
    "MemoryContext",
    "MemoryContextConfig",
    "MemoryWorkbench",
    "QueryMemoryTool",
    "RetrieveMemoryTool",
    "SQLMemory",
    "SaveMemoryTool",
    "SearchMemoryTool",
    "StoreMemoryTool",
    "build_model_context",
    "file_tools",
    "memory_tools",
    "note_tools",
]
