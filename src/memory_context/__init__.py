"""Keeps the prompts of AutoGen and LangChain agents small without losing anything.

Two concepts teach it all. A *memory* (`MemoryItem`) is a record in a store; it lives as long as its tier says.
A *context* (`MemoryContext`) is one conversation; it holds messages and references to memories, and can be thrown
away without losing one.

Names are loaded when they are first used: importing this package loads neither a host framework nor a database library.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from memory_context._version import __version__

if TYPE_CHECKING:
    from memory_context import exceptions
    from memory_context._audit import AuditEntry, AuditTrail
    from memory_context._categories import Category
    from memory_context._items import Deletion, Match, MemoryItem, MemoryList
    from memory_context._policy import FoldPolicy
    from memory_context._prompts import MEMORY_INSTRUCTIONS
    from memory_context._redaction import Redacted, RedactionPattern, Redactor
    from memory_context._refs import MemoryRef
    from memory_context._scopes import Scope
    from memory_context._selection import Page, Selection
    from memory_context._tiers import Confirmation, Quota, Room, TierPolicy, Usage
    from memory_context._tokens import TokenCounter, default_counter, set_default_counter
    from memory_context.assembly import ContextAssembler, ContextPackage
    from memory_context.autogen import LLMJudge, LLMSummarizer, MemoryContext, MemoryWorkbench, SQLMemory
    from memory_context.conversation import ConversationMemory
    from memory_context.exceptions import MemoryContextError
    from memory_context.files import AgentMemoryService, FileEntry
    from memory_context.judges import Decision, Judge, JudgeLimits, LexicalJudge
    from memory_context.manager import MemoryManager
    from memory_context.mcp import mcp_server
    from memory_context.observability import Observed, identify_users, observe
    from memory_context.stores import (
        CompressedStore,
        EncryptedStore,
        FileStore,
        MemoryStore,
        RedactingStore,
        SQLAlchemyStore,
        SQLAuditTrail,
        StoreWrapper,
    )
    from memory_context.summaries import Summaries, Summarizer, SummaryLimits
    from memory_context.tiers import ScopedMemory

__all__ = [
    "MEMORY_INSTRUCTIONS",
    "AgentMemoryService",
    "AuditEntry",
    "AuditTrail",
    "Category",
    "CompressedStore",
    "Confirmation",
    "ContextAssembler",
    "ContextPackage",
    "ConversationMemory",
    "Decision",
    "Deletion",
    "EncryptedStore",
    "FileEntry",
    "FileStore",
    "FoldPolicy",
    "Judge",
    "JudgeLimits",
    "LLMJudge",
    "LLMSummarizer",
    "LexicalJudge",
    "Match",
    "MemoryContext",
    "MemoryContextError",
    "MemoryItem",
    "MemoryList",
    "MemoryManager",
    "MemoryRef",
    "MemoryStore",
    "MemoryWorkbench",
    "Observed",
    "Page",
    "Quota",
    "Redacted",
    "RedactingStore",
    "RedactionPattern",
    "Redactor",
    "Room",
    "SQLAlchemyStore",
    "SQLAuditTrail",
    "SQLMemory",
    "Scope",
    "ScopedMemory",
    "Selection",
    "StoreWrapper",
    "Summaries",
    "Summarizer",
    "SummaryLimits",
    "TierPolicy",
    "TokenCounter",
    "Usage",
    "__version__",
    "default_counter",
    "exceptions",
    "identify_users",
    "mcp_server",
    "observe",
    "set_default_counter",
]

_HOMES = {
    "MEMORY_INSTRUCTIONS": "_prompts",
    "AgentMemoryService": "files",
    "AuditEntry": "_audit",
    "AuditTrail": "_audit",
    "ContextAssembler": "assembly",
    "ContextPackage": "assembly",
    "ConversationMemory": "conversation",
    "Category": "_categories",
    "CompressedStore": "stores",
    "Confirmation": "_tiers",
    "Decision": "judges",
    "Deletion": "_items",
    "EncryptedStore": "stores",
    "FileEntry": "files",
    "FileStore": "stores",
    "FoldPolicy": "_policy",
    "Judge": "judges",
    "JudgeLimits": "judges",
    "LLMJudge": "autogen",
    "LLMSummarizer": "autogen",
    "LexicalJudge": "judges",
    "Match": "_items",
    "MemoryContext": "autogen",
    "MemoryContextError": "exceptions",
    "MemoryItem": "_items",
    "MemoryList": "_items",
    "MemoryManager": "manager",
    "MemoryRef": "_refs",
    "MemoryStore": "stores",
    "MemoryWorkbench": "autogen",
    "Observed": "observability",
    "Page": "_selection",
    "Quota": "_tiers",
    "Redacted": "_redaction",
    "RedactingStore": "stores",
    "RedactionPattern": "_redaction",
    "Redactor": "_redaction",
    "Room": "_tiers",
    "SQLAlchemyStore": "stores",
    "SQLAuditTrail": "stores",
    "SQLMemory": "autogen",
    "Scope": "_scopes",
    "ScopedMemory": "tiers",
    "StoreWrapper": "stores",
    "Summaries": "summaries",
    "Summarizer": "summaries",
    "SummaryLimits": "summaries",
    "Selection": "_selection",
    "TierPolicy": "_tiers",
    "TokenCounter": "_tokens",
    "Usage": "_tiers",
    "default_counter": "_tokens",
    "identify_users": "observability",
    "mcp_server": "mcp",
    "observe": "observability",
    "set_default_counter": "_tokens",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - any public name
    """Load a public name from its home."""
    if name == "exceptions":
        return importlib.import_module("memory_context.exceptions")
    if name not in _HOMES:
        message = f"module 'memory_context' has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(importlib.import_module(f"memory_context.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    """The public names."""
    return sorted(__all__)
