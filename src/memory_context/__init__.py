"""Keep the prompts of AutoGen, LangChain and Agent Framework agents small without losing anything.

Two concepts teach it all. A *memory* (`MemoryItem`) is a record in a store; it lives as long as its tier says.
A *context* (`MemoryContext`) is one conversation; it holds messages and references to memories, and can be thrown
away without losing one.

Names are loaded when they are first used: importing this package loads neither a host framework nor a database library.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory_context import exceptions
from memory_context.model import registry_of_drawers
from memory_context.runtime.lazy_names import lazy_names
from memory_context.runtime.version import __version__

if TYPE_CHECKING:
    from memory_context.agent_files.agent_file_service import AgentMemoryService, FileEntry
    from memory_context.autogen import (
        LLMJudge,
        LLMSummarizer,
        MemoryContext,
        MemoryWorkbench,
        SQLMemory,
        build_model_context,
    )
    from memory_context.conversation.fold_recall_notes_policies import (
        FoldPolicy,
        NotesPolicy,
        RecallPolicy,
    )
    from memory_context.conversation.recall.limits_on_a_judge import (
        Judge,
        JudgeLimits,
        LexicalJudge,
    )
    from memory_context.conversation.references.pass_by_reference import PassingPolicy
    from memory_context.exceptions import (
        AgentMemoryError,
        AgentMemoryFileNotFoundError,
        AgentNotFoundError,
        FileOperationError,
        InvalidPathError,
        MemoryContextError,
    )
    from memory_context.mcp import mcp_server
    from memory_context.memory.assembler import ContextAssembler
    from memory_context.memory.chat_history import ConversationMemory
    from memory_context.memory.descriptions_by_a_summarizer import (
        Summaries,
        Summarizer,
        SummaryLimits,
    )
    from memory_context.memory.manager import MemoryManager
    from memory_context.memory.package_text_and_what_was_used import ContextPackage
    from memory_context.memory.scoped_memory import ScopedMemory
    from memory_context.memory.usage_gauges import Observed, observe
    from memory_context.model.audit_entries import AuditEntry
    from memory_context.model.call_log_records import CallRecord, CallTotals, Decision, ModelCall
    from memory_context.model.category import Category
    from memory_context.model.item import Deletion, Match, MemoryItem, MemoryList
    from memory_context.model.query_result import QueryResult
    from memory_context.model.quota import Quota
    from memory_context.model.reference import MemoryRef
    from memory_context.model.scope import Scope
    from memory_context.model.selection import Page, Selection
    from memory_context.model.tiers_and_limits import Confirmation, Room, TierPolicy, Usage
    from memory_context.runtime.telemetry import identify_users
    from memory_context.sentences_models_read import MEMORY_INSTRUCTIONS
    from memory_context.stores import (
        Codec,
        Compressed,
        Encrypted,
        FileStore,
        MemoryStore,
        SQLAlchemyStore,
        SQLAuditTrail,
    )
    from memory_context.stores.auditor_with_waiting_entries import AuditTrail
    from memory_context.text.redact import Redacted, RedactionPattern, Redactor
    from memory_context.text.tokens.counter import (
        TokenCounter,
        default_counter,
        set_default_counter,
    )

__all__ = [
    "MEMORY_INSTRUCTIONS",
    "AgentMemoryError",
    "AgentMemoryFileNotFoundError",
    "AgentMemoryService",
    "AgentNotFoundError",
    "AuditEntry",
    "AuditTrail",
    "CallRecord",
    "CallTotals",
    "Category",
    "Codec",
    "Compressed",
    "Confirmation",
    "ContextAssembler",
    "ContextPackage",
    "ConversationMemory",
    "Decision",
    "Deletion",
    "Encrypted",
    "FileEntry",
    "FileOperationError",
    "FileStore",
    "FoldPolicy",
    "InvalidPathError",
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
    "ModelCall",
    "NotesPolicy",
    "Observed",
    "Page",
    "PassingPolicy",
    "QueryResult",
    "Quota",
    "RecallPolicy",
    "Redacted",
    "RedactionPattern",
    "Redactor",
    "Room",
    "SQLAlchemyStore",
    "SQLAuditTrail",
    "SQLMemory",
    "Scope",
    "ScopedMemory",
    "Selection",
    "Summaries",
    "Summarizer",
    "SummaryLimits",
    "TierPolicy",
    "TokenCounter",
    "Usage",
    "__version__",
    "build_model_context",
    "default_counter",
    "exceptions",
    "identify_users",
    "mcp_server",
    "observe",
    "set_default_counter",
]

_HOMES = {
    "MEMORY_INSTRUCTIONS": "sentences_models_read",
    "AgentMemoryService": "agent_files.agent_file_service",
    "AuditEntry": "model.audit_entries",
    "AuditTrail": "stores.auditor_with_waiting_entries",
    "ContextAssembler": "memory.assembler",
    "ContextPackage": "memory.package_text_and_what_was_used",
    "ConversationMemory": "memory.chat_history",
    "Category": "model.category",
    "Codec": "stores",
    "Compressed": "stores",
    "Confirmation": "model.tiers_and_limits",
    "CallRecord": "model.call_log_records",
    "CallTotals": "model.call_log_records",
    "Decision": "model.call_log_records",
    "ModelCall": "model.call_log_records",
    "Deletion": "model.item",
    "Encrypted": "stores",
    "FileEntry": "agent_files.agent_file_service",
    "FileStore": "stores",
    "FoldPolicy": "conversation.fold_recall_notes_policies",
    "Judge": "conversation.recall.limits_on_a_judge",
    "JudgeLimits": "conversation.recall.limits_on_a_judge",
    "LLMJudge": "autogen",
    "LLMSummarizer": "autogen",
    "LexicalJudge": "conversation.recall.limits_on_a_judge",
    "Match": "model.item",
    "MemoryContext": "autogen",
    "AgentMemoryError": "exceptions",
    "AgentMemoryFileNotFoundError": "exceptions",
    "AgentNotFoundError": "exceptions",
    "FileOperationError": "exceptions",
    "InvalidPathError": "exceptions",
    "MemoryContextError": "exceptions",
    "MemoryItem": "model.item",
    "MemoryList": "model.item",
    "MemoryManager": "memory.manager",
    "MemoryRef": "model.reference",
    "MemoryStore": "stores",
    "MemoryWorkbench": "autogen",
    "NotesPolicy": "conversation.fold_recall_notes_policies",
    "Observed": "memory.usage_gauges",
    "PassingPolicy": "conversation.references.pass_by_reference",
    "RecallPolicy": "conversation.fold_recall_notes_policies",
    "Page": "model.selection",
    "QueryResult": "model.query_result",
    "Quota": "model.quota",
    "Redacted": "text.redact",
    "RedactionPattern": "text.redact",
    "Redactor": "text.redact",
    "Room": "model.tiers_and_limits",
    "SQLAlchemyStore": "stores",
    "SQLAuditTrail": "stores",
    "SQLMemory": "autogen",
    "Scope": "model.scope",
    "ScopedMemory": "memory.scoped_memory",
    "Summaries": "memory.descriptions_by_a_summarizer",
    "Summarizer": "memory.descriptions_by_a_summarizer",
    "SummaryLimits": "memory.descriptions_by_a_summarizer",
    "Selection": "model.selection",
    "TierPolicy": "model.tiers_and_limits",
    "TokenCounter": "text.tokens.counter",
    "Usage": "model.tiers_and_limits",
    "build_model_context": "autogen",
    "default_counter": "text.tokens.counter",
    "identify_users": "runtime.telemetry",
    "mcp_server": "mcp",
    "observe": "memory.usage_gauges",
    "set_default_counter": "text.tokens.counter",
}


__getattr__ = lazy_names(__name__, _HOMES)


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)


def _load_drawers() -> None:
    """Import the module that draws the library's values; importing it registers its functions."""
    from memory_context.display import register_drawers as register_drawers  # noqa: PLC0415 - once a value is shown


registry_of_drawers.load_with(_load_drawers)
