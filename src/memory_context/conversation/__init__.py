"""Keep one conversation's prompts small, whichever host it belongs to: fold, recall, compact, judge, pass by reference.

A host imports all that it needs from here (see "Add a host" in CONTRIBUTING.md). `conversation` makes the decisions,
on the neutral messages of `message`, by the policies in `fold_recall_notes_policies`.
"""

from memory_context.conversation.answers_with_quotations import AskAnswer, AskLimits, Quotation
from memory_context.conversation.ask_memories_by_key import MemoryReader
from memory_context.conversation.context_stats import ContextStats
from memory_context.conversation.conversation import (
    Conversation,
    ConversationCache,
    ConversationSettings,
    new_message_id,
    without_notes_of_other_runs,
)
from memory_context.conversation.conversation_facts import ConversationFacts
from memory_context.conversation.conversation_with_its_messages import HeldConversation
from memory_context.conversation.fail_open import FailOpen
from memory_context.conversation.message import (
    Edits,
    FunctionCall,
    Message,
    MessageFacts,
    edits_between,
    trusted_keys,
)
from memory_context.conversation.notes_in_prompts import offered_places

__all__ = [
    "AskAnswer",
    "AskLimits",
    "ContextStats",
    "Conversation",
    "ConversationCache",
    "ConversationFacts",
    "ConversationSettings",
    "Edits",
    "FailOpen",
    "FunctionCall",
    "HeldConversation",
    "MemoryReader",
    "Message",
    "MessageFacts",
    "Quotation",
    "edits_between",
    "new_message_id",
    "offered_places",
    "trusted_keys",
    "without_notes_of_other_runs",
]
