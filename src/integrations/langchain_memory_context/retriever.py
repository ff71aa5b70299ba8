"""`MemoryRetriever`: search a user's memories, as LangChain documents."""

from __future__ import annotations

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict, Field

from memory_context import sentences_models_read as prompts
from memory_context.conversation.recall.stored_turns_within_budget import as_said
from memory_context.memory.manager import MemoryManager
from memory_context.model.item import MemoryItem, is_secret
from memory_context.runtime.threads import off_loop
from memory_context.text.excerpt.excerpt import excerpt


class MemoryRetriever(BaseRetriever):
    """Finds the memories of a user that match a query, best first.

    A document's id is the memory's key; its metadata are facts of the record and the score. Its content is the part of
    the memory about the query, with conversations as dialogues. The content of a secret is not shown.

    Attributes:
        manager: The memories.
        k: The most documents; ``invoke(query, k=…)`` overrides it for one call.
        max_tokens: The most tokens of a document's content; None for whole texts.
    """

    # By default, pydantic ignores unknown settings silently, and quotes a URL with its password.
    model_config = ConfigDict(
        arbitrary_types_allowed=True, extra="forbid", hide_input_in_errors=True
    )

    manager: MemoryManager = Field(exclude=True)
    k: int = Field(default=5, ge=1)
    max_tokens: int | None = Field(default=500, ge=1)

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun | None = None,
        k: int | None = None,
    ) -> list[Document]:
        del run_manager
        return [self._document(hit, query) for hit in self.manager.search(query, k or self.k)]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        del run_manager
        return await off_loop(self._get_relevant_documents, query, k=k)

    def _document(self, hit: MemoryItem, query: str) -> Document:
        if is_secret(hit):
            content = prompts.HIDDEN
        else:
            content = as_said(hit.text)
            if self.max_tokens is not None:
                content = excerpt(content, query, self.max_tokens, self.manager.counter.count).text
        facts = {
            "memory_key": hit.memory_key,
            "memory_type": hit.memory_type,
            "description": hit.summary,
            "token_count": hit.token_count,
            "created_at": hit.created_at.isoformat(),
            "thread_id": hit.thread_id,
            "category": hit.category,
            "tags": list(hit.tags),
            "score": hit.match.score if hit.match else None,
        }
        for name in ("source", "call_id"):
            if name in hit.content_metadata:
                facts[name] = hit.content_metadata[name]
        return Document(content, id=hit.memory_key, metadata=facts)
